"""How much runs scatter: little, no more than the reference, or less than another arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.decision import (
    FEWEST_FOR_A_DIFFERENCE,
    WITHOUT_CONTROL,
    Decision,
    outcome_of,
)
from parity.analysis.estimate import ALPHA, Interval
from parity.analysis.sample import units
from parity.analysis.statistics import spread
from parity.claims import terms
from parity.claims.finding import Finding, about, too_few
from parity.claims.judging_data import Cell
from parity.claims.rules.model import CellRule
from parity.claims.selection import Scope
from parity.core.wording import interval, number, stands

PERCENT_UNIT, UNIT = "%", "ratio of deviations"
# Ends between which nothing lies: two arms differ, or that is open.
SAME = (1.0, 1.0)


def _deviations(cell: Cell, arm: str, against: str) -> np.ndarray | str:
    """Deviations of both arms' log costs, shape (2, units), less what slowed whole blocks.

    Where blocks share nodes or sessions, means of those. A text says why there is no ratio.
    """
    table = pd.DataFrame({side: cell.numbers.costs(side) for side in cell.numbers.by_arm})
    table = table.dropna(subset=[arm, against])
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return f"too few blocks: {len(table)} of at least {FEWEST_FOR_A_DIFFERENCE}"
    logs = table[[arm, against]].to_numpy().T
    if (np.ptp(logs, axis=1) == 0).any():
        return "one side does not vary at all, so there is no ratio of scatter"
    others = table.drop(columns=[arm, against])
    shared = (others - others.median()).median(axis=1).fillna(0.0)
    deviations = spread.deviations_of(*spread.without_block(logs, shared.to_numpy()))
    of_block = dict(zip(table.index, deviations.T, strict=True))
    differences = {block: float(ours - theirs) for block, (ours, theirs) in of_block.items()}
    independent, objection = units(differences, cell.places)
    means = [np.mean([of_block[block] for block in unit], axis=0) for unit in independent]
    return objection or np.array(means).T


def _decision(deviations: np.ndarray, within: Interval, margin: float | None = None) -> Decision:
    """Ratio of two arms' scatter, and whether its 95 % interval lies within these ends."""
    wide, narrow = (spread.scatter_ratio(deviations, share) for share in (0.95, 0.90))
    interval95 = (wide.low, wide.high)
    return Decision(
        blocks=deviations.shape[1],
        estimate=wide.ratio,
        interval95=interval95,
        interval90=(narrow.low, narrow.high),
        margin=margin,
        outcome=outcome_of(interval95, interval95, within),
    )


def _of_pair(cell: Cell, within: Interval, margin: float | None = None) -> Decision:
    """The same of the A/A pair."""
    reference, double = cell.pair
    if not (cell.numbers.of(reference) and cell.numbers.of(double)):
        return WITHOUT_CONTROL
    found = _deviations(cell, double, reference)
    return WITHOUT_CONTROL if isinstance(found, str) else _decision(found, within, margin)


class CoefficientOfVariation(CellRule):
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values (Bonett).

    Of blocks that share a node or a session the first counts alone, as they are not independent.

    The reference stands in for the A/A pair: a machine that scatters more than the bound
    without any container cannot tell what a container adds.
    """

    name = "coefficient-of-variation"
    version = 2
    proves_sameness = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The bounds of one arm."""
        bound, values = options["bound_percent"], _values(cell, cell.arm)
        if isinstance(values, str):
            facts = {"against": "", "unit": PERCENT_UNIT, "objection": ""}
            return too_few(cell, cell.blocks, values, **facts)
        decision = _coefficient(values, bound)
        below = spread.p_cv_below(values, bound / 100)
        lower, upper = decision.interval90
        reference = _values(cell, cell.pair[0])
        of_reference = WITHOUT_CONTROL
        if not isinstance(reference, str):
            of_reference = _coefficient(reference, bound)
        finding = about(
            cell,
            decision,
            control=of_reference,
            against="",
            unit=PERCENT_UNIT,
            p_value=below,
            p_against=1 - below,
            strain=upper / bound,
        )
        if of_reference.outcome == outcomes.DIFFERENT:
            said = f"{interval(*of_reference.interval90, PERCENT_UNIT)}, above {bound:g} %"
            reason = f"{cell.pair[0]} scatters by itself as much: {said}"
            return finding.ended(terms.INCONCLUSIVE, reason)
        return finding.concluded(
            same=f"upper 95 % bound {number(upper)} %, below {bound:g} %",
            different=f"lower 95 % bound {number(lower)} %, above {bound:g} %",
            neither=f"90 % {stands(lower, upper, bound, PERCENT_UNIT)}",
        )


def _values(cell: Cell, arm: str) -> list[float] | str:
    """Independent values of an arm; a text says why there is no bound of their scatter."""
    of_arm = cell.numbers.of(arm)
    if min(of_arm.values(), default=1.0) <= 0:
        return "a value of zero or less has no relative scatter"
    blocks, objection = units(cell.numbers.costs(arm), cell.places)
    if len(blocks) < FEWEST_FOR_A_DIFFERENCE:
        return objection or f"too few blocks: {len(blocks)} of at least {FEWEST_FOR_A_DIFFERENCE}"
    return [of_arm[unit[0]] for unit in blocks]


def _coefficient(values: Sequence[float], bound: float) -> Decision:
    """The coefficient with its bounds, in %, and whether it lies below or above the bound."""
    logs = np.log(np.array(values))
    low95, low90, high90, high95 = (
        100 * spread.cv_bound(values, share) for share in (0.025, 0.05, 0.95, 0.975)
    )
    return Decision(
        blocks=len(values),
        estimate=100 * float(np.sqrt(np.expm1(logs.var(ddof=1)))),
        interval95=(low95, high95),
        interval90=(low90, high90),
        margin=bound,
        smallest_margin=high90,
        outcome=outcome_of((low90, high90), (low90, high90), (-math.inf, bound)),
    )


class SpreadRatio(CellRule):
    """95 % interval of the ratio of two arms' scatter within blocks (Brown & Forsythe, paired).

    Supported if its upper end is below the factor in every cell, contradicted if its lower
    end is above. What slows a whole block is taken out as far as the other arms tell.
    """

    name = "spread-ratio"
    version = 2
    proves_sameness = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The ratio of one cell."""
        factor = options["factor"]
        deviations = _deviations(cell, cell.arm, cell.against)
        if isinstance(deviations, str):
            return too_few(cell, cell.blocks, deviations, unit=UNIT, objection="")
        decision = _decision(deviations, (-math.inf, factor), factor)
        low, high = decision.interval95
        p = spread.p_scatters_less(deviations, factor)
        finding = about(
            cell,
            replace(decision, smallest_margin=high),
            control=_within_both_ways(cell, factor),
            unit=UNIT,
            p_value=p,
            p_against=min(1.0, 2 * spread.p_scatters_less(deviations[::-1], 1 / factor)),
            strain=high / factor,
        )
        said = f"ratio of deviations: {stands(low, high, factor)}"
        return finding.concluded(same=said, different=said, neither=said)


def _within_both_ways(cell: Cell, factor: float) -> Decision:
    """The same of the A/A pair, which must lie within the factor both ways."""
    decision = _of_pair(cell, (1 / factor, factor), factor)
    if not decision.blocks:
        return decision
    low, high = decision.interval95
    widest = max(high, 1 / low) if low > 0 else math.inf
    return replace(decision, smallest_margin=widest)


class LessVariable(CellRule):
    """One-sided test of two arms' scatter within blocks (Brown & Forsythe, paired).

    What slows a whole block is taken out as far as the other arms tell. If the two arms of
    the A/A pair scatter differently, nothing is concluded.
    """

    name = "less-variable"
    version = 3
    one_sided = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def against(self, options: Mapping[str, Any]) -> str:
        """The other arm."""
        return str(options["than"])

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        deviations = _deviations(cell, cell.arm, cell.against)
        if isinstance(deviations, str):
            return too_few(cell, cell.blocks, deviations, unit=UNIT, objection="")
        p, against = map(spread.p_scatters_less, (deviations, deviations[::-1]))
        finding = about(
            cell,
            _decision(deviations, SAME),
            # Whether the two arms of the A/A pair scatter differently (95 % interval).
            control=_of_pair(cell, SAME),
            unit=UNIT,
            p_value=p,
            p_against=against,
            strain=p / ALPHA,
        )
        said = f"ratio of deviations {interval(*finding.decision.interval95)}"
        if p < ALPHA:
            return finding.ended(terms.SUPPORTED, f"{said}: scatters less")
        if against < ALPHA:
            return finding.ended(terms.CONTRADICTED, f"{said}: scatters more")
        return finding.ended(terms.INCONCLUSIVE, f"{said} leaves it open")


RULES = (CoefficientOfVariation(), SpreadRatio(), LessVariable())
