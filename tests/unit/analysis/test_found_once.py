"""What comparisons have in common is found once, however many of them there are."""

import filecmp
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import synthetic

from parity.analysis import conclusions, contrast, decision, estimate, evidence
from parity.analysis import dataset as datasets
from parity.analysis.analysis import analyse, write
from parity.analysis.dataset import Dataset

# A study with factors of two levels.
ARCHIVED = Path(__file__).parents[3] / "results/archive/machine-libaio-2026-11-21"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    plan = synthetic.plan(6, tuple(synthetic.RUNTIMES))
    folder = tmp_path / "live/synthetic-smoke"
    return datasets.load(synthetic.write(folder, plan, synthetic.records(plan)))


def test_numbers_are_sorted_and_binaries_compared_once_for_all_that_asks_for_them(dataset) -> None:
    with (
        patch.object(evidence, "Numbers", wraps=evidence.Numbers) as made,
        patch.object(datasets, "identity", wraps=datasets.identity) as compared,
    ):
        done = analyse(dataset)
    assert made.call_count == len(done.values.groupby(["case", "metric"])) > 0
    metrics = Counter(zip(done.comparisons["case"], done.comparisons["arm"], strict=True))
    assert max(metrics.values()) > 1 and compared.call_count == len(metrics)


def test_planned_blocks_are_counted_once_for_a_case_and_its_arms(dataset, monkeypatch) -> None:
    looked: list[tuple[str, str]] = []

    class Counted(dict[tuple[str, str], set[str]]):
        def get(self, key: tuple[str, str], default: Any = None) -> Any:
            looked.append(key)
            return super().get(key, default)

    monkeypatch.setitem(vars(dataset), "planned_in", Counted(dataset.planned_in))
    # What is judged of losses looks there as well, for each comparison.
    monkeypatch.setattr(contrast, "objection_to_losses", lambda *_: "")
    table = analyse(dataset).comparisons
    sides = len(table.groupby(["case", "arm"]))
    assert sides < len(table)
    assert len(looked) == 2 * sides


def test_a_comparison_makes_its_means_of_two_once() -> None:
    with patch.object(estimate, "_halves", wraps=estimate._halves) as made:
        decision.decide(np.random.default_rng(20261121).normal(size=30), 0.02)
    made.assert_called_once()


def test_losses_are_judged_once_for_all_effects_of_a_factor() -> None:
    dataset, judge = datasets.load(ARCHIVED), contrast.objection_to_losses
    with patch.object(contrast, "objection_to_losses", wraps=judge) as judged:
        analyse(dataset)
    crossings = list(conclusions.crossings(dataset.plan))
    # Of each arm both cases and both natives, between the levels and for all that is crossed.
    assert 0 < judged.call_count <= len(crossings) * len(dataset.plan.arms) * 2 * 2 * 2


def test_what_is_analysed_is_the_same_without_the_columns_that_nobody_asks_for(tmp_path: Path):
    for whole in (True, False):
        write(analyse(datasets.load(ARCHIVED, whole)), tmp_path / str(whole))
    for path in (tmp_path / "True").iterdir():
        assert filecmp.cmp(path, tmp_path / "False" / path.name, shallow=False)
    assert "evidence" not in datasets.load(ARCHIVED, whole=False).runs
