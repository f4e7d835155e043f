"""The answer of one dataset, or of all of a system together: how many ratios ended how, and where.

It is made from plans and tables of comparisons alone, so that the paper of one dataset can have
what is archived beside it without drawing that anew. `templates/answer.txt.j2` says it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import outcomes
from parity.analysis.conclusions import ARM
from parity.extensions.servers.benchmarks import usage
from parity.plan.plan import PLAN, Plan, read_plan
from parity.report import formatting
from parity.report.formatting import Row
from parity.report.templating import sentence
from parity.runtimes import every_arm

CONCLUSIONS = "analysis/conclusions.parquet"
BOUNDS = (0.01, 0.02, 0.05, 0.1)  # costs that a reader may be able to live with
# What became of a ratio; `costs-more` and `costs-less` are both different beyond the margin.
ENDED = (formatting.EQUIVALENT, formatting.COSTS_MORE, formatting.COSTS_LESS, formatting.OPEN)
TOO_WIDE = "intervals too wide for the margin"


@dataclass(frozen=True)
class Ended:
    """A measured ratio of an arm that is asked about."""

    plan: Plan
    row: Any

    @property
    def is_plain(self) -> bool:
        """Whether the arm is as it is listed: no network, limit or neighbour of its own."""
        return self.row.arm in {*every_arm()}

    @property
    def is_cost(self) -> bool:
        """Whether more of its quantity costs anything at all."""
        return self.row.metric not in {quantity.metric for quantity in usage.NO_COSTS}


@dataclass(frozen=True)
class Group:
    """Facts on some ratios together, as the template of the answer says them.

    Attributes:
        counts: by `ENDED`.
        margins: the smallest and the largest.
        blocks: of each.
        reasons: why those that are open are so, the commonest first, with how many.
        wider: of those that are open for their scatter, how many times their margin would pass.
        confounded: how many compare different binaries or libraries.
        whole: titles of programs all of whose ratios are equivalent.
        largest: the largest cost beyond its margin; None without any.
    """

    counts: dict[str, int]
    margins: tuple[float, ...]
    blocks: tuple[int, ...]
    reasons: tuple[tuple[str, int], ...]
    wider: tuple[float, ...]
    confounded: int
    whole: tuple[str, ...]
    largest: Row | None

    @property
    def total(self) -> int:
        """How many ratios there are."""
        return sum(self.counts.values())


def read(folder: Path) -> tuple[Plan, pd.DataFrame]:
    """The plan and the comparisons of a dataset.

    Raises:
        UserError: its plan is broken.
    """
    concluded = pd.read_parquet(folder / CONCLUSIONS)
    return read_plan(folder / PLAN), concluded[concluded["form"] == ARM]


def of_dataset(plan: Plan, compared: pd.DataFrame) -> list[Ended]:
    """The measured ratios in the comparisons of an analysis, but for controls."""
    return [Ended(plan, row) for row in _asked(plan, compared, "ratio") if row.blocks]


def _asked(plan: Plan, compared: pd.DataFrame, kind: str) -> Iterable[Any]:
    """The comparisons of a kind, of the arms that are asked about."""
    asked = compared[
        (compared["kind"] == kind)
        & compared["planned"]
        & ~compared["control"]
        & (compared["arm"] != plan.positive_arm)
    ]
    return asked.itertuples(index=False)


def counts(ended: Iterable[Ended]) -> dict[str, int]:
    """How many ended how, in the order of `ENDED`."""
    return formatting.tallied(each.row for each in ended)


def group(ended: Sequence[Ended]) -> Group:
    """The facts on some ratios."""
    costs = [each for each in ended if formatting.ended_of(each.row) == formatting.COSTS_MORE]
    settled = (outcomes.EQUIVALENT, outcomes.DIFFERENT)
    undecided = [each.row for each in ended if each.row.outcome not in settled]
    by_title: dict[str, list[bool]] = {}
    for each in ended:
        benchmark = each.plan.case(each.row.case).benchmark
        title = formatting.benchmark_title(each.plan, benchmark)
        by_title.setdefault(title, []).append(each.row.outcome == outcomes.EQUIVALENT)
    most = max(costs, key=lambda each: each.row.estimate, default=None)
    wider = (row.smallest_margin / row.margin for row in undecided)
    margins = sorted({each.row.margin for each in ended})
    return Group(
        counts=counts(ended),
        margins=tuple(dict.fromkeys((*margins[:1], *margins[-1:]))),
        blocks=tuple(each.row.blocks for each in ended),
        reasons=tuple(Counter(row.reason or TOO_WIDE for row in undecided).most_common()),
        wider=tuple(sorted(ratio for ratio in wider if ratio > 1)),
        confounded=sum(formatting.is_confounded(each.row) for each in ended),
        whole=tuple(title for title, equivalent in by_title.items() if all(equivalent)),
        largest=formatting.of(most.plan, most.row) if most else None,
    )


def said(datasets: Sequence[tuple[Plan, pd.DataFrame]], constants: int = 0) -> str:
    """The answer of some datasets in a few sentences.

    Args:
        datasets: plans with their comparisons.
        constants: how many ratios are the same in every block.
    """
    ended = [each for plan, compared in datasets for each in of_dataset(plan, compared)]
    costs = [each for each in ended if each.is_cost]
    untested: dict[str, dict[str, None]] = {}
    for plan, compared in datasets:
        for kind in ("ratio", "difference"):
            for row in _asked(plan, compared, kind):
                if not row.blocks:
                    arm = formatting.arm_title(plan, row.arm)
                    untested.setdefault(row.reason, {})[arm] = None
    failed = [
        formatting.subject_of(plan, row)
        for plan, compared in datasets
        for row in compared[compared["control"] & compared["planned"]].itertuples(index=False)
        if row.outcome == outcomes.DIFFERENT
    ]
    titles = (formatting.reference_title(plan) for plan, _ in datasets)
    # In the middle of a sentence; an arm that stands in for a native build keeps its name.
    references = list(dict.fromkeys("native" if title == "Native" else title for title in titles))
    return sentence(
        "answer.txt", references=references, failed=failed, campaigns=len(datasets),
        constants=constants,
        groups=[group([e for e in costs if e.is_plain is plain]) for plain in (True, False)],
        untested=untested, beside=len(ended) - len(costs),
        beside_of=[q.label for q in usage.NO_COSTS if q.metric in {e.row.metric for e in ended}],
        differences=_differences(datasets),
    )  # fmt: skip


def _differences(datasets: Sequence[tuple[Plan, pd.DataFrame]]) -> dict[str, tuple[Row, Row]]:
    """What quantities that no ratio is told of, such as starts, take more than natively.

    Only those of which every arm's 95 % interval lies above none: the smallest and the largest.
    """
    found: dict[str, list[tuple[Any, Row]]] = {}
    for plan, compared in datasets:
        by_ratio = {*compared.loc[compared["kind"] == "ratio", "case"]}
        for row in _asked(plan, compared, "difference"):
            if row.blocks and row.case not in by_ratio and row.arm in {*every_arm()}:
                label = formatting.quantity_of(row).label
                subject = formatting.case_levels(plan, row.case)
                found.setdefault(label, []).append((row, formatting.of(plan, row, subject)))
    ends = {
        label: [pick(of_label, key=lambda pair: pair[0].estimate)[1] for pick in (min, max)]
        for label, of_label in found.items()
        if all(row.low95 > 0 for row, _ in of_label)
    }
    return {label: (low, high) for label, (low, high) in ends.items()}


def bounds(datasets: Sequence[tuple[Plan, pd.DataFrame]]) -> str:
    """In how many ratios of arms as they are a cost lies below some bounds."""
    ended = [each for plan, compared in datasets for each in of_dataset(plan, compared)]
    highest = [each.row.high95 for each in ended if each.is_plain and each.is_cost]
    below = [(bound, sum(high < 1 + bound for high in highest)) for bound in BOUNDS]
    return sentence("bounds.txt", total=len(highest), below=below)
