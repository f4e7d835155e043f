"""The hierarchical model: all arms, blocks and nodes of a case in one fit.

log(y) ~ arm + position + (1 | node) + (1 | block), by restricted maximum likelihood in
statsmodels (Laird & Ware, Biometrics 1982). It uses blocks in which an arm is missing, and takes
out a linear drift over the positions of a case's arms. It pools one residual variance over the
arms, which the paired estimate does not; so it stands beside that and decides nothing.

statsmodels gives normal intervals, too narrow for few blocks; ours are Student's t with
containment degrees of freedom (as SAS PROC MIXED by default), exact for balanced blocks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from parity.analysis import analysis, evidence, methods, outcomes, tables
from parity.analysis.analysis import SENSITIVITY_FILE, Analysis
from parity.analysis.dataset import Dataset, load
from parity.analysis.decision import UNKNOWN, outcome_of
from parity.analysis.estimate import Interval
from parity.analysis.evidence import RATIO, ByCase, Numbers


class NotFittedError(ValueError):
    """The model has no estimate for these data; the text says why."""


@dataclass(frozen=True)
class Contrast:
    """What an arm costs over the reference, in log units.

    Attributes:
        error: standard error.
        freedom: degrees of freedom of the residual.
        blocks: of the whole fit.
    """

    estimate: float
    error: float
    freedom: int
    blocks: int

    def interval(self, confidence: float) -> Interval:
        """Student's t interval."""
        half = float(self.error * stats.t.ppf((1 + confidence) / 2, self.freedom))
        return self.estimate - half, self.estimate + half


def contrasts(frame: pd.DataFrame, reference: Collection[str]) -> dict[str, Contrast]:
    """Every other arm over the reference, by one model of all of them.

    Args:
        frame: one row per run: block, node, arm, position among the case's runs, and log, which
            is that of its cost. The nodes of a block are one text. They are a random term if
            there are several, and fewer than blocks.
        reference: the arm that the others are compared with, or several, which are then one.

    Raises:
        NotFittedError: one block, effects that cannot be told apart, too few or identical values,
            or a fit that does not converge.
        ValueError: a log is no finite number.
    """
    logs = methods.finite(frame["log"].to_numpy(), 0, "log")
    others = sorted(set(frame["arm"]) - set(reference))
    fixed = pd.DataFrame({"intercept": 1.0}, index=frame.index)
    for arm in others:
        fixed[arm] = (frame["arm"] == arm).astype(float)
    fixed["position"] = frame["position"] - frame["position"].mean()
    freedom = _residual_freedom(frame, fixed)
    scale = float(logs.std(ddof=1))
    if np.ptp(logs) == 0:
        raise NotFittedError("all values are the same")
    estimates, errors = _fitted(frame, fixed, logs / scale)
    blocks = int(frame["block"].nunique())
    # Between the intercept and the position.
    return {
        arm: Contrast(float(scale * value), float(scale * error), freedom, blocks)
        for arm, value, error in zip(others, estimates[1:-1], errors[1:-1], strict=True)
    }


def _residual_freedom(frame: pd.DataFrame, fixed: pd.DataFrame) -> int:
    """Containment degrees of freedom of what varies within blocks: those of the residual."""
    if frame["block"].nunique() < 2:
        raise NotFittedError("needs two blocks")
    blocks = pd.get_dummies(frame["block"]).to_numpy(dtype=float)
    # The blocks' indicators span the intercept.
    columns = np.hstack([blocks, fixed.to_numpy()[:, 1:]])
    rank = int(np.linalg.matrix_rank(columns))
    if rank < columns.shape[1]:
        raise NotFittedError("arms or positions cannot be told apart")
    if len(frame) <= rank:
        raise NotFittedError("too few values")
    return len(frame) - rank


def _fitted(
    frame: pd.DataFrame, fixed: pd.DataFrame, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of the fixed terms and their standard errors."""
    nodes, blocks = frame["node"].nunique(), frame["block"].nunique()
    arguments: dict[str, Any] = {"groups": frame["block"]}
    if 1 < nodes < blocks:
        # A block is one allocation: it lies within its node, or its set of nodes.
        arguments = {"groups": frame["node"], "vc_formula": {"block": "0 + C(block)"}}
    # Columns with plain names, so that arms need no quoting in a formula.
    data = fixed.set_axis([f"x{number}" for number in range(fixed.shape[1])], axis=1)
    formula = "log ~ 0 + " + " + ".join(data.columns)
    data = data.assign(log=logs, block=frame["block"])
    with warnings.catch_warnings():
        # A variance at its bound of zero is a result; whether the fit converged is asked below.
        warnings.simplefilter("ignore")
        try:
            model = MixedLM.from_formula(formula, data, re_formula="1", **arguments)
            # The second is tried if the first does not converge, as it may not at that bound.
            fit = model.fit(reml=True, method=["bfgs", "powell"])
            errors = np.asarray(fit.bse_fe)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise NotFittedError(f"the model cannot be fitted ({error})") from error
    if not fit.converged:
        raise NotFittedError("the model did not converge")
    if not (np.isfinite(errors).all() and (errors > 0).all()):
        raise NotFittedError("the model gave no standard errors")
    return np.asarray(fit.fe_params), errors


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
    by_case = evidence.numbers(done.values)
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
        self._fitted: dict[tuple[str, str, str], dict[str, Contrast] | str] = {}

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

    def _contrasts(self, case: str, metric: str, references: str) -> dict[str, Contrast] | str:
        """The contrasts by arm, or why there are none."""
        of_case = self._by_case.get((case, metric), Numbers())
        rows = [
            (block, *self._placed[block, case, arm], arm, log)
            for arm in of_case.by_arm
            for block, log in of_case.costs(arm).items()
        ]
        columns = ["block", "node", "position", "arm", "log"]
        try:
            return contrasts(pd.DataFrame(rows, columns=columns), references.split("+"))
        except NotFittedError as error:
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
