"""What comparisons have in common is found once, however many of them there are."""

import filecmp
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[Any]]:
    """Notes the arguments of all calls of a function of a module."""

    def follow(module: Any, name: str) -> list[Any]:
        calls: list[Any] = []
        function = getattr(module, name)

        def noted(*arguments: Any) -> Any:
            calls.append(arguments)
            return function(*arguments)

        monkeypatch.setattr(module, name, noted)
        return calls

    return follow


def test_numbers_are_sorted_by_case_and_metric_once(dataset, asked) -> None:
    made = asked(evidence, "Numbers")
    done = analyse(dataset)
    assert len(made) == len(done.values.groupby(["case", "metric"])) > 0


def test_binaries_of_a_case_are_compared_once_for_all_of_its_metrics(dataset, asked) -> None:
    compared = asked(datasets, "identity")
    done = analyse(dataset)
    metrics = Counter(zip(done.comparisons["case"], done.comparisons["arm"], strict=True))
    assert max(metrics.values()) > 1
    # The crossed cases ask for both of them together.
    crossings = len(list(conclusions.crossings(dataset.plan))) * len(dataset.plan.arms)
    assert len(metrics) <= len(compared) <= len(metrics) + crossings


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


def test_a_comparison_makes_its_means_of_two_once(asked) -> None:
    made = asked(estimate, "_halves")
    decision.decide(np.random.default_rng(20261121).normal(size=30), 0.02)
    assert len(made) == 1


def test_losses_are_judged_once_for_all_effects_of_a_factor(asked) -> None:
    dataset = datasets.load(ARCHIVED)
    judged = asked(contrast, "objection_to_losses")
    analyse(dataset)
    crossings = list(conclusions.crossings(dataset.plan))
    # Of each arm both cases, once between the levels and once for all that is crossed with them.
    assert 0 < len(judged) <= len(crossings) * len(dataset.plan.arms) * 2 * 2


def test_what_is_analysed_is_the_same_without_the_columns_that_nobody_asks_for(tmp_path: Path):
    for whole in (True, False):
        write(analyse(datasets.load(ARCHIVED, whole)), tmp_path / str(whole))
    for path in (tmp_path / "True").iterdir():
        assert filecmp.cmp(path, tmp_path / "False" / path.name, shallow=False)
    assert "evidence" not in datasets.load(ARCHIVED, whole=False).runs
