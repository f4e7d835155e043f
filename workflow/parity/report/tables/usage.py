"""Tables of what runs used: bytes on each interface that they crossed, and the disks' requests."""

from __future__ import annotations

import pandas as pd

from parity.report import ledgers
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View

_MIB = 2**20
_LEAST = 0.05 * _MIB  # bytes per GiB that a line would show as 0.0


def byte_ledger(view: View) -> Table:
    """Bytes by interface, and how often the sum has what the one link has once."""
    found, rows = ledgers.ledger(view), []
    for case, arm, blocks in _places(view, found):
        values = ledgers.of_arm(found, case, arm)
        link = ledgers.both_ways(values).get(ledgers.LINK, 0.0)
        ways = [ledgers.of_way(values, way) for way in ledgers.WAYS]
        whole = [{**way, "sum": sum(way.values())} for way in ways]
        for part, received in whole[0].items():
            sent = whole[1][part]
            if received + sent < _LEAST:
                continue
            times = f"{(received + sent) / link:.2f}" if link else "–"
            counted = (f"{received / _MIB:,.1f}", f"{sent / _MIB:,.1f}", times)
            rows.append((*_titles(view, case, arm), blocks, part, *counted))
    return Table("byte-ledger", rows)


def request_ledger(view: View) -> Table:
    """Requests and bytes of the disks for the same data."""
    found, rows = ledgers.ledger(view), []
    for case, arm, blocks in _places(view, found):
        values = ledgers.of_arm(found, case, arm)
        if any(what not in values for what in ledgers.DISK):
            continue
        reads, writes, got, written = (values[what] for what in ledgers.DISK)
        each = "–" if not writes else f"{written / writes / 1024:,.0f}"
        numbers = (f"{reads:,.0f}", f"{writes:,.0f}", each)
        shares = (f"{got / 2**30:.2f}", f"{written / 2**30:.2f}")
        rows.append((*_titles(view, case, arm), blocks, *numbers, *shares))
    return Table("request-ledger", rows)


def _places(view: View, found: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Case, arm and number of blocks of a ledger, in the order of the plan."""
    blocks = found.groupby(["case", "arm"])["n"].max().to_dict()
    return [
        (case.name, arm, str(blocks[case.name, arm]))
        for case in view.plan.cases
        for arm in view.arms
        if (case.name, arm) in blocks
    ]


def _titles(view: View, case: str, arm: str) -> tuple[str, str]:
    return formatting.case_title(view.plan, case), formatting.arm_title(view.plan, arm)
