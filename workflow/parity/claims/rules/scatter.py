"""How much runs scatter: little, no more than the reference, or less than another arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from parity.analysis.decision import WITHOUT_CONTROL, Decision, outcome_of
from parity.analysis.estimate import ALPHA, Interval
from parity.analysis.statistics.spread import cv_upper_bound, paired_variance_ratio
from parity.claims import terms
from parity.claims.finding import Finding, about
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import NAME, PERCENT, CellRule, Options
from parity.core.wording import interval, number

PERCENT_UNIT, UNIT = "%", "ratio of deviations"
# Ends between which nothing lies: two arms differ, or that is open.
SAME = (1.0, 1.0)


def _logs(cell: Cell, arm: str, against: str) -> tuple[np.ndarray, np.ndarray] | str:
    """Logs of the costs of both arms; a text says why there is no ratio of their scatter.

    Values of one block share what slows the block, so they are taken as pairs.
    """
    one, other = cell.costs(arm), cell.costs(against)
    common = sorted(one.keys() & other.keys())
    logs, others = (np.array([side[number] for number in common]) for side in (one, other))
    if len(common) < 3:
        return f"too few blocks: {len(common)} of at least 3"
    if np.ptp(logs) == 0 or np.ptp(others) == 0:
        return "one side does not vary at all, so there is no ratio of scatter"
    return logs, others


def _decision(
    logs: np.ndarray, others: np.ndarray, within: Interval, margin: float | None = None
) -> Decision:
    """Ratio of two standard deviations, and whether its 95 % interval lies within these ends."""
    wide, narrow = (paired_variance_ratio(logs, others, level) for level in (0.95, 0.90))
    interval95 = (math.sqrt(wide.low), math.sqrt(wide.high))
    return Decision(
        blocks=len(logs),
        estimate=math.sqrt(wide.ratio),
        interval95=interval95,
        interval90=(math.sqrt(narrow.low), math.sqrt(narrow.high)),
        margin=margin,
        outcome=outcome_of(interval95, interval95, within),
    )


def _of_pair(cell: Cell, within: Interval, margin: float | None = None) -> Decision:
    """The same of the A/A pair."""
    reference, double = cell.pair
    logs = _logs(cell, double, reference)
    return WITHOUT_CONTROL if isinstance(logs, str) else _decision(*logs, within, margin)


class CoefficientOfVariation(CellRule):
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values.

    The reference stands in for the A/A pair: a machine that scatters more than the bound
    without any container cannot tell what a container adds.
    """

    name = "coefficient-of-variation"
    options: ClassVar[Options] = {
        "bound_percent": {"description": "Bound of the coefficient, in %.", **PERCENT}
    }
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The bounds of one arm."""
        bound, values = options["bound_percent"], cell.values(cell.arm)
        decision = _coefficient(values, bound)
        below = _p_below(values, bound)
        lower, upper = decision.interval90
        reference = cell.values(cell.pair[0])
        finding = about(
            cell,
            decision,
            control=_coefficient(reference, bound) if len(reference) >= 2 else WITHOUT_CONTROL,
            against="",
            unit=PERCENT_UNIT,
            p_value=below,
            p_against=1 - below,
            strain=upper / bound,
        )
        return finding.concluded(
            same=f"upper 95 % bound {number(upper)} %, below {bound:g} %",
            different=f"lower 95 % bound {number(lower)} %, above {bound:g} %",
            neither=f"90 % interval {interval(lower, upper, PERCENT_UNIT)} holds {bound:g} %",
        )


def _coefficient(values: Sequence[float], bound: float) -> Decision:
    """The coefficient with its bounds, in %, and whether it lies below or above the bound."""
    logs = np.log(np.array(values))
    low95, low90, high90, high95 = (
        100 * cv_upper_bound(values, share) for share in (0.025, 0.05, 0.95, 0.975)
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


def _p_below(values: Sequence[float], bound: float) -> float:
    """One-sided p that the coefficient is below the bound."""
    logs = np.log(values)
    freedom, variance = len(logs) - 1, np.log1p((bound / 100) ** 2)
    return float(stats.chi2.cdf(freedom * logs.var(ddof=1) / variance, freedom))


class SpreadRatio(CellRule):
    """95 % interval of the ratio of standard deviations of the logs (Pitman-Morgan).

    Supported if its upper bound is below the factor in every cell, contradicted if its
    lower bound is above.
    """

    name = "spread-ratio"
    options: ClassVar[Options] = {
        "factor": {
            "description": "Largest ratio of standard deviations; above 1.",
            "type": "number",
            "exclusiveMinimum": 1,
            "maximum": 100,
        }
    }
    proves_sameness = True
    fewest = 3

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The ratio of one cell."""
        factor = options["factor"]
        logs = _logs(cell, cell.arm, cell.against)
        if isinstance(logs, str):
            finding = about(cell, Decision(cell.blocks, margin=factor), unit=UNIT)
            return finding.ended(terms.INCONCLUSIVE, logs)
        decision = _decision(*logs, (-math.inf, factor), factor)
        low, high = decision.interval95
        p = paired_variance_ratio(logs[0] / factor, logs[1]).p_less
        finding = about(
            cell,
            replace(decision, smallest_margin=high),
            control=_within_both_ways(cell, factor),
            unit=UNIT,
            p_value=p,
            p_against=min(1.0, 2 * (1 - p)),
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
    return replace(decision, smallest_margin=math.exp(max(math.log(high), -math.log(low))))


class LessVariable(CellRule):
    """One-sided test of two paired variances (Pitman; Morgan, Biometrika 1939).

    If the two arms of the A/A pair scatter differently, nothing is concluded.
    """

    name = "less-variable"
    version = 2
    options: ClassVar[Options] = {"than": {"description": "The arm that scatters more.", **NAME}}
    one_sided = True
    fewest = 3

    def against(self, options: Mapping[str, Any]) -> str:
        """The other arm."""
        return str(options["than"])

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        logs = _logs(cell, cell.arm, cell.against)
        if isinstance(logs, str):
            finding = about(cell, Decision(cell.blocks), unit=UNIT)
            return finding.ended(terms.INCONCLUSIVE, logs)
        p = paired_variance_ratio(*logs).p_less
        finding = about(
            cell,
            _decision(*logs, SAME),
            # Whether the two arms of the A/A pair scatter differently (95 % interval).
            control=_of_pair(cell, SAME),
            unit=UNIT,
            p_value=p,
            p_against=1 - p,
            strain=p / ALPHA,
        )
        said = f"ratio of deviations {interval(*finding.decision.interval95)}"
        if p < ALPHA:
            return finding.ended(terms.SUPPORTED, f"{said}: scatters less")
        if 1 - p < ALPHA:
            return finding.ended(terms.CONTRADICTED, f"{said}: scatters more")
        return finding.ended(terms.INCONCLUSIVE, f"{said} leaves it open")


RULES = (CoefficientOfVariation(), SpreadRatio(), LessVariable())
