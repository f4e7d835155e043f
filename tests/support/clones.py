"""What tests put into a clone of the project before they run Snakemake in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from parity.benchmarks import benchmarks
from parity.runtimes import arms
from parity.software.images import write_images

# A study whose image has what any test's study needs: every Debian package and every format.
# What is compiled from our own sources takes a compiler, which takes its time.
EVERYTHING: dict[str, Any] = {
    "study": "everything",
    "title": "The image of all tests",
    "reproduces": "none",
    "seed": 7,
    "reference": "native-a",
    "aa_pair": ["native-a", "native-b"],
    "arms": [name for name, arm in arms().items() if not arm.does_more],
    "benchmarks": {
        name: {"margin_percent": 5, "factors": {k: list(v) for k, v in each.factors.items()}}
        | ({"allocations": ["1x2"]} if each.allocations == "required" else {})
        for name, each in benchmarks().items()
        if each.packages and not each.sources
    },
    "scales": {"tiny": {"blocks": 1}},
}
# What such a test holds is the ledger and the words, not the numbers.
NEVER_WAIT = {"max_busy_fraction": 1, "settle_seconds": 0, "max_steal_fraction": 1}


def never_wait_for_quiet(clone: Path, system: str) -> None:
    """Let a system of a clone measure on a busy machine at once, and fail no gate for it."""
    path = clone / f"config/systems/{system}.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"quiet_node": NEVER_WAIT}))


def borrow_images(clone: Path, images: Mapping[str, Any], *config: str) -> None:
    """Give a clone the records of the images that were made here, so that it builds none.

    Args:
        config: `key=value` for Snakemake, which say the study and its scale.
    """
    records = records_of(clone, *config)
    records.parent.mkdir(parents=True)
    write_images(records, images)


def records_of(clone: Path, *config: str) -> Path:
    """Where a clone that has no images yet wants the records of a study's: a dry run says it."""
    words = [Path(sys.executable).with_name("snakemake"), "-n", "images"]
    words += ["--config", *config] if config else []
    # The clone's own package, not this one's.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=clone, env=own, capture_output=True, text=True, check=True)
    (name,) = set(re.findall(r"output: (\S+/images\.json)", done.stdout + done.stderr))
    return clone / name
