"""Cases that differ in one parameter alone, as figures and sentences take them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import counted
from parity.plan.plan import Case
from parity.report.figures.specs import spelt

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
