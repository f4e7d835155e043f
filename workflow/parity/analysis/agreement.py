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
from parity.analysis.analysis import Analysed, Key
from parity.analysis.comparisons import Comparison
from parity.analysis.dataset import Dataset
from parity.analysis.decision import decide
from parity.analysis.identity import worst
from parity.analysis.pairing import DIFFERENCE
from parity.analysis.tables import AGREEMENT
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
    """Two datasets side by side: `tables.AGREEMENT` and the count of its rows."""

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


def agree(fresh: Analysed, archive: Analysed) -> Agreement:
    """Hold the fresh dataset against the archived one.

    Raises:
        UserError: both hold the same measurements.
    """
    _refuse_the_same(fresh.dataset, archive.dataset)
    keys = sorted(fresh.compared.keys() | archive.compared.keys())
    table = tables.frame(AGREEMENT, [_row(key, fresh, archive) for key in keys])
    return Agreement(fresh.dataset.name, archive.dataset.name, table, _count(table))


def _row(key: Key, fresh: Analysed, archive: Analysed) -> dict[str, Any]:
    """One comparison in both datasets, or why it cannot be made."""
    here, there = fresh.compared.get(key), archive.compared.get(key)
    known = [comparison for comparison in (here, there) if comparison is not None]
    references = {comparison.asked.reference for comparison in known}
    row = dict.fromkeys(column.name for column in AGREEMENT.columns) | {
        **dict(zip(("case", "metric", "arm"), key, strict=True)),
        "reference": references.pop() if len(references) == 1 else "",
        "control": known[0].control,
        "margin": known[0].asked.margin,
        "fresh_blocks": here.decision.blocks if here else 0,
        "archive_blocks": there.decision.blocks if there else 0,
        "identity": worst(comparison.identity for comparison in known),
    }
    if here is None or there is None:
        reason = f"only in the {'archive' if here is None else 'fresh dataset'}"
    else:
        reason = _obstacle(here, there)
    if reason:
        return row | {"outcome": NOT_COMPARED, "counted": False, "reason": reason}
    compared = _numbers(fresh.effects[key], archive.effects[key])
    reason = (
        NO_SPREAD if compared["outcome"] == CONSTANT else _other_parameters(key, fresh, archive)
    )
    return row | compared | {"counted": not reason, "reason": reason}


def _numbers(fresh: np.ndarray, archive: np.ndarray) -> dict[str, Any]:
    """What two sets of log ratios say of each other."""
    here, there = decide(fresh, None), decide(archive, None)
    predicted = prediction.prediction_interval(archive, len(fresh))
    between = prediction.difference_interval(fresh, archive)
    spread = float(archive.std(ddof=1))
    inside = predicted[0] - ROUNDING <= fresh.mean() <= predicted[1] + ROUNDING
    varies = spread >= ROUNDING
    return {
        "fresh_ratio": here.estimate,
        "fresh_low95": here.interval95[0],
        "fresh_high95": here.interval95[1],
        "archive_ratio": there.estimate,
        "predicted_low95": math.exp(predicted[0]),
        "predicted_high95": math.exp(predicted[1]),
        "ratio_of_ratios": math.exp(fresh.mean() - archive.mean()),
        "low95": math.exp(between[0]),
        "high95": math.exp(between[1]),
        "spread_ratio": float(fresh.std(ddof=1)) / spread if varies else None,
        "outcome": OUTSIDE if not inside else INSIDE if varies else CONSTANT,
    }


def _obstacle(here: Comparison, there: Comparison) -> str:
    """Why two comparisons cannot be compared; empty if they can."""
    if DIFFERENCE in (here.asked.kind, there.asked.kind):
        return ABSOLUTE
    if here.asked.reference != there.asked.reference:
        return (
            f"against {here.asked.reference} here, against {there.asked.reference} in the archive"
        )
    for decision, where in ((here.decision, "here"), (there.decision, "in the archive")):
        if decision.outcome == outcomes.NOT_TESTED:
            return f"not tested {where}: {decision.reason}"
        if decision.blocks < 2:
            return f"fewer than two blocks {where}: {decision.reason}"
    return ""


def _other_parameters(key: Key, fresh: Analysed, archive: Analysed) -> str:
    """The parameters in which the case differs, in words; empty if it is the same."""
    here, there = (each.dataset.plan.case(key[0]).parameters for each in (fresh, archive))
    parts = [
        f"{name} {here.get(name, 'not set')} here, {there.get(name, 'not set')} in the archive"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
    return f"other parameters: {'; '.join(parts)}" if parts else ""


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
