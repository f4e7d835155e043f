"""What is said before a campaign with a time limit: what its time can prove."""

import dataclasses
import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from parity.command_line.main import main
from parity.core.errors import REFUSED
from parity.plan.making import make_plan
from parity.plan.plan import Plan, write_plan
from parity.plan.study import load_study
from parity.preview.proof import SECONDS_BESIDE, Need, Proof, blocks_in_time, promise_lines
from parity.preview.simulated import Noise
from parity.preview.terminal import LETTERS

STUDY = Path(__file__).parents[3] / "config/studies/torrez2019.yaml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_study(STUDY, "quick", minutes=10))


def _need(case: str, deviation: float | None) -> Need:
    if deviation is None:
        return Need(case, "time", 0.01, 36, None)
    known = Noise("s", "lower", own=deviation / math.sqrt(2), dataset="archive/quiet")
    return Need(case, "time", 0.01, 36, Proof(known, ("native-a", "native-b", "podman")))


def test_what_a_look_stops_leaves_its_time_to_the_others(plan) -> None:
    """After 7 blocks of 50 s nothing is left of one case, and the other has the time of 62."""
    seconds = {"memory": 44.0, "sysbench": 50 - 44.0 - SECONDS_BESIDE}
    asked = [_need("sysbench", 0.010), _need("memory", 0.0)]
    wanted = asked[0].blocks[0]
    assert 7 < wanted < 30
    assert blocks_in_time(plan, asked, seconds) == {"sysbench": wanted, "memory": 7}
    said = promise_lines(plan, asked, seconds)
    whole = " ".join(line.strip() for line in said[:-1])
    assert whole.endswith(
        f"% in sysbench ({wanted} blocks) and to any margin in memory, which does not scatter"
    )
    assert said[-1] == "  by the scatter in archive/quiet"
    assert max(map(len, said)) <= LETTERS


def test_what_cannot_be_decided_has_what_the_others_leave(plan) -> None:
    seconds = {"memory": 20.0, "sysbench": 30 - SECONDS_BESIDE}
    asked = [_need("sysbench", 0.3), _need("memory", 0.0)]
    # Of each number there is a block in turn and a pair of each arm, with what stands beside each.
    alike = sum(block.number == 1 for block in plan.blocks)
    left = 600 - 7 * (50 + SECONDS_BESIDE * (alike - 1))
    assert blocks_in_time(plan, asked, seconds) == {"sysbench": 7 + left // 30, "memory": 7}
    said = promise_lines(plan, asked, seconds)
    (cannot,) = (line for line in said if line.startswith("  ±1 % for sysbench needs "))
    assert cannot.endswith(" days")


def test_a_shorter_run_takes_its_time_in_every_block() -> None:
    plan = make_plan(load_study(STUDY, "campaign"))
    (case, shorter), *_ = plan.shorter_of.items()
    seconds = {case: 36.0, shorter.case.name: 9.0}
    alike = [block for block in plan.blocks if block.number == 1]
    first, beside = plan.looks[0], SECONDS_BESIDE * len(alike)
    left = 60 * plan.minutes - first * (45 + beside)
    reached = blocks_in_time(plan, [_need(case, 0.3)], seconds)[case]
    assert first < reached <= first + left / 45 < first + left / 36


def test_two_numbers_of_a_case_are_told_apart(plan) -> None:
    """And the one that needs more blocks says when the case is decided."""
    both = [_need("sysbench", 0.012), dataclasses.replace(_need("sysbench", 0.001), metric="work")]
    assert blocks_in_time(plan, both, {"sysbench": 1.0})["sysbench"] == both[0].blocks[0] > 7
    asked = [_need("sysbench", 0.004), dataclasses.replace(_need("sysbench", 0.004), metric="work")]
    said = " ".join(promise_lines(plan, asked, {"sysbench": 5.0}))
    assert "in sysbench time (" in said and "in sysbench work (" in said


def test_too_short_a_time_proves_nothing_and_says_so(plan) -> None:
    said = promise_lines(plan, [_need("sysbench", 0.004)], {"sysbench": 200.0})
    assert said[0] == "10 min here bound no cost"
    assert said[1].startswith("  ±1 % for sysbench needs ")


def test_what_is_not_known_is_said_and_never_more_blocks_than_the_plan_has(plan) -> None:
    assert "nobody has measured yet" in promise_lines(plan, [], None)[0]
    said = promise_lines(plan, [_need("sysbench", None)], {"sysbench": 10.0})
    assert said[1:] == ["  sysbench, of which no scatter is known"]
    reached = blocks_in_time(plan, [_need("sysbench", 0.3)], {"sysbench": 1.0})
    assert reached == {"sysbench": 30}


def test_of_a_plan_without_a_limit_of_time_nothing_is_promised(plan, tmp_path, capfd) -> None:
    write_plan(tmp_path / "plan.json", replace(plan, minutes=None))
    asked = {name: tmp_path / name for name in ("exclusions", "archive", "promise")}
    asked |= {"plan": tmp_path / "plan.json", "system": STUDY.parents[1] / "systems/machine.yaml"}
    with pytest.raises(SystemExit) as ended:
        main(["promise", *(f"--{name}={path}" for name, path in asked.items())])
    assert ended.value.code == REFUSED
    assert "no limit of time" in capfd.readouterr().err
    assert not (tmp_path / "promise").exists()
