"""How much runs scatter: little, no more than the reference, or less than another arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parity.analysis import methods, outcomes
from parity.analysis.decision import (
    FEWEST_FOR_A_DIFFERENCE,
    WITHOUT_CONTROL,
    Decision,
    outcome_of,
)
from parity.analysis.estimate import ALPHA, Interval
from parity.analysis.evidence import units
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, about, too_few
from parity.claims.rules import Options, Rule, cell_by_cell
from parity.claims.rules.contrasts import concluded
from parity.core.wording import interval, number, stands

PERCENT_UNIT, UNIT = "%", "ratio of deviations"
# Ends between which nothing lies: two arms differ, or that is open.
SAME = (1.0, 1.0)


def _coefficient(cell: Cell, options: Options, scope: Scope) -> Finding:
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values (Bonett).

    Of blocks that share a node or a session the first counts alone, as they are not independent.

    The reference stands in for the A/A pair: a machine that scatters more than the bound
    without any container cannot tell what a container adds.
    """
    bound, values = options["bound_percent"], _values(cell, cell.arm)
    if isinstance(values, str):
        return too_few(
            cell, cell.blocks, reason=values, against="", unit=PERCENT_UNIT, objection=""
        )
    decision, below = _bounds(values, bound), methods.p_cv_below(values, bound / 100)
    reference = _values(cell, cell.pair[0])
    control = WITHOUT_CONTROL if isinstance(reference, str) else _bounds(reference, bound)
    lower, upper = decision.interval90
    finding = about(
        cell,
        decision,
        control=control,
        against="",
        unit=PERCENT_UNIT,
        p_value=below,
        p_against=1 - below,
        strain=upper / bound,
    )
    if control.outcome == outcomes.DIFFERENT:
        theirs = f"{interval(*control.interval90, PERCENT_UNIT)}, above {bound:g} %"
        reason = f"{cell.pair[0]} scatters by itself as much: {theirs}"
        return finding.ended(terms.INCONCLUSIVE, reason)
    words = {
        outcomes.EQUIVALENT: f"upper 95 % bound {number(upper)} %, below {bound:g} %",
        outcomes.DIFFERENT: f"lower 95 % bound {number(lower)} %, above {bound:g} %",
        outcomes.INCONCLUSIVE: f"90 % {stands(lower, upper, bound, PERCENT_UNIT)}",
    }
    return concluded(finding, words)


def _values(cell: Cell, arm: str) -> list[float] | str:
    """Independent values of an arm; a text says why there is no bound of their scatter."""
    of_arm = cell.numbers.of(arm)
    if min(of_arm.values(), default=1.0) <= 0:
        return "a value of zero or less has no relative scatter"
    blocks, objection = units(cell.numbers.costs(arm), cell.engine.dataset.places)
    if len(blocks) < FEWEST_FOR_A_DIFFERENCE:
        return objection or f"too few blocks: {len(blocks)} of at least {FEWEST_FOR_A_DIFFERENCE}"
    return [of_arm[unit[0]] for unit in blocks]


def _bounds(values: Sequence[float], bound: float) -> Decision:
    """The coefficient with its bounds, in %, and whether it lies below or above the bound."""
    logs = np.log(np.array(values))
    low95, low90, high90, high95 = (
        100 * methods.cv_bound(values, share) for share in (0.025, 0.05, 0.95, 0.975)
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


def _deviations(cell: Cell, arm: str, against: str) -> np.ndarray | str:
    """Deviations of both arms' log costs, shape (2, units), less what slowed whole blocks.

    That is taken out as far as the other arms tell. Where blocks share nodes or sessions, these
    are means of those. A text says why there is no ratio.
    """
    table = pd.DataFrame({side: dict(cell.numbers.costs(side)) for side in cell.numbers.by_arm})
    table = table.dropna(subset=[arm, against])
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return f"too few blocks: {len(table)} of at least {FEWEST_FOR_A_DIFFERENCE}"
    logs = table[[arm, against]].to_numpy().T
    if (np.ptp(logs, axis=1) == 0).any():
        return "one side does not vary at all, so there is no ratio of scatter"
    others = table.drop(columns=[arm, against])
    shared = (others - others.median()).median(axis=1).fillna(0.0)
    deviations = methods.deviations_of(*methods.without_block(logs, shared.to_numpy()))
    of_block = dict(zip(table.index, deviations.T, strict=True))
    differences = {block: float(ours - theirs) for block, (ours, theirs) in of_block.items()}
    independent, objection = units(differences, cell.engine.dataset.places)
    means = [np.mean([of_block[block] for block in unit], axis=0) for unit in independent]
    return objection or np.array(means).T


def _ratio(deviations: np.ndarray, within: Interval, margin: float | None = None) -> Decision:
    """Ratio of two arms' scatter, and whether its 95 % interval lies within these ends."""
    wide, narrow = (methods.scatter_ratio(deviations, share) for share in (0.95, 0.90))
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
    """The ratio of the A/A pair."""
    reference, double = cell.pair
    if not (cell.numbers.of(reference) and cell.numbers.of(double)):
        return WITHOUT_CONTROL
    deviations = _deviations(cell, double, reference)
    return WITHOUT_CONTROL if isinstance(deviations, str) else _ratio(deviations, within, margin)


def _no_more(cell: Cell, options: Options, scope: Scope) -> Finding:
    """95 % interval of the ratio of two arms' scatter within blocks (Brown & Forsythe, paired).

    Supported if its upper end is below the factor in every cell, contradicted if its lower
    end is above. The A/A pair must lie within the factor both ways.
    """
    factor, deviations = options["factor"], _deviations(cell, cell.arm, cell.against)
    if isinstance(deviations, str):
        return too_few(cell, cell.blocks, reason=deviations, unit=UNIT, objection="")
    decision = _ratio(deviations, (-math.inf, factor), factor)
    low, high = decision.interval95
    control = _of_pair(cell, (1 / factor, factor), factor)
    if control.blocks:
        lowest, highest = control.interval95
        widest = max(highest, 1 / lowest) if lowest > 0 else math.inf
        control = replace(control, smallest_margin=widest)
    finding = about(
        cell,
        replace(decision, smallest_margin=high),
        control=control,
        unit=UNIT,
        p_value=methods.p_scatters_less(deviations, factor),
        p_against=min(1.0, 2 * methods.p_scatters_less(deviations[::-1], 1 / factor)),
        strain=high / factor,
    )
    reason = f"ratio of deviations: {stands(low, high, factor)}"
    return concluded(finding, {decision.outcome: reason})


def _less(cell: Cell, options: Options, scope: Scope) -> Finding:
    """One-sided test of two arms' scatter within blocks (Brown & Forsythe, paired).

    If the two arms of the A/A pair scatter differently (95 % interval), nothing is concluded.
    """
    deviations = _deviations(cell, cell.arm, cell.against)
    if isinstance(deviations, str):
        return too_few(cell, cell.blocks, reason=deviations, unit=UNIT, objection="")
    p, against = map(methods.p_scatters_less, (deviations, deviations[::-1]))
    decision, control = _ratio(deviations, SAME), _of_pair(cell, SAME)
    finding = about(
        cell, decision, control=control, unit=UNIT, p_value=p, p_against=against, strain=p / ALPHA
    )
    reason = f"ratio of deviations {interval(*decision.interval95)}"
    if p < ALPHA:
        return finding.ended(terms.SUPPORTED, f"{reason}: scatters less")
    if against < ALPHA:
        return finding.ended(terms.CONTRADICTED, f"{reason}: scatters more")
    return finding.ended(terms.INCONCLUSIVE, f"{reason} leaves it open")


_VARIATION, _MORE, _LESS = (
    cell_by_cell(look, FEWEST_FOR_A_DIFFERENCE) for look in (_coefficient, _no_more, _less)
)
RULES = (
    Rule("coefficient-of-variation", _VARIATION, 2, proves_sameness=True, by_cell=True),
    Rule("spread-ratio", _MORE, 2, proves_sameness=True, by_cell=True),
    Rule("less-variable", _LESS, 3, one_sided=True, by_cell=True),
)
