"""How much runs scatter: little, no more than the reference, or less than another arm."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import methods, outcomes
from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE, WITHOUT_CONTROL, Decision, outcome_of
from parity.analysis.estimate import ALPHA, Interval
from parity.analysis.evidence import units
from parity.analysis.sequential import Levels
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, about, too_few
from parity.claims.rules import WORDS, Find, Options, Rule
from parity.claims.rules.contrasts import DIFFERENCE, SAMENESS, concluded
from parity.core.wording import interval, number, stands

PERCENT_UNIT, UNIT = "%", "ratio of deviations"
# Ends between which nothing lies: two arms differ, or that is open.
SAME = (1.0, 1.0)


def _coefficient(cell: Cell, bound: float) -> Finding:
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values (Bonett).

    Of blocks that share a node or a session the first counts alone, as they are not independent.
    The reference stands in for the A/A pair: a machine that scatters more than the bound without
    any container cannot tell what a container adds.
    """
    facts: dict[str, Any] = {"against": "", "unit": PERCENT_UNIT}
    values, reference = (_values(cell, arm) for arm in (cell.arm, cell.pair[0]))
    if isinstance(values, str):
        return too_few([cell], cell.blocks, reason=values, objection="", **facts)
    own, at_pair = cell.levels
    decision, below = _bounds(values, bound, own), methods.p_cv_below(values, bound / 100)
    control = WITHOUT_CONTROL if isinstance(reference, str) else _bounds(reference, bound, at_pair)
    lower, upper = decision.interval90
    facts |= {"p_value": own.adjusted(below), "p_against": own.adjusted(1 - below)}
    finding = about([cell], decision, control=control, strain=upper / bound, **facts)
    if control.outcome == outcomes.DIFFERENT:
        theirs = f"{interval(*control.interval90, PERCENT_UNIT)}, above {bound:g} %"
        reason = f"{cell.pair[0]} scatters by itself as much: {theirs}"
        return finding.ended(terms.INCONCLUSIVE, reason)
    said = {"low": number(lower), "high": number(upper), "most": f"{bound:g}"}
    unsure = stands(lower, upper, bound, PERCENT_UNIT)
    return concluded(finding, WORDS["scatter"], stands=unsure, **said)


def _values(cell: Cell, arm: str) -> list[float] | str:
    """Independent values of an arm; a text says why there is no bound of their scatter."""
    of_arm = cell.numbers.of(arm)
    if min(of_arm.values(), default=1.0) <= 0:
        return "a value of zero or less has no relative scatter"
    blocks, objection = units(cell.numbers.costs(arm), cell.engine.dataset.places)
    if len(blocks) < FEWEST_FOR_A_DIFFERENCE:
        return objection or _too_few(len(blocks))
    return [of_arm[unit[0]] for unit in blocks]


def _too_few(blocks: int) -> str:
    return f"too few blocks: {blocks} of at least {FEWEST_FOR_A_DIFFERENCE}"


def _bounds(values: list[float], bound: float, levels: Levels) -> Decision:
    """The coefficient with its bounds, in %, and whether it lies below or above the bound."""
    low95, low90, high90, high95 = (
        100 * methods.cv_bound(values, share)
        for share in (levels.other, levels.same, 1 - levels.same, 1 - levels.other)
    )
    estimate = 100 * float(np.sqrt(np.expm1(np.log(values).var(ddof=1))))
    outcome = outcome_of((low90, high90), (low90, high90), (-math.inf, bound))
    return Decision(
        len(values), estimate, (low95, high95), (low90, high90), bound, smallest_margin=high90,
        outcome=outcome,
    )  # fmt: skip


def _deviations(cell: Cell, arm: str, against: str) -> np.ndarray | str:
    """Deviations of both arms' log costs, shape (2, units), less what slowed whole blocks.

    That is taken out as far as the other arms tell. Where blocks share nodes or sessions, these
    are means of those. A text says why there is no ratio.
    """
    sides = (*cell.numbers.by_arm, arm, against)
    table = pd.DataFrame({side: dict(cell.numbers.costs(side)) for side in sides})
    table = table.dropna(subset=[arm, against])
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return _too_few(len(table))
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


def _ratio(
    deviations: np.ndarray, within: Interval, levels: Levels, margin: float | None = None
) -> Decision:
    """Ratio of two arms' scatter, and whether its 95 % interval lies within these ends."""
    wide, narrow = (
        methods.scatter_ratio(deviations, 1 - 2 * error) for error in (levels.other, levels.same)
    )
    ends = ((wide.low, wide.high), (narrow.low, narrow.high))
    outcome = outcome_of(ends[0], ends[0], within)
    return Decision(deviations.shape[1], wide.ratio, *ends, margin, outcome=outcome)


def _against_another(cell: Cell, factor: float | None) -> Finding:
    """95 % interval of the ratio of two arms' scatter within blocks (Brown & Forsythe, paired).

    With a factor: supported if its upper end is below it in every cell, contradicted if its lower
    end is above. The A/A pair must lie within the factor both ways. Without one: a one-sided test
    that the arm scatters less. If the two arms of the A/A pair scatter differently (95 %
    interval), nothing is concluded.
    """
    deviations = _deviations(cell, cell.arm, cell.against)
    if isinstance(deviations, str):
        return too_few([cell], cell.blocks, reason=deviations, unit=UNIT, objection="")
    (own, at_pair), control = cell.levels, WITHOUT_CONTROL
    of_pair = _deviations(cell, *cell.pair[::-1])
    if not isinstance(of_pair, str):
        within = SAME if factor is None else (1 / factor, factor)
        control = _ratio(of_pair, within, at_pair, factor)
    bound = factor or 1.0
    p = own.adjusted(methods.p_scatters_less(deviations, bound))
    against = own.adjusted(methods.p_scatters_less(deviations[::-1], 1 / bound))
    decision = _ratio(deviations, SAME if factor is None else (-math.inf, factor), own, factor)
    low, high = decision.interval95
    facts: dict[str, Any] = {"unit": UNIT, "p_value": p}
    if factor is None:
        facts |= {"p_against": against, "strain": p / ALPHA}
        finding = about([cell], decision, control=control, **facts)
        reason = f"ratio of deviations {interval(low, high)}"
        if p < ALPHA:
            return finding.ended(terms.SUPPORTED, f"{reason}: scatters less")
        if against < ALPHA:
            return finding.ended(terms.CONTRADICTED, f"{reason}: scatters more")
        return finding.ended(terms.INCONCLUSIVE, f"{reason} leaves it open")
    if control.blocks:
        lowest, highest = control.interval95
        widest = max(highest, 1 / lowest) if lowest > 0 else math.inf
        control = replace(control, smallest_margin=widest)
    facts |= {"p_against": min(1.0, 2 * against), "strain": high / factor}
    decision = replace(decision, smallest_margin=high)
    finding = about([cell], decision, control=control, **facts)
    reason = f"ratio of deviations: {stands(low, high, factor)}"
    return concluded(finding, {decision.outcome: reason})


def _cell_by_cell(look: Callable[[Cell, Any], Finding], option: str) -> Find:
    """What looks at each cell by itself, where enough blocks count, with the number it needs."""

    def find(options: Options, scope: Scope) -> list[Finding]:
        asked, fewest = options.get(option), FEWEST_FOR_A_DIFFERENCE
        return [
            look(cell, asked) if cell.blocks >= fewest else too_few([cell], cell.blocks, fewest)
            for cell in scope.cells
        ]

    return find


_RATIO = _cell_by_cell(_against_another, "factor")
RULES = (
    Rule("coefficient-of-variation", _cell_by_cell(_coefficient, "bound_percent"), 3, **SAMENESS),
    Rule("spread-ratio", _RATIO, 3, **SAMENESS),
    Rule("less-variable", _RATIO, 4, **DIFFERENCE),
)
