"""What other methods make of each planned ratio: beside the typical one, never in its place.

Each method gives an estimate, its intervals, and the outcome that they alone have at the margin,
before the A/A gate and any other objection: a table of which conclusions hang on the method.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from parity.analysis import evidence, methods, outcomes, tables
from parity.analysis.analysis import SENSITIVITY_FILE, Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.decision import outcome_of
from parity.analysis.estimate import Mean, mean_of
from parity.analysis.evidence import RATIO, Numbers

# In the order in which they are shown.
METHODS = RANKS, PAIRED, TRIMMED, MIXED = "ranks", "paired", "trimmed", "mixed"
NO_ESTIMATE = "no-estimate"  # The outcome of a method that gives none; the note says why.
FEW, LEVELS = "too few blocks", (0.90, 0.95)
ROUNDED = 1e-9  # of what differs between values: less of it is left by rounding
_SAME = ("case", "metric", "arm", "references", "margin", "control")  # as of the comparison
_SHOWN = ("estimate", "low90", "high90", "low95", "high95")
# Of how many blocks; and the logs of what is shown, not finite if not known, or why there is none.
Said = tuple[int, Sequence[float] | str]


def write(dataset: Dataset, done: Analysis, folder: Path) -> Analysis:
    """Ask the other methods about an analysed dataset, and write what they say into its folder."""
    known = asked(dataset, done)
    tables.write(tables.SENSITIVITY, known.sensitivity, folder / "analysis" / SENSITIVITY_FILE)
    return known


def asked(dataset: Dataset, done: Analysis) -> Analysis:
    """The analysis with what every method says of each planned ratio that was tested."""
    by_case = evidence.numbers(done.values)
    table = done.comparisons
    tested = (table["outcome"] != outcomes.NOT_TESTED) & table["planned"] & (table["kind"] == RATIO)
    placed = _placed_runs(dataset)
    fits: dict[tuple[str, ...], Mapping[str, Said]] = {}
    effects_of = {key: pairs["effect"] for key, pairs in done.pairs.groupby(list(_SAME[:3]))}
    made = []
    for row in tables.rows(table[tested]):
        case, metric, arm, references = (row[name] for name in _SAME[:4])
        if (fit := (case, metric, references)) not in fits:
            of_case = by_case.get((case, metric), Numbers())
            fits[fit] = _mixed(of_case, case, placed, references.split("+"))
        effects = effects_of.get((case, metric, arm), pd.Series(dtype=float)).to_numpy(float)
        found = _ranks(row), paired(effects), trimmed(effects), fits[fit][arm]
        said = (_columns(*each, math.log1p(row["margin"])) for each in found)
        same = {name: row[name] for name in _SAME}
        made += [{**same, "method": name, **of} for name, of in zip(METHODS, said, strict=True)]
    return replace(done, sensitivity=tables.frame(tables.SENSITIVITY, made))


def _columns(blocks: int, logs: Sequence[float] | str, bound: float) -> dict[str, Any]:
    """The columns of what a method says, whose outcome is that of its intervals alone."""
    if isinstance(logs, str):
        return {**dict.fromkeys(_SHOWN), "blocks": blocks, "outcome": NO_ESTIMATE, "note": logs}
    shown = [math.exp(log) if math.isfinite(log) else None for log in logs]
    said = outcome_of((logs[1], logs[2]), (logs[3], logs[4]), (-bound, bound))
    return dict(zip(_SHOWN, shown, strict=True)) | {"blocks": blocks, "outcome": said, "note": ""}


def _ranks(row: Mapping[str, Any]) -> Said:
    """What the comparison itself rests on."""
    logs = [math.log(row[name]) if row[name] > 0 else math.nan for name in _SHOWN]
    return row["blocks"], FEW if math.isnan(logs[1]) else logs


def paired(effects: np.ndarray) -> Said:
    """The mean against both references with Student's t, widened as `estimate.mean_of`."""
    return len(effects), FEW if len(effects) < 2 else _logs(mean_of(effects))


def _logs(mean: Mean) -> list[float]:
    return [mean.value, *chain(*(mean.interval(level) for level in LEVELS))]


def trimmed(effects: np.ndarray) -> Said:
    """The mean without the lowest and the highest effect.

    Its standard error is that of the winsorised effects (Tukey & McLaughlin, Sankhya A 1963), by
    scipy, so that the interval owns what was left out.
    """
    blocks = len(effects)
    if blocks < 4:
        return blocks, FEW
    share = math.nextafter(1 / blocks, 1.0)  # of which scipy takes one, whatever is rounded
    limits = (share, share)
    ends = [stats.mstats.trimmed_mean_ci(effects, limits, alpha=1 - level) for level in LEVELS]
    centre = float(stats.mstats.trimmed_mean(effects, limits))
    return blocks - 2, [centre, *map(float, chain(*ends))]


def _mixed(
    of_case: Numbers, case: str, placed: Mapping[tuple[str, str, str], tuple[str, int]],
    natives: Sequence[str],
) -> Mapping[str, Said]:  # fmt: skip
    """What one model of all arms says of each; of those that it does not hold, why."""
    logs = ((arm, *log) for arm in of_case.by_arm for log in of_case.costs(arm).items())
    rows = [(block, *placed[block, case, arm], arm, log) for arm, block, log in logs]
    frame = pd.DataFrame(rows, columns=["block", "node", "position", "arm", "log"])
    try:
        found, note = contrasts(frame, natives), FEW
    except NotFittedError as error:
        found, note = {}, str(error)
    blocks = int(frame["block"].nunique())
    return defaultdict(lambda: (0, note), {arm: (blocks, _logs(found[arm])) for arm in found})


def _placed_runs(dataset: Dataset) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Where each planned run is made: its block's nodes, and its position among its case's runs."""
    planned = dataset.planned
    position = planned.groupby(["block", "case"]).cumcount() + 1
    nodes = (dataset.places[block].nodes for block in planned["block"])
    keys = tables.tuples(planned, "block", "case", "arm")
    return dict(zip(keys, zip(nodes, position, strict=True), strict=True))


class NotFittedError(ValueError):
    """The model has no estimate for these data; the text says why."""


def contrasts(frame: pd.DataFrame, reference: Collection[str]) -> dict[str, Mean]:
    """Every other arm over the reference, in log units, by one hierarchical model of all of them.

    log(y) ~ arm + position + (1 | node) + (1 | block), by restricted maximum likelihood in
    statsmodels (Laird & Ware, Biometrics 1982). It uses blocks in which an arm is missing, and
    takes out a linear drift over the positions of a case's arms. It pools one residual variance
    over the arms, which the paired estimate does not; so it stands beside that and decides nothing.

    statsmodels gives normal intervals, too narrow for few blocks; ours are Student's t with
    containment degrees of freedom (as SAS PROC MIXED by default), exact for balanced blocks. Raises
    NotFittedError: one block, effects that cannot be told apart, too few values, none that varies
    beside blocks and arms, or a fit that does not converge. Raises ValueError: a log is no finite
    number. `frame`: one row per run: block, node, arm, position among the case's runs, and log,
    which is that of its cost. The nodes of a block are one text. They are a random term if there
    are several, and fewer than blocks. `reference`: the arm that the others are compared with, or
    several, which are then one.
    """
    logs = methods.finite(frame["log"].to_numpy(), 0, "log")
    others = sorted(set(frame["arm"]) - set(reference))
    fixed = pd.DataFrame({"intercept": 1.0}, index=frame.index)
    for arm in others:
        fixed[arm] = (frame["arm"] == arm).astype(float)
    fixed["position"] = frame["position"] - frame["position"].mean()
    freedom, scale = _residual_freedom(frame, fixed, logs), float(logs.std(ddof=1))
    # Between the intercept and the position.
    both = [(scale * each[1:-1]).tolist() for each in _fitted(frame, fixed, logs / scale)]
    return {arm: Mean(value, error, freedom)
            for arm, value, error in zip(others, *both, strict=True)}  # fmt: skip


def _residual_freedom(frame: pd.DataFrame, fixed: pd.DataFrame, logs: np.ndarray) -> int:
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
    if np.ptp(logs) == 0:
        raise NotFittedError("all values are the same")
    fit, *_ = np.linalg.lstsq(columns, logs, rcond=None)
    # Bytes of memory, say: a fit would look for a variance of zero, and for long.
    if np.ptp(logs - columns @ fit) < ROUNDED * np.ptp(logs):
        raise NotFittedError("each arm is the same in all blocks")
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
