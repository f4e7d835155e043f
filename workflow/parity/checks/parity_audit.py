"""Holds each side against the reference, programs, libraries and kernel interface; what is left.

Everything is left as JSON, and as two tables that one can copy.
"""

import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten

import pandas as pd

from parity.analysis import dataset
from parity.checks.side import Programs, Side
from parity.core import package
from parity.core.documents import Document, write_document
from parity.core.errors import UserError
from parity.core.spack_paths import PREFIX
from parity.measure import node
from parity.plan.plan import Plan
from parity.preview.terminal import aligned, rendered
from parity.runtimes.model import SHARED

# Programs of Debian by path: MD5 sum of the package and of the file.
Altered = Mapping[str, tuple[str, str]]
PROGRAM_COLUMNS = (
    *("benchmark", "program", "arm", "link_set", "verdict", "confounded", "sha256"),
    *("reference_sha256", "build_id", "libraries_that_differ", "reason"),
)


class Program(Document, frozen=True):
    """One program on both sides."""

    path: str
    verdict: str  # a word of `analysis.identity`
    sha256: str  # like the next two empty where the program is not there
    reference_sha256: str
    build_id: str
    libraries: tuple[str, ...]  # those that differ, or that one side alone resolves, sorted


class Likeness(Document, frozen=True):
    """A benchmark in one arm, held against the reference arm."""

    benchmark: str
    arm: str
    title: str
    link_set: str
    verdict: str  # the worst of its programs', as `analysis.identity` finds it
    confounded: bool  # whether a difference in cost may come from the programs, not the runtime
    reason: str  # why there is no finding; empty if there is one
    programs: tuple[Program, ...]


class Difference(Document, frozen=True):
    """A fact of the kernel interface that is another one than the reference's."""

    arm: str
    fact: str
    value: str
    reference: str


class Mismatch(Document, frozen=True):
    """A program that is another file than it must be."""

    path: str
    arm: str
    expected: str  # SHA-256, or MD5 where that is all that is known
    found: str  # the same; empty where the program is not there
    source: str  # where the expected one comes from


def _only(arm: str, sides: Sequence[Side]) -> Side:
    return next(side for side in sides if side.arm == arm)


def likenesses(sides: Sequence[Side], base: Side, programs: Programs) -> list[Likeness]:
    """Each benchmark in each arm but the reference, by benchmark, then in the sides' order."""
    return [
        _likeness(benchmark, paths, side, base)
        for benchmark, paths in programs.items()
        for side in sides
        if side is not base and benchmark in side.benchmarks
    ]


def _likeness(benchmark: str, paths: Sequence[str], side: Side, base: Side) -> Likeness:
    reason, found, digests = side.reason or base.reason, [], []
    for asked in (base, side):
        gone = [Path(path).name for path in paths if not asked.program(path).sha256]
        if gone and not reason:
            reason = f"{asked.title} has no {' and no '.join(gone)}"
    for path in paths:
        ours, theirs = side.program(path), base.program(path)
        # What the analysis would say of runs of these programs: one definition for both.
        digests.append(((ours.sha256, ours.closure_sha256), (theirs.sha256, theirs.closure_sha256)))
        other = set(ours.closure) ^ set(theirs.closure) if ours.sha256 and theirs.sha256 else set()
        found.append(Program(
            path=path, verdict=dataset.identity(digests[-1:]), sha256=ours.sha256,
            reference_sha256=theirs.sha256, build_id=ours.build_id,
            libraries=tuple(sorted({library.library for library in other})),
        ))  # fmt: skip
    return Likeness(
        benchmark=benchmark, arm=side.arm, title=side.title, link_set=side.link_set,
        verdict=(verdict := dataset.identity(digests)), confounded=verdict in dataset.CONFOUNDED,
        reason=reason, programs=tuple(found),
    )  # fmt: skip


def differences(sides: Sequence[Side], base: Side) -> list[Difference]:
    """What each arm's kernel interface has otherwise than the reference's, in the facts' order."""
    # A fact that only one side can see is a difference, too; then the other's is empty.
    return [
        Difference(arm=side.arm, fact=fact, value=value, reference=expected)
        for side in sides
        if side is not base and not side.reason and not base.reason
        for fact in (base.interface | side.interface)
        for value, expected in [(side.interface.get(fact, ""), base.interface.get(fact, ""))]
        if value != expected
    ]


def mismatches(
    sides: Sequence[Side], base: Side, expected: Mapping[str, str], altered: Altered
) -> list[Mismatch]:
    """Programs that are other files than they must be.

    Native ones must be those that were installed, shared ones those of the reference. `expected`:
    SHA-256 by path of the programs that a native build recorded.
    """
    found = []
    for side in sides:
        for path in side.programs if not side.reason else ():
            is_there, wanted = side.program(path).sha256, []
            if side.is_outside:
                wanted.append((expected.get(path, ""), is_there, "recorded by its build"))
                wanted.append((*altered.get(path, ("", "")), "MD5 of its Debian package"))
            # What else a benchmark runs comes from the image, even where the build is shared.
            if side.link_set == SHARED and Path(path).is_relative_to(PREFIX):
                wanted.append((base.program(path).sha256, is_there, f"as in {base.arm}"))
            found += [
                Mismatch(path=path, arm=side.arm, expected=digest, found=seen, source=source)
                for digest, seen, source in wanted
                if digest and digest != seen
            ]
    return found


def refuse(mismatches: Sequence[Mismatch]) -> None:
    """Refuse (UserError) programs that are other files than they must be, with both hashes."""
    if mismatches:
        lines = ["these programs are not the ones they must be:"]
        for each in mismatches:
            wanted, found = f"{each.expected} ({each.source})", each.found or "nothing"
            lines.append(f"{each.path} in {each.arm}: expected {wanted}, found {found}")
        action = "install them again: make setup, or snakemake native and then images"
        raise UserError("\n".join(lines), action=action)


class ParityAudit(Document, frozen=True):
    """Both sides of every comparison of a study, as one node has them."""

    version: int
    campaign: str
    provider: str
    reference: str
    asked: str  # when, UTC, ISO 8601
    node_name: str
    node: dict[str, str]  # its facts
    program: dict[str, str | bool]  # which state of Parity asked
    sides: tuple[Side, ...]
    likenesses: tuple[Likeness, ...]
    interface: tuple[Difference, ...]  # where an arm's kernel interface is not the reference's
    mismatches: tuple[Mismatch, ...]


def audit_of(
    plan: Plan, sides: Sequence[Side], programs: Programs, recorded: Mapping[str, str],
    altered: Altered,
) -> ParityAudit:  # fmt: skip
    """The audit of arms that were asked on this node just now; `mismatches` says the rest."""
    base = _only(plan.reference, sides)
    return ParityAudit(
        version=1, campaign=plan.campaign, provider=plan.provider, reference=plan.reference,
        asked=datetime.now(UTC).isoformat(timespec="seconds"), node_name=platform.node(),
        node=node.facts(), program=package.identity(), sides=tuple(sides),
        likenesses=tuple(likenesses(sides, base, programs)),
        interface=tuple(differences(sides, base)),
        mismatches=tuple(mismatches(sides, base, recorded, altered)),
    )  # fmt: skip


def write(folder: Path, audit: ParityAudit) -> None:
    """Write `<campaign>.json`, `<campaign>.csv` (programs) and `<campaign>-interface.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_document(folder / f"{audit.campaign}.json", audit)
    base = _only(audit.reference, audit.sides).interface
    programs = [(
        row.benchmark, program.path, row.arm, row.link_set, program.verdict,
        "yes" if row.confounded else "no", program.sha256, program.reference_sha256,
        program.build_id, " ".join(program.libraries), row.reason,
    ) for row in audit.likenesses for program in row.programs]  # fmt: skip
    # Each fact of each arm that answered, by fact; empty where it cannot be seen.
    interface = [
        (fact, side.arm, value, base.get(fact, ""), "no" if value == base.get(fact, "") else "yes")
        for fact in dict.fromkeys(fact for side in audit.sides for fact in side.interface)
        for side in audit.sides
        if not side.reason
        for value in [side.interface.get(fact, "")]
    ]
    columns = ("fact", "arm", "value", "reference", "differs")
    for name, rows, named in (("", programs, PROGRAM_COLUMNS), ("-interface", interface, columns)):
        table = pd.DataFrame(rows, columns=named)
        table.to_csv(folder / f"{audit.campaign}{name}.csv", index=False, lineterminator="\n")


# How much of a reason is shown in the table, and below it; all of it is in the JSON.
_CELL, _LINE = 60, 300
# The library that most of what a program does goes through; named first where it differs.
_FIRST = "libc.so.6"
_FINDINGS = {dataset.SAME: "identical", dataset.BINARY_DIFFERS: "other program"}


def report(audit: ParityAudit, programs: Programs, is_foreign: bool = False) -> list[str]:
    """The lines of the report; `is_foreign`: whether somebody else made the image."""
    base = _only(audit.reference, audit.sides)
    confounded = defaultdict(list)
    for row in audit.likenesses:
        if row.confounded:
            confounded[row.benchmark, row.verdict].append(row.title)

    def differences(side: Side) -> list[str]:
        own = [each for each in audit.interface if each.arm == side.arm]
        return aligned([(f"    {each.fact}", _in_words(each)) for each in own]) if own else []

    text = rendered(
        Path(__file__).with_suffix(".txt.j2"), audit=audit, base=base,
        programs=aligned(_findings(programs, base, audit.likenesses)),
        differences=differences, shorten=lambda reason: shorten(reason, _LINE, placeholder="…"),
        confounded=confounded,
        unknown=[row.title for row in audit.likenesses if row.verdict == dataset.NOT_RECORDED],
        is_foreign=is_foreign,
    )  # fmt: skip
    return text.splitlines()


def verdict_text(row: Likeness) -> str:
    """A likeness in words: `same program, libraries differ: libc.so.6 (2 others)`."""
    if row.verdict in _FINDINGS:
        return _FINDINGS[row.verdict]
    if row.verdict == dataset.LIBRARIES_DIFFER:
        names = {name for program in row.programs for name in program.libraries}
        first, *others = sorted(names, key=lambda name: (name != _FIRST, name))
        text = f"same program, libraries differ: {first}"
        return f"{text} ({len(others)} other{'s' * (len(others) > 1)})" if others else text
    return f"not recorded: {shorten(row.reason, _CELL, placeholder='…')}"


def _findings(
    programs: Programs, base: Side, likenesses: Sequence[Likeness]
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("benchmark", "arm", "link set", "programs", "sha256")]
    missing = f": {base.reason}" if base.reason else ""
    for benchmark, paths in programs.items():
        hashes = _hashes((path, base.program(path).sha256) for path in paths)
        rows.append((benchmark, base.title, base.link_set, f"reference{missing}", hashes))
        for row in likenesses:
            if row.benchmark == benchmark:
                hashes = _hashes((program.path, program.sha256) for program in row.programs)
                rows.append(("", row.title, row.link_set, verdict_text(row), hashes))
    return rows


def _hashes(programs: Iterable[tuple[str, str]]) -> str:
    """`hpcc 1f0c9d32, mpirun 77ab0d12`, of those that are there.

    Builds of one program are told apart by the package's folder: `<package>/bin/<program>`.
    """
    there = [(Path(path), sha256[:8]) for path, sha256 in programs if sha256]
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
    return f"{value or 'not visible'} (reference: {reference or 'not visible'})"
