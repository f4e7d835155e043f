"""The whole analysis of one dataset, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import comparisons, crossed, exclusions, ladder, ledger, pairing, tables
from parity.analysis.dataset import Dataset
from parity.analysis.dispersion import dispersion
from parity.records import schema


@dataclass(frozen=True)
class Analysis:
    """The tables of `parity.analysis.tables` as data frames, by the same names."""

    values: pd.DataFrame
    pairs: pd.DataFrame
    comparisons: pd.DataFrame
    factorial: pd.DataFrame
    steps: pd.DataFrame
    dispersion: pd.DataFrame
    ledger: pd.DataFrame
    losses: pd.DataFrame
    exclusions: pd.DataFrame


def analyse(dataset: Dataset, excluded: Sequence[dict[str, Any]] = ()) -> Analysis:
    """Analyse a dataset, leaving out the excluded runs (entries of config/exclusions.yaml)."""
    left_out = exclusions.of_dataset(excluded, dataset)
    values = pairing.counted_values(dataset.metrics, left_out)
    concluded, pairs = comparisons.conclude(dataset, values)
    stages = ledger.run_stages(dataset, pairs, left_out)
    return Analysis(
        values=values,
        pairs=pairs,
        comparisons=concluded,
        factorial=crossed.effects(dataset, values),
        steps=ladder.steps(dataset, values),
        dispersion=dispersion(values),
        ledger=ledger.ledger(dataset, stages),
        losses=ledger.losses(dataset, stages),
        exclusions=left_out,
    )


def write(analysis: Analysis, folder: Path) -> None:
    """Write each table as `<folder>/<table>.parquet`; the same analysis gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for field in fields(analysis):
        table = tables.TABLES[field.name]
        tables.write(table, getattr(analysis, field.name), folder / f"{field.name}.parquet")


def read(folder: Path) -> Analysis:
    """Read what `write` wrote."""
    return Analysis(
        **{
            name: schema.read(table, folder / f"{name}.parquet").to_pandas()
            for name, table in tables.TABLES.items()
        }
    )
