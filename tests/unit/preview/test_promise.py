"""What is said before a campaign with a time limit: what its time can prove."""

import math
from pathlib import Path

import pytest

from parity.plan.making import make_plan
from parity.plan.plan import Plan
from parity.plan.study import load_study
from parity.preview.noise import Noise
from parity.preview.promise import SECONDS_BESIDE, promise_lines
from parity.preview.proof import Need, need

STUDY = Path(__file__).parents[3] / "config/studies/torrez2019.yaml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_study(STUDY, "quick", minutes=10))


def _need(case: str, deviation: float | None) -> Need:
    known = None
    if deviation is not None:
        known = Noise("s", "lower", own=deviation / math.sqrt(2), dataset="archive/quiet")
    return need(case, "time", 0.01, 36, known)


def test_a_quiet_case_can_be_proven_and_a_noisy_one_needs_longer(plan) -> None:
    seconds = 60 - SECONDS_BESIDE
    said = promise_lines(plan, [_need("sysbench", 0.004), _need("memory", 0.02)], seconds)
    assert said[0].startswith("10 min here, up to 10 blocks, can prove ±0.")
    assert "% for sysbench and ±" in said[0]
    assert said[1].startswith("  ±1 % for memory needs ")
    assert said[2] == "  by the scatter in archive/quiet"
    blocks = need("memory", "time", 0.01, 10, _need("memory", 0.02).noise).gated.blocks[0]
    assert f"{blocks // 60} h" in said[1] or f"{blocks} min" in said[1]


def test_too_short_a_time_proves_nothing_and_says_so(plan) -> None:
    said = promise_lines(plan, [_need("sysbench", 0.004)], 200.0)
    assert said[0] == "10 min here, up to 2 blocks, can prove nothing"
    assert said[1].startswith("  ±1 % for sysbench needs ")


def test_what_is_not_known_is_said(plan) -> None:
    assert "nobody has measured yet" in promise_lines(plan, [], None)[0]
    said = promise_lines(plan, [_need("sysbench", None)], 10.0)
    assert said[1:] == ["  sysbench, of which no scatter is known"]


def test_never_more_blocks_than_the_plan_has(plan) -> None:
    said = promise_lines(plan, [_need("sysbench", 0.004)], 1.0)
    assert "up to 60 blocks" in said[0]
