"""One conclusion, and the names in it, as people read them: the same wherever they are shown."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from parity.analysis import outcomes
from parity.analysis.agreement import Count
from parity.analysis.dataset import CONFOUNDED, NOT_RECORDED
from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE, SPIKES, WIDEST_BOUND
from parity.analysis.outcomes import AT_MOST, CANNOT_TELL, COSTS, SAVES
from parity.benchmarks import benchmarks
from parity.benchmarks.description import Quantity
from parity.core import wording
from parity.core.wording import capital, counted, decimals, number
from parity.plan.plan import Plan
from parity.report.figures.specs import quantity, spelt
from parity.report.templating import render

# Whose reason is told; of all others the bound is.
UNTOLD = ("no-margin", outcomes.TOO_FEW_BLOCKS, outcomes.NOT_TESTED)
TIMES = 2.0  # from here on a ratio is said as so many times
MANY_BLOCKS = 1000  # more than anybody measures
# Units that are said shorter behind a number.
_SHORT = {wording.RATIO: "", "ratio of deviations": "sd", "% of node": "%"}


@dataclass(frozen=True)
class Row:
    """A conclusion, every cell of it formatted; what it lacks is empty."""

    subject: str  # case and quantity
    arm: str
    blocks: str
    estimate: str  # with its 95 % interval; `–` without any
    unit: str  # a ratio has none
    margin: str
    reason: str
    note: str  # what is to be known of the binaries, and of runs that lie far above the others
    outcome: str  # how it ended, in words, with reason and note
    bound: str  # of a ratio: what a cost is bounded by


def of(plan: Plan, row: Any, subject: str = "") -> Row:
    """A row of comparisons, of crossed factors or of steps; it may be told of another subject."""
    binary = "binary not recorded" if row.identity == NOT_RECORDED and row.blocks else ""
    binary = f"confounded: {row.identity}" if is_confounded(row) else binary
    note = "; ".join(filter(None, (binary, spikes(row))))
    ended = ended_of(row)
    # Why a margin is not proven is no news where a bound stands.
    reason = row.reason if row.barred or ended in UNTOLD or row.reason == SPIKES else ""
    facts = {"reason": reason, "note": note, "bound": bound(row),
             "margin": wording.margin(row.margin)}  # fmt: skip
    outcome = render("outcome.txt", ended=ended, same=is_same(row), lever=lever(row), **facts)
    return Row(
        subject=subject or subject_of(plan, row), arm=arm_title(plan, row.arm), unit=unit_of(row),
        blocks=str(row.blocks), estimate=estimate(row), outcome=outcome, **facts)  # fmt: skip


def of_verdict(row: Any) -> tuple[str, str, str]:
    """Estimate with interval and unit, margin, and blocks of a verdict; what it lacks is empty."""
    unit, margin = _SHORT.get(row.unit, row.unit), ""
    if is_number(row.margin):
        margin = wording.margin(row.margin) if row.unit == wording.RATIO else f"{row.margin:g}"
    estimate = f"{_with_interval(row, row.unit)} {unit}".rstrip() if is_number(row.estimate) else ""
    return estimate, margin, str(row.blocks) if row.blocks else ""


def is_number(value: float | None) -> bool:
    """Whether a column that may lack it holds a finite number."""
    return value is not None and math.isfinite(value)


def with_ends(shown: Callable[[float], str], value: float, low: float, high: float) -> str:
    """A value with the ends of its interval, `1.02 [0.98, 1.07]`, if it has one; `–` for none."""
    if not is_number(value):
        return "–"
    return f"{shown(value)} [{shown(low)}, {shown(high)}]" if is_number(low) else shown(value)


def _with_interval(row: Any, unit: str, factor: float = 1.0) -> str:
    if not is_number(row.low95):
        return number(factor * row.estimate)
    ends = factor * row.low95, factor * row.high95
    return with_ends(partial(number, digits=decimals(*ends, unit)), factor * row.estimate, *ends)


def estimate(row: Any) -> str:
    """Estimate and 95 % interval of a comparison: a ratio, or a signed difference; `–` for none."""
    if row.blocks == 0:
        return "–"
    if row.kind == "ratio":
        # Each with digits of its own: an end far from 1 deserves no three decimals.
        return with_ends(number, row.estimate, row.low95, row.high95)
    return _with_interval(row, row.unit, quantity_of(row).factor)


def ended_of(row: Any) -> str:
    """What came of a comparison: a name of `outcomes` in wording.yaml."""
    return "no-margin" if row.answer == outcomes.REPORTED else str(row.answer)


def is_same(row: Any) -> bool:
    """Whether two one-sided tests, the A/A pair and the positive control let it be called so."""
    return bool(row.outcome == outcomes.EQUIVALENT)


def bound(row: Any) -> str:
    """What a cost is bounded by, in per cent or as a factor; empty for none.

    Of a cost or a gain the ends of the 95 % interval; else one bound of 95 %, upwards where that
    is an answer, or the farther one both ways where it is none.
    """
    if row.answer not in (COSTS, SAVES, AT_MOST, CANNOT_TELL) or not is_number(row.high90):
        return ""
    ends: tuple[float, ...] = row.low95, row.high95
    if row.answer == SAVES:
        ends = 1 / row.high95, 1 / row.low95
    elif row.answer == AT_MOST:
        return at_most(row.high90)
    elif row.answer == CANNOT_TELL:
        return at_most(max(row.high90, 1 / row.low90))
    return cost(*ends, is_saved=row.answer == SAVES)


def at_most(ratio: float) -> str:
    """The cost at a ratio that bounds it, rounded upwards, in per cent or as a factor."""
    if ratio <= 1 or math.isinf(ratio):
        return cost(ratio)
    told = ratio if ratio >= TIMES else 100 * (ratio - 1)
    unit = 10.0 ** max(0, 1 - math.floor(math.log10(told)))
    # What lost binary digits add is no cost.
    up = math.ceil(told * unit - 1e-6) / unit
    return cost(up if ratio >= TIMES else 1 + up / 100)


def cost(*ratios: float, is_saved: bool = False) -> str:
    """The cost at a ratio, or between two, in per cent or as a factor.

    `is_saved`: what the arm saves, in per cent of the reference, at ratios of that over the arm.
    """
    if min(ratios) >= TIMES:
        return f"{' to '.join(wording.significant(ratio, 2) for ratio in ratios)} times"
    shares = ((1 - 1 / ratio if is_saved else ratio - 1) for ratio in ratios)
    return f"{' to '.join(wording.significant(100 * max(0.0, share), 2) for share in shares)} %"


def lever(row: Any) -> str:
    """What would help where nothing can be told: blocks, or longer runs where those were many.

    Intervals shrink as the root of the number of blocks: until the one at 90 % ends below the
    widest bound that is an answer, or that at 95 % leaves nothing out.
    """
    if row.answer != CANNOT_TELL or row.barred:
        return ""
    if not is_number(row.high90):
        return f"{FEWEST_FOR_A_DIFFERENCE} blocks at least"
    cost = math.log(row.estimate)
    # How far an end is from the estimate, and how far it may be.
    ways = [(math.log(row.high90) - cost, math.log1p(WIDEST_BOUND) - cost)]
    end = row.low95 if cost > 0 else row.high95
    if is_number(end) and end > 0:
        ways.append((abs(math.log(end) - cost), abs(cost)))
    times = min((half / room for half, room in ways if room > 0), default=math.inf)
    if row.blocks * times**2 >= MANY_BLOCKS:
        return "longer runs"
    blocks = max(row.blocks + 1, math.ceil(row.blocks * times**2))
    return f"about {blocks} blocks, or longer runs"


def spikes(row: Any) -> str:
    """How many runs lie far above what is typical, with the exact interval; empty for none."""
    if not row.spikes:
        return ""
    low, high = (wording.significant(100 * end, 2) for end in (row.spike_low95, row.spike_high95))
    factor = 1.0 if row.kind == "ratio" else quantity_of(row).factor
    farthest = f"{number(factor * row.spike_size)} {unit_of(row)}".rstrip()
    many = f"{row.spikes} of {counted(row.units, 'run')}"
    return f"{many} far above ({low} to {high} %), up to {farthest}"


def is_confounded(row: Any) -> bool:
    """Whether binary or libraries differ between the two sides of a comparison."""
    return row.identity in CONFOUNDED


def quantity_of(row: Any) -> Quantity:
    """How the metric of a row is called."""
    return quantity(row.case, row.metric, row.unit)


def unit_of(row: Any) -> str:
    """Unit of a comparison's estimate; empty for a ratio."""
    return "" if row.kind == "ratio" else unit_of_difference(quantity_of(row))


def unit_of_difference(quantity: Quantity) -> str:
    """Unit of a quantity's differences: those of shares are points, not per cent of a share."""
    return "percentage points" if quantity.unit == "%" else quantity.unit


def slope(row: Any) -> str:
    """Seconds for each timeout with their interval: `0.200 s [0.198, 0.203]`; `–` for none."""
    if not is_number(row.slope):
        return "–"
    digits = 3 if abs(row.slope) >= 0.01 else 4
    ends = ", ".join(number(end, digits) for end in (row.low, row.high))
    return f"{number(row.slope, digits)} s{f' [{ends}]' if is_number(row.low) else ''}"


def arm_title(plan: Plan, arm: str) -> str:
    """How figures and tables call an arm; one that the plan only declares, by its name."""
    return plan.arm_titles.get(arm, arm.capitalize())


def reference_title(plan: Plan) -> str:
    """What the ratios of other arms compare with: what the titles of both natives share."""
    own, double = (arm_title(plan, arm).split() for arm in plan.aa_pair)
    common = [word for word, other in zip(own, double, strict=False) if word == other]
    return " ".join(common or own)


def benchmark_title(plan: Plan, benchmark: str) -> str:
    """How figures and tables call a benchmark; one that the plan only declares, as its module."""
    known = benchmarks().get(benchmark)
    return plan.benchmark_titles.get(benchmark, known.title if known else benchmark.upper())


def case_levels(plan: Plan, case: str) -> str:
    """Allocation, levels and crossed values of a case, such as `2 nodes, TCP`; empty if none.

    Ranks are left out where they follow from the nodes in all of the benchmark's cases.
    """
    planned = plan.case(case)
    levels = [level for level in case.removeprefix(planned.benchmark).split("-") if level]
    placed = []
    if planned.is_placed:
        others = [other for other in plan.cases if other.benchmark == planned.benchmark]
        places = {(other.nodes, other.parameters["ranks"]) for other in others}
        placed.append(counted(planned.nodes, "node"))
        if len({nodes for nodes, _ in places}) < len(places):
            placed.append(counted(planned.parameters["ranks"], "rank"))
        if containers := planned.parameters.get("containers_per_node"):
            placed.append(f"{counted(containers, 'container')} per node")
        levels = levels[1:]
    return ", ".join([*placed, *spelt_levels(planned.benchmark, levels)])


def spelt_levels(benchmark: str, levels: Iterable[str]) -> list[str]:
    """What figures and tables call levels: what has no words of its own, as in the study."""
    words = ((level, spelt(benchmark, level)) for level in levels)
    return [word.replace("_", " ") if word == level else word for level, word in words]


def program_title(plan: Plan, case: str) -> str:
    """The title of a case's benchmark, and whether CPU time of pairs is what was measured."""
    return benchmark_title(plan, plan.case(case).benchmark) + ", CPU time" * plan.in_pairs(case)


def case_title(plan: Plan, case: str) -> str:
    """How figures and tables call a case: the benchmark's title and its levels."""
    title, levels = plan.benchmark_titles[plan.case(case).benchmark], case_levels(plan, case)
    return f"{title}: {levels}" if levels else title


def subject(plan: Plan, case: str, label: str) -> str:
    """Case and quantity in one; the benchmark is left out where the quantity names it again."""
    if plan.benchmark_titles[plan.case(case).benchmark].lower() not in label.lower():
        return f"{case_title(plan, case)}, {label}"
    return ", ".join(filter(None, (capital(label), case_levels(plan, case))))


def subject_of(plan: Plan, row: Any) -> str:
    """Case and quantity of a row in one."""
    label = quantity(row.case, row.metric, row.unit, plan.definitions).label
    return subject(plan, row.case, label)


def held(count: Count) -> str:
    """How many fresh ratios lie where they are expected, and how many should."""
    if not count.compared:
        return "nothing could be compared that counts"
    (low, high), (least, most) = count.independent, count.sharing
    agreed = f"{count.inside} of {count.compared} ratios of both agree by their 95 % intervals"
    likely = f"{low} to {high}; {least} to {most} as arms share their reference"
    return f"{agreed}; expected {count.expected:.1f} ({likely})"
