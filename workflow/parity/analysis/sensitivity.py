"""What other methods make of each planned ratio: beside the paired estimate, never in its place.

Each method gives an estimate, its intervals, and the outcome that they alone have at the margin,
before the A/A gate and before any other objection. So a table of them shows which conclusions hang
on the method. The paired estimate stands among them, as what the others are held against.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis import analysis, outcomes, pairing, tables
from parity.analysis.analysis import SENSITIVITY_FILE, Analysis
from parity.analysis.dataset import Dataset, load
from parity.analysis.decision import UNKNOWN, outcome_of
from parity.analysis.estimate import Interval
from parity.analysis.pairing import RATIO, ByCase, Numbers
from parity.analysis.statistics import mixed

# In the order in which they are shown.
METHODS = PAIRED, RANKS, TRIMMED, MIXED = "paired", "ranks", "trimmed", "mixed"
# The outcome where a method gives no estimate for these data; the note says why.
NO_ESTIMATE = "no-estimate"
FEW = "too few blocks"
LEVELS = (0.90, 0.95)
# What a row has from that of the comparison.
_SAME = ("case", "metric", "arm", "references", "margin", "control")
_ENDS = ("low90", "high90", "low95", "high95")


@dataclass(frozen=True)
class Found:
    """What a method makes of a comparison, in log units; NaN stands for what is not known.

    Attributes:
        blocks: how many the estimate rests on.
        intervals: of each of LEVELS.
        note: why there is no estimate.
    """

    blocks: int = 0
    estimate: float = math.nan
    intervals: Sequence[Interval] = (UNKNOWN, UNKNOWN)
    outcome: str = NO_ESTIMATE
    note: str = ""

    def columns(self) -> dict[str, Any]:
        """Its columns in `tables.SENSITIVITY`."""
        logs = (self.estimate, *chain(*self.intervals))
        shown = [math.exp(log) if math.isfinite(log) else None for log in logs]
        return {
            **dict(zip(("estimate", *_ENDS), shown, strict=True)),
            "blocks": self.blocks,
            "outcome": self.outcome,
            "note": self.note,
        }


def write(folder: Path) -> None:
    """Ask the other methods about a dataset that is analysed, and write down what they say."""
    said = asked(load(folder, whole=False), analysis.read(folder / "analysis")).sensitivity
    tables.write(tables.SENSITIVITY, said, folder / "analysis" / SENSITIVITY_FILE)


def asked(dataset: Dataset, done: Analysis) -> Analysis:
    """The analysis of a dataset with what the other methods say."""
    by_case = pairing.numbers(done.values)
    said = sensitivity(dataset, by_case, done.pairs, done.comparisons)
    return replace(done, sensitivity=said)


def sensitivity(
    dataset: Dataset, by_case: ByCase, pairs: pd.DataFrame, comparisons: pd.DataFrame
) -> pd.DataFrame:
    """Every planned ratio that was tested, by every method (`tables.SENSITIVITY`).

    Args:
        by_case: the numbers that count.
        pairs, comparisons: the analysis' tables of these names.
    """
    tested = comparisons["outcome"] != outcomes.NOT_TESTED
    planned = comparisons[tested & comparisons["planned"] & (comparisons["kind"] == RATIO)]
    models = _Models(dataset, by_case)
    pairs_of = dict(list(pairs.groupby(["case", "metric", "arm"])))
    made = []
    for row in tables.rows(planned):
        bound = math.log1p(row["margin"])
        paired = pairs_of.get((row["case"], row["metric"], row["arm"]), pairs[:0])
        found = {
            PAIRED: _paired(row, bound),
            RANKS: _ranks(row),
            TRIMMED: trimmed(paired["effect"].to_numpy(dtype=float), bound),
            MIXED: models.found(row, bound),
        }
        same = {name: row[name] for name in _SAME}
        made += [{**same, "method": name, **found[name].columns()} for name in METHODS]
    return tables.frame(tables.SENSITIVITY, made)


class _Models:
    """The hierarchical models of a dataset, each fitted once."""

    def __init__(self, dataset: Dataset, by_case: ByCase) -> None:
        self._by_case = by_case
        self._placed = _placed_runs(dataset)
        self._fitted: dict[tuple[str, str, str], dict[str, mixed.Contrast] | str] = {}

    def found(self, row: Mapping[str, Any], bound: float) -> Found:
        """What the model makes of a row of the comparisons."""
        key = (row["case"], row["metric"], row["references"])
        if key not in self._fitted:
            self._fitted[key] = self._contrasts(*key)
        contrasts = self._fitted[key]
        if isinstance(contrasts, str):
            return Found(note=contrasts)
        if row["arm"] not in contrasts:
            return Found(note=FEW)
        contrast = contrasts[row["arm"]]
        intervals = [contrast.interval(level) for level in LEVELS]
        return _decided(contrast.blocks, contrast.estimate, intervals, bound)

    def _contrasts(
        self, case: str, metric: str, references: str
    ) -> dict[str, mixed.Contrast] | str:
        """The contrasts by arm, or why there are none."""
        of_case = self._by_case.get((case, metric), Numbers())
        rows = [
            (block, *self._placed[block, case, arm], arm, log)
            for arm in of_case.by_arm
            for block, log in of_case.costs(arm).items()
        ]
        columns = ["block", "node", "position", "arm", "log"]
        try:
            return mixed.contrasts(pd.DataFrame(rows, columns=columns), references.split("+"))
        except mixed.NotFittedError as error:
            return str(error)


def _placed_runs(dataset: Dataset) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Where each planned run is made: its block's nodes, and its position among its case's runs."""
    planned = dataset.planned
    position = planned.groupby(["block", "case"]).cumcount() + 1
    keys = planned[["block", "case", "arm"]].itertuples(index=False, name=None)
    nodes = (dataset.places[block].nodes for block in planned["block"])
    return dict(zip(keys, zip(nodes, position, strict=True), strict=True))


def _paired(row: Mapping[str, Any], bound: float) -> Found:
    """What the comparison itself rests on: the mean with Student's t, as far as it is widened."""
    found = _in_row(row, "")
    if math.isnan(found.intervals[1][0]):
        return Found(row["blocks"], note=FEW)
    return _decided(found.blocks, found.estimate, found.intervals, bound)


def _ranks(row: Mapping[str, Any]) -> Found:
    """Hodges and Lehmann's centre with the exact signed-rank interval, as beside the comparison."""
    if row["robust_outcome"] == outcomes.TOO_FEW_BLOCKS:
        return Found(row["blocks"], note=FEW)
    return replace(_in_row(row, "robust_"), outcome=row["robust_outcome"])


def _in_row(row: Mapping[str, Any], prefix: str) -> Found:
    """An estimate and its intervals in a row of the comparisons; ends that are none stay so."""
    numbers_there = (row[f"{prefix}{name}"] for name in ("estimate", *_ENDS))
    logs = [math.log(number) if number > 0 else math.nan for number in numbers_there]
    return Found(row["blocks"], logs[0], ((logs[1], logs[2]), (logs[3], logs[4])))


def _decided(blocks: int, centre: float, intervals: Sequence[Interval], bound: float) -> Found:
    """An estimate with the outcome of its intervals."""
    inner, outer = intervals
    return Found(blocks, centre, intervals, outcome=outcome_of(inner, outer, (-bound, bound)))


def trimmed(effects: np.ndarray, bound: float) -> Found:
    """The mean without the lowest and the highest effect.

    Its standard error is that of the winsorised effects (Tukey & McLaughlin, Sankhya A 1963), by
    scipy, so that the interval owns what was left out.
    """
    blocks = len(effects)
    if blocks < 4:
        return Found(blocks, note=FEW)
    limits = (1 / blocks, 1 / blocks)
    ends = [stats.mstats.trimmed_mean_ci(effects, limits, alpha=1 - level) for level in LEVELS]
    intervals = [(float(low), float(high)) for low, high in ends]
    centre = float(stats.mstats.trimmed_mean(effects, limits))
    return _decided(blocks - 2, centre, intervals, bound)
