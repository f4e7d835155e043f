"""Claims judged on drawn data: the chance of a whole claim, and what no plan can prove."""

import math
from dataclasses import replace
from pathlib import Path

import claims_data
import msgspec
import numpy as np
import pytest
import synthetic

from parity.analysis.analysis import analysed
from parity.analysis.evidence import Numbers
from parity.claims import terms
from parity.claims.finding import PASSED
from parity.claims.judging import judged
from parity.plan.making import make_plan
from parity.plan.plan import PositiveControl
from parity.plan.study import load_study
from parity.plan.system import kind_of
from parity.preview import chances
from parity.preview.chances import chance_lines
from parity.preview.simulated import Noises, Simulator, noise_of, noise_of_pairs
from parity.preview.terminal import percent

ROOT = Path(__file__).parents[3]
ARMS = tuple(synthetic.RUNTIMES)
VM = kind_of(["vm"])
SYSBENCH, HPL = ("sysbench", "time"), ("hpcc", "hpl")


def _numbers(deviations: np.ndarray, better: str = "lower") -> Numbers:
    """Numbers of arms (columns) in blocks (rows), from logs."""
    by_arm = {
        arm: {f"b{row}": float(np.exp(log)) for row, log in enumerate(column)}
        for arm, column in zip(ARMS, deviations.T, strict=False)
    }
    return Numbers("s", better, by_arm)


def _claim(folder: Path, *tests: dict, **changes):
    """One claim about the containers of the synthetic plan."""
    [claim] = claims_data.register(folder, claims_data.claim(*tests, **changes)).claims
    return claim


def _test(rule: str = "equivalence", arms="containers", key=SYSBENCH, **options) -> dict:
    options = options or {"margin_percent": 1}
    cells = {"benchmark": key[0], "metric": key[1], "arms": arms}
    return claims_data.test_of(rule, cells, **options)


def _simulator(blocks: int, own: float, arms: tuple[str, ...] = ARMS) -> Simulator:
    """Draws of normal numbers that scatter by so much a run, in every case."""
    simulator = Simulator(synthetic.plan(blocks, arms), Noises([], VM))
    for case, metric in (SYSBENCH, HPL):
        noise = simulator.noises.of(simulator.plan.case(case), metric)
        simulator.noises.known[case, metric] = replace(noise, own=own)
    return simulator


def test_a_claim_with_another_side_for_each_arm_is_drawn_in_parts(tmp_path: Path) -> None:
    """A plan could not be shown where a finding holds each arm against one of its own."""
    sides = {"arms": ["docker", "podman"], "against": ["native-a", "apptainer"]}
    cells = {"benchmark": SYSBENCH[0], "metric": SYSBENCH[1], **sides}
    options = {"expect": "costs-more", "smallest_effect_percent": 1}
    claim = _claim(tmp_path, claims_data.test_of("direction", cells, **options), kind="direction")
    drawn = _simulator(6, 0.01).draw([SYSBENCH], 0)
    made = [part.tests[0].cells for part in chances._parts(claim, drawn)]
    assert [(one.arms, one.against) for one in made] == [
        (("docker",), ("native-a",)), (("podman",), ("apptainer",)),
    ]  # fmt: skip


def test_own_and_shared_scatter_are_those_of_a_block_design() -> None:
    random = np.random.default_rng(1)
    logs = random.normal(0, 0.03, (400, 1)) + random.normal(0, 0.01, (400, 5)) + np.arange(5)
    noise = noise_of(_numbers(logs), "native-a", "live/x")
    assert noise.own == pytest.approx(0.01, rel=0.06)
    assert noise.shared == pytest.approx(0.03, rel=0.1)
    assert noise.deviation == pytest.approx(0.01 * math.sqrt(2), rel=0.06)
    assert (noise.blocks, len(noise.arms)) == (400, 5)
    # Numbers that are not all above zero are drawn as they are.
    numbers = _numbers(np.random.default_rng(5).normal(0, 1, (12, 3)))
    by_arm = {arm: {b: v - 2 for b, v in of.items()} for arm, of in numbers.by_arm.items()}
    noise = noise_of(replace(numbers, by_arm=by_arm), "native-a", "live/x")
    drawn = noise.drawn(ARMS[:3], 5000, np.random.default_rng(6))
    assert not noise.is_log and drawn["native-a"].min() < 0


def test_pooling_is_unbiased_though_arms_share_the_reference() -> None:
    random, squares = np.random.default_rng(5), []
    for _ in range(1000):
        logs = random.normal(0, 0.01, (5, 4)) + random.normal(0, 0.1, (5, 1))
        noise = noise_of(_numbers(logs), "native-a", "x")
        squares.append(noise.deviation**2)
    assert math.sqrt(np.mean(squares)) == pytest.approx(0.01 * math.sqrt(2), rel=0.03)
    assert (noise.across, noise.blocks) == (4, 5) and noise.widest > 0


def test_a_run_of_a_pair_has_half_the_variance_of_what_tells_the_two_apart() -> None:
    random, of_reference, by_arm = np.random.default_rng(1), {}, {}
    for arm in ("podman", "docker"):
        met = random.normal(0, 0.05, 400)
        blocks = [f"{arm}-{number}" for number in range(400)]
        own, base = (np.exp(met + random.normal(0, 0.01, 400)) for _ in range(2))
        by_arm[arm] = dict(zip(blocks, own, strict=True))
        of_reference |= dict(zip(blocks, base, strict=True))
    pairs = Numbers("s", "lower", by_arm | {"native-a": of_reference})
    # No block holds all arms, so what is asked of others tells nothing.
    assert noise_of(pairs, "native-a", "live/x") is None
    noise = noise_of_pairs(pairs, "native-a", "live/x")
    assert noise.own == pytest.approx(0.01, rel=0.06)
    assert noise.shared == pytest.approx(0.05, rel=0.06)
    assert noise.widest == pytest.approx(0.01 * math.sqrt(2), rel=0.1)
    assert (noise.blocks, noise.across) == (400, 3)
    alone = replace(pairs, by_arm={"native-a": of_reference})
    assert noise_of_pairs(alone, "native-a", "x") is None


def test_blocks_are_drawn_again_around_each_arm_s_own_mean() -> None:
    # Docker costs 30 % more in the pilot and scatters three times as much; a tenth are spikes.
    random = np.random.default_rng(2)
    logs = random.normal(0, 0.01, (20, 3)) + np.array([0, 0, math.log(1.3)])
    logs[:, 2] += random.normal(0, 0.03, 20)
    logs[::10, 1] += 0.5
    noise = noise_of(_numbers(logs), "native-a", "live/x")
    drawn = noise.drawn(ARMS[:4], 20_000, np.random.default_rng(3))
    of_arm = {arm: np.log(values) for arm, values in drawn.items()}
    for column, arm in enumerate(ARMS[:3]):
        assert of_arm[arm].mean() == pytest.approx(logs[:, 0].mean(), abs=0.005)
        assert of_arm[arm].std() == pytest.approx(logs[:, column].std(ddof=1), rel=0.03)
    assert (of_arm["native-b"] - of_arm["native-a"] > 0.3).mean() == pytest.approx(0.1, abs=0.01)
    # An arm that the pilot does not hold has the scatter of the others.
    assert of_arm[ARMS[3]].std() == pytest.approx(noise.own, rel=0.3)


def test_of_few_blocks_only_the_variance_is_known_and_of_none_it_is_assumed() -> None:
    logs = np.random.default_rng(4).normal(0, 0.01, (4, 3))
    few = noise_of(_numbers(logs), "native-a", "live/x")
    assert few.arms == () and few.own > 0
    assert noise_of(_numbers(logs[:1]), "native-a", "live/x") is None
    simulator = Simulator(synthetic.plan(3), Noises([], VM))
    assumed = simulator.noises.of(simulator.plan.case("hpcc"), "hpl")
    assert (assumed.own, assumed.better, assumed.unit) == (0.01, "higher", "Gflop/s")


def test_a_draw_is_known_by_its_number_whatever_else_is_drawn() -> None:
    simulator = _simulator(6, 0.01)
    one = simulator.draw([SYSBENCH], 7).drawn[SYSBENCH]
    assert simulator.draw([HPL, SYSBENCH], 7).drawn[SYSBENCH] == one
    assert simulator.draw([SYSBENCH], 8).drawn[SYSBENCH] != one


def test_the_positive_control_costs_more_in_every_draw() -> None:
    plan = synthetic.plan(40, ARMS)
    cases = tuple(msgspec.structs.replace(case, parameters={"events": 100}) for case in plan.cases)
    control = PositiveControl("lxc", 4.0, {case.name: {"events": 104} for case in cases})
    plan = msgspec.structs.replace(plan, cases=cases, positive_control=control)
    simulator = Simulator(plan, Noises([], VM))
    for key in (SYSBENCH, HPL):
        costs = simulator.draw([key], 0).drawn[key].costs
        more = np.mean(list(costs("lxc").values())) - np.mean(list(costs("native-a").values()))
        assert more == pytest.approx(math.log(1.04), abs=0.008)


def test_the_pilot_s_own_scatter_is_taken_from_the_best_dataset(tmp_path) -> None:
    plan = synthetic.plan(12, ARMS[:4])
    rows = synthetic.records(plan, effects={("sysbench", "docker"): 1.5})
    pilot = analysed(synthetic.write(tmp_path / "live/synthetic-x", plan, rows))
    simulator = Simulator(synthetic.plan(30), Noises([pilot], VM))
    noise = simulator.noises.of(simulator.plan.case("sysbench"), "time")
    assert (noise.dataset, noise.blocks) == ("live/synthetic-x", 12)
    assert noise.deviation == pytest.approx(0.004 * math.sqrt(2), rel=0.4)
    effects = simulator.draw([SYSBENCH], 0).cell(*SYSBENCH, "docker", "native-a").effects()
    assert abs(effects.mean()) < 0.005  # it costs nothing in what is drawn


def test_a_whole_claim_is_far_less_likely_than_one_of_its_comparisons(tmp_path) -> None:
    """The planner gave the same blocks for both: those of one comparison and the A/A pair."""
    simulator = _simulator(24, 0.01)
    one = _claim(tmp_path, _test(arms=["docker"]))
    whole = _claim(tmp_path, _test(), _test(key=HPL))
    [of_one], [of_whole] = (chances.chances([claim], simulator) for claim in (one, whole))
    assert (of_one.comparisons, of_whole.comparisons) == (1, 14)
    assert of_one.reach.blocks == of_whole.reach.blocks
    assert of_one.interval95[0] > 0.4 and of_whole.interval95[1] < 0.3
    assert of_whole.share < of_one.share**2 + 0.1


@pytest.mark.parametrize("margin", [0.02, 0.01, 0.006])
def test_a_claim_of_one_comparison_has_the_power_that_its_blocks_were_chosen_for(
    tmp_path, monkeypatch, margin
) -> None:
    monkeypatch.setattr(chances, "ENOUGH_PASSES", 201)
    monkeypatch.setattr(chances, "MOST_DRAWS", 200)
    claim = _claim(tmp_path, _test(arms=["docker"], margin_percent=100 * margin))
    reach = chances.chances([claim], _simulator(5, 0.01))[0].reach
    [found] = chances.chances([claim], _simulator(reach.blocks, 0.01))
    assert found.share == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 200))


@pytest.mark.parametrize("rule", ["equivalence", "group-equivalence"])
def test_the_parts_of_a_claim_hold_together_just_if_all_of_it_holds(tmp_path, rule) -> None:
    arms = ["docker", "podman", "lxc"]
    simulator = _simulator(24, 0.008)
    claim = _claim(tmp_path, _test(rule, arms), _test(rule, arms, HPL))
    keys = [SYSBENCH, HPL]
    parts = chances._parts(claim, simulator.draw(keys, 0))
    assert len(parts) == 6
    ended = set()
    for number in range(25):
        data = [simulator.draw(keys, number)]
        together = all(judged(part, data).verdict in PASSED for part in parts)
        whole = judged(claim, data).verdict
        assert together == (whole in PASSED)
        ended.add(whole)
    assert {terms.SUPPORTED, terms.INCONCLUSIVE} <= ended


def test_a_claim_that_something_differs_holds_wrongly_in_few_draws(tmp_path) -> None:
    options = {"expect": "costs-more", "smallest_effect_percent": 0.1}
    claim = _claim(tmp_path, _test("direction", ["docker"], **options), kind="direction")
    [found] = chances.chances([claim], _simulator(30, 0.01))
    assert not found.sameness and found.reach is None
    assert found.interval95[0] < 0.05
    lines = chance_lines([found], {}, lambda case, blocks: "?")
    assert any("would hold wrongly" in line for line in lines)


def test_only_the_tests_that_the_plan_can_decide_are_asked(tmp_path) -> None:
    stream = _test(arms=["docker"], key=("stream", "triad"))
    simulator = _simulator(24, 0.0001)
    [found] = chances.chances([_claim(tmp_path, _test(arms=["docker"]), stream)], simulator)
    assert (found.of_tests, found.share, found.verdict) == ("1 of 2", 1.0, "supported")
    assert not chances.chances([_claim(tmp_path, stream)], simulator)
    assert not chances.chances([_claim(tmp_path, _test("exists", expect=True))], simulator)


def test_a_margin_beyond_every_feasible_plan_is_said_before_measuring(tmp_path) -> None:
    simulator = _simulator(6, 0.2)
    claim = _claim(tmp_path, _test(arms=["docker"]))
    [found] = chances.chances([claim], simulator)
    assert found.reach.blocks is None and found.share == 0 and found.verdict == ""
    # Two one-sided tests of 80 % power by plain t: 2.93 standard errors, of 1000 blocks.
    bound = 2.93 * 0.2 * math.sqrt(2 / 1000)
    assert 1 < math.log1p(found.reach.provable) / bound < 1.25
    lines = chance_lines([found], simulator.noises.known, lambda case, blocks: "?")
    best = percent(found.reach.provable)
    beyond = f"one: ±1 % of sysbench time is beyond 1,000 blocks, which prove ±{best} % at best"
    assert beyond in " ".join(" ".join(lines).split())
    assert any("never measured, 1 % a run assumed" in line for line in lines)
    quiet = chances.chances([claim], _simulator(6, 0.001))
    lines = chance_lines(quiet, {}, lambda case, blocks: f"{blocks} min")
    assert "5 min" in "\n".join(lines) and max(map(len, lines)) <= 80


def test_a_bound_on_scatter_below_the_scatter_is_beyond_every_plan(tmp_path) -> None:
    low = _test("coefficient-of-variation", ["docker"], bound_percent=0.5)
    claim = _claim(tmp_path, _test(arms=["lxc"]), low)
    [found] = chances.chances([claim], _simulator(12, 0.01))
    assert found.share == 0 and found.beyond
    assert found.weakest == "coefficient-of-variation of sysbench time"
    lines = chance_lines([found], {}, lambda case, blocks: "?")
    assert any("sysbench time fails in 1,000 blocks, too" in line for line in lines)
    # A bound above the scatter needs more blocks than planned, and so many do.
    near = _test("coefficient-of-variation", ["docker"], bound_percent=1.1)
    [found] = chances.chances([_claim(tmp_path, near)], _simulator(6, 0.01))
    assert found.share < 0.5 and not found.beyond


def test_the_interval_of_a_chance_covers_it_however_the_draws_ended() -> None:
    random = np.random.default_rng(8)
    for truth in (0.02, 0.3, 0.9):
        covered = 0
        for _ in range(800):
            passed = np.cumsum(random.random(chances.MOST_DRAWS) < truth)
            ended = int(np.argmax(passed >= chances.ENOUGH_PASSES))
            draws = ended + 1 if passed[-1] >= chances.ENOUGH_PASSES else chances.MOST_DRAWS
            tally = int(passed[draws - 1]), draws
            found = chances.Chance(None, "1 of 1", True, 1, 1, *tally, "", "", False, None)
            low, high = found.interval95
            covered += low <= truth <= high
        assert covered / 800 >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 800)


def test_the_hypothesis_of_no_cost_was_out_of_reach_of_the_archived_design(tmp_path) -> None:
    """As it was registered first: seven arms in five cases within 1 %, 30 blocks or 100."""
    claim = _claim(tmp_path, *(_test(key=key) for key in (SYSBENCH, ("likwid", "bandwidth"), HPL)))
    pilot = analysed(ROOT / "results/archive/machine-2026-11-20")
    plan = make_plan(load_study(ROOT / "config/studies/torrez2019.yaml", "machine", "debian12"))
    simulator, cases = Simulator(plan, Noises([pilot], VM)), [c.name for c in plan.run_cases]
    for blocks in (30, 100):
        [found] = chances.chances([claim], simulator.enlarged(cases, blocks))
        assert (found.planned, found.of_tests) == (blocks, "3 of 3")
        assert found.share < 0.02 and found.interval95[1] < 0.04
        assert found.reach.key == HPL and found.reach.blocks > 100
