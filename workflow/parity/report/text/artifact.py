"""The appendix for reviewers of the artifact: what to get, what to run, what to expect.

What differs between campaigns is taken from the datasets: commits, digests, times, sizes, and the
verdicts that are expected of them. What no record tells is said to be unknown. What each command
takes was measured once, in a clone of its own: docs/effort.json, by `tools/docs.py effort`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.claims.expected import Expected
from parity.core.documents import Document
from parity.core.wording import counted, listed
from parity.records import schema
from parity.records.dataset import CHECKSUMS, PROVENANCE, files_of, provenance
from parity.records.timed import session_seconds
from parity.report.tables.table import Table, to_latex
from parity.report.text import formatting
from parity.report.wording import ARTIFACT

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
    given = {
        "datasets": to_latex(datasets(folders)),
        "images": formatting.latex(images(dataset)),
        "commits": formatting.latex(commits(folders)),
        "config": formatting.latex(chosen(dataset)),
        "verdicts": formatting.latex(verdicts(judged, expected)),
        "machine": formatting.latex(f"{effort.machine}, {effort.day}"),
        "effort": to_latex(steps(effort)),
    }
    return "\n".join(_filled(text, given) for text in ARTIFACT)


def _filled(text: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        text = text.replace(f"<{name}>", value)
    return text


def datasets(folders: Sequence[Path]) -> Table:
    """What each dataset is known by, how long its measuring took, and its size."""
    rows = []
    for folder in folders:
        origin, sums = provenance(folder), folder / CHECKSUMS
        digest = hashlib.sha256(sums.read_bytes()).hexdigest()[:DIGITS] if sums.exists() else "–"
        held = [folder / name for name in files_of(folder) if name != PROVENANCE or sums.exists()]
        size = formatting.size(sum(path.stat().st_size for path in held))
        minutes = formatting.number(session_seconds(folder) / 60, 1)
        rows.append((folder.name, origin.ended[:10], str(origin.blocks), minutes, size, digest))
    head = ("dataset", "measured", "blocks", "min", "size", f"SHA-256 of {CHECKSUMS}")
    return Table("artifact", "L{5cm}lrrrl", head, rows)


def images(dataset: Path) -> str:
    """How long building and converting took, and what the images take."""
    made = schema.read(schema.IMAGES, dataset / "records/images.parquet").to_pylist()
    seconds = [each["seconds"] for each in made if each["seconds"] is not None]
    sizes = [each["bytes"] for each in made if each["bytes"] is not None]
    if not seconds or not sizes:
        return "not recorded"
    return f"{formatting.number(sum(seconds), 0)} s, {formatting.size(sum(sizes))} in all formats"


def steps(effort: Effort) -> Table:
    """What each command takes of time, and of disk with all that those before it made."""
    rows = [
        (each.command, each.does, formatting.number(each.seconds, 0), formatting.size(each.bytes))
        for each in effort.steps
    ]
    head = ("command", "what it does", "s", "clone after it")
    return Table("effort", "lL{8cm}rr", head, rows, breaks=False)


def commits(folders: Sequence[Path]) -> str:
    """The states of the program that measured, as far as they were commits."""
    known = {
        program.commit + (" (with changes)" if program.changed else "")
        for folder in folders
        for program in provenance(folder).programs
        if program.commit
    }
    return listed(sorted(known)) or "of no clone"


def chosen(dataset: Path) -> str:
    """What tells Snakemake to take this dataset, behind `--config`."""
    return f"archive={dataset.name}" if (dataset / CHECKSUMS).exists() else "data=live"


def verdicts(judged: str, expected: Expected) -> str:
    """How many claims are expected to end how; empty where none is told of."""
    if not judged:
        return ""
    found = Counter(verdict for (name, _), verdict in expected.items() if name == judged)
    if not found:
        return f"Nothing is expected of {judged} in config/expected_verdicts.csv."
    each = listed(f"{count} {verdict}" for verdict, count in found.most_common())
    return (
        f"Of {counted(found.total(), 'claim')} of {judged}: {each} (config/expected_verdicts.csv)."
    )
