"""The answer of datasets: how many ratios ended how, from plans and tables of comparisons alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parity.analysis import outcomes
from parity.analysis.conclusions import ARM
from parity.benchmarks.description import Quantity
from parity.plan.plan import PLAN, Plan, read_plan
from parity.report import formatting
from parity.report.figures.specs import quantity
from parity.report.formatting import COSTS_LESS, COSTS_MORE, EQUIVALENT, OPEN, Row
from parity.report.templating import sentence
from parity.runtimes import every_arm

BOUNDS = (0.01, 0.02, 0.05, 0.1)  # costs that a reader may be able to live with
# What became of a ratio; `costs-more` and `costs-less` are both different beyond the margin.
ENDED = (EQUIVALENT, COSTS_MORE, COSTS_LESS, OPEN)
TOO_WIDE = "intervals too wide for the margin"
Compared = tuple[Plan, pd.DataFrame]  # a plan with the table of its comparisons


class Asked(NamedTuple):
    """A planned comparison of an arm that is asked about, which no control of either kind is."""

    plan: Plan
    row: Any

    @property
    def is_plain(self) -> bool:
        """Whether the arm is as it is listed: no network, limit or neighbour of its own."""
        return self.row.arm in {*every_arm()}

    @property
    def quantity(self) -> Quantity:
        """What was measured."""
        return quantity(self.row.case, self.row.metric, self.row.unit, self.plan.definitions)


def read(folder: Path) -> Compared:
    """The plan and the comparisons of a dataset; a UserError where its plan is broken."""
    concluded = pd.read_parquet(folder / "analysis/conclusions.parquet")
    return read_plan(folder / PLAN), concluded[concluded["form"] == ARM]


def asked(datasets: Iterable[Compared], *kinds: str) -> list[Asked]:
    """The comparisons of these kinds (`ratio`, `difference`), measured or not."""
    return [
        Asked(plan, row)
        for plan, compared in datasets
        for kind in kinds
        for row in compared[
            (compared["kind"] == kind) & compared["planned"] & ~compared["control"]
        ].itertuples(index=False)
        if row.arm != plan.positive_arm
    ]


def measured(*datasets: Compared) -> list[Asked]:
    """The measured ratios in the comparisons of an analysis, but for controls."""
    return [ratio for ratio in asked(datasets, "ratio") if ratio.row.blocks]


def group(ratios: Sequence[Asked]) -> dict[str, Any]:
    """Facts on some ratios together, as the template of the answer says them.

    Returns:
        total: how many; counts: by `ENDED`; margins: the smallest and the largest; blocks: of
        each; reasons: why those that are open are so, the commonest first, with how many; wider:
        of those that are open for their scatter, how many times their margin would pass;
        confounded: how many compare different binaries or libraries; whole: titles of programs
        all of whose ratios are equivalent; largest: the largest cost beyond its margin, if any.
    """
    rows = [ratio.row for ratio in ratios]
    settled = (outcomes.EQUIVALENT, outcomes.DIFFERENT)
    undecided = [row for row in rows if row.outcome not in settled]
    wider = sorted(row.smallest_margin / row.margin for row in undecided)
    titles = [
        formatting.benchmark_title(ratio.plan, ratio.plan.case(ratio.row.case).benchmark)
        for ratio in ratios
    ]
    broken = {t for t, row in zip(titles, rows, strict=True) if row.outcome != outcomes.EQUIVALENT}
    margins = sorted({row.margin for row in rows})
    dearer = (ratio for ratio in ratios if formatting.ended_of(ratio.row) == COSTS_MORE)
    most = max(dearer, key=lambda ratio: ratio.row.estimate, default=None)
    return {
        "total": len(rows),
        "counts": formatting.tallied(rows),
        "margins": list(dict.fromkeys((*margins[:1], *margins[-1:]))),
        "blocks": [row.blocks for row in rows],
        "reasons": Counter(row.reason or TOO_WIDE for row in undecided).most_common(),
        "wider": [times for times in wider if times > 1],
        "confounded": sum(map(formatting.is_confounded, rows)),
        "whole": [title for title in dict.fromkeys(titles) if title not in broken],
        "largest": formatting.of(*most) if most else None,
    }


def said(datasets: Sequence[Compared], constants: int = 0) -> str:
    """The answer of some datasets, in which so many ratios are the same in every block."""
    ratios = measured(*datasets)
    costs = [ratio for ratio in ratios if ratio.quantity.is_cost]
    beside = [ratio for ratio in ratios if not ratio.quantity.is_cost]
    untested: dict[str, dict[str, None]] = {}
    for plan, row in asked(datasets, "ratio", "difference"):
        if not row.blocks:
            untested.setdefault(row.reason, {})[formatting.arm_title(plan, row.arm)] = None
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
        constants=constants, untested=untested, differences=_differences(datasets),
        groups=[group([r for r in costs if r.is_plain is plain]) for plain in (True, False)],
        beside=len(beside), beside_of=dict.fromkeys(ratio.quantity.label for ratio in beside),
    )  # fmt: skip


def _differences(datasets: Sequence[Compared]) -> dict[str, tuple[Row, Row]]:
    """What other quantities, such as starts, take more than natively: smallest and largest.

    Only those of which every arm's 95 % interval lies above none.
    """
    by_ratio = {
        (plan.campaign, case)
        for plan, compared in datasets
        for case in compared.loc[compared["kind"] == "ratio", "case"]
    }
    by_label: dict[str, list[Asked]] = {}
    for of_arm in asked(datasets, "difference"):
        plan, row = of_arm
        if row.blocks and of_arm.is_plain and (plan.campaign, row.case) not in by_ratio:
            by_label.setdefault(of_arm.quantity.label, []).append(of_arm)
    ends: dict[str, tuple[Row, Row]] = {}
    for label, of_arms in by_label.items():
        if all(row.low95 > 0 for _, row in of_arms):
            of_arms.sort(key=lambda of_arm: of_arm.row.estimate)
            low, high = (
                formatting.of(plan, row, formatting.case_levels(plan, row.case))
                for plan, row in (of_arms[0], of_arms[-1])
            )
            ends[label] = (low, high)
    return ends


def bounds(datasets: Sequence[Compared]) -> str:
    """In how many ratios of arms as they are a cost lies below some bounds."""
    plain = (ratio for ratio in measured(*datasets) if ratio.is_plain and ratio.quantity.is_cost)
    highest = [ratio.row.high95 for ratio in plain]
    below = [(bound, sum(high < 1 + bound for high in highest)) for bound in BOUNDS]
    return sentence("bounds.txt", total=len(highest), below=below)
