"""The hierarchical model: all arms, blocks and nodes of a case in one fit.

log(y) ~ arm + position + (1 | node) + (1 | block), by restricted maximum likelihood in
statsmodels (Laird & Ware, Biometrics 1982). It uses blocks in which an arm is missing, and takes
out a linear drift over the positions of a case's arms. It pools one residual variance over the
arms, which the paired estimate does not; so it stands beside that and decides nothing.

statsmodels gives normal intervals, too narrow for few blocks; ours are Student's t with
containment degrees of freedom (as SAS PROC MIXED by default), exact for balanced blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from parity.analysis.estimate import Interval
from parity.analysis.statistics import checks


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
    logs = checks.finite(frame["log"].to_numpy(), 0, "log")
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
