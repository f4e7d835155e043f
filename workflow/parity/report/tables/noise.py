"""Tables of what single events show: the law of CPU quotas, and return levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.report.tables.result_tables import case_and_arm, in_order
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View


def _milliseconds(value: float, digits: int = 3) -> str:
    # What a law without an end says is further than anything that was ever seen.
    return "> 10⁶" if value > 1e3 else formatting.number(1e3 * value, digits)


def _interval(row: Any, value: float) -> str:
    """A time in ms with the interval of its row."""
    if not np.isfinite(value):
        return "–"
    return f"{_milliseconds(value)} [{_milliseconds(row.low)}, {_milliseconds(row.high)}]"


def quota_law(view: View) -> Table:
    """Predicted and observed length of the detours that each CPU quota makes."""
    rows = [
        (
            *case_and_arm(view, row),
            str(row.events),
            formatting.percent(row.share),
            _milliseconds(row.predicted, 1),
            _interval(row, row.observed),
            _milliseconds(row.residual),
            formatting.number(row.residual / row.tick, 2),
        )
        for row in in_order(view, view.of_events["quota_law"])
    ]
    head = ("case", "arm", "n", "of all", "period − quota, ms", "median [95 %], ms",
            "residual, ms", "in ticks")  # fmt: skip
    return Table("quota-law", r"L{2.6cm}L{3.2cm}rrrlrr", head, rows, "no arm has a CPU quota")


def return_levels(view: View) -> Table:
    """What detours reach once in a period, by a fitted tail."""
    rows = [
        (
            *case_and_arm(view, row),
            str(row.exceedances),
            formatting.significant(1e6 * row.threshold),
            f"{formatting.number(row.shape, 2)} [{formatting.number(row.shape_low, 2)}, "
            f"{formatting.number(row.shape_high, 2)}]",
            _interval(row, row.level),
            _milliseconds(row.longest),
            formatting.number(row.fit, 2),
        )
        for row in in_order(view, view.of_events["return_levels"])
    ]
    head = ("case", "arm", "n", "threshold, µs", "shape [95 %]", "level [95 %], ms",
            "longest, ms", "fit, p")  # fmt: skip
    empty = "no detours were recorded"
    return Table("return-levels", r"L{2.6cm}L{3.2cm}rrllrr", head, rows, empty)
