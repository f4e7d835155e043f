"""Rules about the levels of a factor: trend, slope, interaction, and a published order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from parity.analysis.conclusions import CROSSED, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.analysis.contrast import weighted_sum
from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE, WITHOUT_CONTROL, Decision, decide
from parity.analysis.estimate import ALPHA, typical
from parity.analysis.methods import FALLING, RISING, page_trend, slopes_per_doubling
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.claims import terms
from parity.claims.cells import PER_NODE, RANKS, Cell, Scope, Series, alike
from parity.claims.finding import Finding, about, too_few, untested, without_levels
from parity.claims.rules import WORDS, Options, Rule
from parity.claims.rules.contrasts import MORE, Asked, Question, directed, ratios, row, same
from parity.core.wording import RATIO, counted, interval, number

LEVELS = 3
TOO_FEW = "too few blocks that hold every level: {} of 2"
SECOND = "second-costs-more"
EITHER_WAY = (terms.SUPPORTED, terms.CONTRADICTED)
RESAMPLES, SEED = 999, 20191118
Centre = Callable[..., np.ndarray]
# How forms of `CROSSED` are called.
WHAT = {INTERACTION: "interaction: ", LEVEL_OVERALL: "effect of {0}: ", LEVEL: "{0} {2} over {1}: "}


def series(scope: Scope, along: str) -> list[Series | Finding]:
    """The series of a test, and what is none: one needs three levels, two are always on a line.

    Cells belong into one series if they differ in nothing else; along nodes, ranks may grow with
    them, and along ranks containers, where those are as many nowhere.
    """
    cells = [cell for cell in scope.cells if along in cell.parameters]
    grouped = alike(cells, along)
    if along == RANKS and all(len(group) < LEVELS for group in grouped):
        grouped = alike(cells, along, grows=PER_NODE)
    if scope.cells and not grouped:
        first = scope.cells[0]
        return [untested(first, f"no case of {first.benchmark} has a parameter {along}")]
    whole, missing = list[Series](), dict[Finding, None]()
    for group in grouped:
        levels = {cell.parameters[along] for cell in group}
        if len(levels) == len(group) >= LEVELS:
            ordered = sorted(group, key=lambda cell: float(cell.parameters[along]))
            whole.append(Series(along, tuple(ordered)))
            continue
        few = f"{counted(len(levels), 'level')} of {along}, {LEVELS} are needed"
        reason = few if len(levels) < LEVELS else f"several cases for one level of {along}"
        missing[untested(group[0], reason)] = None
    return [*missing, *whole]


def slopes(options: Options, scope: Scope) -> Asked:
    """Slope of the log ratio per doubling of the factor, in each block that holds every level."""
    for one in series(scope, options["along"]):
        if isinstance(one, Finding):
            yield one
        elif len(own := slopes_of(one)) < 2:
            yield too_few(one.cells, len(own), reason=TOO_FEW.format(len(own)))
        else:
            what = f"ratio per doubling of {one.along}: "
            yield Question(one.cells, own, slopes_of(one, control=True), what=what)


def slopes_of(one: Series, control: bool = False) -> np.ndarray:
    """Slopes per doubling that are independent; none if a level has no log."""
    table = one.complete(control)
    table.columns = table.columns.astype(float)
    if min(map(float, table.columns)) <= 0:
        return np.array([])
    of_block = dict(zip(table.index, slopes_per_doubling(table), strict=True))
    return one.independent(of_block, one.cells[0].pair[1] if control else one.cells[0].arm)


def _trend(options: Options, scope: Scope) -> list[Finding]:
    """Page's test of the log ratio over the levels and the typical slope within blocks: both alike.

    A smallest effect, where one is given, has to be passed as in `direction` where most is expected
    to be lost: at the highest level of a ratio that rises, at the lowest of one that falls.
    """
    expect, smallest = options["expect"], options["smallest_effect_percent"]
    found = []
    for one in series(scope, options["along"]):
        found.append(one if isinstance(one, Finding) else trend_of(one, expect))
        if isinstance(one, Series) and smallest is not None:
            most = one.cells[-1 if expect == RISING else 0]
            asked = {"expect": MORE, "smallest_effect_percent": smallest}
            # What knows no looks is decided at the levels of one.
            found += row(ratios, directed)(asked, replace(scope, cells=(most,)))
    return found


def trend_of(one: Series, expect: str) -> Finding:
    """Page's test of one series, and the signed-rank test of its slopes."""
    table = one.complete()
    if len(table) < 2:
        return too_few(one.cells, len(table), reason=TOO_FEW.format(len(table)))
    opposite = FALLING if expect == RISING else RISING
    ranks = [page_trend(table, order) for order in (expect, opposite)]
    own, by_slope = slopes_of(one), ranks
    if len(own) > 1:
        centre = typical(own if expect == RISING else -own)
        by_slope = [centre.p_above(0.0), centre.p_below(0.0)]
    p, against = map(max, zip(ranks, by_slope, strict=True))
    of_pair, control = one.complete(control=True), WITHOUT_CONTROL
    if len(of_pair) >= 2:
        # Two-sided, at 5 %.
        p_of_pair = 2 * min(page_trend(of_pair, order) for order in (RISING, FALLING))
        differs = p_of_pair < ALPHA and len(of_pair) >= FEWEST_FOR_A_DIFFERENCE
        control = Decision(len(of_pair), outcome=DIFFERENT if differs else INCONCLUSIVE)
    decision, unit = (decide(own, None), RATIO) if len(own) > 1 else (Decision(len(table)), "")
    facts = {"unit": unit, "p_value": p, "p_against": against, "strain": p / ALPHA}
    finding = about(one.cells, decision, True, control=control, **facts)
    verdict, by_ranks = (
        next((v for v, p in zip(EITHER_WAY, both, strict=True) if p < ALPHA), terms.INCONCLUSIVE)
        for both in (by_slope, ranks)
    )
    way, shown = (opposite, against) if verdict == terms.CONTRADICTED else (expect, p)
    return finding.agreed(verdict, by_ranks, f"p = {number(shown)} for {way} along {one.along}")


def _interaction(options: Options, scope: Scope) -> list[Finding]:
    """Two findings for each arm: the container costs the same at both levels, the factor does not.

    A 2 x 2 factorial of arm and reference at two levels of a factor (Box, Hunter & Hunter), for
    each arm and two cases that differ in the factor only. The interaction is equivalent to
    nothing, and the factor itself, averaged over arm and reference, has an effect of the expected
    sign beyond the smallest one that counts, as in `direction`.
    """
    margin, smallest = options["margin_percent"] / 100, options["smallest_effect_percent"] / 100
    both, found = (crossed(options, scope, form) for form in (INTERACTION, LEVEL_OVERALL)), []
    for interaction, effect in zip(*both, strict=True):
        if isinstance(interaction, Finding) or isinstance(effect, Finding):
            found += [each for each in (interaction, effect) if isinstance(each, Finding)]
            continue
        of_factor = directed(effect, options["expect"] == SECOND, smallest)
        of_factor = replace(of_factor, metric=f"{of_factor.metric} (factor)")
        found += [same(interaction, margin), of_factor]
    return list(dict.fromkeys(found))


def crossed(options: Options, scope: Scope, form: str) -> Asked:
    """A form of `CROSSED` of each arm and its reference, over what holds both at both levels.

    The A/A pair's is always its interaction: it has no factor's effect that would say anything.
    """
    factor, levels = options["factor"], [str(level) for level in options["levels"]]
    grouped: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in scope.cells:
        rest = {k: str(v) for k, v in cell.parameters.items() if k != factor}
        level = str(cell.parameters.get(factor))
        grouped.setdefault((cell.arm, *sorted(rest.items())), {})[level] = cell
    for cells in grouped.values():
        first = next(iter(cells.values()))
        if missing := [level for level in levels if level not in cells]:
            yield without_levels(first, factor, missing)
            continue
        both = Series(factor, tuple(cells[level] for level in levels))
        own = _weighted(both, first.arm, first.against, form)
        if len(own) < 2:
            reason = f"too few blocks that hold both arms at both levels: {len(own)} of 2"
            yield too_few(both.cells, len(own), reason=reason)
            continue
        of_pair = _weighted(both, *first.pair[::-1], INTERACTION)
        yield Question(both.cells, own, of_pair, what=WHAT[form].format(factor, *levels))


def _weighted(both: Series, arm: str, against: str, form: str) -> np.ndarray:
    costs = (c.numbered(_beside(c, side, arm)) for c in both.cells for side in (against, arm))
    weighted = zip(chain(*CROSSED[form]), costs, strict=True)
    return both.independent(weighted_sum(weighted), arm)


def _beside(cell: Cell, side: str, arm: str) -> dict[str, float]:
    """Log costs of a side in the blocks that hold the arm: of pairs each arm has its own."""
    held = cell.numbers.of(arm)
    return {block: cost for block, cost in cell.numbers.costs(side).items() if block in held}


def _rank(options: Options, scope: Scope) -> list[Finding]:
    """Kendall's tau of the mean log ratios and the published order, resampled over blocks.

    Supported if at least 95 % of the resampled studies reach the tau that was asked for, with
    medians in the place of means alike. Contradicted if at most 5 % do, and if as many pairs of
    levels as that takes are shown to lose the other way round: what scatters more than its levels
    differ has no order in any resampled study. Levels of one group are not compared (Goodman &
    Kruskal's gamma, JASA 1954). Blocks are resampled as independent ones, also where several share
    a node or a session.
    """
    groups = [level if isinstance(level, list) else [level] for level in options["order"]]
    place = {str(level): number for number, group in enumerate(groups) for level in group}
    along, least = options["along"], options["minimum_tau"]
    there = [cell for cell in scope.cells if str(cell.parameters.get(along)) in place]
    return [_ranked(cells, along, place, least) for cells in alike(there or scope.cells, along)]


def _ranked(cells: Sequence[Cell], along: str, place: Mapping[str, int], minimum: float) -> Finding:
    first, by_level = cells[0], {str(cell.parameters.get(along)): cell for cell in cells}
    if missing := [level for level in place if level not in by_level]:
        return without_levels(first, along, missing)
    if len(by_level) < len(cells):
        return untested(first, f"several cases for one level of {along}")
    ranked = Series(along, tuple(by_level[level] for level in place))
    places, table = np.array(list(place.values())), ranked.complete().to_numpy()
    if len(table) < 2:
        return too_few(ranked.cells, len(table), reason=TOO_FEW.format(len(table)))
    drawn, by_ranks = (resampled_tau(table, places, centre) for centre in (np.mean, np.median))
    reached, other = float(np.mean(drawn >= minimum)), float(np.mean(by_ranks >= minimum))
    low95, high95, low90, high90 = np.quantile(drawn, [0.025, 0.975, 0.05, 0.95]).tolist()
    ours = float(tau(table.mean(axis=0), places))
    against = p_other_order(table, places, minimum)
    verdict = _order_shown(reached, against)
    decision = Decision(len(table), ours, (low95, high95), (low90, high90), minimum)
    control, strain = _order_of_pair(ranked, places, minimum, verdict), (1 - reached) / 0.05
    facts: dict[str, Any] = {"unit": "tau", "p_against": against, "strain": strain}
    finding = about(ranked.cells, decision, True, control=control, **facts)
    reason = f"tau {number(ours)} {interval(low95, high95)}: {WORDS['order'][verdict]}"
    return finding.agreed(verdict, _order_shown(other, against), reason)


def _order_shown(reached: float, against: float) -> str:
    if reached >= 0.95:
        return terms.SUPPORTED
    return terms.CONTRADICTED if max(reached, against) <= 0.05 else terms.INCONCLUSIVE


def _order_of_pair(ranked: Series, places: np.ndarray, minimum: float, ours: str) -> Decision:
    """Whether the A/A pair, either way, supports the published order or shows what is ours."""
    table = ranked.complete(control=True).to_numpy()
    if len(table) < FEWEST_FOR_A_DIFFERENCE:
        return replace(WITHOUT_CONTROL, blocks=len(table))
    shown = set()
    for losses in (table, -table):
        reached = float(np.mean(resampled_tau(losses, places, np.mean) >= minimum))
        shown.add(_order_shown(reached, p_other_order(losses, places, minimum)))
    differs = shown & {terms.SUPPORTED, ours} - {terms.INCONCLUSIVE}
    return Decision(len(table), outcome=DIFFERENT if differs else INCONCLUSIVE)


def tau(losses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Tau of losses, shape (..., levels), over pairs that their published places tell apart.

    Those are 0 for what loses most, and equal for levels of one group. 1 if every such pair has
    the published order, -1 if none has; equal losses count 0.
    """
    first, second = np.triu_indices(len(places), k=1)
    published = np.sign(places[second] - places[first])
    signs = np.sign(losses[..., first] - losses[..., second]) * published
    return np.asarray(signs[..., published != 0].mean(axis=-1))


def p_other_order(table: np.ndarray, places: np.ndarray, minimum: float) -> float:
    """One-sided p of that too many pairs of levels lose the other way round for that tau.

    The signed-rank test of each pair within blocks, and of their p the partial conjunction by
    Bonferroni (Benjamini & Heller, Biometrics 2008). `table`: losses, two blocks or more by levels.
    """
    first, second = np.nonzero(places[:, None] < places)
    p = sorted(typical(of_pair).p_below(0.0) for of_pair in (table[:, first] - table[:, second]).T)
    # Tau is 1 - 2 x / pairs where x of them are out of order; rounded, as 1 - 0.8 is not 0.2.
    most = math.floor(round(len(p) * (1 - minimum) / 2, 9))
    return min(1.0, (len(p) - most) * p[most])


def resampled_tau(table: np.ndarray, places: np.ndarray, centre: Centre) -> np.ndarray:
    """Tau of studies whose blocks are drawn with replacement from these (shape: blocks, levels)."""
    random = np.random.default_rng(SEED)
    drawn = random.integers(len(table), size=(RESAMPLES, len(table)))
    return tau(centre(table[drawn], axis=1), places)


RULES = (
    Rule("slope", row(slopes, same), 2, proves_sameness=True),
    Rule("trend", _trend, 3, one_sided=True),
    Rule("change", row(partial(crossed, form=LEVEL), directed), one_sided=True),
    Rule("interaction", _interaction, 2, one_sided=True, proves_sameness=True),
    Rule("rank", _rank, 4),
)
