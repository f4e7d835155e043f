"""The mixed model against closed forms for balanced blocks, and planted truths."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parity.analysis import estimate
from parity.analysis.statistics import mixed


def _runs(
    blocks: int,
    effects: dict[str, float],
    nodes: int = 1,
    crossed: bool = False,
    drift: float = 0.0,
    noise: float = 0.005,
    seed: int = 1,
) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    of_node = random.normal(0, 0.05, nodes)
    rows = []
    for block in range(blocks):
        shared, orders = random.normal(0, 0.03), random.permutation(len(effects))
        for index, (arm, effect) in enumerate(effects.items()):
            node = (block + index * crossed) % nodes
            log = shared + of_node[node] + effect + drift * orders[index]
            rows.append({"block": f"b{block}", "node": f"n{node}", "arm": arm,
                         "order": orders[index], "log": log + random.normal(0, noise)})  # fmt: skip
    return pd.DataFrame(rows)


def test_two_arms_in_balanced_blocks_give_the_paired_interval() -> None:
    runs = _runs(8, {"native": 0, "podman": 0.01}).drop(columns="order")
    wide = runs.pivot(index="block", columns="arm", values="log")
    logs = wide["podman"] - wide["native"]
    fit = mixed.mixed_model(runs, "native")
    assert fit.method == mixed.MIXED and fit.random == ("block",)
    effect = fit.effects["arm=podman"]
    assert effect.estimate == pytest.approx(logs.mean(), rel=1e-5)
    assert effect.interval95 == pytest.approx(estimate.student(logs).interval(0.95), rel=1e-4)
    assert effect.interval90 == pytest.approx(estimate.student(logs).interval(0.90), rel=1e-4)
    assert effect.p == pytest.approx(stats.ttest_1samp(logs, 0).pvalue, rel=1e-3)


def test_several_arms_in_balanced_blocks_give_the_analysis_of_variance() -> None:
    runs = _runs(6, {"native": 0, "docker": 0.02, "podman": 0.01}).drop(columns="order")
    table = runs.pivot(index="block", columns="arm", values="log").to_numpy()
    fitted = table.mean(axis=1, keepdims=True) + table.mean(axis=0) - table.mean()
    residual = ((table - fitted) ** 2).sum() / 10  # (3 - 1) (6 - 1) degrees of freedom
    between = table.mean(axis=1).var(ddof=1) - residual / 3
    fit = mixed.mixed_model(runs, "native")
    half = stats.t.ppf(0.975, 10) * math.sqrt(2 * residual / 6)
    effect = fit.effects["arm=docker"]
    assert effect.freedom == 10
    assert effect.interval95[1] - effect.estimate == pytest.approx(half, rel=1e-4)
    assert fit.variances["residual"] == pytest.approx(residual, rel=1e-3)
    assert fit.variances["block"] == pytest.approx(between, rel=1e-3)


@pytest.mark.parametrize("crossed", [False, True])
def test_planted_effect_drift_and_nodes_are_found(crossed: bool) -> None:
    arms = {"native": 0, "docker": 0.0, "podman": 0.05}
    runs = _runs(40, arms, nodes=4, crossed=crossed, drift=0.004)
    fit = mixed.mixed_model(runs, "native")
    assert fit.method == mixed.MIXED and fit.random == ("block", "node")
    assert fit.effects["arm=podman"].estimate == pytest.approx(0.05, abs=0.003)
    assert fit.effects["order"].estimate == pytest.approx(0.004, abs=0.001)
    assert fit.effects["arm=docker"].interval95[0] < 0 < fit.effects["arm=docker"].interval95[1]
    assert math.sqrt(fit.variances["block"]) == pytest.approx(0.03, rel=0.4)
    assert math.sqrt(fit.variances["residual"]) == pytest.approx(0.005, rel=0.2)


def test_ratios_use_blocks_that_lack_an_arm() -> None:
    runs = _runs(20, {"native": 0, "podman": math.log(1.05), "docker": 0})
    found = mixed.mixed_ratios(runs.drop(index=[1, 4, 7]), "native")
    assert [ratio.arm for ratio in found] == ["docker", "podman"]
    assert found[1].ratio == pytest.approx(1.05, abs=0.006)
    assert found[1].interval95[0] < found[1].interval90[0] < found[1].ratio


def test_interaction_with_a_factor_of_the_blocks() -> None:
    small = _runs(10, {"native": 0, "podman": 0.0}, seed=2).assign(nodes=1)
    large = _runs(10, {"native": 0.7, "podman": 0.74}, seed=3).assign(nodes=4)
    large["block"] = "l" + large["block"]
    fit = mixed.mixed_model(pd.concat([small, large], ignore_index=True), "native", "nodes")
    assert fit.effects["arm=podman:nodes=4"].estimate == pytest.approx(0.04, abs=0.01)
    # What varies only between blocks has the blocks' degrees of freedom.
    assert fit.effects["nodes=4"].freedom == 18
    assert fit.effects["arm=podman"].freedom == 17  # 40 runs - 20 blocks - 3 within


def test_nodes_that_are_the_blocks_are_one_term() -> None:
    assert mixed.mixed_model(_runs(5, {"a": 0, "b": 0}, nodes=5), "a").random == ("block",)


def test_one_block_falls_back_to_least_squares() -> None:
    runs = _runs(6, {"native": 0, "podman": 0.05}).assign(block="b0")
    fit = mixed.mixed_model(runs, "native")
    assert fit.method == "fallback: least squares, because of one block"
    assert fit.effects["arm=podman"].freedom == 9
    assert "block" not in fit.variances


def test_identical_values_fall_back_and_have_no_width() -> None:
    runs = _runs(3, {"native": 0, "podman": 0}).assign(log=1.5)
    fit = mixed.mixed_model(runs, "native")
    assert fit.method == (
        "fallback: least squares with fixed block, because all values are the same"
    )
    assert fit.effects["arm=podman"].estimate == pytest.approx(0, abs=1e-12)
    assert mixed.INTERCEPT not in fit.effects


def test_a_fit_that_does_not_converge_falls_back_to_fixed_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = _runs(8, {"native": 0, "podman": 0.01})
    of_mixed = mixed.mixed_model(runs, "native").effects["arm=podman"]
    fit_of = mixed.MixedLM.fit

    def unconverged(self, **options):
        result = fit_of(self, **options)
        result.converged = False
        return result

    monkeypatch.setattr(mixed.MixedLM, "fit", unconverged)
    fit = mixed.mixed_model(runs, "native")
    assert fit.method.endswith("with fixed block, because the mixed model did not converge")
    effect = fit.effects["arm=podman"]
    assert effect.freedom == of_mixed.freedom
    assert effect.estimate == pytest.approx(of_mixed.estimate, abs=1e-3)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (_runs(3, {"podman": 0, "docker": 0}), "values of native"),
        (_runs(3, {"native": 0}), "another arm"),
        (_runs(1, {"native": 0, "podman": 0}), "told apart"),  # the order is the arm
        (_runs(1, {"native": 0, "podman": 0}).drop(columns="order"), "too few"),
        (_runs(3, {"native": 0, "podman": 0}).assign(log=math.nan), "finite"),
    ],
)
def test_what_no_model_fits_is_refused(runs: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mixed.mixed_model(runs, "native")


def test_an_empty_combination_of_levels_is_refused() -> None:
    runs = _runs(6, {"native": 0, "podman": 0})
    runs["size"] = np.where(runs["arm"] == "podman", 2, 1)
    with pytest.raises(ValueError, match="told apart"):
        mixed.mixed_model(runs, "native", "size")
