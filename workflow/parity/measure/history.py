"""What a run has behind it: its records, and whether it is settled or has to be made (again)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parity.core.files import read_json
from parity.measure import storage

# Reasons of the block as a whole: trying the run once more at once would not mend them,
# and they are not held against the run.
OF_THE_BLOCK = ("gate-quiet", "gate-image")

Record = Mapping[str, Any]


def records(run_folder: Path) -> list[Record]:
    """The records of a run's attempts, first to last; an interrupted attempt has none."""
    folders = storage.attempts(run_folder)
    return [read_json(a / storage.RECORD) for a in folders if (a / storage.RECORD).exists()]


def failures(made: Iterable[Record]) -> int:
    """Attempts that are held against the run."""
    return sum(bool(r["reason"]) and r["reason"] not in OF_THE_BLOCK for r in made)


def is_good(made: list[Record], image_digest: str) -> bool:
    """Whether the last attempt ended well and was made from the image that is here now."""
    return bool(made) and not made[-1]["reason"] and made[-1]["image_digest"] == image_digest


def case_is_settled(runs: Mapping[Path, str], attempts: int) -> bool:
    """Whether nothing of a case has to be made any more.

    Arms are compared within a block, so all good runs of a case must come from one
    session: the same boot, the same node, one after the other. A case that a killed
    runner left half-made is therefore made anew as a whole; its earlier attempts stay.

    Args:
        runs: the folder of each run that can be made now, with its image's digest.
        attempts: how many failed attempts a run may have in all.
    """
    sessions = set()
    for folder, digest in runs.items():
        made = records(folder)
        if is_good(made, digest):
            sessions.add(made[-1]["session"])
        elif failures(made) < attempts:
            return False
    return len(sessions) <= 1
