"""Rules about how much runs scatter."""

import math
from pathlib import Path

import claims_data as data
import numpy as np
import pytest
from claims_data import judged


@pytest.mark.parametrize(
    "spread, bound, verdict",
    [(0.01, 5, "supported"), (0.05, 5, "inconclusive"), (0.12, 5, "contradicted")],
)
def test_coefficient_of_variation(
    tmp_path: Path, spread: float, bound: float, verdict: str
) -> None:
    test = data.test_of("coefficient-of-variation", bound_percent=bound)
    values = data.quiet() | {("spin", "box"): data.around(1, 3, spread=spread)}
    found = judged(tmp_path, test, values, kind="dispersion")
    assert found.verdict == verdict
    assert found.estimate == pytest.approx(100 * math.sqrt(math.expm1(spread**2)))


def test_a_machine_that_scatters_by_itself_cannot_tell_what_a_container_adds(tmp_path) -> None:
    test = data.test_of("coefficient-of-variation", bound_percent=5)
    found = judged(tmp_path, test, data.quiet(spread=0.2), kind="dispersion")
    assert (found.verdict, found.control) == ("inconclusive", "different")
    assert found.reason.startswith("native-a scatters by itself as much: [")


@pytest.mark.parametrize(
    "spread, ratio, less",
    [(0.005, "supported", "inconclusive"), (0.05, "contradicted", "contradicted"),
     (0.001, "supported", "supported")],
)  # fmt: skip
def test_ratios_of_scatter(tmp_path: Path, spread: float, ratio: str, less: str) -> None:
    values = data.quiet() | {("spin", "box"): data.around(1, 77, spread=spread)}
    test = data.test_of("spread-ratio", factor=2)
    assert judged(tmp_path, test, values, kind="dispersion").verdict == ratio
    test = data.test_of("less-variable", than="native-a")
    assert judged(tmp_path, test, values, kind="dispersion").verdict == less


def test_scatter_of_what_never_varies_is_open(tmp_path: Path) -> None:
    values = data.quiet() | {("spin", "box"): [1.0] * 30}
    found = judged(tmp_path, data.test_of("spread-ratio", factor=2), values)
    assert found.verdict == "inconclusive" and "does not vary" in found.reason


def test_a_pair_that_scatters_unlike_itself_says_nothing_of_scatter(tmp_path: Path) -> None:
    values = data.quiet() | {
        ("spin", "box"): data.around(1, 77, spread=0.001),
        ("spin", "native-b"): data.around(1, 78, spread=0.05),
    }
    test = data.test_of("less-variable", than="native-a")
    found = judged(tmp_path, test, values, kind="dispersion")
    assert (found.verdict, found.control) == ("inconclusive", "different")
    # Two lost runs of the pair withheld that it differs, and with it the gate.
    values["spin", "native-b"][:2] = [math.nan] * 2
    found = judged(tmp_path, test, values, kind="dispersion")
    assert (found.verdict, found.control) == ("inconclusive", "inconclusive")
    assert found.reason.startswith("the A/A pair differs from itself: [")


def test_blocks_that_scatter_do_not_hide_what_an_arm_does(tmp_path: Path) -> None:
    """Five times the scatter passed as at most twice, because whole blocks scattered more."""
    arms = {**data.ARMS, "barrel": "barrels", "cask": "casks"}
    block = np.exp(data.noise(5, spread=0.025))
    values = {
        ("spin", arm): list(block * data.around(1, seed, spread=0.025 if arm == "box" else 0.005))
        for seed, arm in enumerate(arms, start=60)
    }
    test = data.test_of("spread-ratio", factor=2)
    found = judged(tmp_path, test, values, kind="dispersion", arms=arms)
    assert found.verdict == "contradicted" and found.estimate == pytest.approx(5, rel=0.35)
    less = data.test_of("less-variable", {"arms": ["native-a"]}, than="box")
    found = judged(tmp_path, less, values, kind="dispersion", arms=arms)
    assert found.verdict == "supported"


def test_one_spike_is_no_scatter(tmp_path: Path) -> None:
    """One slow run in thirty contradicted by the test of the variances (p below 1e-6)."""
    logs = data.noise(8)
    logs[4] += 0.08
    values = data.quiet() | {("spin", "box"): list(np.exp(logs))}
    test = data.test_of("spread-ratio", factor=2)
    assert judged(tmp_path, test, values, kind="dispersion").verdict != "contradicted"
    test = data.test_of("less-variable", than="native-a")
    assert judged(tmp_path, test, values, kind="dispersion").verdict == "inconclusive"


def test_arms_that_scatter_just_alike_are_open(tmp_path: Path) -> None:
    """Identical values have p = 1 for less scatter, and so had p = 0 for more."""
    values = data.quiet()
    values["spin", "box"] = values["spin", "native-a"]
    test = data.test_of("less-variable", than="native-a")
    assert judged(tmp_path, test, values, kind="dispersion").verdict == "inconclusive"


def test_zeros_leave_a_coefficient_of_variation_open(tmp_path: Path) -> None:
    """One zero among thirty values, of the arm or of native, ended in a traceback."""
    test = data.test_of("coefficient-of-variation", bound_percent=5)
    for arm, reason in (("box", "a value of zero"), ("native-a", "no A/A pair")):
        values = data.quiet()
        values["spin", arm] = [0.0, *values["spin", arm][1:]]
        found = judged(tmp_path, test, values, kind="dispersion")
        assert found.verdict == "inconclusive" and reason in found.reason
