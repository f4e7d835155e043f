"""The whole analysis of one dataset, its files, and both together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import conclusions, descriptive, evidence, tables
from parity.analysis.conclusions import Conclusion
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset, excluded_runs, load
from parity.analysis.evidence import sample
from parity.plan.plan import Plan

SENSITIVITY_FILE = "sensitivity.parquet"
Key = tuple[str, str, str]  # Case, metric and arm: what names a comparison within a dataset.


@dataclass(frozen=True)
class Analysis:
    """Data frames by names of `parity.analysis.tables`; `sensitivity` is empty if not asked."""

    values: pd.DataFrame
    pairs: pd.DataFrame
    conclusions: pd.DataFrame
    timeouts: pd.DataFrame
    dispersion: pd.DataFrame
    ledger: pd.DataFrame
    losses: pd.DataFrame
    exclusions: pd.DataFrame
    sensitivity: pd.DataFrame = field(default_factory=partial(tables.frame, tables.SENSITIVITY, []))

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every arm over the reference."""
        return self._of_forms(conclusions.ARM)

    @cached_property
    def factorial(self) -> pd.DataFrame:
        """The effects of factors of two levels that are crossed with the arms."""
        names = {"form": "effect", "case": "cases"}
        found = self._of_forms(*conclusions.CROSSED).rename(columns=names)
        order = ["benchmark", "metric", "factor", "cases", "arm", "effect"]
        return found.sort_values(order, ignore_index=True)

    @cached_property
    def rungs(self) -> pd.DataFrame:
        """The steps of ladders, each over the one `before`."""
        return self._of_forms(conclusions.STEP).rename(columns={"reference": "before"})

    def _of_forms(self, *forms: str) -> pd.DataFrame:
        return self.conclusions[self.conclusions["form"].isin(forms)].reset_index(drop=True)


@dataclass(frozen=True)
class Analysed:
    """A dataset and what was concluded from it."""

    dataset: Dataset
    analysis: Analysis

    @property
    def plan(self) -> Plan:
        """The campaign's plan."""
        return self.dataset.plan

    @cached_property
    def compared(self) -> dict[Key, Conclusion]:
        """The planned comparisons by case, metric and arm."""
        table = self.analysis.comparisons
        rows = conclusions.of_table(table[table["planned"]])
        return {(row.case, row.metric, row.arm): row for row in rows}

    @cached_property
    def engine(self) -> Engine:
        """What concludes further contrasts of its numbers."""
        return Engine(self.dataset, evidence.numbers(self.analysis.values))

    @cached_property
    def natives(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The arms that the analysis takes for the reference, by case and metric."""
        table = self.analysis.comparisons
        rows = tables.tuples(table[~table["control"]], "case", "metric", "references")
        return {(case, metric): tuple(arms.split("+")) for case, metric, arms in rows}

    @cached_property
    def effects(self) -> dict[Key, np.ndarray]:
        """The effects that decisions rest on, by case, metric and arm: of blocks, or of nodes."""
        found: dict[Key, dict[str, float]] = {}
        columns = ("case", "metric", "arm", "block", "effect")
        for case, metric, arm, block, effect in tables.tuples(self.analysis.pairs, *columns):
            found.setdefault((case, metric, arm), {})[block] = effect
        return {key: sample(effects, self.dataset.places).effects for key, effects in found.items()}


def analyse(dataset: Dataset, excluded: Sequence[dict[str, Any]] = ()) -> Analysis:
    """Analyse a dataset; `excluded`: runs to be left out (entries of config/exclusions.yaml)."""
    left_out = excluded_runs(excluded, dataset)
    values = evidence.counted_values(dataset.metrics, left_out)
    by_case = evidence.numbers(values)
    concluded, pairs = conclusions.conclude(Engine(dataset, by_case))
    stages = descriptive.run_stages(dataset, pairs, left_out)
    return Analysis(
        values=values, pairs=pairs, conclusions=concluded,
        timeouts=descriptive.timeouts(dataset.plan, by_case),
        dispersion=descriptive.dispersion(values), ledger=descriptive.ledger(dataset, stages),
        losses=descriptive.losses(dataset, stages), exclusions=left_out,
    )  # fmt: skip


def analysed(folder: Path, excluded: Sequence[dict[str, Any]] = ()) -> Analysed:
    """Read and analyse the dataset in `folder`; `excluded` as `analyse`, UserError as `load`."""
    dataset = load(folder, whole=False)
    return Analysed(dataset, analyse(dataset, excluded))


def write(analysis: Analysis, folder: Path) -> None:
    """Write all tables but what the other methods say; the same tables give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.TABLES.items():
        tables.write(table, getattr(analysis, name), folder / f"{name}.parquet")


def read(folder: Path) -> Analysis:
    """Read what `write` wrote, and what the other methods say if they were asked."""
    asked = {"sensitivity": tables.SENSITIVITY} if (folder / SENSITIVITY_FILE).exists() else {}
    return Analysis(**tables.read_all(tables.TABLES | asked, folder))
