"""What tests put into a clone of the project before they run Snakemake in it."""

import base64
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from parity.benchmarks import benchmarks
from parity.runtimes import arms
from parity.software.images import write_images

NATIVES = ["native-a", "native-b"]
# What studies of tests have in common.
USUAL = {"reproduces": "none", "seed": 7, "reference": "native-a", "aa_pair": NATIVES}
# A study whose image has what any test's study needs: every Debian package and every format.
# What is compiled from our own sources takes a compiler, which takes its time.
EVERYTHING: dict[str, Any] = USUAL | {
    "study": "everything", "title": "The image of all tests",
    "arms": [name for name, arm in arms().items() if not arm.does_more],
    "benchmarks": {
        name: {"margin_percent": 5, "factors": {k: list(v) for k, v in each.factors.items()}}
        | ({"allocations": ["1x2"]} if each.allocations == "required" else {})
        for name, each in benchmarks().items()
        if each.packages and not each.sources
    },
    "scales": {"tiny": {"blocks": 1}},
}  # fmt: skip
# What such a test holds is the ledger and the words, not the numbers.
NEVER_WAIT = {"max_busy_fraction": 1, "settle_seconds": 0, "max_steal_fraction": 1}


SNAKEMAKE = Path(sys.executable).with_name("snakemake")
# A network namespace with no interface but a loopback that is down.
OFFLINE = ("unshare", "--map-root-user", "--net")


@dataclass(frozen=True)
class Call:
    """What a call of Snakemake said on both streams, and how it ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        return self.stdout + self.stderr

    def found(self, pattern: str) -> str:
        """The first group of a pattern in what it said."""
        found = re.search(pattern, self.said)
        assert found, f"nothing like {pattern!r} in:\n{self.said}"
        return found[1]


def own_package() -> dict[str, str]:
    """An environment in which a clone's own package is found, and not this one's."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return own | {"PATH": f"{SNAKEMAKE.parent}:{os.environ['PATH']}"}


def outside_clones() -> dict[str, str]:
    """An environment in which nothing of a clone is found, nor of this one's environment."""
    own = own_package()
    folders = own["PATH"].split(":")
    return own | {"PATH": ":".join(each for each in folders if Path(each) != SNAKEMAKE.parent)}


def called(
    folder: Path, *words: str | Path, program: Path = SNAKEMAKE, within: Sequence[str] = (),
    **options: Any,
) -> Call:  # fmt: skip
    """Call Snakemake in a folder, by the words of `within`; it must not end in a traceback.

    Another `program` is one that was installed.
    """
    environment = own_package() if program is SNAKEMAKE else outside_clones()
    usual = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([*within, program, *words], **usual | options)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return Call(done.returncode, done.stdout, done.stderr)


def succeeded(folder: Path, *words: str | Path, **options: Any) -> str:
    """What a call said that has to succeed."""
    call = called(folder, *words, **options)
    assert call.status == 0, call.said
    return call.said


def refused(folder: Path, *words: str | Path, **options: Any) -> str:
    """What a call said that has to fail, without a traceback."""
    call = called(folder, *words, **options)
    assert call.status, call.said
    return call.said


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


def give_study(
    clone: Path, study: Mapping[str, Any], images: Mapping[str, Any] | None = None
) -> list[str]:
    """Give a clone a study that waits for no idle node, and images that were made here.

    Returns: `key=value` that ask for it at its first scale.
    """
    path = f"config/studies/{study['study']}.yaml"
    (clone / path).write_text(yaml.safe_dump(study))
    never_wait_for_quiet(clone, "machine")
    config = [f"study={path}", f"scale={next(iter(study['scales']))}"]
    if images is not None:
        borrow_images(clone, images, *config)
    return config


def records_of(clone: Path, *config: str) -> Path:
    """Where a clone that has no images yet wants the records of a study's: a dry run says it."""
    said = succeeded(clone, "-n", "images", *(["--config", *config] if config else []))
    (name,) = set(re.findall(r"output: (\S+/images\.json)", said))
    return clone / name


def rows_of(dataset: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a dataset's records."""
    return pq.read_table(dataset / f"records/{table}.parquet").to_pylist()


def files_of(folder: Path) -> dict[Path, float]:
    """The files below a folder, each with the time when it was written.

    Without those that Python compiles, and Snakemake's own.
    """
    own = {"__pycache__", ".snakemake"}
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {at: path.stat().st_mtime for at, path in files.items() if not own & set(at.parts)}


def dashboard_of(clone: Path) -> str:
    """What the dashboard of a clone holds, unpacked."""
    page = (clone / "results/claims/dashboard.html").read_text(encoding="utf-8")
    packed = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1]
    return gzip.decompress(base64.b64decode(packed)).decode()
