"""Sentences about single events: how many, how long, by what law, and what they cost at scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import counted, listed
from parity.report.text import formatting
from parity.report.text.noise_at_scale import answer
from parity.report.view import ALONE, View, rows_of

TAIL = 0.99  # the quantile that is told in words
POOR = 0.05  # p of a fit below which it is called bad
SEVERAL = 3  # arms up to which each is named
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """A time in the largest unit that it fills, with three digits: `49.9 ms`."""
    unit, name = next((u for u in _UNITS if value >= u[0]), _UNITS[-1])
    return f"{formatting.significant(value / unit)} {name}"


def interval(value: float, low: float, high: float) -> str:
    """A time with its interval, if it has one: `49.9 ms [48.1 ms, 50.2 ms]`."""
    if not np.isfinite([low, high]).all():
        return seconds(value)
    return f"{seconds(value)} [{seconds(low)}, {seconds(high)}]"


def _rows(view: View, spec: FigureSpec, table: str) -> list[Any]:
    """The rows of the first case that a figure shows, in the order of the arms."""
    found = view.of_events[table]
    order = {arm: number for number, arm in enumerate(view.arms)}
    return sorted(
        rows_of(found[found["case"] == view.shown(spec)[0]]), key=lambda row: order[row.arm]
    )


def _names(view: View, rows: Sequence[Any]) -> str:
    """The arms of some rows by name, or how many there are of several."""
    if len(rows) > SEVERAL:
        return f"{len(rows)} arms"
    return listed([formatting.arm_title(view.plan, row.arm) for row in rows])


def _range(
    view: View, rows: Sequence[Any], key: Callable[[Any], float], words: Callable[[Any], str]
) -> str:
    """The rows with the smallest and the largest number, in words."""
    ends = dict.fromkeys(pick(rows, key=key) for pick in (min, max))
    said = [f"{words(row)} ({_names(view, [row])})" for row in ends]
    return f"{'is' if len(said) == 1 else 'ranges from'} {' to '.join(said)}"


def of_timelines(view: View, spec: FigureSpec) -> str:
    """How often arms were interrupted."""
    rows = [r for r in _rows(view, spec, "quantiles") if r.share == TAIL and r.seconds > 0]
    if not rows:
        return ""

    def rate(row: Any) -> float:
        return float(row.events / row.seconds)

    span = _range(view, rows, rate, lambda row: f"{formatting.significant(rate(row))}/s")
    events, looked = sum(row.events for row in rows), sum(row.seconds for row in rows)
    return f"{events:,} detours were recorded in {looked:,.0f} s; their rate {span}."


def of_tails(view: View, spec: FigureSpec) -> str:
    """The 99th percentile of arms that stand alone."""
    return _tail(view, spec, "The", view.kinds[ALONE])


def of_kinds(view: View, spec: FigureSpec) -> str:
    """The 99th percentile of each kind of arms."""
    kinds = ((title, arms) for title, arms in view.kinds.items() if title != ALONE)
    said = [_tail(view, spec, f"Under {title}, the", arms) for title, arms in kinds]
    return " ".join(filter(None, said))


def _tail(view: View, spec: FigureSpec, what: str, arms: Sequence[str]) -> str:
    of_arms = [row for row in _rows(view, spec, "quantiles") if row.arm in arms]
    rows = [row for row in of_arms if row.share == TAIL and row.events]
    if not rows:
        return ""
    span = _range(view, rows, lambda r: r.value, lambda r: interval(r.value, r.low, r.high))
    return f"{what} 99th percentile of detours {span}."


def of_quantiles(view: View, spec: FigureSpec) -> str:
    """Which intervals of ratios lie on one side of 1, quantile by quantile."""
    rows = [row for row in _rows(view, spec, "quantiles") if np.isfinite(row.ratio_low)]
    said = [] if rows else ["Too little was recorded for intervals of these ratios."]
    for share in sorted({row.share for row in rows}):
        of_share = [row for row in rows if row.share == share]
        groups = {
            "lies above 1": [row for row in of_share if row.ratio_low > 1],
            "lies below 1": [row for row in of_share if row.ratio_high < 1],
            "holds 1": [row for row in of_share if row.ratio_low <= 1 <= row.ratio_high],
        }
        parts = [f"{what} with {_names(view, found)}" for what, found in groups.items() if found]
        said.append(f"At {100 * share:g}\u2009% the interval of the ratio {listed(parts)}.")
    return " ".join(said)


def of_quota(view: View, spec: FigureSpec) -> str:
    """How far observed detours are from period less quota."""
    rows = [row for row in _rows(view, spec, "quota_law") if np.isfinite(row.observed)]
    if not rows:
        return "No quota made a detour that could be told from the others."
    span = _range(
        view, rows, lambda row: row.residual,
        lambda row: f"{formatting.number(1e3 * row.residual, 2)} ms",
    )  # fmt: skip
    ticks = {row.tick for row in rows}
    said = f"The median detour of a quota less its prediction {span}"
    if len(ticks) > 1 or not np.isfinite([*ticks]).all():
        return f"{said}."
    close = [r for r in rows if -r.tick <= r.low - r.predicted and r.high - r.predicted <= r.tick]
    return (
        f"{said}; the interval lies within one tick of the timer ({seconds(ticks.pop())}) of the "
        f"prediction in {len(close)} of {counted(len(rows), 'arm')}."
    )


def of_levels(view: View, spec: FigureSpec) -> str:
    """What is reached once in a period, lowest and highest, and where the tail fits badly."""
    rows = _rows(view, spec, "return_levels")
    fitted = [row for row in rows if np.isfinite(row.level)]
    if not fitted:
        return "No arm recorded enough for a return level."
    said = []
    if good := [row for row in fitted if row.fit >= POOR]:
        span = _range(view, good, lambda r: r.level, lambda r: interval(r.level, r.low, r.high))
        said.append(f"What is reached once in {rows[0].period_seconds / 60:g} minutes {span}.")
    if poor := [row for row in fitted if row.fit < POOR]:
        said.append(
            f"The tail fits badly (p below {POOR}) with {_names(view, poor)}, so that such a level "
            "says nothing there."
        )
    if few := [row for row in rows if not np.isfinite(row.level)]:
        said.append(f"Too little was recorded for a level: {_names(view, few)}.")
    return " ".join(said)


def of_replay(view: View, spec: FigureSpec) -> str:
    """From how many ranks on limits or runtimes slow a program."""
    replayed, quotas = (view.of_events[name] for name in ("replay", "quota_law"))
    of_case = replayed[replayed["case"] == view.shown(spec)[0]]
    return answer(view.plan, of_case, set(quotas["arm"]), view.kinds[ALONE])


OF_FORM = {
    Form.TIMELINES: of_timelines,
    Form.TAILS: of_tails,
    Form.KINDS: of_kinds,
    Form.QUANTILES: of_quantiles,
    Form.QUOTA: of_quota,
    Form.LEVELS: of_levels,
    Form.REPLAY: of_replay,
}
