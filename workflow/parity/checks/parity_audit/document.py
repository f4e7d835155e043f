"""What the parity audit leaves: everything as JSON, and two tables that one can copy."""

from __future__ import annotations

import csv
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from parity.checks.parity_audit.comparison import Difference, Likeness, Mismatch, reference_of
from parity.checks.parity_audit.side import Side
from parity.core.code_identity import identity
from parity.core.documents import Document, write_document
from parity.measure import node
from parity.plan.plan import Plan

PARITY_AUDIT_VERSION = 1
_PROGRAMS = (
    "benchmark", "program", "arm", "link_set", "verdict", "confounded", "sha256",
    "reference_sha256", "build_id", "libraries_that_differ", "reason",
)  # fmt: skip
_INTERFACE = ("fact", "arm", "value", "reference", "differs")


class ParityAudit(Document, frozen=True):
    """Both sides of every comparison of a study, as one node has them.

    Attributes:
        asked: when, UTC, ISO 8601.
        node, program: facts of the node, and which state of Parity asked.
        interface: where an arm's kernel interface is not the reference's.
    """

    version: int
    campaign: str
    provider: str
    reference: str
    asked: str
    node_name: str
    node: dict[str, str]
    program: dict[str, str | bool]
    sides: tuple[Side, ...]
    likenesses: tuple[Likeness, ...]
    interface: tuple[Difference, ...]
    mismatches: tuple[Mismatch, ...]


def audit_of(
    plan: Plan,
    sides: Sequence[Side],
    likenesses: Sequence[Likeness],
    differences: Sequence[Difference],
    mismatches: Sequence[Mismatch],
) -> ParityAudit:
    """The audit of a plan's arms that were asked on this node just now."""
    return ParityAudit(
        version=PARITY_AUDIT_VERSION,
        campaign=plan.campaign,
        provider=plan.provider,
        reference=plan.reference,
        asked=datetime.now(UTC).isoformat(timespec="seconds"),
        node_name=platform.node(),
        node=node.facts(),
        program=identity(),
        sides=tuple(sides),
        likenesses=tuple(likenesses),
        interface=tuple(differences),
        mismatches=tuple(mismatches),
    )


def write(folder: Path, audit: ParityAudit) -> None:
    """Write `<campaign>.json`, `<campaign>.csv` (programs) and `<campaign>-interface.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_document(folder / f"{audit.campaign}.json", audit)
    _write_csv(folder / f"{audit.campaign}.csv", _PROGRAMS, program_rows(audit.likenesses))
    rows = interface_rows(audit.sides, audit.reference)
    _write_csv(folder / f"{audit.campaign}-interface.csv", _INTERFACE, rows)


def program_rows(likenesses: Sequence[Likeness]) -> list[tuple[str, ...]]:
    """A row for each program of each benchmark in each arm but the reference."""
    return [
        (
            row.benchmark,
            program.path,
            row.arm,
            row.link_set,
            program.verdict,
            "yes" if row.confounded else "no",
            program.sha256,
            program.reference_sha256,
            program.build_id,
            " ".join(program.libraries),
            row.reason,
        )
        for row in likenesses
        for program in row.programs
    ]


def interface_rows(sides: Sequence[Side], reference: str) -> list[tuple[str, ...]]:
    """A row for each fact of each arm that answered, by fact; empty where it cannot be seen."""
    base = reference_of(sides, reference).interface
    facts = dict.fromkeys(fact for side in sides for fact in side.interface)
    return [
        (
            fact,
            side.arm,
            side.interface.get(fact, ""),
            base.get(fact, ""),
            "no" if side.interface.get(fact, "") == base.get(fact, "") else "yes",
        )
        for fact in facts
        for side in sides
        if not side.reason
    ]


def _write_csv(path: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
