"""The appendix for reviewers of the artifact: what to get, what to run, what to expect.

What differs between campaigns is taken from the datasets: commits, digests, times, sizes, and the
verdicts that are expected of them. What no record tells is said to be unknown. What each command
takes was measured once, in a clone of its own: docs/effort.json, by `tools/docs.py effort`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from parity.claims.verdicts import Expected
from parity.core import wording
from parity.core.documents import Document
from parity.records import schema
from parity.records.dataset import CHECKSUMS, PROVENANCE, files_of, provenance
from parity.records.timed import session_seconds
from parity.report.tables.table import Table, to_latex
from parity.report.templating import render

DIGITS = 16  # of a digest, as in the table of images


class Step(Document, frozen=True):
    """A command of the artifact: what it does, its seconds, and bytes of the clone after it."""

    command: str
    does: str
    seconds: float
    bytes: int


class Effort(Document, frozen=True):
    """What the commands took, one after the other in a new clone, and on which machine."""

    machine: str
    day: str
    steps: tuple[Step, ...]
    version: int = 1


def appendix(
    dataset: Path, beside: Sequence[Path], judged: str, expected: Expected, effort: Effort
) -> str:
    """LaTeX: the artifact of a dataset and those beside it, of whose verdicts some are expected.

    Args:
        judged: what the verdicts are of; empty where the paper tells of no claims.

    Raises:
        UserError: a dataset is broken.
    """
    folders = [dataset, *beside]
    images = schema.read(schema.IMAGES, dataset / "records/images.parquet").to_pylist()
    commits = {
        program.commit + (" (with changes)" if program.changed else "")
        for folder in folders
        for program in provenance(folder).programs
        if program.commit
    }
    steps = [
        (each.command, each.does, wording.number(each.seconds, 0), wording.size(each.bytes))
        for each in effort.steps
    ]
    found = Counter(verdict for (name, _), verdict in expected.items() if name == judged)
    return render(
        "artifact.tex", effort=effort, judged=judged, verdicts=dict(found.most_common()),
        commits=sorted(commits),
        config=f"archive={dataset.name}" if (dataset / CHECKSUMS).exists() else "data=live",
        datasets=to_latex(Table("artifact-datasets", [_known_by(folder) for folder in folders])),
        image_seconds=[each["seconds"] for each in images if each["seconds"] is not None],
        image_sizes=[each["bytes"] for each in images if each["bytes"] is not None],
        steps=to_latex(Table("artifact-effort", steps)),
    )  # fmt: skip


def _known_by(folder: Path) -> tuple[str, ...]:
    """What a dataset is known by, how long its measuring took, and its size."""
    origin, sums = provenance(folder), folder / CHECKSUMS
    digest = hashlib.sha256(sums.read_bytes()).hexdigest()[:DIGITS] if sums.exists() else "–"
    held = [folder / name for name in files_of(folder) if name != PROVENANCE or sums.exists()]
    size = wording.size(sum(path.stat().st_size for path in held))
    minutes = wording.number(session_seconds(folder) / 60, 1)
    return folder.name, origin.ended[:10], str(origin.blocks), minutes, size, digest
