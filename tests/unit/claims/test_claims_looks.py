"""Claims about data that were looked at several times, which err as rarely as those of one look."""

import math
from pathlib import Path

import claims_data as data
import numpy as np
import pytest
from scipy import stats

from parity.analysis.decision import ASSAY, SPIKES, decide
from parity.analysis.estimate import Typical, typical
from parity.analysis.methods import deviations_of
from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.analysis.sequential import ONE_LOOK, Levels, levels_at, strictest
from parity.claims.cells import AT_ONE_LOOK, JudgingData
from parity.claims.finding import Finding
from parity.claims.judging import Verdict
from parity.claims.judging import judged as judged_alone
from parity.claims.rules import contrasts, rules, scatter
from parity.claims.rules.contrasts import Question
from parity.plan.looks import DECIDED

LOOKS = (10, 20, 30)
LAST = levels_at(LOOKS, 30)
EQUIVALENCE = data.same()
PUBLISHED = "one,s,b,box,1,overhead,4.4,percent,p\none,s,b,box,1,time,1.5,s,p\n"
# A test of each rule that is made for looks, and what the box costs there.
MADE = [
    (EQUIVALENCE, 1.003),
    (EQUIVALENCE, 1.012),
    (data.test_of("group-equivalence", {"arms": "containers"}, margin_percent=1), 1.003),
    (data.test_of("direction", expect="costs-more", smallest_effect_percent=1), 1.02),
    (data.test_of("direction", expect="costs-less", smallest_effect_percent=1), 0.98),
    (data.test_of("direction-difference", expect="costs-more", smallest_effect=0.01), 1.02),
    (data.test_of("minimum-effect", expect="costs-more", minimum_percent=1), 1.02),
    (data.test_of("magnitude", published="overhead/box", scale="ratio"), 1.02),
    (data.test_of("non-inferiority", margin_percent=1), 1.003),
    (data.test_of("equivalent-difference", margin=0.01), 1.003),
    (data.test_of("share-of-node", bound_percent=2), 1.003),
    (data.test_of("coefficient-of-variation", bound_percent=1), 1.003),
    (data.test_of("spread-ratio", factor=2), 1.003),
    (data.test_of("less-variable", than="native-a"), 1.003),
]
TWO_SIDED = {
    "equivalence", "equivalent-difference", "group-equivalence", "magnitude", "spread-ratio"
}  # fmt: skip
# A test of each rule that is not, which decides the data of `_along` if they were looked at once.
AT_NODES = {"parameters": {"nodes": 1}}
NOT_MADE = [
    data.test_of("change", factor="nodes", levels=[1, 4], expect="costs-more",
                 smallest_effect_percent=1),
    data.test_of("counts", along="nodes", order=[4, 2, 1]),
    data.test_of("exists", AT_NODES, expect=True),
    data.test_of("interaction", {"parameters": {"nodes": [1, 4]}}, factor="nodes", levels=[1, 4],
                 expect="second-costs-more", smallest_effect_percent=1, margin_percent=1),
    data.test_of("mean-direction", AT_NODES, expect="costs-more", smallest_effect=1),
    data.test_of("rank", along="nodes", order=[4, 2, 1], minimum_tau=0.9),
    data.test_of("slope", along="nodes", margin_percent=1),
    data.test_of("trend", along="nodes", expect="rising"),
]  # fmt: skip

# What an open finding of a rule without looks says.
ONCE = "its rule is made for data that were looked at once"


def _judged(folder: Path, test: dict, made: tuple) -> Verdict:
    """A claim with one test, judged by a dataset before its family is looked at."""
    known = data.register(folder, data.claim(test, kind="direction"), published=PUBLISHED)
    return judged_alone(known.claims[0], [JudgingData(*made)])


def _both(folder: Path, test: dict, values: dict, **options) -> tuple[Finding, Finding]:
    """The finding in a cell that was looked at once, and in the same of several looks."""
    made = (data.dataset(values, looks=looks, **options) for looks in ((), LOOKS))
    [once], [several] = (_judged(folder, test, each).all for each in made)
    return once, several


def _along(**options) -> tuple:
    """Three levels at which the box costs ever more and scatters less, in MiB."""
    values, cases = data.levels(1.0, 1.1, 1.2)
    for case in cases:
        steady = data.noise(3, spread=0.001)
        values[case["case"], "box"] = values[case["case"], "box"][0] * np.exp(steady)
    return data.dataset(values, cases, unit="MiB", **options)


def test_these_rules_are_made_for_looks() -> None:
    """Another one has to be shown to err as rarely at looks before it stands here."""
    assert {test["rule"] for test, _ in MADE} == {n for n, r in rules().items() if r.for_looks}
    others = {test["rule"] for test in NOT_MADE} | {"anchor"}
    assert others == {name for name, rule in rules().items() if not rule.for_looks}


@pytest.mark.parametrize("test", NOT_MADE, ids=lambda test: test["rule"])
def test_all_others_leave_open_what_was_looked_at_several_times(tmp_path, test) -> None:
    once = _judged(tmp_path, test, _along())
    assert once.verdict not in ("inconclusive", "not-tested")
    several = _judged(tmp_path, test, _along(looks=LOOKS))
    assert several.verdict == "inconclusive" and ONCE in several.reason
    for before, found in zip(once.all, several.all, strict=True):
        assert (found.reason, found.decision.blocks) == (ONCE, before.decision.blocks)
        # Nothing that holds for one look only is shown, or taken into a correction.
        assert (found.p_value, found.p_against) == (None, None)
        assert np.isnan([*found.decision.interval95, *found.decision.interval90]).all()


def test_what_is_never_tested_or_not_there_is_no_open_question(tmp_path: Path) -> None:
    anchor = data.test_of("anchor", AT_NODES, published="time/box")
    missing = data.test_of("trend", {"arms": ["barrel"]}, along="nodes", expect="rising")
    for test in (anchor, missing):
        assert _judged(tmp_path, test, _along(looks=LOOKS)).verdict == "not-tested"


@pytest.mark.parametrize(("test", "box"), MADE, ids=lambda each: str(each)[:24])
def test_the_others_have_wider_intervals_and_larger_p(tmp_path, test: dict, box: float) -> None:
    unit = "MiB" if test["rule"] == "share-of-node" else "s"
    once, several = _both(tmp_path, test, data.quiet(box=box), unit=unit)
    for name in ("interval95", "interval90"):
        for one, more in ((once.decision, several.decision), (once.control, several.control)):
            (low, high), (lower, higher) = getattr(one, name), getattr(more, name)
            assert lower < low < high < higher
            assert one.estimate == more.estimate
    # Just once, whatever test they come from: Holm's correction takes them as they are.
    if once.p_value is not None:
        assert several.p_value == pytest.approx(LAST.adjusted(once.p_value))
    adjusted = LAST.adjusted_both_ways if test["rule"] in TWO_SIDED else LAST.adjusted
    assert several.p_against == pytest.approx(adjusted(once.p_against))
    assert several.p_against < 1 or several.p_value < 1


def _typical(values: dict, arm: str) -> Typical:
    """What an arm costs against each of both natives."""
    return typical([np.log(np.divide(values["spin", arm], values["spin", one]))
                    for one in ("native-a", "native-b")])  # fmt: skip


@pytest.mark.parametrize(("test", "bound", "end"), [
    (EQUIVALENCE, math.log1p(0.01), 1),
    (data.test_of("direction", expect="costs-more", smallest_effect_percent=0.01), 0.0, 0),
    (data.test_of("minimum-effect", expect="costs-more", minimum_percent=0.01), 1e-4, 0),
], ids=lambda each: each["rule"] if isinstance(each, dict) else "")  # fmt: skip
def test_a_verdict_and_its_p_say_the_same(tmp_path: Path, test: dict, bound: float, end) -> None:
    """Between the levels of one look and of several, p is above 0.05 and nothing is said."""
    values = data.quiet(spread=0.003)
    centre = _typical(values, "box")
    ends = [centre.interval(1 - 2 * each.same)[end] for each in (ONE_LOOK, LAST)]
    moved = math.exp(bound - float(np.mean(ends)))
    values["spin", "box"] = [moved * value for value in values["spin", "box"]]
    once, several = _both(tmp_path, test, values)
    assert once.p_value < 0.05 < several.p_value
    assert several.verdict == "inconclusive"
    assert once.verdict == "supported" or once.reason.startswith(SPIKES)


def test_each_comparison_has_the_levels_of_its_own_looks() -> None:
    """The box stopped at the first look, the crate at the second one; natives went on."""
    values = data.quiet() | {("spin", "native-plus"): data.around(1.04, 77)}
    for arm, blocks in (("box", 10), ("crate", 20)):
        values["spin", arm] = values["spin", arm][:blocks] + [math.nan] * (30 - blocks)
    failed = {("spin", arm): DECIDED for arm in ("box", "crate")}
    arms = {**data.ARMS, "native-plus": "native"}
    made = data.dataset(values, arms=arms, positive="native-plus", failed=failed, looks=LOOKS)
    seen = JudgingData(*made)
    first, second = levels_at(LOOKS, 10), levels_at(LOOKS, 20)
    for *sides, levels in (
        ("box", "native-a", (first, LAST)),
        ("box", "crate", (first, second)),
        ("native-b", "native-a", (LAST,)),
    ):
        assert seen.cell("spin", "time", *sides).levels == (strictest(levels), LAST)
    at_once = JudgingData(*data.dataset(values, arms=arms, positive="native-plus", failed=failed))
    assert at_once.cell("spin", "time", "box", "crate").levels == AT_ONE_LOOK


def test_a_positive_control_has_to_be_seen_at_the_look(tmp_path: Path) -> None:
    """One that lies beyond the margin by the interval of a single look only."""
    plus = np.array(data.around(1.0, 77, spread=0.005))
    values, arms = data.quiet(), {**data.ARMS, "native-plus": "native"}
    centre = _typical(values | {("spin", "native-plus"): plus}, "native-plus")
    ends = [centre.interval(1 - 2 * each.other)[0] for each in (ONE_LOOK, LAST)]
    moved = math.log1p(0.01) - float(np.mean(ends))
    assert decide(centre.rows + moved, 0.01).outcome == DIFFERENT
    values["spin", "native-plus"] = list(plus * math.exp(moved))
    once, several = _both(tmp_path, EQUIVALENCE, values, arms=arms, positive="native-plus")
    assert once.verdict == "supported"
    assert several.verdict == "inconclusive" and several.reason.startswith(ASSAY)


def test_holm_takes_p_of_looks_as_they_are(tmp_path: Path) -> None:
    """One claim alone keeps its p; the smaller one of two is doubled, and nothing else."""
    more = {"expect": "costs-more", "smallest_effect_percent": 0.1}
    claims = [
        data.claim(data.test_of("direction", {"arms": [arm]}, **more), name=arm, kind="direction")
        for arm in ("box", "crate")
    ]
    made = data.dataset(data.quiet(box=1.003, crate=1.0034), looks=LOOKS)
    [alone] = data.verdicts(data.register(tmp_path, claims[0]), made).verdicts.itertuples()
    assert alone.p_adjusted == alone.p_value > 0
    found = data.verdicts(data.register(tmp_path, *claims), made).verdicts
    smaller, larger = sorted(found["p_value"])
    assert alone.p_value in (smaller, larger)
    assert sorted(found["p_adjusted"]) == pytest.approx(
        sorted((min(1.0, 2 * smaller), max(larger, min(1.0, 2 * smaller))))
    )


@pytest.mark.parametrize(("test", "truth"), [
    (lambda asked: contrasts.same(asked, 0.01), math.log1p(0.01)),
    (lambda asked: contrasts.directed(asked, True, 0.0001), 0.0),
    (lambda asked: contrasts.below(asked, 0.01), math.log1p(0.01)),
], ids=["equivalence", "direction", "non-inferiority"])  # fmt: skip
def test_stopping_at_any_look_errs_in_one_of_twenty(test, truth: float) -> None:
    """The box lies at the bound that must not be passed, and what would stop is looked at.

    At the levels of a single look, which were taken before, too many studies are wrong.
    """
    looks, studies = (15, 30, 45, 60), 1000
    cell = JudgingData(*data.dataset(data.quiet(blocks=60))).cell("spin", "time", "box", "native-a")
    levels = [(levels_at(looks, look), ONE_LOOK) for look in looks]
    random = np.random.default_rng(20261122)
    wrong = {"once": 0, "looks": 0}
    for _ in range(studies):
        effects = random.normal(truth, 0.003, 60)
        for name, of_look in (("once", [AT_ONE_LOOK] * len(looks)), ("looks", levels)):
            asked = [Question((cell,), effects[:look], effects[:0], levels=at)
                     for look, at in zip(looks, of_look, strict=True)]  # fmt: skip
            wrong[name] += any(test(each).verdict == "supported" for each in asked)
    # Of those that err in just one of twenty, one in a thousand is wrong more often.
    most = stats.binom.isf(0.001, studies, 0.05)
    assert wrong["looks"] <= most < wrong["once"]


@pytest.mark.parametrize("of_two", [False, True], ids=["coefficient", "ratio"])
def test_stopping_at_any_look_errs_as_rarely_of_scatter(of_two: bool) -> None:
    """A scatter that lies at the bound, of one arm or of two, and passes at no more than 5 %."""
    looks, studies = (15, 30, 45, 60), 1000
    random, bound = np.random.default_rng(20261125), 100 * math.sqrt(math.expm1(0.01**2))
    wrong = {"once": 0, "looks": 0}
    for _ in range(studies):
        one, other = random.normal(0, 0.01, (2, 60))
        for name in wrong:
            for look in looks:
                levels = ONE_LOOK if name == "once" else levels_at(looks, look)
                if of_two:
                    both = deviations_of(2 * one[:look], other[:look])
                    decided = scatter._ratio(both, (-math.inf, 2.0), levels, 2.0)
                else:
                    decided = scatter._bounds(np.exp(one[:look]).tolist(), bound, levels)
                if decided.outcome == EQUIVALENT:
                    wrong[name] += 1
                    break
    most = stats.binom.isf(0.001, studies, 0.05)
    assert wrong["looks"] <= most
    assert wrong["looks"] < wrong["once"]


def test_one_look_changes_no_p() -> None:
    assert Levels(0.05, 0.025) == ONE_LOOK
    p = np.random.default_rng(1).uniform(size=1000).tolist()
    assert [ONE_LOOK.adjusted(each) for each in p] == p
