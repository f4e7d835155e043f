"""Tables of single events: their lengths, the law of CPU quotas, return levels, many ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis.noise.replay import RANDOM
from parity.core.wording import interval
from parity.report.tables.results import case_and_arm, in_order
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import ALONE, View, rows_of

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SLOWED = 1.01  # a step that takes longer than this, over that of the reference, is slowed


def _milliseconds(value: float, digits: int = 3) -> str:
    # What a law without an end says is further than anything that was ever seen.
    return "> 10⁶" if value > 1e3 else formatting.number(1e3 * value, digits)


def _with_ends(value: float, low: float, high: float, shown: Callable[[float], str]) -> str:
    """A number with its interval, if it has one."""
    if not np.isfinite(value):
        return "–"
    return f"{shown(value)} [{shown(low)}, {shown(high)}]" if np.isfinite(low) else shown(value)


def _seconds(value: float) -> str:
    """A time in the largest unit that it fills, with three digits: `49.9 ms`."""
    unit, name = next((u for u in _UNITS if value >= u[0]), _UNITS[-1])
    return f"{formatting.significant(value / unit)} {name}"


def quantiles(view: View) -> Table:
    """How long detours are, arm by arm, and the ratios of that to the reference's."""
    cells = [
        (
            *case_and_arm(view, row),
            f"{100 * row.share:g}\u2009%",
            f"{row.events:,}",
            formatting.number(row.seconds, 0),
            _with_ends(row.value, row.low, row.high, _seconds),
            _with_ends(row.ratio, row.ratio_low, row.ratio_high, formatting.number),
        )
        for row in in_order(view, view.of_events["quantiles"])
    ]
    return Table("quantiles", cells)


def quota_law(view: View) -> Table:
    """Predicted and observed length of the detours that each CPU quota makes."""
    cells = [
        (
            *case_and_arm(view, row),
            str(row.events),
            formatting.percent(row.share),
            _milliseconds(row.predicted, 1),
            _with_ends(row.observed, row.low, row.high, _milliseconds),
            _milliseconds(row.residual),
            formatting.number(row.residual / row.tick, 2),
        )
        for row in in_order(view, view.of_events["quota_law"])
    ]
    return Table("quota-law", cells)


def return_levels(view: View) -> Table:
    """What detours reach once in a period, by a fitted tail."""
    cells = [
        (
            *case_and_arm(view, row),
            str(row.exceedances),
            formatting.significant(1e6 * row.threshold),
            _with_ends(row.shape, row.shape_low, row.shape_high, lambda v: formatting.number(v, 2)),
            _with_ends(row.level, row.low, row.high, _milliseconds),
            _milliseconds(row.longest),
            formatting.number(row.fit, 2),
        )
        for row in in_order(view, view.of_events["return_levels"])
    ]
    return Table("return-levels", cells)


def replay(view: View) -> Table:
    """From how many ranks on programs whose ranks meet events of their own are slowed.

    A slowdown is one beyond that of the reference: the interval of an arm over that of the
    reference, end against end, which is wider than one of their ratio.
    """
    if not len(view.of_events["replay"]):
        return Table("replay", [])
    against, quotas = _beside(view), set(view.of_events["quota_law"]["arm"])
    alone = {*view.kinds[ALONE]} - quotas
    kinds = {"under a CPU quota": quotas, "runtimes alone": alone}
    kinds["other limits"] = {*view.arms} - quotas - alone
    cells: list[tuple[str, ...]] = []
    for title, arms in kinds.items():
        of_kind = [r for r in rows_of(against) if r.arm in arms and r.arm != view.plan.double]
        for step in sorted({row.step_seconds for row in of_kind}):
            cells += _of_step(view, title, [row for row in of_kind if row.step_seconds == step])
    return Table("replay", cells)


def _of_step(view: View, title: str, found: Sequence[Any]) -> list[tuple[str, ...]]:
    told = [row for row in found if not row.beyond]
    slowed = [row for row in found if row.low_ratio > SLOWED]
    if not (told or slowed):
        return []
    most = max(slowed or told, key=lambda row: float(row.low_ratio))
    numbers = f"{formatting.number(most.slowdown_ratio)} "
    return [(
        title, formatting.step_words(most.step_seconds),
        str(min(row.ranks for row in slowed)) if slowed else "not shown",
        formatting.arm_title(view.plan, most.arm), str(most.ranks),
        numbers + interval(most.low_ratio, most.high_ratio),
        str(max((row.ranks for row in told), default=0)),
    )]  # fmt: skip


def _beside(view: View) -> pd.DataFrame:
    """The slowdowns of the first case that has some, over those of the reference.

    Where the reference has only a lower bound, or one of both no interval, nothing is known.
    """
    replayed, plan = view.of_events["replay"], view.plan
    there = replayed[(replayed["phases"] == RANDOM) & replayed["low"].notna()]
    cases = [case.name for case in plan.cases if case.name in there["case"].array]
    there = there[there["case"].isin(cases[:1])]
    base = there[(there["arm"] == plan.reference) & ~there["beyond"].astype(bool)]
    at = ["ranks", "step_seconds"]
    both = there[there["arm"] != plan.reference].merge(base, on=at, suffixes=("", "_of_reference"))
    for name, other in (("slowdown", "slowdown"), ("low", "high"), ("high", "low")):
        both[f"{name}_ratio"] = both[name] / both[f"{other}_of_reference"]
    return both.sort_values([*at, "arm"], ignore_index=True)
