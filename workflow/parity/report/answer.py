"""The answer of datasets: what containers cost at most, from plans and tables of comparisons."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.conclusions import ARM
from parity.analysis.decision import FEWEST_FOR_EQUIVALENCE
from parity.benchmarks.description import FIXED, WORK, Quantity
from parity.plan.plan import PLAN, Plan, read_plan
from parity.report import formatting
from parity.report.figures.specs import quantity
from parity.report.templating import sentence
from parity.runtimes import every_arm

BOUNDS = (0.01, 0.02, 0.05, 0.1)  # costs that a reader may be able to live with
# What is known of a ratio, and of how many the two sides are the same within the margin.
ANSWERS = (outcomes.AT_MOST, outcomes.COSTS, outcomes.SAVES, outcomes.CANNOT_TELL)
SAME = "same"
REPEATED = 1e-3  # two numbers whose ratios are as near are one, printed twice
WARM_START = "startup-warm"  # of an image that was read before
Compared = tuple[Plan, pd.DataFrame]  # a plan with the table of its comparisons


class Asked(NamedTuple):
    """A planned comparison of an arm that is asked about, which no control of either kind is."""

    plan: Plan
    row: Any

    @property
    def is_plain(self) -> bool:
        """Whether the arm is a runtime as a site offers it: no variant, network or limit."""
        listed = every_arm()
        # An arm that is derived of one has a name that is not listed.
        return self.row.arm in {*listed} and listed[self.row.arm].is_plain

    @property
    def is_cost(self) -> bool:
        """Whether it belongs into a count of costs, of which there is one.

        What is the same in every block is a constant, bytes on a link are no cost of their own
        (`Quantity.is_cost`), and of what lost runs nothing is known. What was measured at two
        lengths counts by its work alone.
        """
        # The narrower interval: the wider one may be the whole line at the level of a look.
        is_constant = self.row.low90 == self.row.high90
        is_mixed = self.row.case in self.plan.shorter_of and self.row.metric != WORK.metric
        return self.quantity.is_cost and not (is_constant or is_mixed or self.row.barred)

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
    found = []
    for (plan, compared), kind in product(datasets, kinds):
        of_kind = (compared["kind"] == kind) & compared["planned"] & ~compared["control"]
        rows = compared[of_kind & (compared["arm"] != plan.positive_arm)]
        found += [Asked(plan, row) for row in rows.itertuples(index=False)]
    return found


def measured(*datasets: Compared) -> list[Asked]:
    """The measured ratios in the comparisons of an analysis, each once, and none of controls.

    A rate that is the inverse of a time in the same runs has its ratio again: it is left out. The
    work alone never is, as it is what counts where it is known.
    """
    found = []
    for compared in datasets:
        known: dict[tuple[str, str], list[tuple[str, np.ndarray]]] = {}
        for ratio in asked([compared], "ratio"):
            row = ratio.row
            ends = np.array([row.estimate, row.low95, row.high95])
            others = known.setdefault((row.case, row.arm), [])
            is_again = any(
                {row.better, better} == {"lower", "higher"}
                and np.allclose(ends, other, rtol=REPEATED)
                for better, other in others
            )
            if row.blocks and (row.metric == WORK.metric or not is_again):
                others.append((row.better, ends))
                found.append(ratio)
    return found


def starts(compared: Compared) -> dict[tuple[str, str], str]:
    """What an arm adds to what is paid once, in words, by case and arm: `+192 [159, 307] ms …`.

    Of pairs that is CPU time alone, and no start is in it.
    """
    plan, _ = compared
    return {(row.case, row.arm): f"{'+' * (row.estimate > 0)}{told.estimate} {told.unit} "
            + ("once" if plan.in_pairs(row.case) else "to start")
            for _, row in asked([compared], "difference")
            if row.metric == FIXED.metric and row.blocks
            for told in [formatting.of(plan, row)]}  # fmt: skip


def tallied(rows: Iterable[Any]) -> dict[str, int]:
    """How many comparisons have each of `ANSWERS`, and how many are the same."""
    every = list(rows)
    ended = Counter(str(row.answer) for row in every)
    counts = {name: ended.pop(name, 0) for name in ANSWERS}
    counts[outcomes.CANNOT_TELL] += ended.total()
    return counts | {SAME: sum(map(formatting.is_same, every))}


def below(rows: Iterable[Any]) -> dict[float, int]:
    """In how many comparisons the cost has an upper 95 % bound within each of `BOUNDS`."""
    highest = [row.high90 for row in rows if not row.barred]
    return {bound: sum(high <= 1 + bound for high in highest) for bound in BOUNDS}


def group(ratios: Sequence[Asked]) -> dict[str, Any]:
    """Facts on some ratios together, as the template of the answer says them.

    `total`: how many; `counts`: as `tallied`; `below`: as `below`; `margins`: the smallest and the
    largest; `blocks`: of each; `confounded`: how many compare different binaries or libraries;
    `whole`: titles of programs all of whose ratios are the same; `largest`: the largest cost that
    was shown, if any.
    """
    rows = [ratio.row for ratio in ratios]
    titles = [formatting.benchmark_title(p, p.case(row.case).benchmark) for p, row in ratios]
    broken = {t for t, row in zip(titles, rows, strict=True) if not formatting.is_same(row)}
    margins = sorted({row.margin for row in rows})
    dearer = (ratio for ratio in ratios if ratio.row.answer == outcomes.COSTS)
    most = max(dearer, key=lambda ratio: ratio.row.estimate, default=None)
    return {
        "total": len(rows), "counts": tallied(rows), "below": below(rows),
        "margins": list(dict.fromkeys((*margins[:1], *margins[-1:]))),
        "blocks": [row.blocks for row in rows], "largest": formatting.of(*most) if most else None,
        "confounded": sum(map(formatting.is_confounded, rows)),
        "whole": [title for title in dict.fromkeys(titles) if title not in broken]}  # fmt: skip


def said(datasets: Sequence[Compared]) -> str:
    """The answer of some datasets."""
    ratios = measured(*datasets)
    costs = [ratio for ratio in ratios if ratio.is_cost]
    lost = Counter(ratio.row.reason.partition(":")[0] for ratio in ratios if ratio.row.barred)
    beside = [ratio for ratio in ratios if not (ratio.is_cost or ratio.row.barred)]
    failed = []
    for plan, compared in datasets:
        rows = compared[compared["control"] & compared["planned"]].itertuples(index=False)
        failed += [formatting.subject_of(plan, r) for r in rows if r.outcome == outcomes.DIFFERENT]
    titles = (formatting.reference_title(plan) for plan, _ in datasets)
    # In the middle of a sentence; an arm that stands in for a native build keeps its name.
    references = list(dict.fromkeys("native" if title == "Native" else title for title in titles))
    return sentence(
        "answer.txt", references=references, failed=failed, campaigns=len(datasets),
        is_paired={plan.is_paired for plan, _ in datasets} == {True},
        untested=not_tested(datasets), lost=lost.most_common(), differences=_differences(datasets),
        groups=[group([r for r in costs if r.is_plain is plain]) for plain in (True, False)],
        beside=len(beside), beside_of=dict.fromkeys(r.quantity.label for r in beside))  # fmt: skip


def not_tested(datasets: Iterable[Compared]) -> dict[str, dict[str, None]]:
    """Titles of arms of which a comparison has no block, by the reason."""
    found: dict[str, dict[str, None]] = {}
    for plan, row in asked(datasets, "ratio", "difference"):
        if not row.blocks:
            found.setdefault(row.reason, {})[formatting.arm_title(plan, row.arm)] = None
    return found


def _differences(datasets: Sequence[Compared]) -> dict[str, list[formatting.Row]]:
    """What other quantities, such as starts, take more than natively: smallest and largest.

    Only those of which every arm's 95 % interval lies above none.
    """
    by_ratio = {(plan.campaign, case) for plan, rows in datasets for case in
                rows.loc[(rows["kind"] == "ratio") & rows["planned"], "case"]}  # fmt: skip
    by_label: dict[str, list[Asked]] = {}
    for of_arm in asked(datasets, "difference"):
        plan, row = of_arm
        if row.blocks and of_arm.is_plain and (plan.campaign, row.case) not in by_ratio:
            by_label.setdefault(of_arm.quantity.label, []).append(of_arm)
    ends: dict[str, list[formatting.Row]] = {}
    for label, of_arms in by_label.items():
        if all(row.low95 > 0 for _, row in of_arms):
            of_arms.sort(key=lambda of_arm: of_arm.row.estimate)
            ends[label] = [formatting.of(plan, row, formatting.case_levels(plan, row.case))
                           for plan, row in (of_arms[0], of_arms[-1])]  # fmt: skip
    return ends


def counted(*datasets: Compared) -> list[Asked]:
    """The ratios that are counted as costs, of runtimes as a site offers them."""
    return [ratio for ratio in measured(*datasets) if ratio.is_plain and ratio.is_cost]


class Bound(NamedTuple):
    """What a runtime costs a program at most, in one kind of machine."""

    program: str  # its title, and whether CPU time is what was measured, side by side
    runtime: str
    blocks: int  # of the dataset that tells: with most of them, and of equals the largest bound
    bound: float  # upper 95 % bound, the largest of its ratios, 0.01 for 1 %; inf where one is open
    # With that bound, and both ends of its 95 % interval.
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def told(self) -> str:
        """Its cell of a table: `>` for a cost above all `BOUNDS`, `?` where none of them holds."""
        return ">" if self.low > 1 + BOUNDS[-1] else told_bound(self.bound)


def at_most(*datasets: Compared) -> list[Bound]:
    """What each runtime costs each program at most, of what is counted, in alphabetical order.

    A program of which any ratio has fewer than FEWEST_FOR_EQUIVALENCE blocks has no bound.
    """
    best: dict[tuple[str, str], Bound] = {}
    for compared in datasets:
        of_program: dict[tuple[str, str], list[Any]] = {}
        for plan, row in counted(compared):
            program = formatting.program_title(plan, row.case)
            of_program.setdefault((program, formatting.arm_title(plan, row.arm)), []).append(row)
        for key, rows in of_program.items():
            # Of fewer there is no bound, however little a runtime costs.
            if (blocks := min(row.blocks for row in rows)) < FEWEST_FOR_EQUIVALENCE:
                continue
            highs = [row.high90 if formatting.is_number(row.high90) else math.inf for row in rows]
            bound, row = max(zip(highs, rows, strict=True), key=lambda found: found[0])
            ends = float(row.estimate), float(row.low95), float(row.high95)
            told = Bound(*key, blocks, max(0.0, bound - 1), *ends)
            best[key] = max(best.get(key, told), told, key=lambda one: (one.blocks, one.bound))
    return sorted(best.values(), key=lambda told: (told.program.lower(), told.runtime.lower()))


def to_start(*datasets: Compared) -> dict[str, float]:
    """What runtimes add to a warm start, in s, by title: upper 95 % bounds of most blocks each."""
    best: dict[str, tuple[int, float]] = {}  # of equals, the largest
    for one in asked(datasets, "difference"):
        row = one.row
        if row.case == WARM_START and one.is_plain and row.blocks and not row.barred:
            title, told = formatting.arm_title(one.plan, row.arm), (row.blocks, row.high90)
            best[title] = max(best.get(title, told), told)
    return {title: bound for title, (_, bound) in sorted(best.items()) if math.isfinite(bound)}


def told_bound(bound: float) -> str:
    """A bound in a table, rounded upwards; `?` above all `BOUNDS`."""
    return f"{math.ceil(1000 * bound) / 10:g} %" if bound <= BOUNDS[-1] else "?"


def told_start(bound: float | None) -> str:
    """A bound of a start in a table, rounded upwards, in ms."""
    return "–" if bound is None else f"+{math.ceil(1000 * bound)} ms"


def told_span(bounds: Sequence[Bound]) -> str:
    """The smallest and the largest bound of several, and how many are open."""
    closed = sorted(each.bound for each in bounds if each.bound <= BOUNDS[-1])
    ends = [told_bound(closed[0]).removesuffix(" %"), told_bound(closed[-1])] if closed else []
    ends = ends[1:] if ends and ends[1].removesuffix(" %") == ends[0] else ends
    still_open = len(bounds) - len(closed)
    return ", ".join(filter(None, (" to ".join(ends), f"{still_open} open" * bool(still_open))))


def in_short(*datasets: Compared) -> list[str]:
    """The bounds of each program, in a line each: `SysBench: Apptainer ≤ 1.0 %, Podman open`.

    First the programs of which every runtime has one of `BOUNDS`.
    """
    told_of = at_most(*datasets)
    lines: dict[str, list[str]] = {}
    still_open = {each.program for each in told_of if each.bound > BOUNDS[-1]}
    for one in sorted(told_of, key=lambda one: one.program in still_open):
        told = f"≤ {formatting.at_most(1 + one.bound)}" if math.isfinite(one.bound) else "open"
        lines.setdefault(one.program, []).append(f"{one.runtime} {told}")
    return [
        f"{program}: {', '.join(told)}" if len(lines) > 1 else ", ".join(told)
        for program, told in lines.items()
    ]
