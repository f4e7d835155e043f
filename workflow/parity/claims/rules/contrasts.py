"""The rules that are rows of a table: which contrast of costs, and which test of it.

What a contrast rests on, its blocks, units, losses and levels, and whether its controls allow a
conclusion, is said by `parity.analysis.contrast`. A test holds its typical effect against a region
by the exact signed-rank test, or leaves it open.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np

from parity.analysis import outcomes
from parity.analysis.contrast import weighted_sum
from parity.analysis.decision import FEW, SPIKES, WITHOUT_CONTROL, Decision, decide, outcome_of
from parity.analysis.estimate import ALPHA, Typical, typical
from parity.analysis.evidence import sample
from parity.analysis.sequential import Levels
from parity.claims import terms
from parity.claims.cells import AT_ONE_LOOK, BothLevels, Cell, Scope
from parity.claims.finding import Finding, about, too_few, untested
from parity.claims.rules import WORDS, Find, Options, Rule
from parity.core import wording
from parity.core.wording import RATIO

MORE = "costs-more"
MIB = {"MiB": 1.0, "GiB": 1024.0, "B": 1 / 2**20}


class Question(NamedTuple):
    """A contrast that a test is asked of."""

    cells: tuple[Cell, ...]
    # Logs of ratios, or differences in `unit`; at least two, a row for each reference.
    effects: np.ndarray
    of_pair: np.ndarray  # the same of the A/A pair
    unit: str = RATIO
    levels: BothLevels = AT_ONE_LOOK
    what: str = ""  # what its numbers are, where that is not the arm over the other

    @property
    def is_ratio(self) -> bool:
        """Whether its effects are logs of ratios."""
        return self.unit == RATIO

    def decide(self, margin: float | None) -> Decision:
        """What the engine says of its effects, before any gate."""
        return decide(self.effects, margin, self.is_ratio, self.levels[0])

    def bound(self, margin: float) -> float:
        """A margin in the terms of its effects."""
        return math.log1p(margin) if self.is_ratio else margin

    def finding(self, decision: Decision, margin: float, **facts: Any) -> Finding:
        """The finding about its cells, with the A/A pair at the same margin."""
        few, levels = self.of_pair.shape[-1] < 2, self.levels[1]
        control = WITHOUT_CONTROL if few else decide(self.of_pair, margin, self.is_ratio, levels)
        facts |= {"control": control, "unit": self.unit}
        return about(self.cells, decision, self.is_ratio, **facts)


Asked = Iterable[Question | Finding]


def _of_cell(cell: Cell, ratio: bool = True) -> Question | Finding:
    if (blocks := len(cell.evidence(ratio).blocks)) < 2:
        return too_few([cell], blocks)
    of_arm, of_pair = (cell.effects(ratio, control) for control in (False, True))
    return Question((cell,), of_arm, of_pair, RATIO if ratio else _unit(cell), cell.levels)


def _unit(cell: Cell) -> str:
    return "" if cell.unit == "1" else cell.unit


def ratios(options: Options, scope: Scope) -> Asked:
    """The log of the cost ratio, cell by cell."""
    return map(_of_cell, scope.cells)


def differences(options: Options, scope: Scope) -> Asked:
    """The difference in the metric's own unit, cell by cell: for shares, such as of time lost."""
    return (_of_cell(cell, ratio=False) for cell in scope.cells)


def shares(options: Options, scope: Scope) -> Asked:
    """The difference as a share of the node's memory (MemTotal), cell by cell."""
    memory = scope.data.memory_mib
    for cell, asked in zip(scope.cells, differences(options, scope), strict=True):
        if isinstance(asked, Finding):
            yield asked
        elif memory is None:
            yield untested(cell, "the records do not say how much memory the node has")
        elif cell.unit not in MIB:
            yield untested(cell, f"{cell.metric} is in {cell.unit or 'no unit'}, not in bytes")
        else:
            percent = 100 * MIB[cell.unit] / memory
            effects = percent * asked.effects, percent * asked.of_pair
            what = f"node of {memory / 1024:.1f} GiB: "
            yield Question(asked.cells, *effects, "% of node", asked.levels, what)


def pooled(options: Options, scope: Scope) -> Asked:
    """The mean difference of all arms from what each is held against, case by case.

    For arms that are one thing to a claim, such as the containers with fewer shares, and for
    counts, of which a ratio says nothing where a block has none.
    """
    in_order = sorted(() if scope.absent else scope.cells, key=lambda cell: cell.case)
    for _, group in groupby(in_order, key=lambda cell: cell.case):
        cells = tuple(group)
        means = (
            weighted_sum((1 / len(cells), cell.evidence(False, control).by_block) for cell in cells)
            for control in (False, True)
        )
        own, of_pair = (sample(each, cells[0].engine.dataset.places).effects for each in means)
        whole = Question(cells, own, of_pair, _unit(cells[0]))
        yield whole if len(own) > 1 else too_few(cells, len(own))


def every_pair(options: Options, scope: Scope) -> Asked:
    """The log of the ratio of each two arms in every case.

    That all pairs pass proves more than an omnibus test of the whole does (Wellek 2010, ch. 7).
    """
    in_order = sorted(scope.cells, key=lambda cell: cell.case)
    for _, cells in groupby(in_order, key=lambda cell: cell.case):
        for one, other in combinations(cells, 2):
            yield _of_cell(scope.data.cell(one.case, one.metric, one.arm, other.arm))


def concluded(finding: Finding, words: Mapping[str, str], **values: str) -> Finding:
    """The finding with the verdict that its decision gives, and the words of that outcome."""
    outcome, objection = finding.decision.outcome, finding.decision.reason
    ended = finding.ended(WORDS["concluded"][outcome], words[outcome].format_map(values))
    return ended.opened(objection) if objection and outcome == outcomes.INCONCLUSIVE else ended


def same(asked: Question, margin: float) -> Finding:
    """Two one-sided tests (`parity.analysis.decision`).

    All cells must pass, so passing is not corrected for their number (intersection-union test:
    Berger, Technometrics 1982). A cell contradicts if its 95 % interval lies wholly outside.
    """
    decision, unit = asked.decide(margin), asked.unit
    p = asked.levels[0].adjusted_both_ways(typical(asked.effects).p_outside(asked.bound(margin)))
    p_values = {"p_value": decision.p_equivalence, "p_against": p}
    finding = asked.finding(decision, margin, strain=decision.smallest_margin / margin, **p_values)
    inner, outer = (wording.interval(*i, unit) for i in (decision.interval90, decision.interval95))
    limit, needed = (wording.margin(size, unit) for size in (margin, finding.needed))
    values = {"inner": inner, "outer": outer, "limit": limit, "needed": needed}
    return concluded(finding, WORDS["same"], what=asked.what, **values)


def below(asked: Question, margin: float) -> Finding:
    """One-sided test that no more than a margin is added (Wellek 2010, ch. 4).

    Supported if the upper one-sided 95 % bound lies below it, contradicted if the lower one lies
    above it. An arm may cost less by any amount.
    """
    nothing = 1.0 if asked.is_ratio else 0.0
    decision, most = asked.decide(margin), nothing + margin
    inner, few = decision.interval90, decision.reason if decision.reason == FEW else ""
    outcome, added = outcome_of(inner, inner, (-math.inf, most)), inner[1] - nothing
    decision = replace(decision, outcome=outcome, region=outcome, reason=few, smallest_margin=added)
    if outcome == outcomes.EQUIVALENT:
        decision = decision.without_claim(_left_open(decision, most))
    centre, bound, adjusted = typical(asked.effects), asked.bound(margin), asked.levels[0].adjusted
    p, against = adjusted(centre.p_below(bound)), adjusted(centre.p_above(bound))
    finding = asked.finding(decision, margin, p_value=p, p_against=against, strain=added / margin)
    unit = "" if asked.is_ratio else f" {asked.unit}"
    low, high = (f"{wording.number(end)}{unit}" for end in inner)
    values = {"low": low, "high": high, "stands": wording.stands(*inner, most, asked.unit)}
    return concluded(finding, WORDS["below"], what=asked.what, most=f"{most:g}{unit}", **values)


def _left_open(decision: Decision, most: float, up: bool = True) -> str:
    """`SPIKES` if runs far above may bring the mean to a bound; of a ratio also those far below."""
    (low, high), (low90, high90) = decision.mean90, decision.interval90
    # Without any such run the mean is where the typical effect is.
    is_open = high90 < high >= most if up else low90 > low <= 1 / most
    return SPIKES if is_open else ""


# From an estimate, its two one-sided 95 % bounds and what counts, in the unit of the effects.
Way = Callable[[float, float, float, float], tuple[str, str]]
NOTHING, TOO_LITTLE = "is equivalent to no effect within", "does not reach"


def _direction(estimate: float, low: float, high: float, bound: float) -> tuple[str, str]:
    """Verdict and words on an effect whose expected sign is plus."""
    if low > 0 and estimate > bound:
        return terms.SUPPORTED, "goes the expected way, its estimate beyond"
    if low > 0:
        how = "by less than" if high < bound else "not beyond"
        return terms.INCONCLUSIVE, f"goes the expected way, but {how}"
    if high < 0 and estimate < -bound:
        return terms.CONTRADICTED, "goes the other way, its estimate beyond"
    if -bound < low and high < bound:
        return terms.CONTRADICTED, NOTHING
    return terms.INCONCLUSIVE, "leaves the direction open, with a smallest effect of"


def _amount(_: float, low: float, high: float, bound: float) -> tuple[str, str]:
    """The same on an effect of a certain amount at least."""
    if low > bound:
        return terms.SUPPORTED, "lies beyond"
    return (terms.CONTRADICTED, TOO_LITTLE) if high < bound else (terms.INCONCLUSIVE, "holds")


def directed(asked: Question, more: bool, smallest: float) -> Finding:
    """One-sided signed-rank test, with a smallest effect that counts.

    Supported if the effect has the expected sign (p < 0.05) and its estimate is beyond the smallest
    effect, a fraction or in the unit; contradicted if it goes the other way likewise, or is
    equivalent to nothing within it (Lakens, Soc. Psychol. Personal. Sci. 2017). Open if it goes the
    expected way by less, or if the A/A pair shows as much, whichever of its arms is the other.
    """
    return _one_sided(asked, more, smallest, 0.0, _direction)


def at_least(asked: Question, more: bool, least: float) -> Finding:
    """One-sided test that the arm costs more, or less, by a published amount at least.

    Supported if the one-sided 95 % bound nearer to nothing lies beyond that amount,
    contradicted if the other one does not reach it (Murphy & Myors, J. Appl. Psychol. 1999).
    Open if the A/A pair shows as much.
    """
    return _one_sided(asked, more, least, math.log1p(least), _amount)


def _one_sided(asked: Question, more: bool, size: float, beyond: float, way: Way) -> Finding:
    # Either way to contradict implies that it is below that of the size: that is its p.
    (own, at_pair), bound = asked.levels, asked.bound(size)
    decision, centre = asked.decide(size), typical(asked.effects if more else -asked.effects)

    def shown_by(centre: Typical, levels: Levels) -> tuple[str, str]:
        return way(centre.value, *centre.interval(1 - 2 * levels.same), bound)

    p, (verdict, words) = own.adjusted(centre.p_above(beyond)), shown_by(centre, own)
    near = bound / centre.value if centre.value > bound else 0.0
    finding = asked.finding(
        # Its smallest margin is that of another question.
        replace(decision, smallest_margin=math.nan), size, p_value=p, strain=max(p / ALPHA, near),
        p_against=own.adjusted(centre.p_below(bound)), says_same=words in (NOTHING, TOO_LITTLE),
    )  # fmt: skip
    both_ways = (asked.of_pair, -asked.of_pair) if asked.of_pair.shape[-1] > 1 else ()
    of_pair = [shown_by(typical(effects), at_pair) for effects in both_ways]
    if not finding.says_same and (verdict, words) in of_pair:
        # The A/A pair shows the same: it gates as one that differs from itself.
        finding = replace(finding, control=replace(finding.control, region=outcomes.DIFFERENT))
    spoiled = {NOTHING: decision.reason, TOO_LITTLE: _left_open(decision, 1 + size, more)}
    ends, name = decision.interval95, "ratio" if asked.is_ratio else "difference"
    if beyond:
        ends, name = decision.interval90, "90 % interval"
    shown, size_shown = wording.interval(*ends, asked.unit), wording.margin(size, asked.unit)
    ended = finding.ended(verdict, f"{asked.what}{name} {shown} {words} {size_shown}")
    return ended.opened(objection) if (objection := spoiled.get(words)) else ended


def row(contrasts: Callable[[Options, Scope], Asked], test: Callable[..., Finding]) -> Find:
    """What a row finds: its test of each of its contrasts, with the numbers of its options."""

    def find(options: Options, scope: Scope) -> list[Finding]:
        percent = {name: number for name, number in options.items() if name.endswith("_percent")}
        of_unit = [options[name] for name in ("margin", "smallest_effect") if name in options]
        [size] = of_unit or percent.values()
        numbers = [size if of_unit or contrasts is shares else size / 100]
        if "expect" in options:
            numbers = [options["expect"] == MORE, *numbers]
        return [
            asked if isinstance(asked, Finding) else test(asked, *numbers)
            for asked in contrasts(options, scope)
        ]

    return find


SAMENESS: dict[str, Any] = {"proves_sameness": True, "by_cell": True, "for_looks": True}
DIFFERENCE: dict[str, Any] = {"one_sided": True, "by_cell": True, "for_looks": True}
RULES = (
    Rule("equivalence", row(ratios, same), 2, **SAMENESS),
    Rule("equivalent-difference", row(differences, same), 2, **SAMENESS),
    Rule("group-equivalence", row(every_pair, same), 2,
         proves_sameness=True, every_pair=True, for_looks=True),
    Rule("non-inferiority", row(ratios, below), 2, **SAMENESS),
    Rule("share-of-node", row(shares, below), 3, **SAMENESS),
    Rule("direction", row(ratios, directed), 2, **DIFFERENCE),
    Rule("direction-difference", row(differences, directed), **DIFFERENCE),
    Rule("mean-direction", row(pooled, directed), one_sided=True),
    Rule("minimum-effect", row(ratios, at_least), **DIFFERENCE),
)  # fmt: skip
