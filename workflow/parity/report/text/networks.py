"""Sentences about ranks that are split over containers, and about what waits between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import capital, counted, listed, span
from parity.report.along import Point, curves, margin_of, published, ratios_by_size
from parity.report.series import CONTAINERS, Series
from parity.report.text import formatting
from parity.report.view import View

Points = Mapping[str, Sequence[Point]]
_LEVEL = {CONTAINERS: ("container on each node", "containers on each node")}


def of_along(view: View, spec: FigureSpec) -> str:
    """What the lowest and the highest level cost, series by series, and how all of it ended."""
    return " ".join(_series(view, spec, each) for each in view.series(spec))


def _series(view: View, spec: FigureSpec, each: Series) -> str:
    found = curves(view, spec, each)
    blocks = [point.blocks for points in found.values() for point in points]
    if not blocks:
        return f"{_title(each)}: no value."
    margin = margin_of(view, spec)
    basis = [f"{span(blocks)} {'block' if max(blocks) == 1 else 'blocks'}"]
    if margin and not spec.scatter:
        basis.insert(0, f"margin {formatting.margin(margin)}")
    others = {arm: points for arm, points in found.items() if arm != view.plan.double}
    arms = found if spec.scatter else others
    levels = [*each.cases]
    ends = "; ".join(_at(view, spec, arms, level) for level in (levels[0], levels[-1]))
    said = f"{_title(each)} ({', '.join(basis)}), {_what(spec)} {ends}"
    theirs = [
        f"{label}: {listed(formatting.significant(ratio) for ratio in of.values())} at {listed(of)}"
        for label, of in published(view, spec, each).items()
    ]
    shown = f" Published, {'; '.join(theirs)}." if theirs else ""
    return f"{said}.{shown}"


def _title(each: Series) -> str:
    return capital(each.title)


def _what(spec: FigureSpec) -> str:
    return "coefficient of variation" if spec.scatter else "cost ratio"


def _value(point: Point, spec: FigureSpec) -> str:
    """A number with its interval, if it has one."""
    digits, unit = (1, "\u2009%") if spec.scatter else (3, "")
    if not np.isfinite([point.low, point.high]).all():
        return f"{formatting.number(point.value, digits)}{unit}"
    low, high = (formatting.number(end, digits) for end in (point.low, point.high))
    return f"{formatting.number(point.value, digits)}{unit} [{low}, {high}]"


def _at(view: View, spec: FigureSpec, found: Points, level: int) -> str:
    """The arms with the smallest and the largest number at a level."""
    points = [(p, arm) for arm, of_arm in found.items() for p in of_arm if p.level == level]
    one, many = _LEVEL.get(spec.along, (spec.along.removesuffix("s"), spec.along))
    where = f"at {level} {one if level == 1 else many}"
    if not points:
        return f"{where}: no value"
    ends = dict.fromkeys(pick(points, key=lambda each: each[0].value) for pick in (min, max))
    said = [f"{_value(p, spec)} ({formatting.arm_title(view.plan, arm)})" for p, arm in ends]
    return f"{where}: {' to '.join(said)}"


def of_timeouts(view: View, spec: FigureSpec) -> str:
    """What each timeout costs, case by case and arm by arm, beside the least waiting time."""
    cases = view.shown(spec)
    return " ".join(filter(None, [*(_waited(view, case) for case in cases), _none(view, cases)]))


def _waited(view: View, case: str) -> str:
    """One case: seconds for each timeout, and the arms of which nothing is told of that."""
    rows, levels = view.waits([case]), formatting.case_levels(view.plan, case)
    told = [row for row in rows if np.isfinite(row.slope)]
    alike = [row for row in rows if row not in told]
    wait = rows[0].rto_min_ms
    said = [
        f"each timeout cost {listed(_cost(view, row) for row in told)}" if told else "",
        f"all runs had as many with {listed(_counts(view, row) for row in alike)}, so what one "
        "costs is not told" if alike else "",
        f"the least waiting time is {wait / 1000:g} s" if np.isfinite(wait) else "",
    ]  # fmt: skip
    return f"{capital(levels)}: {'; '.join(filter(None, said))}."


def _cost(view: View, row: Any) -> str:
    few = "" if np.isfinite(row.low) else ", too few for an interval"
    explained = f"{formatting.percent(row.explained)} of the variance explained"
    return f"{formatting.slope(row)} with {_counts(view, row, f'{few}, {explained}')}"


def _counts(view: View, row: Any, more: str = "") -> str:
    """An arm with its timeouts and runs."""
    name = formatting.arm_title(view.plan, row.arm)
    return f"{name} ({counted(row.timeouts, 'timeout')} in {counted(row.runs, 'run')}{more})"


def _none(view: View, cases: Sequence[str]) -> str:
    """The arms that had no timeout in any of these cases."""
    lines = view.analysis.timeouts
    of_cases = lines[lines["case"].isin(list(cases))]
    had = of_cases.groupby("arm")["timeouts"].sum()
    none = [formatting.arm_title(view.plan, arm) for arm in view.arms if had.get(arm, 1) == 0]
    return f"No timeout was counted with {listed(none)}." if none else ""


def of_sizes(view: View, spec: FigureSpec) -> str:
    """The sizes at which an arm is farthest from the reference, case by case."""
    return " ".join(_farthest(view, case) for case in view.shown(spec))


def _farthest(view: View, case: str) -> str:
    """The smallest and the largest median ratio of times of all arms, and of the A/A pair."""
    levels = formatting.case_levels(view.plan, case)
    found = {arm: at for arm, at in ratios_by_size(view, case).items() if len(at)}
    pair = found.pop(view.plan.double, None)
    every = [(ratio, size, arm) for arm, at in found.items() for size, ratio in at.items()]
    if not every:
        return f"{levels}: no arm has messages beside those of the reference."
    said = [
        f"{formatting.number(ratio)} ({formatting.arm_title(view.plan, arm)}, {size:,} B)"
        for ratio, size, arm in dict.fromkeys((min(every), max(every)))
    ]
    double = ""
    if pair is not None:
        low, high = formatting.number(pair.min()), formatting.number(pair.max())
        double = f"; those of the A/A pair {low} to {high}"
    return f"{levels}: median ratios of times within blocks: {' to '.join(said)}{double}."


def of_parts(view: View, spec: FigureSpec) -> str:
    """What share each part has natively, and in the arm in which it has most, case by case."""
    said = [said for case in view.shown(spec) if (said := _parts(view, spec, case))]
    return " ".join(["Shares natively, and the largest of an arm:", *said]) if said else ""


def _parts(view: View, spec: FigureSpec, case: str) -> str:
    values, native = view.parts(spec, case), view.plan.reference
    means = values.groupby(level="arm").mean()
    if native not in means.index:
        return ""
    said = []
    for each in spec.quantities:
        shares = dict(100 * means[each.metric] / means.sum(axis="columns"))
        most = max(shares, key=lambda arm: shares[arm])
        title = formatting.arm_title(view.plan, str(most))
        numbers = f"{shares[native]:.0f} and {shares[most]:.0f}\u2009%"
        said.append(f"{each.label} {numbers} ({title})")
    blocks = span([*values.groupby(level="arm").size()])
    levels = formatting.case_levels(view.plan, case)
    return f"{levels}, over {blocks} blocks: {listed(said)}."


OF_FORM: dict[Form, Callable[[View, FigureSpec], str]] = {
    Form.ALONG: of_along,
    Form.TIMEOUTS: of_timeouts,
    Form.SIZES: of_sizes,
    Form.PARTS: of_parts,
}
