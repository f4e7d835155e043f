"""Claims that speak of most cells and not of all."""

from dataclasses import replace
from pathlib import Path

import claims_data as data
import numpy as np
import pytest
from claims_data import judged, levels

from parity.analysis.decision import Decision
from parity.claims.finding import Finding
from parity.claims.judging import most_hold, p_of_most

HOLDS = Finding("c", "m", "a", "b", "supported", p_value=0.001)
OPEN = replace(HOLDS, verdict="inconclusive", p_value=0.4)
AGAINST = replace(HOLDS, verdict="contradicted", p_value=1.0)
MARGIN = Decision(30, margin=0.01, smallest_margin=0.015)


def of_tests(*pool: Finding) -> list[Finding]:
    """Each of another test."""
    return [replace(found, test=number) for number, found in enumerate(pool)]


def ended(*pool: Finding) -> tuple[list[str], list[bool]]:
    after = most_hold(of_tests(*pool))
    return [found.verdict for found in after], [found.counts for found in after]


HELD, LEFT, AGAINST_IT = "supported", "inconclusive", "contradicted"
NEAR, FAR = (
    replace(AGAINST, decision=replace(MARGIN, smallest_margin=size)) for size in (0.019, 0.021)
)
GONE = replace(HOLDS, case="", verdict="not-tested", p_value=None)


@pytest.mark.parametrize(("pool", "verdicts", "counts"), [
    ([replace(HOLDS, p_value=0.049)] * 6, [HELD] * 6, [True] * 6),
    # What does not pass is shown and does not count.
    ([HOLDS] * 3 + [OPEN, AGAINST], [HELD] * 3 + [LEFT, AGAINST_IT], [True] * 3 + [False] * 2),
    # One that is far against it stops it.
    ([HOLDS, HOLDS, NEAR], [HELD, HELD, AGAINST_IT], [True, True, False]),
    ([HOLDS, HOLDS, FAR], [HELD, HELD, LEFT], [True] * 3),
    # Half against it contradict, and fewer leave it open.
    ([HOLDS] * 2 + [AGAINST] * 2, [HELD] * 2 + [AGAINST_IT] * 2, [False, False, True, True]),
    ([HOLDS, HOLDS, OPEN, AGAINST], [HELD, HELD, LEFT, LEFT], [True] * 4),
    # An absent test of the pool is not one cell that fails.
    ([HOLDS] * 6 + [GONE, AGAINST], [HELD] * 6 + ["not-tested", LEFT], [True] * 8),
])  # fmt: skip
def test_what_counts_of_a_pool(pool, verdicts, counts) -> None:
    assert ended(*pool) == (verdicts, counts)


def test_tests_of_one_claim_are_one_pool(tmp_path: Path) -> None:
    values, cases = levels(1.0, 1.0, 1.1, spread=0.002)
    for of_cells, verdict in (("most", "supported"), ("all", "contradicted")):
        tests = [data.same({"parameters": {"nodes": n}}, 8, of_cells=of_cells) for n in (1, 2, 4)]
        assert judged(tmp_path, tests, values, cases=cases).verdict == verdict


def test_most_by_chance_is_not_most() -> None:
    """Three true cells and three of which each passes in 5 % of studies: four pass too often."""
    random = np.random.default_rng(5)
    wrong = {"each": 0, "together": 0}
    for _ in range(2000):
        p = np.concatenate([np.zeros(3), random.uniform(size=3)])
        pool = [replace(HOLDS if each < 0.05 else OPEN, p_value=float(each)) for each in p]
        wrong["each"] += sum(each < 0.05 for each in p) >= 4
        wrong["together"] += all(
            f.counts == (f.verdict == "supported") for f in most_hold(of_tests(*pool))
        )
    # 1 - 0.95^3 = 14 %; at most 5 %, with three standard errors of 2000 draws.
    assert wrong["each"] / 2000 > 0.11
    assert wrong["together"] / 2000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_a_cell_of_several_datasets_is_one_by_its_worst() -> None:
    """One case in three datasets was three of five cells."""
    again = [replace(HOLDS, dataset=name, test=3) for name in "abc"]
    two_open = of_tests(OPEN, OPEN)
    assert all(found.counts for found in most_hold(again + two_open))
    assert p_of_most(again + two_open) == 1
    # Of one that two datasets disagree on, neither is shown to hold.
    assert p_of_most([HOLDS, OPEN, replace(HOLDS, test=1)]) == 1


def test_a_large_effect_the_other_way_is_not_set_aside() -> None:
    """A direction has no margin that would pass, and 50 % the other way was only shown."""
    for ratio, counts in ((0.985, False), (0.5, True)):
        size = ratio, ratio
        said = Decision(20, ratio, size, size, 0.01)
        assert ended(*[HOLDS] * 5, replace(AGAINST, decision=said))[1][-1] == counts
