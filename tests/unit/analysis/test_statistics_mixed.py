"""The hierarchical model against closed forms for balanced blocks, and planted truths."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parity.analysis import sensitivity


def _runs(blocks, effects, nodes=1, drift=0.0, noise=0.005, seed=1) -> pd.DataFrame:
    """Every arm once in every block, in random order; block b on node b modulo `nodes`."""
    random = np.random.default_rng(seed)
    of_node = random.normal(0, 0.05, nodes)
    rows = []
    for block in range(blocks):
        shared = random.normal(0, 0.03) + of_node[block % nodes]
        positions = random.permutation(len(effects)) + 1
        for position, (arm, effect) in zip(positions, effects.items(), strict=True):
            log = shared + effect + drift * position + random.normal(0, noise)
            rows.append((f"b{block}", f"n{block % nodes}", arm, position, log))
    return pd.DataFrame(rows, columns=["block", "node", "arm", "position", "log"])


TWO = {"native": 0, "podman": 0.01}


def _without_position(runs: pd.DataFrame) -> pd.DataFrame:
    """A table of block by arm."""
    return runs.pivot(index="block", columns="arm", values="log")


def test_balanced_positions_give_the_analysis_of_variance() -> None:
    # Three arms in a Latin square, twice: the estimate is that of the means, and the position
    # takes one degree of freedom and its sum of squares from the residual.
    runs = _runs(6, {"native": 0, "docker": 0.02, "podman": 0.01}, drift=0.004)
    first = runs["arm"].map({"native": 0, "docker": 1, "podman": 2})
    runs["position"] = (first + runs["block"].str[1:].astype(int)) % 3 + 1
    table = _without_position(runs)
    centred = table.sub(table.mean(axis=1), axis=0) - table.mean() + table.to_numpy().mean()
    at = runs.pivot(index="block", columns="arm", values="position") - 2
    slope = (centred * at).to_numpy().sum() / (at**2).to_numpy().sum()
    residual = ((centred - slope * at) ** 2).to_numpy().sum() / 9  # (3 - 1) (6 - 1) - 1
    found = sensitivity.contrasts(runs, ["native"])["docker"]
    assert found.freedom == 9
    assert found.value == pytest.approx((table["docker"] - table["native"]).mean(), rel=1e-4)
    assert found.error == pytest.approx(math.sqrt(2 * residual / 6), rel=1e-3)
    half = stats.t.ppf(0.975, 9) * found.error
    assert found.interval(0.95) == pytest.approx((found.value - half, found.value + half))


@pytest.mark.parametrize("nodes", [1, 4, 40])
def test_planted_effects_are_found_in_spite_of_drift_and_nodes(nodes: int) -> None:
    runs = _runs(40, {"native": 0, "docker": 0.0, "podman": 0.05}, nodes=nodes, drift=0.02)
    found = sensitivity.contrasts(runs, ["native"])
    assert found["podman"].value == pytest.approx(0.05, abs=0.004)
    low, high = found["docker"].interval(0.95)
    assert low < 0 < high and high - low < 0.006
    # The drift widens the paired interval, which knows nothing of positions.
    table = _without_position(runs)
    error = stats.sem(table["docker"] - table["native"])
    assert 2 * stats.t.ppf(0.975, 39) * error > 3 * (high - low)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_have_nothing_in_common_leave_least_squares(seed: int) -> None:
    # Without the mean of each block, the variance between blocks is estimated as zero: its bound.
    runs = _runs(10, {"native": 0, "docker": 0.01, "podman": 0}, seed=seed)
    runs["log"] -= runs.groupby("block")["log"].transform("mean")
    fixed = np.column_stack(
        [np.ones(30), runs["arm"] == "docker", runs["arm"] == "podman", runs["position"]]
    ).astype(float)
    solution, (squares,), *_ = np.linalg.lstsq(fixed, runs["log"], rcond=None)
    error = math.sqrt(squares / 26 * np.linalg.inv(fixed.T @ fixed)[1, 1])
    found = sensitivity.contrasts(runs, ["native"])["docker"]
    assert (found.value, found.error) == pytest.approx((solution[1], error), rel=1e-3)


def test_two_natives_as_the_reference_narrow_the_interval_and_blocks_may_lack_an_arm() -> None:
    runs = _runs(30, {"native-a": 0, "native-b": 0, "podman": 0.03})
    one = sensitivity.contrasts(runs[runs["arm"] != "native-b"], ["native-a"])["podman"]
    both = sensitivity.contrasts(runs, ["native-a", "native-b"])
    assert list(both) == ["podman"]
    # The variance of a difference to a mean of two is three quarters of that to one.
    assert both["podman"].error / one.error == pytest.approx(math.sqrt(0.75), rel=0.15)
    runs = _runs(20, {"native": 0, "podman": 0.05, "docker": 0})
    found = sensitivity.contrasts(runs.drop(index=[1, 4, 7]), ["native"])
    assert sorted(found) == ["docker", "podman"]
    assert found["podman"].value == pytest.approx(0.05, abs=0.006)
    assert found["podman"].freedom == 57 - 20 - 2 - 1


def test_the_interval_covers_as_often_as_it_says() -> None:
    # 300 studies of six blocks: 95 % is missed 15 times, sd 3.8.
    missed = 0
    for seed in range(300):
        found = sensitivity.contrasts(_runs(6, {"a": 0, "b": 0.01, "c": 0}, seed=seed), ["a"])["b"]
        low, high = found.interval(0.95)
        missed += not low < 0.01 < high
    assert abs(missed - 15) < 4 * 3.8


@pytest.mark.parametrize(("runs", "error", "message"), [
    (_runs(1, TWO), sensitivity.NotFittedError, "two blocks"),
    (_runs(2, TWO).assign(position=[1, 2, 1, 2]), sensitivity.NotFittedError, "told apart"),
    (_runs(2, TWO).assign(position=[1, 2, 2, 1]), sensitivity.NotFittedError, "too few"),
    (_runs(4, TWO).assign(log=1.5), sensitivity.NotFittedError, "the same"),
    (_runs(4, TWO).assign(log=lambda runs: np.log(1.1 + (runs["arm"] == "native"))),
     sensitivity.NotFittedError, "each arm is the same"),
    (_runs(4, TWO).assign(log=math.nan), ValueError, "finite"),
])  # fmt: skip
def test_what_no_model_fits_says_why(runs: pd.DataFrame, error, message: str) -> None:
    with pytest.raises(error, match=message):
        sensitivity.contrasts(runs, ["native"])


def test_a_fit_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fit_of = sensitivity.MixedLM.fit

    def unconverged(self, **options):
        result = fit_of(self, **options)
        result.converged = False
        return result

    monkeypatch.setattr(sensitivity.MixedLM, "fit", unconverged)
    with pytest.raises(sensitivity.NotFittedError, match="did not converge"):
        sensitivity.contrasts(_runs(8, TWO), ["native"])
