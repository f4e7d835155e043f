"""What is told beside the conclusions: the ledger of runs, how values spread, TCP's timeouts.

Reporting all that was planned, also what failed, is what separates a measurement from a selection
(Hoefler & Belli, SC15, rule 2; CONSORT's flow of participants).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parity.analysis import methods, tables
from parity.analysis.dataset import Dataset
from parity.analysis.evidence import ByCase
from parity.plan.looks import OUT_OF_TIME
from parity.plan.plan import Plan

STAGES = ("planned", "ran", "parsed", "valid", "analysed")
NOT_RUN = "not-run"
NO_PAIR = "no-pair"


def run_stages(dataset: Dataset, pairs: pd.DataFrame, exclusions: pd.DataFrame) -> pd.DataFrame:
    """One row per planned run: block, run, case, arm, stage and the reason it stopped there.

    A run without a record stays `planned` (reason `not-run`, or `stopped-time` where the plan
    limits the time). A valid run is
    `analysed` if a pair of a planned comparison holds it on either side; else its
    exclusion or `no-pair` is the reason. A pair of a number that is only reported
    beside them does not make a run analysed.
    """
    final = dataset.final_runs[["block", "run", "stage", "reason"]]
    found = dataset.planned.merge(final, on=["block", "run"], how="left", validate="one_to_one")
    absent = NOT_RUN if dataset.plan.minutes is None else OUT_OF_TIME
    found["reason"] = found["reason"].where(found["stage"].notna(), absent)
    found["stage"] = found["stage"].fillna("planned")
    rows = exclusions[["block", "run", "reason"]].itertuples(index=False, name=None)
    excluded = {(block, run): f"excluded: {reason}" for block, run, reason in rows}
    paired = _keys(pairs, "arm", dataset) | _keys(pairs, "reference", dataset)
    ends: list[tuple[str, str]] = []
    columns = ["block", "run", "case", "arm", "stage", "reason"]
    for block, run, case, arm, stage, reason in found[columns].itertuples(index=False, name=None):
        if stage != "valid":
            ends.append((stage, reason))
        elif (block, case, arm) in paired:
            ends.append(("analysed", ""))
        else:
            ends.append(("valid", excluded.get((block, run), NO_PAIR)))
    return found.assign(stage=[end[0] for end in ends], reason=[end[1] for end in ends])


def _keys(pairs: pd.DataFrame, side: str, dataset: Dataset) -> set[tuple[str, str, str]]:
    """Block, case and arm on one side of the pairs of the cases and metrics that are compared."""
    rows, planned = pairs[["case", "metric", "block", side]], dataset.margins
    return {
        (block, case, arm)
        for case, metric, block, arm in rows.itertuples(index=False, name=None)
        if (case, metric) in planned
    }


def ledger(dataset: Dataset, stages: pd.DataFrame) -> pd.DataFrame:
    """Runs that came at least as far as each stage, per case and arm (`tables.LEDGER`).

    Attempts are counted beside it: repeating a failed attempt never adds a run.
    """
    attempts = dataset.runs[dataset.runs["attempt"] > 0].groupby(["case", "arm"]).size()
    rank = stages["stage"].map({stage: number for number, stage in enumerate(STAGES)})
    rows = [
        {
            "case": case,
            "arm": arm,
            **{stage: int((rank[group.index] >= n).sum()) for n, stage in enumerate(STAGES)},
            "attempts": int(attempts.get((case, arm), 0)),
        }
        for (case, arm), group in stages.groupby(["case", "arm"], sort=True)
    ]
    return tables.frame(tables.LEDGER, rows)


def losses(dataset: Dataset, stages: pd.DataFrame) -> pd.DataFrame:
    """Why runs were not analysed, per case and arm, with counts (`tables.LOSSES`).

    What could not be tested here has a row as well, with no runs.
    """
    lost = stages[stages["stage"] != "analysed"]
    counts = lost.groupby(["case", "arm", "stage", "reason"]).size()
    rows = tables.rows(counts.rename("runs").reset_index())
    planned = set(dataset.planned[["case", "arm"]].itertuples(index=False, name=None))
    rows += [
        {
            "case": case.name,
            "arm": arm,
            "stage": "not-planned",
            "reason": f"not-tested: {why}",
            "runs": 0,
        }
        for case in dataset.plan.cases
        for arm, why in dataset.not_tested(case.name).items()
        if (case.name, arm) not in planned
    ]
    return tables.frame(tables.LOSSES, rows)


def dispersion(values: pd.DataFrame) -> pd.DataFrame:
    """Median, extremes, mean and coefficient of variation per case, metric and arm.

    Spread is reported beside every centre (Hoefler & Belli, SC15, rule 5; Georges et
    al., OOPSLA 2007). The coefficient of variation is the sample standard deviation
    over the mean; null for one value or a mean of zero.

    Returns:
        `tables.DISPERSION`.
    """
    rows = []
    for (case, metric, arm), group in values.groupby(["case", "metric", "arm"], sort=True):
        numbers = group["value"]
        cv = numbers.std(ddof=1) / abs(numbers.mean()) if numbers.mean() else math.nan
        rows.append(
            {
                "case": case,
                "metric": metric,
                "arm": arm,
                "unit": group["unit"].iloc[0],
                "runs": len(numbers),
                "median": float(numbers.median()),
                "minimum": float(numbers.min()),
                "maximum": float(numbers.max()),
                "mean": float(numbers.mean()),
                "cv": float(cv) if math.isfinite(cv) else None,
            }
        )
    return tables.frame(tables.DISPERSION, rows)


TIME, TIMEOUTS = "time", "tcp_timeouts"
RTO_MIN = "rto_min_ms"


class Line(NamedTuple):
    """A straight line through runs; not known where all had as many timeouts.

    Attributes:
        slope: seconds for each timeout; `low` and `high` are the ends of its 95 % interval.
        intercept: seconds of a run without any.
        explained: the share of the variance of the times that the line has.
    """

    slope: float | None
    low: float | None
    high: float | None
    intercept: float | None
    explained: float | None


def line(timeouts: NDArray[np.float64], seconds: NDArray[np.float64]) -> Line:
    """Least squares, with the percentile interval of a bootstrap of blocks.

    Runs of a block share its moment, and a case has one run of an arm in each, so blocks are drawn
    anew with their pairs of numbers (Freedman, Ann. Stat. 1981; Carlstein, ibid. 1986): that needs
    neither equal variances nor normal ones. Times have both a floor and a tail here.

    Args:
        timeouts, seconds: of one run in each block.
    """
    once = np.ones((1, len(seconds)))
    (slope,) = _slopes(timeouts, seconds, once)
    if np.isnan(slope):
        return Line(None, None, None, None, None)
    ends = methods.NO_INTERVAL
    if len(seconds) >= methods.FEWEST_UNITS:
        often = methods.resampled(len(seconds))
        ends = methods.percentile_interval(_slopes(timeouts, seconds, often), len(seconds))
    total = float(np.var(seconds))
    explained = float(slope**2 * np.var(timeouts) / total) if total else None
    return Line(float(slope), *ends, float(seconds.mean() - slope * timeouts.mean()), explained)


def _slopes(
    x: NDArray[np.float64], y: NDArray[np.float64], often: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Slopes of samples with replacement; not a number where x does not vary in one.

    Args:
        often: how often each run is in each sample, shape (samples, runs).
    """
    count = often.sum(axis=1)
    # From the middle of all, so that no digits are lost; a slope does not change by that.
    x, y = x - x.mean(), y - y.mean()
    spread = often @ (x * x) - (often @ x) ** 2 / count
    shared = often @ (x * y) - (often @ x) * (often @ y) / count
    varies = spread > 1e-9 * (1 + often @ (x * x))
    slopes: NDArray[np.float64] = np.divide(
        shared, spread, out=np.full(len(count), np.nan), where=varies
    )
    return slopes


def timeouts(plan: Plan, by_case: ByCase) -> pd.DataFrame:
    """The line of each case and arm whose runs say time and timeouts (`tables.TIMEOUTS`)."""
    rows = []
    for case in plan.cases:
        counts, times = (by_case.get((case.name, metric)) for metric in (TIMEOUTS, TIME))
        if counts is None or times is None:
            continue
        for arm in plan.arms:
            both = _both(counts.of(arm), times.of(arm))
            if len(both):
                found = line(both[:, 0], both[:, 1])._asdict()
                rows.append({
                    "case": case.name, "arm": arm, RTO_MIN: case.parameters.get(RTO_MIN),
                    "runs": len(both), "timeouts": round(both[:, 0].sum()), **found,
                })  # fmt: skip
    return tables.frame(tables.TIMEOUTS, rows)


def _both(counts: Mapping[str, float], times: Mapping[str, float]) -> NDArray[np.float64]:
    """Timeouts and seconds of the blocks that hold both, shape (blocks, 2)."""
    shared = sorted(counts.keys() & times.keys())
    return np.array([(counts[block], times[block]) for block in shared], dtype=np.float64)
