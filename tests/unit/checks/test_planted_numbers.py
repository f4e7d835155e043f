"""Numbers planted in memory have the traits they are said to have."""

import math

import numpy as np
import pytest
from planted_truth import in_memory
from planted_truth.in_memory import Chance, Layout, dataset
from planted_truth.scenarios import DRIFT, drifts
from planted_truth.study import DOUBLE, PLUS, REFERENCE
from scipy import stats

from parity.analysis.evidence import numbers
from parity.claims.cells import JudgingData
from parity.records import schema

ARMS = ("a", "b", "c")
COSTS = np.log([[1.0, 1.0, 1.02]])


def _drawn(chance: Chance, blocks: int = 10, nodes: int = 1, replicates: int = 3000) -> np.ndarray:
    """Logs of replicates, blocks and arms."""
    node_of = [number % nodes for number in range(blocks)]
    return chance.draw(np.random.default_rng(7), COSTS, node_of, ARMS, replicates)[:, 0]


@pytest.mark.parametrize("law", ["normal", "t5", "t3"])
def test_every_law_has_the_planted_mean_and_deviation(law: str) -> None:
    effects = np.diff(_drawn(Chance(law=law))[..., 1:], axis=2)
    assert effects.mean() == pytest.approx(math.log(1.02), abs=3e-4)
    assert effects.std() == pytest.approx(0.006 * math.sqrt(2), rel=0.05)


def test_a_block_s_part_cancels_in_a_ratio_and_a_node_s_only_in_the_pair() -> None:
    logs = _drawn(Chance(block=0.5))
    assert logs.std(axis=1).mean() > 0.3
    assert (logs[..., 1] - logs[..., 0]).std() == pytest.approx(0.006 * math.sqrt(2), rel=0.05)
    logs = _drawn(Chance(by_node=0.02), blocks=20, nodes=4)
    of_node = [(logs[:, node::4, 2] - logs[:, node::4, 0]).mean(axis=1) for node in range(4)]
    assert np.std(of_node, axis=0).mean() > 0.01
    of_pair = [(logs[:, node::4, 1] - logs[:, node::4, 0]).mean(axis=1) for node in range(4)]
    assert np.std(of_pair, axis=0).mean() < 0.005


def test_spikes_are_part_of_the_mean_and_disturb_one_arm_only() -> None:
    logs = _drawn(Chance(spikes={"c": (0.1, 0.05)}))
    effects = logs[..., 2] - logs[..., 1]
    assert effects.mean() == pytest.approx(math.log(1.02), abs=5e-4)
    assert stats.skew(effects.ravel()) > 1
    assert abs(stats.skew((logs[..., 1] - logs[..., 0]).ravel())) < 0.1


def test_serial_correlation_is_as_planted() -> None:
    logs = _drawn(Chance(serial=0.2, block=0.0), blocks=50)
    own = logs[..., 0]
    found = np.corrcoef(own[:, 1:].ravel(), own[:, :-1].ravel())[0, 1]
    assert found == pytest.approx(0.2, abs=0.02)
    assert own.std() == pytest.approx(0.006, rel=0.02)


def test_the_slowest_runs_are_those_that_are_lost() -> None:
    whole, left = (_drawn(Chance(block=0.0, lost=lost)) for lost in ({}, {"c": 0.3}))
    assert (np.isnan(left[..., 2]).sum(axis=1) == 3).all() and not np.isnan(left[..., :2]).any()
    kept = np.nanmax(left[..., 2], axis=1)
    lost = np.where(np.isnan(left[..., 2]), whole[..., 2], np.inf).min(axis=1)
    assert (kept <= lost).all()


def _layout(blocks: int = 3) -> Layout:
    return Layout({"one": {"n": 1}, "two": {"n": 2}}, ("docker", PLUS), tuple(range(blocks)), 0.01)


def test_a_dataset_in_memory_gives_back_what_was_planted() -> None:
    values = np.arange(1.0, 25.0).reshape(3, 2, 4)
    values[1, 0, 2] = np.nan
    made = dataset(_layout(), values)
    found = numbers(made.metrics)
    blocks = [block.name for block in made.plan.blocks]
    for place, case in enumerate(("one", "two")):
        for number, arm in enumerate((REFERENCE, DOUBLE, "docker", PLUS)):
            expected = dict(zip(blocks, values[:, place, number], strict=True))
            known = {block: value for block, value in expected.items() if value == value}
            assert found[case, "time"].of(arm) == known
    lost = made.final_runs[made.final_runs["reason"] != ""]
    assert lost[["case", "arm", "block"]].to_numpy().tolist() == [["one", "docker", blocks[1]]]


def test_its_tables_are_those_of_the_records() -> None:
    made = dataset(_layout(), np.ones((3, 2, 4)))
    tables = {schema.RUNS: made.runs, schema.METRICS: made.metrics, schema.NODES: made.nodes}
    for table, frame in tables.items():
        schema.to_table(table, frame.astype(object).where(frame.notna(), None).to_dict("records"))
    assert made.plan.positive_arm == PLUS
    judged = JudgingData(made, in_memory.analysed(made))
    assert judged.memory_mib == in_memory.NODE_MIB


def test_drift_over_positions_is_an_error_unless_squares_are_filled() -> None:
    filled, left = (drift.trial()(0, 11) for drift in drifts())
    assert filled.comparisons["error"].abs().max() < 1e-12
    # That of shuffles: two of five positions are so far apart, by the mean of 12 blocks.
    of_shuffles = math.sqrt(2 / math.pi) * math.sqrt(5 / 12) * DRIFT / 4
    assert 0 < left.comparisons["error"].abs().mean() < 0.5 * of_shuffles
