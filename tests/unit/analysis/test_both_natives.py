"""Both natives are the reference once they are shown to be the same, in analysis and claims."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic
from claims_data import noise
from scipy import stats

from parity.analysis import analysis, dataset
from parity.analysis.contrast import references, weighted_sum
from parity.analysis.decision import decide
from parity.analysis.estimate import rank_interval
from parity.analysis.evidence import Numbers
from parity.claims.cells import JudgingData

BOTH = "native-a+native-b"


def _judged(folder: Path, **plants) -> JudgingData:
    plan = synthetic.plan(20)
    made = dataset.load(synthetic.write(folder, plan, synthetic.records(plan, **plants)))
    return JudgingData(made, analysis.analyse(made))


def _row(data: JudgingData, case: str, arm: str):
    table = data.analysis.comparisons
    wanted = (table["case"] == case) & (table["arm"] == arm) & table["planned"]
    return next(table[wanted].itertuples())


def test_one_stands_for_the_mean_of_both() -> None:
    by_arm = {"a": {"b1": 2.0, "b2": 3.0, "b3": 1.0}, "b": {"b1": 8.0, "b3": -1}}
    made = Numbers("s", "lower", by_arm)
    both = made.mean_of("a", "b")
    assert both == pytest.approx({"b1": 4.0, "b2": 3.0, "b3": 1.0})
    assert made.mean_of("a") is made.of("a")
    logs = weighted_sum([(1, made.column(True, "a", "b"))])
    assert {block: math.exp(log) for block, log in logs.items()} == pytest.approx(both)


def test_an_arm_is_compared_with_both_natives_once_they_pass(tmp_path: Path) -> None:
    data = _judged(tmp_path / "live/synthetic-smoke")
    docker, control = _row(data, "sysbench", "docker"), _row(data, "sysbench", "native-b")
    assert (docker.references, control.references) == (BOTH, "native-a")
    values = data.engine.by_case["sysbench", "time"]
    natives = [np.log(values.of(arm)[block]) for block in values.of("docker")
               for arm in ("native-a", "native-b")]  # fmt: skip
    expected = np.log(list(values.of("docker").values())).mean() - np.mean(natives)
    assert math.log(docker.estimate) == pytest.approx(expected)
    # Memory is compared by differences as well, whose reference is one thing in its unit.
    assert _row(data, "startup-warm", "docker").references == "native-a"


def test_a_pair_that_fails_leaves_the_reference_alone(tmp_path: Path) -> None:
    data = _judged(tmp_path / "live/synthetic-smoke", effects={("sysbench", "native-b"): 1.05})
    docker = _row(data, "sysbench", "docker")
    assert docker.references == "native-a"
    assert docker.estimate == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize(("shift", "pooled"), [(0.0, True), (0.007, False)])
def test_a_pair_that_differs_by_less_than_the_margin_is_not_pooled(shift, pooled) -> None:
    """Half of 0.7 % made 1.25 % over the reference pass at 1 %."""
    control = decide(shift + noise(1), 0.01)
    made = SimpleNamespace(reference="native-a", double="native-b")
    assert control.outcome == "equivalent"
    assert references(made, control) == (("native-a", "native-b") if pooled else ("native-a",))


@pytest.mark.parametrize("pair", [1.0, 1.05])
def test_claims_see_the_effects_of_the_analysis(tmp_path: Path, pair: float) -> None:
    data = _judged(tmp_path / "live/synthetic-smoke", effects={("sysbench", "native-b"): pair})
    seen = set()
    for key, effects in data.effects.items():
        comparison = data.compared.get(key)
        if comparison and comparison.decision.margin and not comparison.control:
            cell = data.cell(*key, "native-a")
            assert sorted(cell.effects()) == pytest.approx(sorted(effects))
            assert list(cell.evidence().by_block.values()) == pytest.approx(list(effects))
            seen.add("+".join(cell.natives))
    assert seen == {BOTH, "native-a"}


def test_both_scatter_less_than_one() -> None:
    """The variance of a block's effect falls from two of a run to one and a half."""
    runs = np.random.default_rng(1).normal(0, 0.01, (3, 4000))
    values = [dict(enumerate(np.exp(logs))) for logs in runs]
    made = Numbers("s", "lower", dict(zip(("a", "b", "box"), values, strict=True)))
    box = made.costs("box")
    one, both = (
        np.var(list(weighted_sum([(1, box), (-1, made.column(True, *natives))]).values()))
        for natives in (("a",), ("a", "b"))
    )
    assert both / one == pytest.approx(0.75, abs=0.03)


def test_pooling_the_variance_of_few_blocks_would_gain_nothing() -> None:
    """Why it is not done: the rank test, and not t, is what six blocks have to pass.

    With the residual variance of all arms (nine, both natives the reference) more samples pass
    by t alone. Beside the rank test none do, and where one arm scatters twice as much as the
    others, by t alone 13 % wrongly pass at the margin instead of 5 %.
    """
    random, bound = np.random.default_rng(2), 1.6
    passed = {}
    for truth, widest in ((0.0, 1.0), (bound, 2.0)):
        counts = np.zeros(4)
        for _ in range(400):
            runs = random.normal(0, 1, (9, 6))
            runs[-1] = truth + widest * runs[-1]
            effects = runs[-1] - runs[:2].mean(axis=0)
            centred = runs - runs.mean(axis=0)
            residual = centred - centred.mean(axis=1, keepdims=True)
            pooled = stats.t.ppf(0.95, 40) * math.sqrt((residual**2).sum() / 40 * 1.5 / 6)
            own = stats.t.ppf(0.95, 5) * effects.std(ddof=1) / math.sqrt(6)
            low, high = rank_interval(effects, 0.90)
            ranks = -bound < low and high < bound
            by_own, by_pooled = (abs(effects.mean()) + half < bound for half in (own, pooled))
            counts += [by_own, by_pooled, by_own and ranks, by_pooled and ranks]
        passed[truth] = counts / 400
    assert passed[0.0][1] > passed[0.0][0] + 0.08
    assert abs(passed[0.0][3] - passed[0.0][2]) < 0.03
    assert passed[bound][0] < 0.07 < 0.10 < passed[bound][1]
