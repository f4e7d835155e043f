"""The mixed model: all arms, blocks and nodes in one fit.

log(y) ~ arm [x factor] + order + (1 | block) + (1 | node), by restricted maximum
likelihood in statsmodels (Laird & Ware, Biometrics 1982). It uses blocks in which an
arm is missing, takes out a drift over the order in a block, and says how much of the
variance blocks and nodes are. It pools one residual variance over the arms, which the
paired estimate does not; so it stands beside that as a sensitivity analysis.

Two things statsmodels leaves open are settled here. Its intervals are normal, too narrow
for few blocks; ours are Student's t with containment degrees of freedom (as SAS PROC MIXED
by default), which are exact for balanced blocks. And where it cannot fit, blocks become
fixed effects in least squares; `method` then begins with "fallback" and says why.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from parity.analysis.estimate import Interval
from parity.analysis.statistics import checks

MIXED, FALLBACK = "mixed", "fallback"
INTERCEPT, ORDER = "intercept", "order"


@dataclass(frozen=True)
class Effect:
    """One fixed effect, in log units.

    Attributes:
        term: intercept, order, "arm=podman", "nodes=4" or "arm=podman:nodes=4".
        estimate: its value.
        interval95, interval90: of the value.
        p: two-sided, of no effect.
        freedom: degrees of freedom: of the residual if the term varies within blocks, else
            of the blocks.
    """

    term: str
    estimate: float
    interval95: Interval
    interval90: Interval
    p: float
    freedom: int


@dataclass(frozen=True)
class MixedFit:
    """A fitted model.

    Attributes:
        method: "mixed", or "fallback: least squares ..., because ...".
        random: the random terms that the data could hold: block, node, both or none.
        effects: fixed effects by term; the fallback has only those that vary within blocks.
        variances: of block, node and residual, in squared log units; only of what was fitted.
        values: number of values.
    """

    method: str
    random: tuple[str, ...]
    effects: Mapping[str, Effect]
    variances: Mapping[str, float]
    values: int


@dataclass(frozen=True)
class MixedRatio:
    """The ratio of one arm to the reference from the mixed model, beside the paired one."""

    arm: str
    ratio: float
    interval95: Interval
    interval90: Interval
    method: str


def mixed_ratios(frame: pd.DataFrame, reference: str) -> tuple[MixedRatio, ...]:
    """Cost ratio of every arm to the reference, by one mixed model of all arms.

    Args:
        frame: columns block, node, arm, log and, if it is to be allowed for, order. One row
            per run; log is the log of the cost (of the inverse, where higher is better).
        reference: the arm that the others are compared with.

    Raises:
        ValueError: as `mixed_model`.
    """
    fit = mixed_model(frame, reference)
    arms = sorted(set(frame["arm"]) - {reference})
    found = [(arm, fit.effects[f"arm={arm}"]) for arm in arms]
    return tuple(
        MixedRatio(
            arm=arm,
            ratio=math.exp(effect.estimate),
            interval95=(math.exp(effect.interval95[0]), math.exp(effect.interval95[1])),
            interval90=(math.exp(effect.interval90[0]), math.exp(effect.interval90[1])),
            method=fit.method,
        )
        for arm, effect in found
    )


def mixed_model(frame: pd.DataFrame, reference: str, factor: str | None = None) -> MixedFit:
    """Fit the model of this module.

    Args:
        frame: columns block, node, arm, log and perhaps order (position in the block);
            one row per value. Nodes are a random term if there are several and they are
            not the blocks under another name.
        reference: the arm that is the base level.
        factor: a column whose levels interact with the arms; the smallest is the base level.

    Raises:
        ValueError: no value of the reference or of another arm, values that are no numbers,
            effects that cannot be told apart (a combination of levels without a value, an
            order that is the arm), or no values or blocks left to estimate a variance from.
    """
    checks.finite(frame["log"].to_numpy(), 2, "log")
    design = _design(frame, reference, factor)
    random = _random_terms(frame)
    freedoms = _freedoms(design, _indicators(frame, random))
    reason, fitted = _fit_mixed(frame, design, random) if random else ("of one block", None)
    if fitted is not None:
        estimates, errors, variances = fitted
        effects = _effects(design.columns, estimates, errors, freedoms)
        return MixedFit(MIXED, random, effects, variances, len(frame))
    estimates, errors, residual = _least_squares(frame, design, random, int(freedoms.max()))
    within = _within(design, _indicators(frame, random))
    fixed = f" with fixed {' and '.join(random)}" if random else ""
    return MixedFit(
        method=f"{FALLBACK}: least squares{fixed}, because {reason}",
        random=(),
        effects=_effects(
            design.columns[within], estimates[within], errors[within], freedoms[within]
        ),
        variances={"residual": residual},
        values=len(frame),
    )


def _design(frame: pd.DataFrame, reference: str, factor: str | None) -> pd.DataFrame:
    """The fixed effects as columns, one per term, with treatment contrasts."""
    arms = sorted(set(frame["arm"]) - {reference})
    if reference not in set(frame["arm"]) or not arms:
        raise ValueError(f"the model needs values of {reference} and of another arm")
    columns = {INTERCEPT: pd.Series(1.0, index=frame.index)}
    columns |= {f"arm={arm}": (frame["arm"] == arm).astype(float) for arm in arms}
    if factor is not None:
        for level in sorted(set(frame[factor]))[1:]:
            has_level = (frame[factor] == level).astype(float)
            columns[f"{factor}={level}"] = has_level
            for arm in arms:
                columns[f"arm={arm}:{factor}={level}"] = columns[f"arm={arm}"] * has_level
    if ORDER in frame and frame[ORDER].nunique() > 1:
        position = pd.Series(checks.finite(frame[ORDER].to_numpy(), 1, ORDER), index=frame.index)
        columns[ORDER] = position - position.mean()
    return pd.DataFrame(columns)


def _random_terms(frame: pd.DataFrame) -> tuple[str, ...]:
    """Block and node, as far as they have several levels and are not one and the same."""
    places = frame[["block", "node"]].drop_duplicates()
    blocks, nodes = places["block"].nunique(), places["node"].nunique()
    terms = ("block",) if blocks > 1 else ()
    # As many pairs as blocks and as nodes: each is the other under another name.
    return (*terms, "node") if nodes > 1 and not blocks == nodes == len(places) else terms


def _indicators(frame: pd.DataFrame, terms: tuple[str, ...]) -> np.ndarray:
    """One column per level of each random term."""
    parts = [pd.get_dummies(frame[term]).to_numpy(dtype=float) for term in terms]
    return np.hstack([np.empty((len(frame), 0)), *parts])


def _within(design: pd.DataFrame, groups: np.ndarray) -> np.ndarray:
    """Which fixed terms vary within the groups: those that their indicators do not span."""
    columns = design.to_numpy()
    left = columns - groups @ (np.linalg.pinv(groups) @ columns)
    return np.asarray(np.abs(left).max(axis=0) > 1e-9)


def _freedoms(design: pd.DataFrame, groups: np.ndarray) -> np.ndarray:
    """Containment degrees of freedom of each fixed term."""
    columns = design.to_numpy()
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise ValueError("effects cannot be told apart: no value of a combination, or of an order")
    within = _within(design, groups)
    residual = len(design) - int(np.linalg.matrix_rank(np.hstack([columns, groups])))
    between = int(np.linalg.matrix_rank(groups)) - int((~within).sum()) if groups.size else residual
    if residual < 1 or between < 1:
        raise ValueError(f"{len(design)} values are too few for {columns.shape[1]} effects")
    return np.where(within, residual, between)


def _fit_mixed(
    frame: pd.DataFrame, design: pd.DataFrame, random: tuple[str, ...]
) -> tuple[str, tuple[np.ndarray, np.ndarray, dict[str, float]] | None]:
    """Estimates, standard errors and variances of the mixed model; or why there are none."""
    scale = float(frame["log"].std(ddof=1))
    if scale == 0:
        return "all values are the same", None
    # Columns with plain names, so that arms need no quoting in a formula; values near 1,
    # because the optimiser's tolerances are absolute.
    data = design.set_axis([f"x{i}" for i in range(design.shape[1])], axis=1)
    formula = "y ~ 0 + " + " + ".join(data.columns)
    data = data.assign(y=frame["log"] / scale, block=frame["block"], node=frame["node"], all=1)
    arguments: dict[str, Any] = {"groups": random[0], "re_formula": "1"}
    if len(random) > 1:
        arguments = {
            "groups": "all",
            "re_formula": "0",
            "vc_formula": {term: f"0 + C({term})" for term in random},
        }
    with warnings.catch_warnings():
        # A variance at its bound of zero is a result; whether the fit converged is asked below.
        warnings.simplefilter("ignore")
        try:
            fit = MixedLM.from_formula(formula, data, **arguments).fit(reml=True)
            errors = np.asarray(fit.bse_fe) * scale
        except (np.linalg.LinAlgError, ValueError) as error:
            return f"the mixed model cannot be fitted ({error})", None
    if not fit.converged:
        return "the mixed model did not converge", None
    if not (np.isfinite(errors).all() and (errors > 0).all() and fit.scale > 0):
        return "the mixed model gave no standard errors", None
    parts = fit.vcomp if len(random) > 1 else np.asarray(fit.cov_re).ravel()
    variances = {term: float(part) * scale**2 for term, part in zip(random, parts, strict=True)}
    variances["residual"] = float(fit.scale) * scale**2
    return "", (np.asarray(fit.fe_params) * scale, errors, variances)


def _least_squares(
    frame: pd.DataFrame, design: pd.DataFrame, random: tuple[str, ...], freedom: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Estimates and standard errors with blocks and nodes as fixed effects, and residual variance.

    What does not vary within blocks overlaps with their indicators and is arbitrary here.
    """
    matrix = np.hstack([design.to_numpy(), _indicators(frame, random)])
    inverse = np.linalg.pinv(matrix)
    logs = frame["log"].to_numpy(dtype=float)
    solution = inverse @ logs
    residual = float(((logs - matrix @ solution) ** 2).sum() / freedom)
    errors = np.sqrt(residual * (inverse**2).sum(axis=1))
    return solution[: design.shape[1]], errors[: design.shape[1]], residual


def _effects(
    terms: pd.Index, estimates: np.ndarray, errors: np.ndarray, freedoms: np.ndarray
) -> dict[str, Effect]:
    """Estimates with t intervals, by term."""
    effects = {}
    for term, value, error, freedom in zip(terms, estimates, errors, freedoms, strict=True):
        half95, half90 = (error * stats.t.ppf((1 + level) / 2, freedom) for level in (0.95, 0.90))
        statistic = abs(value) / error if error > 0 else (math.inf if value else 0.0)
        effects[term] = Effect(
            term=term,
            estimate=float(value),
            interval95=(float(value - half95), float(value + half95)),
            interval90=(float(value - half90), float(value + half90)),
            p=float(2 * stats.t.sf(statistic, freedom)),
            freedom=int(freedom),
        )
    return effects
