"""Side by side: an arm is compared with the reference of its own blocks, and no other is asked."""

import numpy as np
from msgspec.structs import replace
from planted_truth.in_memory import numbers_of
from trials import case_of, trial

from parity.analysis import conclusions, evidence, outcomes, tables
from parity.analysis.contrast import Engine, over
from parity.analysis.dataset import SAME, Dataset
from parity.analysis.decision import Decision
from parity.plan.plan import Plan, PositiveControl
from parity.plan.system import kind_of
from parity.preview.simulated import Noises, Simulator, planned_runs
from parity.records import schema

ROUNDS = 20
EVENTS = {"prime": 10_000, "events": 1000, "threads": 1}
# What each costs, and what it is to be called.
TRUTH = {
    "native-a": (1.0, ""), "native-b": (1.0, "equivalent"), "native-plus": (1.04, "different"),
    "podman": (1.0, "equivalent"), "docker": (1.05, "different"),
}  # fmt: skip


def _plan() -> Plan:
    case = replace(case_of("sysbench", EVENTS), primary=("cpu_seconds",))
    more = PositiveControl("native-plus", 4, {"sysbench": {"events": 1040}})
    design = {"design": "side-by-side", "positive_control": more}
    return trial(case, arms=tuple(TRUTH), blocks=ROUNDS, **design)


def _engine(lost: tuple[str, ...] = ()) -> Engine:
    """Of the planted truth; the runs of some arms were lost in blocks 1 to 9."""
    plan = _plan()
    runs, random = planned_runs(plan), np.random.default_rng(7)
    # What both of a pair meet is far more than what tells them apart.
    met = {block.name: 0.1 * random.standard_normal() for block in plan.blocks}
    noise = runs["block"].map(met) + 0.003 * random.standard_normal(len(runs))
    values = np.array([TRUTH[arm][0] for arm in runs["arm"]]) * np.exp(noise.to_numpy())
    metrics = numbers_of(runs, values, metric="cpu_seconds", unit="s", better="lower")
    nodes, images = (tables.frame(table, []) for table in (schema.NODES, schema.IMAGES))
    if lost:
        gone = runs["block"].str.contains("-b000") & runs["arm"].isin(lost)
        metrics.loc[gone.to_numpy(), "valid"] = False
    dataset = Dataset("live/x", plan, "", kind_of(["vm"]), runs, metrics, nodes, images)
    of_case = evidence.numbers(evidence.counted_values(metrics, metrics.iloc[:0]))
    return Engine(dataset, of_case)


def test_each_pair_tells_of_its_arm_alone() -> None:
    made = {each.arm: each.columns() for each, _ in conclusions.comparisons(_engine())}
    assert {row["references"] for row in made.values()} == {"native-a"}
    for arm, row in made.items():
        assert row["planned_blocks"] == row["blocks"] == ROUNDS
        assert row["low95"] < TRUTH[arm][0] < row["high95"] < row["low95"] + 0.01
        assert row["outcome"] == TRUTH[arm][1]


def test_arms_of_different_pairs_are_compared_by_the_reference_beside_each() -> None:
    """What one block met is in both of its runs, and in no other block of that number."""
    engine, (case,) = _engine(), _plan().cases

    def over_podman(engine: Engine) -> Decision:
        return engine.decided(over(case.name, "cpu_seconds", "docker", ("podman",), 0.01))

    decided = over_podman(engine)
    low, high = decided.interval95
    assert decided.blocks == ROUNDS and low < 1.05 < high < low + 0.012
    assert decided.outcome == outcomes.DIFFERENT
    for lost in ("docker", "podman"):
        assert f"in {lost}" in over_podman(_engine((lost,))).reason


def test_a_preview_draws_an_arm_in_its_own_blocks_alone() -> None:
    plan, kind = _plan(), kind_of(["vm"])
    (case,) = plan.cases
    assert [each.metric for each in plan.quantities(case)] == ["cpu_seconds"]
    drawn = Simulator(plan, Noises([], kind)).draw([(case.name, "cpu_seconds")], 0)
    by_arm = drawn.drawn[case.name, "cpu_seconds"].by_arm
    blocks = {arm: {b.name for b in plan.blocks if arm in {r.arm for r in b.runs}} for arm in TRUTH}
    assert {arm: set(of_arm) for arm, of_arm in by_arm.items()} == blocks
    assert drawn.cell(case.name, "cpu_seconds", "podman", "native-a").natives == ("native-a",)
    # Of two pairs it is asked of each whether it ran what the reference beside it ran.
    of_two_pairs = drawn.cell(case.name, "cpu_seconds", "podman", "docker")
    assert (of_two_pairs.blocks, of_two_pairs.identity) == (ROUNDS, SAME)
