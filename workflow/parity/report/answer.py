"""The answer of all datasets of a system together: how many comparisons ended how, and where.

It is made from plans and tables of comparisons alone, so that the paper of one dataset can have
what is archived beside it without drawing that anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import outcomes
from parity.analysis.conclusions import ARM
from parity.core.wording import capital, counted, listed
from parity.extensions.servers.benchmarks import usage
from parity.plan.plan import PLAN, Plan, read_plan
from parity.report.text import formatting
from parity.runtimes import every_arm

CONCLUSIONS = "analysis/conclusions.parquet"
BOUNDS = (0.01, 0.02, 0.05, 0.1)  # costs that a reader may be able to live with
# What became of a ratio; `costs-more` and `costs-less` are both different beyond the margin.
ENDED = ("equivalent", "costs-more", "costs-less", "open")


@dataclass(frozen=True)
class Ended:
    """A measured ratio of an arm that is asked about, and what became of it (`ENDED`)."""

    plan: Plan
    row: Any
    word: str

    @property
    def is_plain(self) -> bool:
        """Whether the arm is as it is listed: no network, limit or neighbour of its own."""
        return self.row.arm in {*every_arm()}

    @property
    def is_cost(self) -> bool:
        """Whether more of its quantity costs anything at all."""
        return self.row.metric not in {quantity.metric for quantity in usage.NO_COSTS}


def read(folder: Path) -> tuple[Plan, pd.DataFrame]:
    """The plan and the comparisons of a dataset.

    Raises:
        UserError: its plan is broken.
    """
    concluded = pd.read_parquet(folder / CONCLUSIONS)
    return read_plan(folder / PLAN), concluded[concluded["form"] == ARM]


def of_dataset(plan: Plan, compared: pd.DataFrame) -> list[Ended]:
    """The measured ratios in the comparisons of an analysis, but for controls."""
    return [Ended(plan, row, _word(row)) for row in _asked(plan, compared, "ratio")]


def _asked(plan: Plan, compared: pd.DataFrame, kind: str) -> Iterable[Any]:
    """The measured comparisons of a kind, of the arms that are asked about."""
    asked = compared[
        (compared["kind"] == kind)
        & compared["planned"]
        & ~compared["control"]
        & (compared["arm"] != plan.positive_arm)
        & (compared["blocks"] > 0)
    ]
    return asked.itertuples(index=False)


def without_ratios(datasets: Iterable[tuple[Plan, pd.DataFrame]]) -> str:
    """What quantities that no ratio is told of, such as starts, take more than natively.

    Only those of which every arm's 95 % interval lies above none.

    Args:
        datasets: plans with their comparisons.
    """
    found: dict[str, list[tuple[float, float, str]]] = {}
    for plan, compared in datasets:
        by_ratio = {*compared.loc[compared["kind"] == "ratio", "case"]}
        for row in _asked(plan, compared, "difference"):
            if row.case not in by_ratio and row.arm in {*every_arm()}:
                unit, label = formatting.unit_of(row), formatting.quantity_of(row).label
                told = f"{formatting.estimate(row)} {unit} ({_where(plan, row)})"
                found.setdefault(label, []).append((row.estimate, row.low95, told))
    return " ".join(
        f"{capital(label)} is {' to '.join(dict.fromkeys((min(rows)[-1], max(rows)[-1])))} more "
        "than natively."
        for label, rows in found.items()
        if all(low > 0 for _, low, _ in rows)
    )


def _where(plan: Plan, row: Any) -> str:
    """Arm and levels of a case."""
    levels = formatting.case_levels(plan, row.case)
    return ", ".join(filter(None, (formatting.arm_title(plan, row.arm), levels)))


def _word(row: Any) -> str:
    if row.outcome == outcomes.DIFFERENT:
        return "costs-more" if row.estimate > 1 else "costs-less"
    return "equivalent" if row.outcome == outcomes.EQUIVALENT else "open"


def counts(ended: Sequence[Ended]) -> dict[str, int]:
    """How many ended how, in the order of `ENDED`."""
    return {word: sum(each.word == word for each in ended) for word in ENDED}


def said(ended: Sequence[Ended], campaigns: int) -> str:
    """The answer in sentences: of arms as they are, then of those that have something more.

    Args:
        campaigns: of how many datasets these are.
    """
    costs = [each for each in ended if each.is_cost]
    plain, varied = ([e for e in costs if e.is_plain is own] for own in (True, False))
    where = f"{campaigns} campaigns" if campaigns > 1 else "one campaign"
    if not costs:
        return "No cost ratio with a margin was measured."
    more = " more, of arms with a network, a limit or a neighbour of their own"
    parts = (
        _plainly(plain, where),
        _whole(plain),
        _largest(plain),
        f"Of {len(varied)}{more if plain else more[6:]}, {_how(varied)}." if varied else "",
        _largest(varied),
        _beside([each for each in ended if not each.is_cost]),
    )
    return " ".join(filter(None, parts))


def _plainly(ended: Sequence[Ended], where: str) -> str:
    """How many ratios of arms as they are ended how, in a sentence."""
    if not ended:
        return ""
    if len({each.word for each in ended}) > 1:
        return f"Of {len(ended)} cost ratios in {where}, {_how(ended)}."
    [(count, text)] = _counted(ended)
    if count == 1:
        return f"The one cost ratio in {where} is {text}."
    return f"All {count} cost ratios in {where} are {text}."


def bounds(ended: Sequence[Ended]) -> str:
    """In how many ratios of arms as they are a cost lies below some bounds, in sentences."""
    highest = [each.row.high95 for each in ended if each.is_plain and each.is_cost]
    below = [(bound, sum(high < 1 + bound for high in highest)) for bound in BOUNDS]
    said = listed(f"{formatting.percent(bound)} in {count}" for bound, count in below)
    if not highest:
        return "No cost ratio of an arm without a network, a limit or a neighbour was measured."
    rest = "" if below[-1][1] == len(highest) else " The intervals of the others reach beyond that."
    return (
        "By the upper ends of 95 % intervals, each taken alone and whatever its A/A pair says, for "
        "arms without a network, a limit or a neighbour of their own, of "
        f"{counted(len(highest), 'cost ratio')} the cost is below {said}.{rest}"
    )


def _how(ended: Sequence[Ended]) -> str:
    """How many ended how."""
    found = _counted(ended)
    every = "all " if len(found) == 1 < len(ended) else ""
    return listed(f"{every}{n} {'is' if n == 1 else 'are'} {text}" for n, text in found)


def _counted(ended: Sequence[Ended]) -> list[tuple[int, str]]:
    """How many ended in each way that occurs, and what is said of those."""
    margins = sorted({each.row.margin for each in ended})
    within = " to ".join(formatting.margin(end) for end in dict.fromkeys((margins[0], margins[-1])))
    words = {
        "equivalent": f"equivalent to native within the margin of the case ({within})",
        "costs-more": "dearer beyond it",
        "costs-less": "cheaper beyond it",
        "open": "undecided",
    }
    found = {word: count for word, count in counts(ended).items() if count}
    if "equivalent" not in found:
        words["costs-more"] = f"dearer beyond the margin of the case ({within})"
    return [(count, words[word]) for word, count in found.items()]


def _whole(ended: Sequence[Ended]) -> str:
    """The programs in which every ratio is equivalent, and how far these ratios go."""
    by_title: dict[str, list[Ended]] = {}
    for each in ended:
        benchmark = each.plan.case(each.row.case).benchmark
        by_title.setdefault(formatting.benchmark_title(each.plan, benchmark), []).append(each)
    whole = [
        f"{title} ({_span(of_title)})"
        for title, of_title in by_title.items()
        if all(each.word == "equivalent" for each in of_title)
    ]
    return f"Every arm that ran it is equivalent to native in {listed(whole)}." if whole else ""


def _span(ended: Sequence[Ended]) -> str:
    ends = [formatting.ratio(pick(e.row.estimate for e in ended)) for pick in (min, max)]
    return f"{'ratio' if ends[0] == ends[1] else 'ratios'} {' to '.join(dict.fromkeys(ends))}"


def _largest(ended: Sequence[Ended]) -> str:
    """The largest cost; empty without any."""
    costs = [each for each in ended if each.word == "costs-more"]
    if not costs:
        return ""
    most = max(costs, key=lambda each: each.row.estimate)
    arm = formatting.arm_title(most.plan, most.row.arm)
    subject = formatting.subject_of(most.plan, most.row)
    return f"The largest of these costs is {formatting.estimate(most.row)}: {arm} in {subject}."


def _beside(rest: Sequence[Ended]) -> str:
    """How many ratios are of quantities that are no cost, and which these are."""
    there = {each.row.metric for each in rest}
    labels = listed(each.label for each in usage.NO_COSTS if each.metric in there)
    return f"Not counted as costs: {counted(len(rest), 'ratio')} of {labels}." if rest else ""
