"""The sentences on programs at scale say what is planted, and no more than was recorded."""

import claims_data as data
import pandas as pd

from parity.analysis import tables
from parity.report.text.noise_at_scale import TOO_SHORT, answer

PLAN = data.dataset(data.quiet())[0].plan


def replay(**slowdowns: list[tuple[float, float, float]]) -> pd.DataFrame:
    """Replays of steps of 1 ms on 1, 2, 4 … ranks: low end, slowdown and high end of each arm."""
    rows = [
        {"case": "spin", "arm": arm.replace("_", "-"), "ranks": 2**place, "step_seconds": 1e-3,
         "phases": "random", "slowdown": value, "low": low, "high": high,
         "beyond": place == 3}
        for arm, numbers in slowdowns.items()
        for place, (low, value, high) in enumerate(numbers)
    ]  # fmt: skip
    return tables.frame(tables.NOISE["replay"], rows)


NATIVE = [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.1, 1.2), (1.0, 2.0, 3.0)]


def test_a_limit_that_slows_and_runtimes_that_do_not() -> None:
    held = [(1.0, 1.0, 1.001), (1.005, 1.01, 1.02), (3.6, 4.4, 4.8), (9.0, 9.0, 9.0)]
    replayed = replay(native_a=NATIVE, native_b=held, box=NATIVE, crate=held)
    said = answer(PLAN, replayed, {"crate"}, ["native-a", "box"])
    assert said == (
        "A CPU quota slows a program by more than 1 % beyond Native-a from 4 ranks at steps of "
        "1 ms on, and most under Crate on 4 ranks at steps of 1 ms: 4.000 [3.000, 4.800]. "
        "No runtime alone is shown to slow a program by more than 1 %, on up to 4 ranks; what can "
        "be excluded least is under Box on 4 ranks at steps of 1 ms: 1.000 [0.833, 1.200]."
    )


def test_a_runtime_that_slows_is_named() -> None:
    slow = [(1.0, 1.0, 1.0), (1.5, 1.6, 1.7), (1.5, 1.6, 1.7), (9.0, 9.0, 9.0)]
    said = answer(PLAN, replay(native_a=NATIVE, box=NATIVE, crate=slow), (), ["box", "crate"])
    assert said == (
        "A runtime alone can slow a program by more than 1 %, first under Crate on 2 ranks at "
        "steps of 1 ms: 1.600 [1.500, 1.700]."
    )


def test_what_was_recorded_too_shortly_says_nothing() -> None:
    unknown = [(float("nan"), 1.5, float("nan"))]
    assert answer(PLAN, replay(native_a=unknown, box=unknown), (), ["box"]) == TOO_SHORT
    assert answer(PLAN, replay(), (), ()) == ""


def test_an_arm_that_shares_cpus_is_no_runtime_alone() -> None:
    slow = [(1.0, 1.0, 1.0), (1.5, 1.6, 1.7), (1.5, 1.6, 1.7), (9.0, 9.0, 9.0)]
    said = answer(PLAN, replay(native_a=NATIVE, box=NATIVE, crate=slow), (), ["native-a", "box"])
    assert said == (
        "Shares or a choice of CPUs slow a program by more than 1 %, first under Crate on 2 ranks "
        "at steps of 1 ms: 1.600 [1.500, 1.700]. No runtime alone is shown to slow a program by "
        "more than 1 %, on up to 4 ranks; what can be excluded least is under Box on 4 ranks at "
        "steps of 1 ms: 1.000 [0.833, 1.200]."
    )
