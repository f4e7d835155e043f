"""The planner: spread from earlier data, blocks and margins, and what a limit of time can prove."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import synthetic
from msgspec.structs import replace

from parity.analysis.analysis import analysed
from parity.analysis.decision import decide
from parity.analysis.outcomes import EQUIVALENT
from parity.command_line.main import main
from parity.core.errors import REFUSED
from parity.plan.making import make_plan
from parity.plan.plan import Plan, write_plan
from parity.plan.study import load_study
from parity.plan.system import kind_of
from parity.preview import proof
from parity.preview.proof import SECONDS_BESIDE, Need, Proof, blocks_in_time, promise_lines
from parity.preview.simulated import Noise, Noises
from parity.preview.terminal import LETTERS

STUDY = Path(__file__).parents[3] / "config/studies/torrez2019.yaml"
ARMS = ("native-a", "native-b", "docker", "lxc")
KEY = ("sysbench", "time")
VM = kind_of(["vm"])


def _pilot(folder: Path, blocks: int = 12, parameters: dict | None = None):
    plan = synthetic.plan(blocks, ARMS)
    first, *others = plan.cases
    first = replace(first, parameters=parameters or {})
    plan = replace(plan, cases=(first, *others))
    return analysed(synthetic.write(folder, plan, synthetic.records(plan, block_spread=0.2)))


def _noise(deviation: float = 0.02, **facts) -> Noise:
    known = {"widest": 2 * deviation, "across": 4, "blocks": 12, "same": True,
             "dataset": "archive/machine-2026-11-20"}  # fmt: skip
    return Noise("s", "lower", own=deviation / math.sqrt(2), **known | facts)


def test_own_parameters_then_own_machine_then_more_blocks_decide(tmp_path) -> None:
    asked = synthetic.plan(3, ARMS).case("sysbench")
    sources = ("archive-x/more", 40, {"events": 5}), ("live/few", 3)
    sources += ("archive-x/same", 30), ("live/enough", 12)
    pilots = [_pilot(tmp_path / name, *facts) for name, *facts in sources]
    best = [Noises(pilots[:count], VM).of(asked, "time") for count in (1, 2, 3, 4)]
    assert [noise.dataset for noise in best] == [name for name, *_ in sources]
    assert not best[0].same


def test_cpu_time_in_turn_says_nothing_of_how_pairs_scatter(tmp_path) -> None:
    plan = synthetic.plan(12, ARMS)
    rows = synthetic.records(plan, block_spread=0.2)
    of_time = [one for one in rows["metrics"] if one["metric"] == "time"]
    rows["metrics"] += [o | {"metric": "cpu_seconds", "primary": False} for o in of_time]
    pilot = analysed(synthetic.write(tmp_path / "live/in-turn", plan, rows))
    paired = replace(plan.case("sysbench"), primary=("cpu_seconds",))
    assert Noises([pilot], VM).of(plan.case("sysbench"), "time").dataset
    assert not Noises([pilot], VM).of(paired, "cpu_seconds").dataset


def test_a_first_look_proves_less_than_the_same_blocks_seen_once() -> None:
    once, looked = (Proof(_noise(), ARMS, looks) for looks in ((), (7, 9, 12, 17, 24, 30)))
    assert looked.margin(7, 0.8) > 1.2 * once.margin(7, 0.8)
    # Five and six of thirty can prove nothing at that level, and are no error either.
    assert math.isinf(looked.margin(6, 0.8)) and looked.blocks(0.02, 0.8) >= 7
    pair = Proof(_noise(), ARMS, is_pair=True)
    assert pair.margin(14, 0.8) < once.margin(14, 0.8)


def test_a_pilot_that_cannot_be_read_is_named(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "live/synthetic-x"
    (folder / "records").mkdir(parents=True)
    (folder / "records/metrics.parquet").write_text("nothing")
    monkeypatch.chdir(tmp_path)
    found, unread = proof.pilots(tmp_path / "live/none", ())
    assert not found and len(unread) == 1
    assert unread[0].startswith("live/synthetic-x is not used")


PAIR = ("native-a", "native-b")


def test_so_many_blocks_prove_the_margin_with_the_power_that_is_promised() -> None:
    """Other draws than those that the number is from; an arm and the A/A pair both pass."""
    noise, random = _noise(0.02), np.random.default_rng(11)
    for power in proof.POWERS:
        blocks = Proof(noise, (*PAIR, "docker")).blocks(0.01, power)
        passed = 0
        for _ in range(400):
            one, two, arm = np.log(list(noise.drawn((*PAIR, "docker"), blocks, random).values()))
            both = (two - one, [arm - one, arm - two])
            passed += all(decide(each, 0.01).outcome == EQUIVALENT for each in both)
        assert passed / 400 == pytest.approx(power, abs=0.08)


def test_a_margin_shrinks_with_the_root_of_many_blocks_and_grows_with_the_power() -> None:
    proven = Proof(_noise(0.02), (*PAIR, "docker"))
    at = [math.log1p(proven.margin(blocks, 0.8)) for blocks in (56, 224, 896)]
    assert at[0] / at[1] == pytest.approx(2, rel=0.1) and at[1] / at[2] == pytest.approx(2)
    assert proven.margin(56, 0.9) > proven.margin(56, 0.8)
    # 2.93 standard errors of plain t for one comparison: both natives, the pair and runs far off
    # need more.
    assert 2.93 < at[0] / (0.02 / math.sqrt(56)) < 4


def test_natives_that_never_differ_prove_their_own_sameness() -> None:
    """The search for the least margin never ended at a margin of nothing."""
    rows = np.random.default_rng(3).normal(0, 0.01, (12, 3)) * [0, 0, 1]
    noise = _noise(0.01, arms=(*PAIR, "docker"), rows=rows)
    assert 0.001 < Proof(noise, (*PAIR, "docker")).margin(14, 0.8) < 0.1
    assert Proof(noise, PAIR).margin(14, 0.8) < 1e-6


@pytest.mark.parametrize("deviation", [0.0, 0.001])
def test_fewer_than_the_rank_test_needs_never_suffice(deviation) -> None:
    proven = Proof(_noise(deviation), PAIR)
    assert proven.margin(4, 0.8) == math.inf and proven.margin(5, 0.8) <= 0.01
    assert proven.blocks(0.01, 0.8) == 5


def test_every_margin_of_the_plan_has_a_row() -> None:
    plan = synthetic.plan(3, ARMS)
    noises = Noises([], VM)
    noises.known[KEY] = _noise(0.02)
    found = proof.needs(plan, noises)
    assert [need.case for need in found][:2] == ["sysbench", "hpcc"]
    assert not any(need.case.startswith("startup") for need in found)
    lines = proof.need_lines(found, lambda case, blocks: f"{blocks} min")
    row = next(line for line in lines if line.startswith("  sysbench"))
    assert row.split("  ")[1:] and "±1 %" in row and " / " in row and "min" in row
    assert any("hpcc" in line and "no variance known: measure a pilot" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_spread_of_other_parameters_is_marked() -> None:
    need = Need(*KEY, 0.01, 1, Proof(_noise(0.02, same=False), PAIR))
    said = "\n".join(proof.need_lines([need], lambda case, blocks: "?"))
    assert "~2 (4) %" in said and "needs 5" in said and "~ with other parameters" in said


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_study(STUDY, "quick", minutes=10))


def _need(case: str, deviation: float | None) -> Need:
    if deviation is None:
        return Need(case, "time", 0.01, 36, None)
    known = _noise(deviation, dataset="archive/quiet")
    return Need(case, "time", 0.01, 36, Proof(known, (*PAIR, "podman")))


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
