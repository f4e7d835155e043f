"""Whether a fresh dataset agrees with an archived one, effect by effect.

Seconds of two machines are never compared, only cost ratios, which have no unit: what a
runtime costs relative to the native run beside it. The archive predicts the mean of as
many blocks as the fresh dataset has; of true predictions at 95 %, 95 % come true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import outcomes, prediction, tables
from parity.analysis.agreement_table import AGREEMENT
from parity.analysis.dataset import Dataset
from parity.analysis.estimate import estimate
from parity.analysis.identity import BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME
from parity.analysis.measured import Key, Measured
from parity.core.errors import UserError
from parity.plan.plan import PLAN

INSIDE, OUTSIDE, CONSTANT, NOT_COMPARED = "inside", "outside", "constant", "not-compared"
ABSOLUTE = "an absolute difference, which is not compared between machines"
NO_SPREAD = "the archived ratio is the same in all blocks, which predicts no interval"
# Two logs that differ by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Count:
    """How many predictions came true.

    Attributes:
        inside: how many fresh ratios lie where the archive says.
        compared: of how many.
        expected: how many are expected if nothing has changed.
        independent: 95 % range of that number if the rows were independent (binomial).
        sharing: the same, given that the arms of a case share the reference's runs.
    """

    inside: int
    compared: int
    expected: float
    independent: tuple[int, int]
    sharing: tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """Two datasets side by side: `agreement_table.AGREEMENT` and the count of its rows."""

    fresh: str
    archive: str
    table: pd.DataFrame
    count: Count


def refuse_missing(folder: Path) -> None:
    """Say in one message that there is no such dataset, and which there are.

    Raises:
        UserError: `folder` (results/<source>/<dataset>) holds no plan or no records.
    """
    if (folder / PLAN).exists() and (folder / "records/metrics.parquet").exists():
        return
    there = sorted(
        path.parents[1] for path in folder.parents[1].glob("*/*/records/metrics.parquet")
    )
    raise UserError(
        "there is no such dataset",
        where=str(folder),
        allowed=", ".join("/".join(path.parts[-2:]) for path in there),
        action="measure one (snakemake all), or name another with --config fresh=…",
    )


def agree(fresh: Measured, archive: Measured) -> Agreement:
    """Hold the fresh dataset against the archived one.

    Raises:
        UserError: both hold the same measurements.
    """
    _refuse_the_same(fresh.dataset, archive.dataset)
    keys = sorted(fresh.compared.keys() | archive.compared.keys())
    table = tables.frame(AGREEMENT, [_row(key, fresh, archive) for key in keys])
    return Agreement(fresh.dataset.name, archive.dataset.name, table, _count(table))


def _row(key: Key, fresh: Measured, archive: Measured) -> dict[str, Any]:
    """One comparison in both datasets, or why it cannot be made."""
    here, there = fresh.compared.get(key), archive.compared.get(key)
    known = here or there
    row = dict.fromkeys(column.name for column in AGREEMENT.columns) | {
        **dict(zip(("case", "metric", "arm"), key, strict=True)),
        "reference": known.reference if not _references_differ(here, there) else "",
        "control": bool(known.control),
        "margin": None if math.isnan(known.margin) else float(known.margin),
        "fresh_blocks": here.blocks if here else 0,
        "archive_blocks": there.blocks if there else 0,
        "identity": _worse(here, there),
    }
    if reason := _obstacle(here, there):
        return row | {"outcome": NOT_COMPARED, "counted": False, "reason": reason}
    compared = _numbers(fresh.effects[key], archive.effects[key])
    reason = (
        NO_SPREAD if compared["outcome"] == CONSTANT else _other_parameters(key, fresh, archive)
    )
    return row | compared | {"counted": not reason, "reason": reason}


def _numbers(fresh: np.ndarray, archive: np.ndarray) -> dict[str, Any]:
    """What two sets of log ratios say of each other."""
    here, there = estimate(fresh), estimate(archive)
    predicted = prediction.prediction_interval(archive, len(fresh))
    between = prediction.difference_interval(fresh, archive)
    spread = float(archive.std(ddof=1))
    inside = predicted[0] - ROUNDING <= here.mean <= predicted[1] + ROUNDING
    varies = spread >= ROUNDING
    return {
        "fresh_ratio": math.exp(here.mean),
        "fresh_low95": math.exp(here.interval95[0]),
        "fresh_high95": math.exp(here.interval95[1]),
        "archive_ratio": math.exp(there.mean),
        "predicted_low95": math.exp(predicted[0]),
        "predicted_high95": math.exp(predicted[1]),
        "ratio_of_ratios": math.exp(here.mean - there.mean),
        "low95": math.exp(between[0]),
        "high95": math.exp(between[1]),
        "spread_ratio": float(fresh.std(ddof=1)) / spread if varies else None,
        "outcome": OUTSIDE if not inside else INSIDE if varies else CONSTANT,
    }


def _obstacle(here: Any, there: Any) -> str:
    """Why two comparisons cannot be compared; empty if they can."""
    if here is None or there is None:
        return f"only in the {'archive' if here is None else 'fresh dataset'}"
    if "difference" in (here.kind, there.kind):
        return ABSOLUTE
    if _references_differ(here, there):
        return f"against {here.reference} here, against {there.reference} in the archive"
    for row, where in ((here, "here"), (there, "in the archive")):
        if row.outcome == outcomes.NOT_TESTED:
            return f"not tested {where}: {row.reason}"
        if row.blocks < 2:
            return f"fewer than two blocks {where}: {row.reason}"
    return ""


def _references_differ(here: Any, there: Any) -> bool:
    return here is not None and there is not None and here.reference != there.reference


def _other_parameters(key: Key, fresh: Measured, archive: Measured) -> str:
    """The parameters in which the case differs, in words; empty if it is the same."""
    here, there = fresh.parameters[key[0]], archive.parameters[key[0]]
    parts = [
        f"{name} {here.get(name, 'not set')} here, {there.get(name, 'not set')} in the archive"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
    return f"other parameters: {'; '.join(parts)}" if parts else ""


def _worse(here: Any, there: Any) -> str:
    found = {row.identity for row in (here, there) if row is not None}
    order = (BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME)
    return next(name for name in order if name in found)


def _count(table: pd.DataFrame) -> Count:
    """How many of the rows that count lie inside, and how many should."""
    counted = table[table["counted"]]
    groups = list(counted.groupby("case").size())
    return Count(
        inside=int((counted["outcome"] == INSIDE).sum()),
        compared=len(counted),
        expected=prediction.CONFIDENCE * len(counted),
        independent=prediction.count_range(groups),
        sharing=prediction.count_range(groups, correlation=prediction.SHARED_REFERENCE),
    )


def _refuse_the_same(fresh: Dataset, archive: Dataset) -> None:
    """A dataset agrees with its own copy, which says nothing."""
    both = [
        set(found.runs.loc[found.runs["started"] != "", ["block", "run", "started"]]
            .itertuples(index=False, name=None))
        for found in (fresh, archive)
    ]  # fmt: skip
    if common := len(both[0] & both[1]):
        raise UserError(
            f"{common} runs are in both datasets: they are the same measurements",
            where=f"results/{fresh.name} and results/{archive.name}",
            action="measure anew (snakemake all), or name another dataset with --config fresh=…",
        )
