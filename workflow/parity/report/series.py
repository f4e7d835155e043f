"""Cases that differ in one parameter alone, as figures and sentences take them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from parity.analysis.methods import cv_bound
from parity.benchmarks import benchmarks
from parity.benchmarks.description import Bars, FigureSpec
from parity.claims.published import FIGURES
from parity.core.wording import counted
from parity.plan.plan import Case
from parity.report.figures.specs import spelt

if TYPE_CHECKING:
    from parity.report.view import View

NODES, RANKS, CONTAINERS = "nodes", "ranks", "containers_per_node"
PLACES = (NODES, RANKS, CONTAINERS)
ON_EACH, IN_EACH = "ranks on each node", "ranks in each container"
Others = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """Cases that differ in one parameter alone, ascending.

    Attributes:
        title: what they have in common.
        cases: level of the parameter to case.
    """

    title: str
    cases: dict[int, str]


def series(spec: FigureSpec, cases: Sequence[Case]) -> list[Series]:
    """The series of a figure along a parameter, each of two levels at least.

    Along ranks there are others than of as many nodes and containers, which grow with them in
    publications: where as many ranks are on each node, or in each container.
    """
    placed = [case for case in cases if spec.along in case.parameters]
    found: dict[tuple[str, ...], tuple[Others, dict[int, str]]] = {}
    for others in _KINDS if spec.along == RANKS else _KINDS[:1]:
        for common, by_level in _alike(placed, spec.along, others):
            if len(by_level) > 1:
                found.setdefault(tuple(by_level.values()), (common, by_level))
    every = [common for common, _ in found.values()]
    return [Series(_title(spec, common, every), by_level) for common, by_level in found.values()]


def _alike(
    cases: Sequence[Case], along: str, others: Callable[[Case, str], Others]
) -> list[tuple[Others, dict[int, str]]]:
    """Cases by level, of those that have all others in common, and what these are."""
    groups: dict[str, tuple[Others, dict[int, str]]] = {}
    for case in sorted(cases, key=lambda case: float(case.parameters[along])):
        common = others(case, along)
        group = groups.setdefault(str(sorted(common.items())), (common, {}))
        group[1][case.parameters[along]] = case.name
    # In the order of the plan.
    order = {case.name: place for place, case in enumerate(cases)}
    return sorted(groups.values(), key=lambda group: min(order[case] for case in group[1].values()))


def _fixed(case: Case, along: str) -> Others:
    return {name: value for name, value in case.parameters.items() if name != along}


def _of_each_node(case: Case, along: str) -> Others:
    """The same with the ranks of each node for the nodes."""
    others = dict(_fixed(case, along))
    return others | {ON_EACH: case.parameters[along] / others.pop(NODES, 1)}


def _of_each_container(case: Case, along: str) -> Others:
    """The same with the ranks of each container for the containers."""
    others = dict(_fixed(case, along))
    containers = others.get(NODES, 1) * others.pop(CONTAINERS, 1)
    return others | {IN_EACH: case.parameters[along] / containers}


def _title(spec: FigureSpec, common: Others, all_others: Sequence[Others]) -> str:
    """Where a series was placed, and in what it differs from others of its figure."""
    always = (*benchmarks()[spec.benchmark].factors, ON_EACH, IN_EACH)
    said = [
        _said(spec.benchmark, name, level)
        for name, level in common.items()
        if name not in PLACES
        and (name in always or len({str(o.get(name)) for o in all_others}) > 1)
    ]
    placed = [counted(common[name], word) for name, word in _WORDS.items() if name in common]
    return ", ".join([*said, *placed])


_KINDS = (_fixed, _of_each_node, _of_each_container)
_WORDS = {NODES: "node", RANKS: "rank", CONTAINERS: "container"}


def _said(benchmark: str, name: str, value: Any) -> str:
    """A level that is not a place: a word by itself, or a number with what it is of."""
    if name in (ON_EACH, IN_EACH):
        return counted(round(value), "rank") + name.removeprefix("ranks")
    for level in (str(value), f"{name}_{value}".lower()):
        if (words := spelt(benchmark, level)) != level:
            return words
    return f"{name} {value}"


CV_NEEDS = 5  # values, for an interval of a coefficient of variation


@dataclass(frozen=True)
class Point:
    """An arm at one level.

    Attributes:
        value: cost ratio, or coefficient of variation in %.
        low, high: ends of its 95 % interval; not numbers without one.
        blocks: what it rests on.
    """

    level: int
    value: float
    low: float
    high: float
    blocks: int


Curves = Mapping[str, Sequence[Point]]


def curves(view: View, spec: FigureSpec, each: Series) -> Curves:
    """The points of each arm that has any; of ratios all but the reference have."""
    made: dict[str, list[Point]] = {}
    for level, case in each.cases.items():
        for arm, point in (_scatter if spec.scatter else _ratios)(view, spec, case, level):
            made.setdefault(arm, []).append(point)
    return made


def _ratios(view: View, spec: FigureSpec, case: str, level: int) -> list[tuple[str, Point]]:
    rows = view.comparisons(case, spec.quantities[0].metric).values()
    return [
        (row.arm, Point(level, row.estimate, row.low95, row.high95, row.blocks))
        for row in rows
        if row.kind == "ratio" and row.blocks
    ]


def _scatter(view: View, spec: FigureSpec, case: str, level: int) -> list[tuple[str, Point]]:
    found = []
    for arm, values in view.values(case, spec.quantities[0].metric).items():
        if len(values) > 1:
            low, high = np.nan, np.nan
            if len(values) >= CV_NEEDS and min(values) > 0:
                low, high = (100 * cv_bound(values, share) for share in (0.025, 0.975))
            cv = 100 * float(np.std(values, ddof=1) / np.mean(values))
            found.append((arm, Point(level, cv, low, high, len(values))))
    return found


def published(view: View, spec: FigureSpec, each: Series) -> dict[str, dict[int, float]]:
    """Published cost ratios of the program of a series, by what they are of and by level."""
    if FIGURES not in view.published or spec.scatter:
        return {}
    parameters = view.plan.case(next(iter(each.cases.values()))).parameters
    return {
        f"{bars.code}, {bars.label} ({bars.place})": ratios(view.published[FIGURES], bars)
        for bars in spec.bars
        if all(str(parameters.get(name)) == level for name, level in bars.cases.items())
    }


def ratios(table: pd.DataFrame, bars: Bars) -> dict[int, float]:
    """Cost ratios of published bars by level.

    Args:
        table: the bars of all figures in s, rows place, code and x, columns series.
    """
    of_code = table.xs((bars.place, bars.code))
    if bars.x:
        row = of_code.xs(bars.x).dropna()
        counts = {name: name.removesuffix("/node") for name in row.index if "/node" in name}
        return {int(count): float(row[name] / row[bars.over]) for name, count in counts.items()}
    divided = (of_code[bars.series] / of_code[bars.over]).dropna()
    return dict(sorted((int(str(x)), float(ratio)) for x, ratio in divided.items()))


def margin_of(view: View, spec: FigureSpec) -> float | None:
    """The margin of a figure's cases, which are of one benchmark."""
    return view.plan.case(view.shown(spec)[0]).margin


def ratios_by_size(view: View, case: str) -> dict[str, pd.Series]:
    """Of each arm but the reference the median over blocks of its times over the reference's.

    Returns:
        By arm, indexed by the size of a message in bytes.
    """
    times = view.message_times
    wide = times[times["case"] == case].pivot(
        index=["block", "size"], columns="arm", values="seconds"
    )
    if view.plan.reference not in wide:
        return {}
    over = wide.div(wide.pop(view.plan.reference), axis="index").groupby("size").median()
    return {arm: over[arm].dropna() for arm in view.arms if arm in over}
