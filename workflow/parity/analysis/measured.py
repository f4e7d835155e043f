"""A dataset together with what was concluded from it, by comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from parity.analysis.analysis import Analysis, analyse
from parity.analysis.dataset import Dataset, load, refuse_broken

# Case, metric and arm: what names a comparison within a dataset.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Measured:
    """A dataset and what was concluded from it."""

    dataset: Dataset
    analysis: Analysis

    @cached_property
    def compared(self) -> dict[Key, Any]:
        """The planned comparisons, as named tuples, by case, metric and arm."""
        found = self.analysis.comparisons
        rows = found[found["planned"]].itertuples(index=False)
        return {(row.case, row.metric, row.arm): row for row in rows}

    @cached_property
    def effects(self) -> dict[Key, np.ndarray]:
        """Effects per block by case, metric and arm."""
        grouped = self.analysis.pairs.groupby(["case", "metric", "arm"], sort=True)["effect"]
        return {key: group.to_numpy() for key, group in grouped}

    @cached_property
    def parameters(self) -> dict[str, Mapping[str, Any]]:
        """Parameters and factor levels of each case."""
        return {case["case"]: case["parameters"] for case in self.dataset.plan.cases}


def measured(folder: Path, excluded: Sequence[dict[str, Any]] = ()) -> Measured:
    """Read and analyse the dataset in `folder`; an archived one is checked first.

    Args:
        excluded: entries of config/exclusions.yaml.

    Raises:
        UserError: there is no such dataset, it was changed, or it cannot be read.
    """
    if folder.parent.name == "archive":
        refuse_broken(folder)
    dataset = load(folder)
    return Measured(dataset, analyse(dataset, excluded))
