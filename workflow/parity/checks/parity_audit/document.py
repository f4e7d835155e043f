"""What the parity audit leaves: everything as JSON, and two tables that one can copy."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from parity.checks.parity_audit import comparison
from parity.checks.parity_audit.comparison import Difference, Likeness, Mismatch, reference_of
from parity.checks.parity_audit.side import Programs, Side
from parity.core.code_identity import identity
from parity.core.documents import Document, write_document
from parity.measure import node
from parity.plan.plan import Plan

PARITY_AUDIT_VERSION = 1


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
    programs: Programs,
    recorded: Mapping[str, str],
    altered: Mapping[str, tuple[str, str]],
) -> ParityAudit:
    """The audit of a plan's arms that were asked on this node just now.

    Args:
        recorded, altered: what the programs must be, as `comparison.mismatches` takes it.
    """
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
        likenesses=tuple(comparison.likenesses(sides, plan.reference, programs)),
        interface=tuple(comparison.differences(sides, plan.reference)),
        mismatches=tuple(comparison.mismatches(sides, plan.reference, recorded, altered)),
    )


def write(folder: Path, audit: ParityAudit) -> None:
    """Write `<campaign>.json`, `<campaign>.csv` (programs) and `<campaign>-interface.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_document(folder / f"{audit.campaign}.json", audit)
    tables = {"": program_table(audit.likenesses), "-interface": interface_table(audit)}
    for name, table in tables.items():
        table.to_csv(folder / f"{audit.campaign}{name}.csv", index=False, lineterminator="\n")


def program_table(likenesses: Sequence[Likeness]) -> pd.DataFrame:
    """A row for each program of each benchmark in each arm but the reference."""
    each = [(row, program) for row in likenesses for program in row.programs]
    columns = {
        "benchmark": [row.benchmark for row, _ in each],
        "program": [program.path for _, program in each],
        "arm": [row.arm for row, _ in each],
        "link_set": [row.link_set for row, _ in each],
        "verdict": [program.verdict for _, program in each],
        "confounded": ["yes" if row.confounded else "no" for row, _ in each],
        "sha256": [program.sha256 for _, program in each],
        "reference_sha256": [program.reference_sha256 for _, program in each],
        "build_id": [program.build_id for _, program in each],
        "libraries_that_differ": [" ".join(program.libraries) for _, program in each],
        "reason": [row.reason for row, _ in each],
    }
    return pd.DataFrame(columns)


def interface_table(audit: ParityAudit) -> pd.DataFrame:
    """A row for each fact of each arm that answered, by fact; empty where it cannot be seen."""
    base = reference_of(audit.sides, audit.reference).interface
    facts = dict.fromkeys(fact for side in audit.sides for fact in side.interface)
    rows = [
        (fact, side.arm, side.interface.get(fact, ""), base.get(fact, ""))
        for fact in facts
        for side in audit.sides
        if not side.reason
    ]
    table = pd.DataFrame(rows, columns=["fact", "arm", "value", "reference"])
    return table.assign(
        differs=(table["value"] != table["reference"]).map({True: "yes", False: "no"})
    )
