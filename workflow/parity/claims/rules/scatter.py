"""How much runs scatter: little, no more than the reference, or less than another arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

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
from parity.analysis.statistics import spread
from parity.claims import terms
from parity.claims.finding import Finding, about
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import NAME, OF_CELLS, PERCENT, CellRule, Options
from parity.core.wording import interval, number

PERCENT_UNIT, UNIT = "%", "ratio of deviations"
# Ends between which nothing lies: two arms differ, or that is open.
SAME = (1.0, 1.0)


def _logs(cell: Cell, arm: str, against: str) -> np.ndarray | str:
    """Logs of the costs of both arms, shape (2, blocks), less what slowed whole blocks.

    A text says why there is no ratio of their scatter.
    """
    table = pd.DataFrame({side: cell.costs(side) for side in cell.numbers.by_arm})
    table = table.dropna(subset=[arm, against])
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return f"too few blocks: {len(table)} of at least {FEWEST_FOR_A_DIFFERENCE}"
    logs = table[[arm, against]].to_numpy().T
    if (np.ptp(logs, axis=1) == 0).any():
        return "one side does not vary at all, so there is no ratio of scatter"
    others = table.drop(columns=[arm, against])
    shared = (others - others.median()).median(axis=1).fillna(0.0)
    return spread.without_block(logs, shared.to_numpy())


def _decision(logs: np.ndarray, within: Interval, margin: float | None = None) -> Decision:
    """Ratio of two arms' scatter, and whether its 95 % interval lies within these ends."""
    wide, narrow = (spread.scatter_ratio(logs[0], logs[1], share) for share in (0.95, 0.90))
    interval95 = (wide.low, wide.high)
    return Decision(
        blocks=logs.shape[1],
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
    logs = _logs(cell, double, reference)
    return WITHOUT_CONTROL if isinstance(logs, str) else _decision(logs, within, margin)


class CoefficientOfVariation(CellRule):
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values (Bonett).

    The reference stands in for the A/A pair: a machine that scatters more than the bound
    without any container cannot tell what a container adds.
    """

    name = "coefficient-of-variation"
    version = 2
    options: ClassVar[Options] = {
        "bound_percent": {"description": "Bound of the coefficient, in %.", **PERCENT}
    }
    proves_sameness = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The bounds of one arm."""
        bound, values = options["bound_percent"], cell.values(cell.arm)
        decision = _coefficient(values, bound)
        below = spread.p_cv_below(values, bound / 100)
        lower, upper = decision.interval90
        reference = cell.values(cell.pair[0])
        enough = len(reference) >= self.fewest
        of_reference = _coefficient(reference, bound) if enough else WITHOUT_CONTROL
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
            neither=f"90 % interval {interval(lower, upper, PERCENT_UNIT)} holds {bound:g} %",
        )


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
    options: ClassVar[Options] = {
        "factor": {
            "description": "Largest ratio of deviations; above 1.",
            "type": "number",
            "exclusiveMinimum": 1,
            "maximum": 100,
        },
        "of_cells": OF_CELLS,
    }
    proves_sameness = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The ratio of one cell."""
        factor = options["factor"]
        logs = _logs(cell, cell.arm, cell.against)
        if isinstance(logs, str):
            finding = about(cell, Decision(cell.blocks, margin=factor), unit=UNIT)
            return finding.ended(terms.INCONCLUSIVE, logs)
        decision = _decision(logs, (-math.inf, factor), factor)
        low, high = decision.interval95
        p = spread.p_scatters_less(logs[0], logs[1], factor)
        finding = about(
            cell,
            replace(decision, smallest_margin=high),
            control=_within_both_ways(cell, factor),
            unit=UNIT,
            p_value=p,
            p_against=min(1.0, 2 * spread.p_scatters_less(logs[1], logs[0], 1 / factor)),
            strain=high / factor,
        )
        said = f"ratio of deviations {interval(low, high)}"
        return finding.concluded(
            same=f"{said}, below {factor:g}",
            different=f"{said}, above {factor:g}",
            neither=f"{said} holds {factor:g}",
        )


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
    options: ClassVar[Options] = {
        "than": {"description": "The arm that scatters more.", **NAME},
        "of_cells": OF_CELLS,
    }
    one_sided = True
    fewest = FEWEST_FOR_A_DIFFERENCE

    def against(self, options: Mapping[str, Any]) -> str:
        """The other arm."""
        return str(options["than"])

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        logs = _logs(cell, cell.arm, cell.against)
        if isinstance(logs, str):
            finding = about(cell, Decision(cell.blocks), unit=UNIT)
            return finding.ended(terms.INCONCLUSIVE, logs)
        p, against = (spread.p_scatters_less(*pair) for pair in (logs, logs[::-1]))
        finding = about(
            cell,
            _decision(logs, SAME),
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
