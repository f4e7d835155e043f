"""What TCP's timeouts cost: the time of a run against how many its containers had to wait for.

A lost segment that nothing else tells of is sent again after the least waiting time, rto_min. If
that is what a program loses in its containers, a run takes rto_min longer for each timeout; less
where several connections wait at once, more where one waits again, each time twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parity.analysis import tables
from parity.analysis.pairing import ByCase
from parity.analysis.statistics import bootstrap
from parity.plan.plan import Plan

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
    ends = bootstrap.NO_INTERVAL
    if len(seconds) >= bootstrap.FEWEST_UNITS:
        often = bootstrap.resampled(len(seconds))
        ends = bootstrap.percentile_interval(_slopes(timeouts, seconds, often), len(seconds))
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
