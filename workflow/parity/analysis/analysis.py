"""The whole analysis of one dataset, its files, and both together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import (
    comparisons,
    crossed,
    exclusions,
    ladder,
    ledger,
    pairing,
    sensitivity,
    tables,
    timeouts,
)
from parity.analysis.comparisons import Comparison
from parity.analysis.dataset import Dataset, load
from parity.analysis.dispersion import dispersion
from parity.analysis.sample import sample

# Case, metric and arm: what names a comparison within a dataset.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Analysis:
    """The tables of `parity.analysis.tables` as data frames, by the same names."""

    values: pd.DataFrame
    pairs: pd.DataFrame
    comparisons: pd.DataFrame
    factorial: pd.DataFrame
    rungs: pd.DataFrame
    timeouts: pd.DataFrame
    dispersion: pd.DataFrame
    ledger: pd.DataFrame
    losses: pd.DataFrame
    exclusions: pd.DataFrame
    sensitivity: pd.DataFrame


@dataclass(frozen=True)
class Analysed:
    """A dataset and what was concluded from it."""

    dataset: Dataset
    analysis: Analysis

    @cached_property
    def compared(self) -> dict[Key, Comparison]:
        """The planned comparisons by case, metric and arm."""
        table = self.analysis.comparisons
        rows = comparisons.of_table(table[table["planned"]])
        return {row.asked[:3]: row for row in rows}

    @cached_property
    def natives(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The arms that the analysis takes for the reference, by case and metric."""
        table = self.analysis.comparisons
        rows = table.loc[~table["control"], ["case", "metric", "references"]]
        return {
            (case, metric): tuple(arms.split("+"))
            for case, metric, arms in rows.itertuples(index=False, name=None)
        }

    @cached_property
    def effects(self) -> dict[Key, np.ndarray]:
        """The effects that decisions rest on, by case, metric and arm: of blocks, or of nodes."""
        found: dict[Key, dict[str, float]] = {}
        columns = self.analysis.pairs[["case", "metric", "arm", "block", "effect"]]
        for case, metric, arm, block, effect in columns.itertuples(index=False, name=None):
            found.setdefault((case, metric, arm), {})[block] = effect
        return {key: sample(effects, self.dataset.places).effects for key, effects in found.items()}


def analyse(
    dataset: Dataset, excluded: Sequence[dict[str, Any]] = (), beside: bool = False
) -> Analysis:
    """Analyse a dataset.

    Args:
        excluded: runs to be left out (entries of config/exclusions.yaml).
        beside: whether to ask the other methods, too. They decide nothing and take most of the
            time; without them that table is empty.
    """
    left_out = exclusions.of_dataset(excluded, dataset)
    values = pairing.counted_values(dataset.metrics, left_out)
    by_case = pairing.numbers(values)
    concluded, pairs = comparisons.conclude(dataset, by_case)
    stages = ledger.run_stages(dataset, pairs, left_out)
    return Analysis(
        values=values,
        pairs=pairs,
        comparisons=concluded,
        factorial=crossed.effects(dataset, by_case),
        rungs=ladder.steps(dataset, by_case),
        timeouts=timeouts.timeouts(dataset.plan, by_case),
        dispersion=dispersion(values),
        ledger=ledger.ledger(dataset, stages),
        losses=ledger.losses(dataset, stages),
        exclusions=left_out,
        sensitivity=(
            sensitivity.sensitivity(dataset, by_case, pairs, concluded)
            if beside
            else tables.frame(tables.SENSITIVITY, [])
        ),
    )


def analysed(folder: Path, excluded: Sequence[dict[str, Any]] = ()) -> Analysed:
    """Read and analyse the dataset in `folder`.

    Args:
        excluded: entries of config/exclusions.yaml.

    Raises:
        UserError: there is no such dataset, it was changed, or it cannot be read.
    """
    dataset = load(folder, whole=False)
    return Analysed(dataset, analyse(dataset, excluded))


def write(analysis: Analysis, folder: Path) -> None:
    """Write all tables into a folder (`tables.write_all`)."""
    tables.write_all(tables.TABLES, analysis, folder)


def read(folder: Path) -> Analysis:
    """Read what `write` wrote."""
    return Analysis(**tables.read_all(tables.TABLES, folder))
