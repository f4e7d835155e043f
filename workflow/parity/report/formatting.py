"""One conclusion, and the names in it, as people read them: the same wherever they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from parity.analysis import outcomes
from parity.analysis.dataset import CONFOUNDED, NOT_RECORDED
from parity.benchmarks import benchmarks
from parity.benchmarks.description import Quantity
from parity.core import wording
from parity.core.wording import capital, counted, number
from parity.plan.plan import Case, Plan
from parity.report.figures.specs import quantity, spelt
from parity.report.templating import render


class DecidedRow(Protocol):
    """A row of the analysis with an estimate, and what was decided of it.

    Attributes:
        kind: ratio or difference; only of a difference `case` and `unit` are asked.
        identity: a word of `parity.analysis.dataset`.
    """

    case: str
    arm: str
    metric: str
    kind: str
    unit: str
    margin: float
    blocks: int
    estimate: float
    low95: float
    high95: float
    low90: float
    high90: float
    smallest_margin: float
    outcome: str
    reason: str
    identity: str


def arm_title(plan: Plan, arm: str) -> str:
    """How figures and tables call an arm; one that the plan only declares, by its name."""
    return plan.arm_titles.get(arm, arm.capitalize())


def reference_title(plan: Plan) -> str:
    """What the ratios of other arms compare with: one native, or both where they are the same.

    What the titles of both have in common, such as `Native` of `Native A` and `Native B`.
    """
    own, double = (arm_title(plan, arm).split() for arm in plan.aa_pair)
    common = [word for word, other in zip(own, double, strict=False) if word == other]
    return " ".join(common or own)


def benchmark_title(plan: Plan, benchmark: str) -> str:
    """How figures and tables call a benchmark; one that the plan only declares, as its module."""
    known = benchmarks().get(benchmark)
    return plan.benchmark_titles.get(benchmark, known.title if known else benchmark.upper())


def case_levels(plan: Plan, case: str) -> str:
    """Allocation, levels and crossed values of a case, such as `2 nodes, TCP`; empty if none."""
    planned = plan.case(case)
    levels = [level for level in case.removeprefix(planned.benchmark).split("-") if level]
    if planned.is_placed:
        levels[:1] = _allocation(plan, planned)
    said = [(level, spelt(planned.benchmark, level)) for level in levels]
    # What has no words of its own is called as in the study.
    return ", ".join(w.replace("_", " ") if w == level else w for level, w in said)


def _allocation(plan: Plan, case: Case) -> list[str]:
    """Nodes and ranks of a case in words; without the ranks if they follow from the nodes."""
    placed = {
        (other.nodes, other.parameters["ranks"])
        for other in plan.cases
        if other.benchmark == case.benchmark
    }
    nodes, ranks = case.nodes, case.parameters["ranks"]
    follow = len({nodes for nodes, _ in placed}) == len(placed)
    said = [counted(nodes, "node"), *([] if follow else [counted(ranks, "rank")])]
    if containers := case.parameters.get("containers_per_node"):
        said.append(f"{counted(containers, 'container')} per node")
    return said


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


def quantity_of(row: Any) -> Quantity:
    """How the metric of a row is called."""
    return quantity(row.case, row.metric, row.unit)


def estimate(row: DecidedRow) -> str:
    """Estimate and 95 % interval of a comparison: a ratio, or a signed difference."""
    if row.blocks == 0:
        return "–"
    if row.kind == "ratio":
        figures = [number(value) for value in (row.estimate, row.low95, row.high95)]
    else:
        factor = quantity_of(row).factor
        scaled = [factor * value for value in (row.estimate, row.low95, row.high95)]
        # As many decimals as the uncertainty deserves: two digits of its half width.
        width = (scaled[2] - scaled[1]) / 2
        size = width if math.isfinite(width) and width > 0 else abs(scaled[0]) or 1.0
        digits = min(3, max(0, 1 - math.floor(math.log10(size))))
        figures = [number(value, digits) for value in scaled]
    return figures[0] if row.blocks < 2 else f"{figures[0]} [{figures[1]}, {figures[2]}]"


def slope(row: Any) -> str:
    """Seconds for each timeout with their interval: `0.200 s [0.198, 0.203]`; `–` for none."""
    if row.slope is None or not math.isfinite(row.slope):
        return "–"
    digits = 3 if abs(row.slope) >= 0.01 else 4
    ends = "" if not math.isfinite(row.low) else (
        f" [{number(row.low, digits)}, {number(row.high, digits)}]"
    )  # fmt: skip
    return f"{number(row.slope, digits)} s{ends}"


def unit_of(row: DecidedRow) -> str:
    """Unit of a comparison's estimate; empty for a ratio."""
    return "" if row.kind == "ratio" else unit_of_difference(quantity_of(row))


def unit_of_difference(quantity: Quantity) -> str:
    """Unit of a quantity's differences: those of shares are points, not per cent of a share."""
    return "percentage points" if quantity.unit == "%" else quantity.unit


def is_confounded(row: DecidedRow) -> bool:
    """Whether binary or libraries differ between the two sides of a comparison."""
    return row.identity in CONFOUNDED


def identity_note(row: DecidedRow) -> str:
    """What must be said about the binaries of a comparison; empty if they are the same."""
    if is_confounded(row):
        return f"confounded: {row.identity}"
    return "binary not recorded" if row.identity == NOT_RECORDED and row.blocks else ""


# What came of a conclusion: outcomes with a difference told by its direction.
EQUIVALENT, COSTS_MORE, COSTS_LESS = "equivalent", "costs-more", "costs-less"
OPEN = "open"
# Units that are said shorter behind a number.
_SHORT = {wording.RATIO: "", "ratio of deviations": "sd", "% of node": "%"}


@dataclass(frozen=True)
class Row:
    """A conclusion, every cell of it formatted.

    Attributes:
        subject: case and quantity, or the claim.
        blocks: how many it rests on.
        estimate: with its 95 % interval; `–` without any.
        unit: of the estimate; empty for a ratio.
        margin: `–` where none is sought.
        ended: a name of `outcomes` in wording.yaml.
        reason: why it ended so; often empty.
        note: what is to be known of the binaries; often empty.
        outcome: how it ended, in words, with reason and note.
    """

    subject: str
    arm: str
    blocks: str
    estimate: str
    unit: str
    margin: str
    ended: str
    reason: str
    note: str
    outcome: str


def of(plan: Plan, row: Any, subject: str = "") -> Row:
    """A row of comparisons, of crossed factors or of steps.

    Args:
        subject: what it is of, if not the case and quantity that it names.
    """
    ended, note = ended_of(row), identity_note(row)
    facts = {"ended": ended, "reason": row.reason, "note": note, "needed": row.smallest_margin}
    return Row(
        subject=subject or subject_of(plan, row),
        arm=arm_title(plan, row.arm),
        blocks=str(row.blocks),
        estimate=estimate(row),
        unit=unit_of(row),
        margin=wording.margin(row.margin),
        ended=ended,
        reason=row.reason,
        note=note,
        outcome=render("outcome.txt", **facts),
    )


def of_verdict(row: Any) -> Row:
    """A verdict on a claim; its outcome is the verdict itself."""
    margin = ""
    if not _is_missing(row.margin):
        is_ratio = row.unit == wording.RATIO
        margin = wording.margin(row.margin) if is_ratio else f"{row.margin:g}"
    unit = _SHORT.get(row.unit, row.unit)
    return Row(
        subject=row.claim,
        arm="",
        blocks=str(row.blocks) if row.blocks else "",
        estimate=" ".join(filter(None, (_estimate(row), unit))) if _estimate(row) else "",
        unit=unit,
        margin=margin,
        ended=row.verdict,
        reason=row.reason,
        note=row.coverage,
        outcome=row.verdict,
    )


def _estimate(row: Any) -> str:
    if _is_missing(row.estimate):
        return ""
    if _is_missing(row.low95):
        return wording.number(row.estimate)
    digits = wording.decimals(row.low95, row.high95, row.unit)
    ends = ", ".join(wording.number(end, digits) for end in (row.low95, row.high95))
    return f"{wording.number(row.estimate, digits)} [{ends}]"


def _is_missing(value: Any) -> bool:
    return value is None or not math.isfinite(value)


def ended_of(row: Any) -> str:
    """What came of a comparison: a name of `outcomes` or `verdicts` in wording.yaml."""
    if row.outcome == outcomes.DIFFERENT:
        return COSTS_LESS if row.estimate < 1 else COSTS_MORE
    return "no-margin" if row.outcome == outcomes.REPORTED else str(row.outcome)


def tallied(rows: Iterable[Any]) -> dict[str, int]:
    """How many comparisons came out equivalent, dearer, cheaper, and how many are open."""
    ended = [ended_of(row) for row in rows]
    counts = {name: ended.count(name) for name in (EQUIVALENT, COSTS_MORE, COSTS_LESS)}
    return counts | {OPEN: len(ended) - sum(counts.values())}
