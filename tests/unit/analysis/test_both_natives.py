"""Each of both natives is the reference, in analysis and claims, and never their mean."""

import math
from pathlib import Path

import numpy as np
import pytest
import synthetic

from parity.analysis import analysis, dataset
from parity.analysis.estimate import typical
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


def test_an_arm_is_compared_with_each_of_both_natives(tmp_path: Path) -> None:
    data = _judged(tmp_path / "live/synthetic-smoke")
    docker, control = _row(data, "sysbench", "docker"), _row(data, "sysbench", "native-b")
    assert (docker.references, control.references) == (BOTH, "native-a")
    rows = data.cell("sysbench", "time", "docker", "native-a").effects()
    of = data.engine.by_case["sysbench", "time"].costs
    for effects, native in zip(rows, BOTH.split("+"), strict=True):
        expected = np.mean(list(of("docker").values())) - np.mean(list(of(native).values()))
        assert effects.mean() == pytest.approx(expected)
    centres = [typical(effects) for effects in rows]
    assert math.log(docker.estimate) == pytest.approx(np.mean([one.value for one in centres]))
    ends = typical(rows).interval(0.95)
    assert np.log([docker.low95, docker.high95]) == pytest.approx(ends)
    # An end is the farther one of both, or lies farther still where blocks correlate.
    alone = np.array([centre.interval(0.95) for centre in centres])
    assert ends[0] <= alone[:, 0].min() and alone[:, 1].max() <= ends[1]


@pytest.mark.parametrize("pair", [1.0, 1.05])
def test_claims_see_the_effects_of_the_analysis(tmp_path: Path, pair: float) -> None:
    """Where the pair differs, the reference alone once stood for both, chosen by the data."""
    data = _judged(tmp_path / "live/synthetic-smoke", effects={("sysbench", "native-b"): pair})
    seen = set()
    for key, effects in data.effects.items():
        comparison = data.compared.get(key)
        if comparison and comparison.decision.margin and not comparison.control:
            cell = data.cell(*key, "native-a")
            rows = cell.effects()
            assert rows.shape[0] == 2
            assert sorted(rows.mean(axis=0)) == pytest.approx(sorted(effects))
            assert list(cell.evidence().by_block.values()) == pytest.approx(list(effects))
            seen.add("+".join(cell.natives))
    assert seen == {BOTH}


def test_the_mean_of_both_would_not_be_symmetrical() -> None:
    """Why natives are not pooled: of skewed runs, one less a mean of two is no fair coin.

    The signed-rank test of equal arms errs three times as often as it says, and not at all of
    one run less another.
    """
    random, blocks, draws = np.random.default_rng(3), 60, 600
    runs = random.lognormal(0, 1.5, (draws, 3, blocks))
    wrong = [
        np.mean([typical(effects).p_outside(0.0) < 0.05 for effects in of_draws])
        for of_draws in (runs[:, 0] - runs[:, 1], runs[:, 0] - runs[:, 1:].mean(axis=1))
    ]
    assert wrong[0] < 0.08 < 0.12 < wrong[1]
