"""From findings to a verdict: all that a claim tests must hold, or most of its cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from parity.analysis.estimate import ALPHA
from parity.analysis.statistics.multiplicity import holm
from parity.claims import terms
from parity.claims.finding import AGAINST, PASSED, Finding
from parity.core.wording import counted, listed, number

# How the comparisons are counted that ended as the claim did.
ENDED = {
    terms.CONTRADICTED: "against it",
    terms.DIFFERS: "against it",
    terms.INCONCLUSIVE: "open",
    terms.ORDER_OK: "in order, this the least certain",
    terms.HOLDS_IN_PART: "for it, this the least certain",
    terms.SUPPORTED: "for it, this the least certain",
}
# A finding with the number of its test.
Numbered = tuple[int, Finding]


def of_datasets(found: Sequence[Sequence[Finding]], every_pair: bool = False) -> list[Finding]:
    """The findings of one test in several datasets, less what only one of them cannot test.

    Args:
        found: those in each dataset; a cell that is absent in one may be there in another.
        every_pair: whether the arms are compared with each other. Then each two of them have
            to be in one dataset.
    """
    tested = [[f for f in findings if f.verdict != terms.NOT_TESTED] for findings in found]
    arms_in = [{side for f in there for side in (f.arm, f.against)} for there in tested]
    everywhere = set().union(*arms_in)
    kept = [
        finding
        for findings, arms in zip(found, arms_in, strict=True)
        for finding in findings
        if finding.verdict != terms.NOT_TESTED or finding.arm not in everywhere - arms
    ]
    compared = {frozenset((finding.arm, finding.against)) for finding in kept}
    for pair in combinations(sorted(everywhere), 2) if every_pair else ():
        if frozenset(pair) not in compared:
            reason = f"no dataset compares {listed(pair)}"
            kept.append(Finding("", kept[0].metric, *pair).ended(terms.NOT_TESTED, reason))
    return list(dict.fromkeys(kept))


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a claim, less those against it that chance alone could give.

    A claim about many cells falls with any of them, so what speaks against it is adjusted
    for their number (Holm). What speaks for it is not: there all of them have to pass.
    """
    tested = {place: f.p_against for place, f in enumerate(findings) if f.p_against is not None}
    after = list(findings)
    for place, p in zip(tested, holm(tested.values()), strict=True):
        if findings[place].verdict in AGAINST and p >= ALPHA:
            chance = f"to be expected of one among {counted(len(tested), 'comparison')}"
            reason = f"{findings[place].reason}, {chance} (p = {number(p)})"
            after[place] = findings[place].ended(terms.INCONCLUSIVE, reason)
    return after


def verdict(findings: Sequence[Finding]) -> str:
    """The verdict on all: the first name in `terms.VERDICTS` that any finding has."""
    return min((f.verdict for f in findings), key=terms.VERDICTS.index)


def decisive(findings: Sequence[Finding]) -> Finding:
    """The finding that says most about the verdict: of those that have it, the most strained."""
    ended = verdict(findings)
    return max((f for f in findings if f.verdict == ended), key=lambda f: f.strain)


def reason(findings: Sequence[Finding]) -> str:
    """Why the verdict is what it is, in words."""
    ended, most = verdict(findings), decisive(findings)
    if ended == terms.NOT_TESTED:
        missing = "; ".join(dict.fromkeys(f.reason for f in findings if f.verdict == ended))
        others = Counter(f.verdict for f in findings if f.verdict != ended)
        gave = listed(f"{count} {name}" for name, count in sorted(others.items()))
        return f"{missing}; of what is there: {gave}" if gave else missing
    if len(findings) == 1:
        return most.reason
    several = most.against and len({f.against for f in findings if f.against}) > 1
    against = f" against {most.against}" if several else ""
    alike = sum(finding.verdict == ended for finding in findings)
    share = f"{alike} of {counted(len(findings), 'comparison')} {ENDED[ended]}"
    return f"{most.arm}{against} in {most.case}: {most.reason}; {share}"


def p_values(
    rest: Sequence[Finding], pool: Sequence[Numbered]
) -> tuple[float | None, float | None]:
    """P of what is for a claim and of what is against it; None without any.

    For it is the largest p of all (intersection-union test: Berger, Technometrics 1982), against
    it the smallest one, times how many there are (Bonferroni).

    Args:
        rest: the findings all of which must pass.
        pool: those most of which must.
    """
    p = max((f.p_value for f in rest if f.p_value is not None), default=None)
    of_each = [f.p_against for f in rest if f.p_against is not None]
    against = min(1.0, len(of_each) * min(of_each)) if of_each else None
    if not pool:
        return p, against
    worst = _worst(pool).values()
    against_most = _partial(worst, AGAINST, (len(worst) + 1) // 2)
    both = 1 if against is None else 2
    least = min(1.0 if against is None else against, against_most)
    return max(p or 0.0, p_of_most(pool)), min(1.0, both * least)


def most_hold(pool: Sequence[Numbered]) -> list[Finding]:
    """The findings of a claim that speaks of most cells, saying which of them it rests on.

    It holds if more than half of the cells pass, and if that is no chance (`p_of_most`). Cells
    that do not pass are then shown only, but for one that is against it by more than twice the
    margin. It is contradicted if half of the cells or more are against it. A cell that several
    datasets hold is one, by the worst of its findings. Where something of it was not tested,
    nobody knows how many cells that is, and the claim stays not-tested.
    """
    worst = _worst(pool)
    passed = [found for found in worst.values() if found.verdict in PASSED]
    against = [found for found in worst.values() if found.verdict in AGAINST]
    is_whole = not any(found.verdict == terms.NOT_TESTED for _, found in pool)
    holds = is_whole and p_of_most(pool) < ALPHA
    if is_whole and not holds and 2 * len(against) >= len(worst):
        return [replace(found, counts=found.verdict in AGAINST) for _, found in pool]
    after = []
    for numbered in pool:
        found = numbered[1]
        if found.verdict in AGAINST and not (holds and _near(found)):
            after.append(found.opened(f"against it, but {len(passed)} of {len(worst)} pass"))
        else:
            rests_on = not holds or worst[_cell(numbered)].verdict in PASSED
            after.append(replace(found, counts=rests_on))
    return after


def p_of_most(pool: Iterable[Numbered]) -> float:
    """P of that more than half of the cells hold; 1 where fewer pass."""
    worst = _worst(pool).values()
    return _partial(worst, PASSED, len(worst) // 2 + 1)


def _partial(worst: Iterable[Finding], ended: Sequence[str], least: int) -> float:
    """P of that so many cells at least ended so in truth, with p of 1 for those that did not.

    Partial conjunction (Benjamini & Heller, Biometrics 2008), with Hochberg's steps.
    """
    p, cells = [], list(worst)
    for found in cells:
        own = found.p_value if ended is PASSED else found.p_against
        if found.verdict in ended:
            p.append(1.0 if own is None else own)
    p.sort()
    return min((1.0, *((len(cells) - k + 1) * p[k - 1] for k in range(least, len(p) + 1))))


def _cell(numbered: Numbered) -> tuple[object, ...]:
    """What is one comparison, whichever dataset holds it."""
    number, found = numbered
    return (number, found.case, found.metric, found.arm, found.against)


def _worst(pool: Iterable[Numbered]) -> dict[tuple[object, ...], Finding]:
    """The worst finding of each cell: by its verdict, then by its p."""
    worst: dict[tuple[object, ...], Finding] = {}
    for numbered in pool:
        cell, found = _cell(numbered), numbered[1]
        worst[cell] = min(worst.get(cell, found), found, key=_goodness)
    return worst


def _goodness(found: Finding) -> tuple[int, float]:
    return terms.VERDICTS.index(found.verdict), -(1.0 if found.p_value is None else found.p_value)


def _near(found: Finding) -> bool:
    """Whether it is against a claim by no more than twice the margin, or there is no margin."""
    decision, margin = found.decision, found.decision.margin
    if margin is None:
        return True
    if not math.isnan(found.needed):
        return found.needed <= 2 * margin
    # A rule whose margin is a smallest effect has no margin that would pass: its intervals tell.
    ends = np.log([*decision.interval90, *decision.robust_interval90])
    return bool(np.abs(ends).max() <= math.log1p(2 * margin))
