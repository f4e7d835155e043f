"""The planner: spread from earlier data, blocks and margins."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
import synthetic

from parity.analysis.analysis import analysed
from parity.analysis.decision import decide
from parity.analysis.evidence import Numbers
from parity.analysis.outcomes import EQUIVALENT
from parity.plan.system import kind_of
from parity.preview import proof
from parity.preview.simulated import Noise, Noises, noise_of

ROOT = Path(__file__).parents[3]
ARMS = ("native-a", "native-b", "docker", "lxc")
KEY = ("sysbench", "time")
VM = kind_of(["vm"])


def _pilot(folder: Path, blocks: int = 12, parameters: dict | None = None):
    plan = synthetic.plan(blocks, ARMS)
    first, *others = plan.cases
    first = msgspec.structs.replace(first, parameters=parameters or {})
    plan = msgspec.structs.replace(plan, cases=(first, *others))
    return analysed(synthetic.write(folder, plan, synthetic.records(plan, block_spread=0.2)))


def _noise(deviation: float = 0.02, **facts) -> Noise:
    known = {"widest": 2 * deviation, "across": 4, "blocks": 12, "same": True} | facts
    named = {"dataset": "archive/machine-2026-11-20"}
    return Noise("s", "lower", own=deviation / math.sqrt(2), **named | known)


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
    paired = msgspec.structs.replace(plan.case("sysbench"), primary=("cpu_seconds",))
    assert Noises([pilot], VM).of(plan.case("sysbench"), "time").dataset
    assert not Noises([pilot], VM).of(paired, "cpu_seconds").dataset


def test_a_first_look_proves_less_than_the_same_blocks_seen_once() -> None:
    once, looked = (proof.Proof(_noise(), ARMS, looks) for looks in ((), (7, 9, 12, 17, 24, 30)))
    assert looked.margin(7, 0.8) > 1.2 * once.margin(7, 0.8)
    # Five and six of thirty can prove nothing at that level, and are no error either.
    assert math.isinf(looked.margin(6, 0.8)) and looked.blocks(0.02, 0.8) >= 7
    pair = proof.Proof(_noise(), ARMS, is_pair=True)
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
        blocks = proof.Proof(noise, (*PAIR, "docker")).blocks(0.01, power)
        passed = 0
        for _ in range(400):
            one, two, arm = np.log(list(noise.drawn((*PAIR, "docker"), blocks, random).values()))
            both = (two - one, [arm - one, arm - two])
            passed += all(decide(each, 0.01).outcome == EQUIVALENT for each in both)
        assert passed / 400 == pytest.approx(power, abs=0.08)


def test_a_margin_shrinks_with_the_root_of_many_blocks_and_grows_with_the_power() -> None:
    proven = proof.Proof(_noise(0.02), (*PAIR, "docker"))
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
    assert 0.001 < proof.Proof(noise, (*PAIR, "docker")).margin(14, 0.8) < 0.1
    assert proof.Proof(noise, PAIR).margin(14, 0.8) < 1e-6


@pytest.mark.parametrize("deviation", [0.0, 0.001])
def test_fewer_than_the_rank_test_needs_never_suffice(deviation) -> None:
    proven = proof.Proof(_noise(deviation), PAIR)
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
    need = proof.Need(*KEY, 0.01, 1, proof.Proof(_noise(0.02, same=False), PAIR))
    said = "\n".join(proof.need_lines([need], lambda case, blocks: "?"))
    assert "~2 (4) %" in said and "needs 5" in said and "~ with other parameters" in said


def test_pooling_is_unbiased_though_arms_share_the_reference() -> None:
    random, squares = np.random.default_rng(5), []
    for _ in range(1000):
        runs = np.exp(random.normal(0, 0.01, (5, 4)) + random.normal(0, 0.1, (5, 1)))
        by_arm = {
            arm: dict(zip("abcde", column, strict=True))
            for arm, column in zip(ARMS, runs.T, strict=True)
        }
        noise = noise_of(Numbers("s", "lower", by_arm), "native-a", "x")
        squares.append(noise.deviation**2)
    assert math.sqrt(np.mean(squares)) == pytest.approx(0.01 * math.sqrt(2), rel=0.03)
    assert (noise.across, noise.blocks) == (4, 5) and noise.widest > 0
