"""From findings to a verdict: all that a claim tests must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from parity.analysis import outcomes
from parity.analysis.decision import NONE
from parity.analysis.estimate import ALPHA
from parity.analysis.statistics.multiplicity import holm
from parity.claims import terms
from parity.claims.finding import AGAINST, Finding
from parity.core.wording import counted, listed, number

# Outcomes of A/A pairs, the worst first.
CONTROLS = (outcomes.DIFFERENT, outcomes.INCONCLUSIVE, outcomes.EQUIVALENT, NONE)
# How the comparisons are counted that ended as the claim did.
ENDED = {
    terms.CONTRADICTED: "against it",
    terms.DIFFERS: "against it",
    terms.INCONCLUSIVE: "open",
    terms.ORDER_OK: "in order, this the least certain",
    terms.HOLDS_IN_PART: "for it, this the least certain",
    terms.SUPPORTED: "for it, this the least certain",
}


def verdict(findings: Sequence[Finding]) -> str:
    """The verdict on all: the first name in `terms.VERDICTS` that any finding has."""
    return next(name for name in terms.VERDICTS if any(f.verdict == name for f in findings))


def of_datasets(found: Sequence[Sequence[Finding]], every_pair: bool = False) -> list[Finding]:
    """The findings of one test in several datasets, less what only one of them cannot test.

    Args:
        found: those in each dataset; a cell that is absent in one may be there in another.
        every_pair: whether the arms are compared with each other. Then each two of them have
            to be in one dataset.
    """
    tested = [_arms(each) for each in found]
    everywhere = set().union(*tested)
    kept = [
        finding
        for each, arms in zip(found, tested, strict=True)
        for finding in each
        if finding.verdict != terms.NOT_TESTED or finding.arm not in everywhere - arms
    ]
    return list(dict.fromkeys(kept + _never_together(kept) if every_pair else kept))


def _arms(findings: Sequence[Finding]) -> set[str]:
    """The arms of either side that were compared."""
    there = [finding for finding in findings if finding.verdict != terms.NOT_TESTED]
    return {side for finding in there for side in (finding.arm, finding.against)}


def _never_together(findings: Sequence[Finding]) -> list[Finding]:
    """That no dataset compares two of the arms, for each such two."""
    compared = {frozenset((finding.arm, finding.against)) for finding in findings}
    return [
        Finding("", findings[0].metric, *pair).ended(
            terms.NOT_TESTED, f"no dataset compares {listed(pair)}"
        )
        for pair in combinations(sorted(_arms(findings)), 2)
        if frozenset(pair) not in compared
    ]


def decisive(findings: Sequence[Finding]) -> Finding:
    """The finding that says most about the verdict: of those that have it, the most strained."""
    ended = verdict(findings)
    return max((f for f in findings if f.verdict == ended), key=lambda f: f.strain)


def control(findings: Sequence[Finding]) -> str:
    """The worst A/A pair of the findings."""
    there = {finding.control.outcome for finding in findings}
    return next((name for name in CONTROLS if name in there), NONE)


def reason(findings: Sequence[Finding]) -> str:
    """Why the verdict is what it is, in words."""
    ended = verdict(findings)
    if ended == terms.NOT_TESTED:
        return _not_tested(findings)
    of_verdict = [finding for finding in findings if finding.verdict == ended]
    most = decisive(findings)
    if len(findings) == 1:
        return most.reason
    several = most.against and len({f.against for f in findings if f.against}) > 1
    against = f" against {most.against}" if several else ""
    share = f"{len(of_verdict)} of {counted(len(findings), 'comparison')} {ENDED[ended]}"
    return f"{most.arm}{against} in {most.case}: {most.reason}; {share}"


def _not_tested(findings: Sequence[Finding]) -> str:
    """The distinct reasons, and what the other findings gave."""
    missing = dict.fromkeys(f.reason for f in findings if f.verdict == terms.NOT_TESTED)
    others = Counter(f.verdict for f in findings if f.verdict != terms.NOT_TESTED)
    gave = listed(f"{count} {name}" for name, count in sorted(others.items()))
    parts = ["; ".join(missing), f"of what is there: {gave}" if gave else ""]
    return "; ".join(filter(None, parts))


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


def p_value(findings: Sequence[Finding]) -> float | None:
    """P of a claim that all of its tests must pass: the largest one; None without any.

    Intersection-union test (Berger, Technometrics 1982).
    """
    return max((f.p_value for f in findings if f.p_value is not None), default=None)


def p_against(findings: Sequence[Finding]) -> float | None:
    """P of what contradicts a claim: the smallest one, times how many there are (Bonferroni)."""
    against = [f.p_against for f in findings if f.p_against is not None]
    return min(1.0, len(against) * min(against)) if against else None


def cells(findings: Sequence[Finding]) -> int:
    """How many cells were looked at."""
    return sum(finding.verdict != terms.NOT_TESTED for finding in findings)
