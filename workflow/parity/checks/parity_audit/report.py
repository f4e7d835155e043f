"""What the parity audit prints: programs, then the kernel interface, then what is confounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import shorten

from parity.analysis.identity import BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME
from parity.checks.parity_audit.comparison import (
    Difference,
    Likeness,
    ParityAudit,
    reference_of,
)  # fmt: skip
from parity.checks.parity_audit.side import Programs, Side
from parity.preview.terminal import aligned

NOT_VISIBLE = "not visible"
_DIGITS = 8
# How much of a reason is shown in the table, and below it; all of it is in the JSON.
_CELL, _LINE = 60, 300
# The library that most of what a program does goes through; named first where it differs.
_FIRST = "libc.so.6"
_FOREIGN = (
    "The image is not ours: programs and libraries are held against each other by SHA-256,"
    " and lists of packages are not compared"
)
_FINDINGS = {SAME: "identical", BINARY_DIFFERS: "other program"}


def report(audit: ParityAudit, programs: Programs, is_foreign: bool = False) -> list[str]:
    """The lines of the report.

    Args:
        is_foreign: whether the image is one that somebody else made.
    """
    base = reference_of(audit.sides, audit.reference)
    return [
        f"Both sides of {audit.campaign}: every arm asked, held against {base.title}",
        "",
        *aligned(_program_rows(programs, base, audit.likenesses)),
        "",
        f"Kernel interface, where it is not that of {base.title}",
        *_interface_lines(audit.sides, base, audit.interface),
        "",
        *_confounded_lines(audit.likenesses),
        *([_FOREIGN] if is_foreign else []),
    ]


def verdict_text(row: Likeness) -> str:
    """A likeness in words: `same program, libraries differ: libc.so.6 (2 others)`."""
    if row.verdict in _FINDINGS:
        return _FINDINGS[row.verdict]
    if row.verdict == LIBRARIES_DIFFER:
        names = {name for program in row.programs for name in program.libraries}
        first, *others = sorted(names, key=lambda name: (name != _FIRST, name))
        text = f"same program, libraries differ: {first}"
        return f"{text} ({len(others)} other{'s' * (len(others) > 1)})" if others else text
    return f"not recorded: {shorten(row.reason, _CELL, placeholder='…')}"


def _program_rows(
    programs: Programs, base: Side, likenesses: Sequence[Likeness]
) -> list[tuple[str, ...]]:
    """Benchmark, arm, link set, finding, short hashes; the reference first in each benchmark."""
    rows: list[tuple[str, ...]] = [("benchmark", "arm", "link set", "programs", "sha256")]
    for benchmark, paths in programs.items():
        hashes = _hashes((path, base.program(path).sha256) for path in paths)
        missing = f": {base.reason}" if base.reason else ""
        rows.append((benchmark, base.title, base.link_set, f"reference{missing}", hashes))
        rows += [
            (
                "",
                row.title,
                row.link_set,
                verdict_text(row),
                _hashes((program.path, program.sha256) for program in row.programs),
            )
            for row in likenesses
            if row.benchmark == benchmark
        ]
    return rows


def _hashes(programs: Iterable[tuple[str, str]]) -> str:
    """`hpcc 1f0c9d32, mpirun 77ab0d12`, of those that are there.

    Builds of one program are told apart by the package's folder: `<package>/bin/<program>`.
    """
    there = [(Path(path), sha256[:_DIGITS]) for path, sha256 in programs if sha256]
    uses = Counter(path.name for path, _ in there)
    return ", ".join(
        f"{path.parts[-3]}/{path.name} {short}" if uses[path.name] > 1 else f"{path.name} {short}"
        for path, short in there
    )


def _interface_lines(
    sides: Sequence[Side], base: Side, differences: Sequence[Difference]
) -> list[str]:
    lines = []
    for side in sides:
        if side is base:
            continue
        own = [each for each in differences if each.arm == side.arm]
        if side.reason:
            reason = shorten(side.reason, _LINE, placeholder="…")
            lines.append(f"  {side.title}: not asked: {reason}")
        elif own:
            rows = [(f"    {each.fact}", _in_words(each)) for each in own]
            lines += [f"  {side.title}", *aligned(rows)]
        else:
            lines.append(f"  {side.title}: the same")
    return lines


def _in_words(difference: Difference) -> str:
    """The value and the reference's; of a list of names what is more and what is missing."""
    value, reference = difference.value, difference.reference
    if difference.fact.startswith("variables "):
        here, there = set(value.split()), set(reference.split())
        parts = (("also ", here - there), ("without ", there - here))
        return "; ".join(word + " ".join(sorted(names)) for word, names in parts if names)
    return f"{value or NOT_VISIBLE} (reference: {reference or NOT_VISIBLE})"


def _confounded_lines(likenesses: Sequence[Likeness]) -> list[str]:
    """What is confounded, by benchmark and finding; and what nothing is known of."""
    lines = []
    groups = defaultdict(list)
    for row in likenesses:
        if row.confounded:
            groups[row.benchmark, row.verdict].append(row.title)
    if groups:
        lines.append("Confounded: a difference may come from the programs, not the runtime")
        lines += [f"  {name} ({found}): {', '.join(on)}" for (name, found), on in groups.items()]
    else:
        lines.append("Nothing is confounded: all programs and libraries seen are the same")
    unknown = [row for row in likenesses if row.verdict == NOT_RECORDED]
    if unknown:
        arms = ", ".join(dict.fromkeys(row.title for row in unknown))
        lines.append(f"Not known, because not seen: {len(unknown)} of {len(likenesses)} ({arms})")
    return lines
