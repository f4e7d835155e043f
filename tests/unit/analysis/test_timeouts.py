"""What a timeout costs: planted lines are found, and what holds none is not given one."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from plans import plan_of

from parity.analysis.descriptive import TIME, TIMEOUTS, line, timeouts
from parity.analysis.evidence import Numbers

COUNTS = np.array([0, 3, 8, 12, 20, 31, 40, 5, 17, 26], float)


def test_a_line_without_noise_is_itself() -> None:
    found = line(COUNTS, 4.0 + 0.2 * COUNTS)
    assert found == pytest.approx((0.2, 0.2, 0.2, 4.0, 1.0))


def test_a_planted_wait_is_in_the_interval_as_often_as_is_said() -> None:
    random, held = np.random.default_rng(15), 0
    for _ in range(300):
        counts = random.poisson(20, 30).astype(float)
        # Longer times scatter more, as they do on a machine.
        found = line(counts, (4.0 + 0.2 * counts) * np.exp(random.normal(0, 0.05, 30)))
        held += found.low <= 0.2 <= found.high
    assert 0.90 * 300 <= held <= 0.98 * 300
    assert found.slope == pytest.approx(0.2, abs=0.05) and 0.5 < found.explained < 1


def test_what_has_nothing_to_do_with_timeouts_has_no_slope() -> None:
    found = line(COUNTS, np.random.default_rng(3).normal(4, 0.1, len(COUNTS)))
    assert found.low < 0 < found.high and found.explained < 0.4
    # Runs that all waited as often have no line, and few have one without an interval.
    for counts in ([0, 0, 0, 0, 0, 0, 0], [7] * 8, [3]):
        assert line(np.array(counts, float), np.linspace(4, 5, len(counts))) == (None,) * 5
    found = line(COUNTS[:5], 1 + 0.3 * COUNTS[:5])
    assert (found.low, found.high) == (None, None) and found.slope == pytest.approx(0.3)
    # A run or two with timeouts are points of their own, and no line.
    waits = np.array([0, 0, 0, 0, 0, 5, 7, 9], float)
    assert line(waits[:7], 1 + 0.2 * waits[:7]) == (None,) * 5
    assert line(waits, 1 + 0.2 * waits).slope == pytest.approx(0.2)


def numbers(*by_arm: tuple[str, list[float]]) -> Numbers:
    blocks = {arm: {f"b{n}": value for n, value in enumerate(values)} for arm, values in by_arm}
    return Numbers("s", "lower", blocks)


def test_each_case_and_arm_with_both_numbers_has_a_row() -> None:
    names = ["npb-cg-200", "npb-cg-2", "npb-ep"]
    cases = [{"case": name, "benchmark": "npb"} for name in names]
    cases[0]["parameters"], cases[1]["parameters"] = {"rto_min_ms": 200}, {"rto_min_ms": 2}
    plan = plan_of({"cases": cases, "arms": ["native-a", "lxc-veth"]})
    by_case = {}
    for name, rto in zip(names[:2], (0.2, 0.002), strict=True):
        by_case[name, TIMEOUTS] = numbers(("lxc-veth", list(COUNTS)), ("native-a", [0] * 10))
        by_case[name, TIME] = numbers(("lxc-veth", list(4 + rto * COUNTS)), ("native-a", [4] * 10))
    by_case[names[2], TIME] = numbers(("lxc-veth", list(4 + 0.2 * COUNTS)))
    found = timeouts(plan, by_case)
    keys = list(zip(found["case"], found["arm"], strict=True))
    assert sorted(keys) == sorted(product(names[:2], ["native-a", "lxc-veth"]))
    of_arm = found.set_index(["case", "arm"])
    assert of_arm.loc[("npb-cg-200", "lxc-veth"), "slope"] == pytest.approx(0.2)
    assert of_arm.loc[("npb-cg-2", "lxc-veth"), "slope"] == pytest.approx(0.002)
    native = of_arm.loc[("npb-cg-200", "native-a")]
    assert (native["runs"], native["timeouts"]) == (10, 0) and pd.isna(native["slope"])
    assert of_arm.loc[("npb-cg-200", "lxc-veth"), "timeouts"] == COUNTS.sum()
