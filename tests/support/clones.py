"""What tests put into a clone of the project before they run Snakemake in it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
# What such a test holds is the ledger and the words, not the numbers.
NEVER_WAIT = {"max_busy_fraction": 1, "settle_seconds": 0, "max_steal_fraction": 1}


def never_wait_for_quiet(clone: Path, system: str) -> None:
    """Let a system of a clone measure on a busy machine at once, and fail no gate for it."""
    path = clone / f"config/systems/{system}.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"quiet_node": NEVER_WAIT}))


def borrow_images(clone: Path, images: Mapping[str, Any]) -> None:
    """Give a clone the records of the images that were made here, so that it builds none."""
    made, folder = ROOT / "results/images", clone / "results/images"
    folder.mkdir(parents=True)
    # In the order of the chain, so that no record is older than what it was made from.
    chain = ["base", "oci", "directory"]
    names = [*chain, *sorted(images.keys() - set(chain)), "images"]
    for name in [*(f"{name}.json" for name in names), "images.parquet"]:
        shutil.copy(made / name, folder)
