"""Claims that speak of most cells and not of all."""

from dataclasses import replace
from pathlib import Path

import claims_data as data
import numpy as np
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


def test_all_that_pass_are_most() -> None:
    just = replace(HOLDS, p_value=0.049)
    assert ended(*[just] * 6) == (["supported"] * 6, [True] * 6)


def test_tests_of_one_claim_are_one_pool(tmp_path: Path) -> None:
    values, cases = levels(1.0, 1.0, 1.1, spread=0.002)
    tests = [
        data.test_of("equivalence", {"parameters": {"nodes": nodes}}, margin_percent=8,
                     of_cells="most")
        for nodes in (1, 2, 4)
    ]  # fmt: skip
    assert judged(tmp_path, tests, values, cases=cases).verdict == "supported"
    strict = [dict(test, of_cells="all") for test in tests]
    assert judged(tmp_path, strict, values, cases=cases).verdict == "contradicted"


def test_what_does_not_pass_is_shown_and_does_not_count() -> None:
    verdicts, counts = ended(HOLDS, HOLDS, HOLDS, OPEN, AGAINST)
    assert verdicts == ["supported"] * 3 + ["inconclusive", "contradicted"]
    assert counts == [True] * 3 + [False] * 2


def test_one_that_is_far_against_it_stops_it() -> None:
    near, far = (
        replace(AGAINST, decision=replace(MARGIN, smallest_margin=size)) for size in (0.019, 0.021)
    )
    assert ended(HOLDS, HOLDS, near)[1] == [True, True, False]
    verdicts, counts = ended(HOLDS, HOLDS, far)
    assert (verdicts[-1], counts[-1]) == ("inconclusive", True)


def test_half_against_it_contradict_and_fewer_leave_it_open() -> None:
    assert ended(HOLDS, HOLDS, AGAINST, AGAINST)[1] == [False, False, True, True]
    verdicts, counts = ended(HOLDS, HOLDS, OPEN, AGAINST)
    assert verdicts == ["supported", "supported", "inconclusive", "inconclusive"] and all(counts)


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


def test_an_absent_test_of_the_pool_is_not_one_cell_that_fails() -> None:
    gone = replace(HOLDS, case="", verdict="not-tested", p_value=None)
    verdicts, counts = ended(*[HOLDS] * 6, gone, AGAINST)
    assert verdicts[-2:] == ["not-tested", "inconclusive"] and all(counts)


def test_a_large_effect_the_other_way_is_not_set_aside() -> None:
    """A direction has no margin that would pass, and 50 % the other way was only shown."""
    for ratio, counts in ((0.985, False), (0.5, True)):
        size = ratio, ratio
        said = Decision(20, ratio, size, size, 0.01)
        assert ended(*[HOLDS] * 5, replace(AGAINST, decision=said))[1][-1] == counts
