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

from parity.analysis import analysis, estimate, outcomes, pairing, tables
from parity.analysis.analysis import SENSITIVITY_FILE, Analysis
from parity.analysis.dataset import Dataset, load
from parity.analysis.decision import UNKNOWN, outcome_of
from parity.analysis.estimate import Interval
from parity.analysis.pairing import RATIO, ByCase, Numbers
from parity.analysis.statistics import mixed

# In the order in which they are shown.
PAIRED, RANKS, TRIMMED, BESERRA = "paired", "ranks", "trimmed", "beserra-trim"
MIXED, POSTERIOR = "mixed", "posterior"
METHODS = (PAIRED, RANKS, TRIMMED, BESERRA, MIXED, POSTERIOR)
# The outcome where a method gives no estimate for these data; the note says why.
NO_ESTIMATE = "no-estimate"
FEW, FIXED = "too few blocks", "all effects are the same"
LEVELS = (0.90, 0.95)
# What the posterior must hold inside the margin, and what beyond one of its ends.
SHARE_INSIDE, SHARE_BEYOND = 0.95, 0.975
# What a row has from that of the comparison.
_SAME = ("case", "metric", "arm", "references", "margin", "control")
_ENDS = ("low90", "high90", "low95", "high95")


@dataclass(frozen=True)
class Found:
    """What a method makes of a comparison, in log units; NaN stands for what is not known.

    Attributes:
        blocks: how many the estimate rests on.
        intervals: of each of LEVELS.
        inside: share of the posterior within the margin, where the method has one.
        note: why there is no estimate.
    """

    blocks: int = 0
    estimate: float = math.nan
    intervals: Sequence[Interval] = (UNKNOWN, UNKNOWN)
    inside: float = math.nan
    outcome: str = NO_ESTIMATE
    note: str = ""

    def columns(self) -> dict[str, Any]:
        """Its columns in `tables.SENSITIVITY`."""
        logs = (self.estimate, *chain(*self.intervals))
        shown = [math.exp(log) if math.isfinite(log) else None for log in logs]
        return {
            **dict(zip(("estimate", *_ENDS), shown, strict=True)),
            "blocks": self.blocks,
            "inside": self.inside,
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
            **of_pairs(paired, bound),
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
        return _mixed(contrasts[row["arm"]], bound)

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


def of_pairs(paired: pd.DataFrame, bound: float) -> dict[str, Found]:
    """What the methods say that need nothing but the pairs of one comparison.

    Args:
        paired: rows of `tables.PAIRS`.
        bound: the margin as a log.
    """
    effects = paired["effect"].to_numpy(dtype=float)
    return {
        TRIMMED: _trimmed(effects, bound),
        BESERRA: _beserra(paired, bound),
        POSTERIOR: _posterior(effects, bound),
    }


def _decided(blocks: int, centre: float, intervals: Sequence[Interval], bound: float) -> Found:
    """An estimate with the outcome of its intervals."""
    inner, outer = intervals
    return Found(blocks, centre, intervals, outcome=outcome_of(inner, outer, (-bound, bound)))


def _trimmed(effects: np.ndarray, bound: float) -> Found:
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


def _beserra(paired: pd.DataFrame, bound: float) -> Found:
    """The mean after Beserra's trim, with Student's t.

    Beserra et al. (CISIS 2015, section IV-C) left the highest and the lowest of the 32 measurements
    of each environment out, and took the rest for a whole sample. So do we, side by side: what is
    left of both is paired, and its interval knows nothing of what was left out. It is too narrow;
    it is here to show what that habit does to a conclusion.
    """
    sides = [paired[side] for side in ("value", "reference_value") if len(paired)]
    extremes = {row for side in sides for row in (side.idxmin(), side.idxmax())}
    left = paired["effect"].drop(list(extremes)).to_numpy(dtype=float)
    if len(left) < 2:
        return Found(len(left), note=FEW)
    mean = estimate.student(left)
    intervals = [mean.interval(level) for level in LEVELS]
    return _decided(len(left), mean.value, intervals, bound)


def _posterior(effects: np.ndarray, bound: float) -> Found:
    """The mean's posterior under a prior flat in it and in the log of the deviation, by scipy.

    Blocks are taken for independent. It is Student's t around the mean (Box & Tiao, Bayesian
    Inference in Statistical Analysis, 1973, section 2.4), so its central intervals are Student's;
    but what decides is how much of it lies inside the margin, with both sides together, or beyond
    one end.
    """
    if len(effects) < 2:
        return Found(len(effects), note=FEW)
    if np.ptp(effects) == 0:
        return Found(len(effects), note=FIXED)
    law = stats.mvsdist(effects)[0]
    inside, beyond = _shares(law, bound)
    outcome = outcomes.INCONCLUSIVE
    if inside >= SHARE_INSIDE:
        outcome = outcomes.EQUIVALENT
    elif beyond >= SHARE_BEYOND:
        outcome = outcomes.DIFFERENT
    intervals = [law.interval(level) for level in LEVELS]
    return Found(len(effects), float(law.mean()), intervals, inside, outcome)


def _mixed(contrast: mixed.Contrast, bound: float) -> Found:
    """The hierarchical model's contrast; its posterior under a flat prior beside it."""
    law = stats.t(contrast.freedom, contrast.estimate, contrast.error)
    intervals = [contrast.interval(level) for level in LEVELS]
    found = _decided(contrast.blocks, contrast.estimate, intervals, bound)
    return replace(found, inside=_shares(law, bound)[0])


def _shares(law: Any, bound: float) -> tuple[float, float]:
    """The shares of a posterior inside the margin, and beyond the end that has more beyond it."""
    low, high = float(law.cdf(-bound)), float(law.sf(bound))
    return 1.0 - low - high, max(low, high)
