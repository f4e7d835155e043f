"""Exclusions: runs that a person took out, with a reason that is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.analysis.dataset import Dataset
from parity.core.settings import load_checked


def load_exclusions(path: Path) -> list[dict[str, Any]]:
    """The exclusions in a YAML file (config/exclusions.yaml), checked against its schema.

    Raises:
        UserError: the file is missing, is no YAML, or has an unknown or missing key.
    """
    entries: list[dict[str, Any]] = load_checked(path, "exclusions")["exclusions"]
    return entries


def excluded_runs(exclusions: Sequence[dict[str, Any]], dataset: Dataset) -> pd.DataFrame:
    """The exclusions of this dataset, each with whether the plan holds its run.

    Two machines that run the same study give their blocks the same ids, and one file
    holds the exclusions of all datasets; so it is the dataset that an entry must name.
    An entry about a run that the plan does not know is kept and shown as not applied.
    """
    planned = set(dataset.planned[["block", "run"]].itertuples(index=False, name=None))
    rows = [
        {key: entry[key] for key in ("block", "run", "reason", "who", "date")}
        | {"applied": (entry["block"], entry["run"]) in planned}
        for entry in exclusions
        if entry["dataset"] == dataset.name
    ]
    return tables.frame(tables.EXCLUSIONS, rows)
