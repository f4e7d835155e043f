"""What each case of a plan needs to prove its margin, and what the planned blocks can prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parity.analysis.statistics import power
from parity.plan.plan import Plan
from parity.preview.pilots import Spread

POWERS = (0.8, 0.9)
# Below this, blocks do not differ but for rounding.
NO_SPREAD = 1e-9
FEWEST = 2


@dataclass(frozen=True)
class Proof:
    """What it takes to prove equal arms equivalent, at each of POWERS.

    Attributes:
        blocks: fewest blocks for the case's margin.
        margins: smallest margins that the planned blocks can prove; empty if these are
            fewer than two.
    """

    blocks: tuple[int, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True)
class Need:
    """One case and metric of a plan that has a margin.

    Attributes:
        planned: blocks that the plan holds of it.
        spread: None if nothing is known of it.
        alone: for one comparison; None without a spread.
        gated: for one comparison and the A/A pair, which must pass as well.
    """

    case: str
    metric: str
    margin: float
    planned: int
    spread: Spread | None
    alone: Proof | None
    gated: Proof | None


def needs(plan: Plan, known: Mapping[tuple[str, str], Spread]) -> list[Need]:
    """Each case and metric of the plan with a margin, in its order.

    Powers are those of arms that truly cost the same; a true difference needs more.
    """
    wanted = {
        (entry["case"], entry["metric"]): entry["margin"]
        for entry in plan.comparisons
        if entry["margin"] is not None
    }
    return [
        need(case, metric, margin, _planned(plan, case), known.get((case, metric)))
        for (case, metric), margin in wanted.items()
    ]


def need(case: str, metric: str, margin: float, planned: int, spread: Spread | None) -> Need:
    """What one case and metric needs."""
    if spread is None:
        return Need(case, metric, margin, planned, None, None, None)
    deviation, enough = spread.deviation, planned >= FEWEST
    if deviation < NO_SPREAD:
        constant = Proof(
            blocks=(FEWEST,) * len(POWERS), margins=(0.0,) * len(POWERS) if enough else ()
        )
        return Need(case, metric, margin, planned, spread, constant, constant)
    alone = Proof(
        blocks=tuple(power.blocks_needed(deviation, margin, p) for p in POWERS),
        margins=tuple(power.provable_margin(deviation, planned, p) for p in POWERS if enough),
    )
    gated = Proof(
        blocks=tuple(power.gated_blocks_needed(deviation, margin, p) for p in POWERS),
        margins=tuple(power.gated_provable_margin(deviation, planned, p) for p in POWERS if enough),
    )
    return Need(case, metric, margin, planned, spread, alone, gated)


def _planned(plan: Plan, case: str) -> int:
    return sum(any(run["case"] == case for run in block["runs"]) for block in plan.blocks)
