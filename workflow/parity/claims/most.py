"""Claims that speak of most cells and not of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from parity.analysis.estimate import ALPHA
from parity.claims import terms
from parity.claims.finding import AGAINST, PASSED, Finding
from parity.claims.register import Claim
from parity.claims.rules.model import MOST

# A finding with the number of its test.
Numbered = tuple[int, Finding]


def tests_of_most(claim: Claim) -> set[int]:
    """The tests of a claim whose cells are one pool, most of which have to pass."""
    return {test.number for test in claim.tests if test.options.get("of_cells") == MOST}


def most_hold(pool: Sequence[Numbered]) -> list[Finding]:
    """The findings of a claim that speaks of most cells, saying which of them it rests on.

    It holds if more than half of the cells pass, and if that is no chance (`p_of_most`). Cells
    that do not pass are then shown only, but for one that is against it by more than twice the
    margin. It is contradicted if half of the cells or more are against it. A cell that several
    datasets hold is one, by the worst of its findings. Where something of it was not tested,
    nobody knows how many cells that is, and the claim stays not-tested.
    """
    worst = _cells(pool)
    passed = [found for found in worst.values() if found.verdict in PASSED]
    against = [found for found in worst.values() if found.verdict in AGAINST]
    is_whole = not any(found.verdict == terms.NOT_TESTED for _, found in pool)
    holds = is_whole and p_of_most(pool) < ALPHA
    if is_whole and not holds and 2 * len(against) >= len(worst):
        return [replace(found, counts=found.verdict in AGAINST) for _, found in pool]
    after = []
    for each in pool:
        found = each[1]
        if found.verdict in AGAINST and not (holds and _near(found)):
            after.append(found.opened(f"against it, but {len(passed)} of {len(worst)} pass"))
        else:
            after.append(replace(found, counts=not holds or worst[_cell(each)].verdict in PASSED))
    return after


def p_of_most(pool: Iterable[Numbered]) -> float:
    """P of that more than half of the cells hold; 1 where fewer pass."""
    worst = _cells(pool).values()
    p = [1.0 if f.p_value is None else f.p_value for f in worst if f.verdict in PASSED]
    return _partial(p, len(worst), len(worst) // 2 + 1)


def p_against_most(pool: Iterable[Numbered]) -> float:
    """P of that half of the cells or more are against the claim; 1 where fewer are."""
    worst = _cells(pool).values()
    p = [1.0 if f.p_against is None else f.p_against for f in worst if f.verdict in AGAINST]
    return _partial(p, len(worst), (len(worst) + 1) // 2)


def _partial(p: Iterable[float], cells: int, least: int) -> float:
    """P of that so many cells at least are true, with p of 1 for those that are not given.

    Partial conjunction (Benjamini & Heller, Biometrics 2008), with Hochberg's steps.
    """
    each = sorted(p)
    steps = ((cells - k + 1) * each[k - 1] for k in range(least, len(each) + 1))
    return min((1.0, *steps))


def _cell(numbered: Numbered) -> tuple[object, ...]:
    """What is one comparison, whichever dataset holds it."""
    number, found = numbered
    return (number, found.case, found.metric, found.arm, found.against)


def _cells(pool: Iterable[Numbered]) -> dict[tuple[object, ...], Finding]:
    """The worst finding of each cell: by its verdict, then by its p."""
    worst: dict[tuple[object, ...], Finding] = {}
    for each in pool:
        found = each[1]
        worst[_cell(each)] = min(worst.get(_cell(each), found), found, key=_goodness)
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
