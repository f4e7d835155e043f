"""Rules along a factor: its levels lose in the published order, or ever more or less."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parity.analysis.decision import (
    FEWEST_FOR_A_DIFFERENCE,
    WITHOUT_CONTROL,
    Decision,
    decide,
)
from parity.analysis.estimate import ALPHA, mean_of
from parity.analysis.methods import FALLING, RISING, page_trend
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.claims import terms
from parity.claims.cells import Cell, Scope, Series, alike
from parity.claims.finding import Finding, about, too_few, untested
from parity.claims.rules import Options, Rule
from parity.claims.rules.contrasts import directed
from parity.claims.rules.questions import TOO_FEW, ratios, series, slopes_of
from parity.core import wording
from parity.core.wording import interval, listed, number

RESAMPLES, SEED = 999, 20191118
WORDS = {
    terms.SUPPORTED: "the published order",
    terms.CONTRADICTED: "another order",
    terms.INCONCLUSIVE: "the order is open",
}
Centre = Callable[..., np.ndarray]


def _rank(options: Options, scope: Scope) -> list[Finding]:
    """Kendall's tau of the mean log ratios and the published order, resampled over blocks.

    Supported if at least 95 % of the resampled studies reach the tau that was asked for, with
    medians in the place of means alike, or the order hangs on the method. Contradicted if at most
    5 % do, and if as many pairs of levels as that takes are shown to lose the other way round.
    Resampling alone does not show it: what scatters more than its levels differ has no order in any
    resampled study, whatever its true one is. Levels of one group have no published order among
    them and are not compared (Goodman & Kruskal's gamma, JASA 1954). If the A/A pair loses in that
    order, or in the other one where that is found, nothing is concluded: its own differences should
    have no order. Blocks are resampled as independent ones, also where several share a node or a
    session. There is one finding for each arm and what its cases have in common beside the level.
    """
    groups = [level if isinstance(level, list) else [level] for level in options["order"]]
    place = {str(level): number for number, group in enumerate(groups) for level in group}
    along = options["along"]
    there = [cell for cell in scope.cells if str(cell.parameters.get(along)) in place]
    return [
        _of_arm(cells, along, place, options["minimum_tau"])
        for cells in alike(there or scope.cells, along)
    ]


def _of_arm(cells: Sequence[Cell], along: str, place: Mapping[str, int], minimum: float) -> Finding:
    first, by_level = cells[0], {str(cell.parameters.get(along)): cell for cell in cells}
    if missing := [level for level in place if level not in by_level]:
        lacks = f"{first.benchmark} with {along} {listed(missing)}"
        return untested(first, f"the dataset holds no case of {lacks}")
    if len(by_level) < len(cells):
        return untested(first, f"several cases for one level of {along}")
    ranked = Series(along, tuple(by_level[level] for level in place))
    places, table = np.array(list(place.values())), ranked.complete().to_numpy()
    if len(table) < 2:
        reason = f"too few blocks that hold every level: {len(table)} of 2"
        return too_few(ranked, len(table), reason=reason)
    drawn, by_ranks = (resampled_tau(table, places, centre) for centre in (np.mean, np.median))
    reached, other = float(np.mean(drawn >= minimum)), float(np.mean(by_ranks >= minimum))
    low95, high95, low90, high90 = np.quantile(drawn, [0.025, 0.975, 0.05, 0.95]).tolist()
    ours = float(tau(table.mean(axis=0), places))
    against = p_other_order(table, places, minimum)
    verdict = _verdict(reached, against)
    finding = about(
        ranked,
        Decision(len(table), ours, (low95, high95), (low90, high90), minimum),
        unit="tau",
        control=_control(ranked, places, minimum, verdict),
        p_against=against,
        strain=(1 - reached) / 0.05,
    )
    reason = f"tau {number(ours)} {interval(low95, high95)}: {WORDS[verdict]}"
    return finding.agreed(verdict, _verdict(other, against), reason)


def _verdict(reached: float, against: float) -> str:
    """The verdict if this share of resampled studies reach the tau that was asked for.

    Args:
        against: p of another order.
    """
    if reached >= 0.95:
        return terms.SUPPORTED
    return terms.CONTRADICTED if max(reached, against) <= 0.05 else terms.INCONCLUSIVE


def _control(ranked: Series, places: np.ndarray, minimum: float, ours: str) -> Decision:
    """Whether the A/A pair alone would support the published order, or show what is ours.

    Whichever of its two arms is called the double.
    """
    table = ranked.complete(control=True).to_numpy()
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return replace(WITHOUT_CONTROL, blocks=len(table))
    shown = set()
    for losses in (table, -table):
        reached = float(np.mean(resampled_tau(losses, places, np.mean) >= minimum))
        shown.add(_verdict(reached, p_other_order(losses, places, minimum)))
    differs = shown & {terms.SUPPORTED, ours} - {terms.INCONCLUSIVE}
    return Decision(len(table), outcome=DIFFERENT if differs else INCONCLUSIVE)


def tau(losses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Tau of losses with their published places, over pairs that the order tells apart.

    Args:
        losses: shape (..., levels).
        places: of each level, 0 for what loses most; equal for levels of one group.

    Returns:
        1 if every such pair has the published order, -1 if none has; equal losses count 0.
    """
    first, second = np.triu_indices(len(places), k=1)
    published = np.sign(places[second] - places[first])
    signs = np.sign(losses[..., first] - losses[..., second]) * published
    counted = published != 0
    return np.asarray(signs[..., counted].mean(axis=-1))


def p_other_order(table: np.ndarray, places: np.ndarray, minimum: float) -> float:
    """One-sided p of that too many pairs of levels lose the other way round for that tau.

    Student's t of each pair within blocks, and of their p the partial conjunction by Bonferroni
    (Benjamini & Heller, Biometrics 2008).

    Args:
        table: losses, shape (blocks, levels), at least two blocks.
    """
    first, second = np.nonzero(places[:, None] < places)
    p = sorted(mean_of(of_pair).p_below(0.0) for of_pair in (table[:, first] - table[:, second]).T)
    # Tau is 1 - 2 x / pairs where x of them are out of order; rounded, as 1 - 0.8 is not 0.2.
    most = math.floor(round(len(p) * (1 - minimum) / 2, 9))
    return min(1.0, (len(p) - most) * p[most])


def resampled_tau(table: np.ndarray, places: np.ndarray, centre: Centre) -> np.ndarray:
    """Tau of studies whose blocks are drawn with replacement from these (shape: blocks, levels)."""
    random = np.random.default_rng(SEED)
    drawn = random.integers(len(table), size=(RESAMPLES, len(table)))
    return tau(centre(table[drawn], axis=1), places)


def _trend(options: Options, scope: Scope) -> list[Finding]:
    """Page's test of the log ratio over the levels, and Student's t of its slopes within blocks.

    Supported if both find the order that was expected, contradicted if both find the opposite
    one. The estimate is the ratio per doubling of the level. If the A/A pair has a trend of its
    own, nothing is concluded. A smallest effect, where one is given, has to be passed as in
    `direction` where most is expected to be lost: at the highest level of a ratio that rises,
    at the lowest of one that falls.
    """
    expect, smallest = options["expect"], options["smallest_effect_percent"]
    found = []
    for one in series(scope, options["along"]):
        found.append(one if isinstance(one, Finding) else _order(one, expect))
        if isinstance(one, Series) and smallest is not None:
            most = one.cells[-1 if expect == RISING else 0]
            # What knows no looks is decided at the levels of one.
            [asked] = ratios(options, replace(scope, cells=(most,)))
            found.append(
                asked if isinstance(asked, Finding) else directed(asked, True, smallest / 100)
            )
    return found


def _order(one: Series, expect: str) -> Finding:
    """Page's test of one series."""
    table = one.complete()
    if len(table) < 2:
        return too_few(one, len(table), reason=TOO_FEW.format(len(table)))
    opposite = FALLING if expect == RISING else RISING
    ranks = _pages(table, expect, opposite)
    own, by_t = slopes_of(one), ranks
    if len(own) > 1:
        mean = mean_of(own if expect == RISING else -own)
        by_t = [mean.p_above(0.0), mean.p_below(0.0)]
    p, against = map(max, zip(ranks, by_t, strict=True))
    finding = about(
        one,
        decide(own, None) if len(own) > 1 else Decision(len(table)),
        control=_pair_trend(one),
        unit=wording.RATIO if len(own) > 1 else "",
        p_value=p,
        p_against=against,
        strain=p / ALPHA,
    )
    verdict, by_ranks = _order_shown(by_t), _order_shown(ranks)
    way, shown = (opposite, against) if verdict == terms.CONTRADICTED else (expect, p)
    reason = f"p = {wording.number(shown)} for {way} along {one.along}"
    return finding.agreed(verdict, by_ranks, reason)


def _pages(table: pd.DataFrame, *orders: str) -> list[float]:
    return [page_trend(table, order) for order in orders]


def _order_shown(p_for_and_against: Sequence[float]) -> str:
    verdicts = (terms.SUPPORTED, terms.CONTRADICTED)
    passed = [v for v, p in zip(verdicts, p_for_and_against, strict=True) if p < ALPHA]
    return passed[0] if passed else terms.INCONCLUSIVE


def _pair_trend(one: Series) -> Decision:
    """Whether the A/A pair itself has a trend, either way (two-sided, 5 %)."""
    table = one.complete(control=True)
    if len(table) < 2:
        return WITHOUT_CONTROL
    p = 2 * min(_pages(table, RISING, FALLING))
    differs = p < ALPHA and len(table) >= FEWEST_FOR_A_DIFFERENCE
    return Decision(len(table), outcome=DIFFERENT if differs else INCONCLUSIVE)


RULES = (Rule("rank", _rank, 4), Rule("trend", _trend, 3, one_sided=True))
