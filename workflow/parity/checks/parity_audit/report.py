"""What the parity audit prints: programs, then the kernel interface, then what is confounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import shorten

from jinja2 import StrictUndefined, Template

from parity.analysis.identity import BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME
from parity.checks.parity_audit.comparison import (
    Difference,
    Likeness,
    ParityAudit,
    reference_of,
)  # fmt: skip
from parity.checks.side import Programs, Side
from parity.preview.terminal import aligned

NOT_VISIBLE = "not visible"
TEMPLATE = Path(__file__).with_name("report.txt.j2")
_DIGITS = 8
# How much of a reason is shown in the table, and below it; all of it is in the JSON.
_CELL, _LINE = 60, 300
# The library that most of what a program does goes through; named first where it differs.
_FIRST = "libc.so.6"
_FINDINGS = {SAME: "identical", BINARY_DIFFERS: "other program"}


def report(audit: ParityAudit, programs: Programs, is_foreign: bool = False) -> list[str]:
    """The lines of the report.

    Args:
        is_foreign: whether the image is one that somebody else made.
    """
    base = reference_of(audit.sides, audit.reference)
    confounded = defaultdict(list)
    for row in audit.likenesses:
        if row.confounded:
            confounded[row.benchmark, row.verdict].append(row.title)

    def differences(side: Side) -> list[str]:
        own = [each for each in audit.interface if each.arm == side.arm]
        return aligned([(f"    {each.fact}", _in_words(each)) for each in own]) if own else []

    template = Template(
        TEMPLATE.read_text(encoding="utf-8"), undefined=StrictUndefined, trim_blocks=True
    )
    text: str = template.render(
        audit=audit,
        base=base,
        programs=aligned(_program_rows(programs, base, audit.likenesses)),
        differences=differences,
        shorten=lambda reason: shorten(reason, _LINE, placeholder="…"),
        confounded=confounded,
        unknown=[row.title for row in audit.likenesses if row.verdict == NOT_RECORDED],
        is_foreign=is_foreign,
    )
    return text.splitlines()


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


def _in_words(difference: Difference) -> str:
    """The value and the reference's; of a list of names what is more and what is missing."""
    value, reference = difference.value, difference.reference
    if difference.fact.startswith("variables "):
        here, there = set(value.split()), set(reference.split())
        parts = (("also ", here - there), ("without ", there - here))
        return "; ".join(word + " ".join(sorted(names)) for word, names in parts if names)
    return f"{value or NOT_VISIBLE} (reference: {reference or NOT_VISIBLE})"
