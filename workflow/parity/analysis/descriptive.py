"""What is told beside the conclusions: the ledger of runs, how values spread, TCP's timeouts.

Reporting all that was planned, also what failed, is what separates a measurement from a selection
(Hoefler & Belli, SC15, rule 2; CONSORT's flow of participants).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parity.analysis import methods, tables
from parity.analysis.dataset import Dataset
from parity.analysis.evidence import ByCase
from parity.benchmarks.description import WORK
from parity.plan.looks import OUT_OF_TIME
from parity.plan.plan import Plan

STAGES = ("planned", "ran", "parsed", "valid", "analysed")
NOT_RUN, NO_PAIR = "not-run", "no-pair"
TIME, TIMEOUTS, RTO_MIN = "time", "tcp_timeouts", "rto_min_ms"
APART = 3  # runs with another number of timeouts than most, of which a line can be drawn


def run_stages(dataset: Dataset, pairs: pd.DataFrame, exclusions: pd.DataFrame) -> pd.DataFrame:
    """One row per planned run: block, run, case, arm, stage and the reason it stopped there.

    A run without a record stays `planned` (reason `not-run`, or `stopped-time` where the plan
    limits the time). A valid run is `analysed` if a pair of a planned comparison holds it on either
    side; else its exclusion or `no-pair` is the reason.
    """
    final = dataset.final_runs[["block", "run", "stage", "reason"]]
    runs = dataset.planned.merge(final, on=["block", "run"], how="left", validate="one_to_one")
    absent = NOT_RUN if dataset.plan.minutes is None else OUT_OF_TIME
    runs["reason"] = runs["reason"].where(runs["stage"].notna(), absent)
    runs["stage"] = runs["stage"].fillna("planned")
    compared = pd.DataFrame(list(dataset.margins), columns=["case", "metric"], dtype=object)
    planned = pairs[["case", "metric", "block", "arm", "reference"]].merge(compared)
    of_both = planned[planned["metric"] == WORK.metric]
    shorter = of_both["case"].map({run.of: run.case.name for run in dataset.plan.shorter})
    planned = pd.concat([planned, of_both.assign(case=shorter)])
    cell = ["block", "case", "arm"]
    sides = [planned[cell], planned[["block", "case", "reference"]].set_axis(cell, axis=1)]
    paired = pd.concat([side.drop_duplicates() for side in sides]).drop_duplicates()
    held = runs[cell].merge(paired, "left", cell, indicator="in")["in"] == "both"
    valid = runs["stage"] == "valid"
    runs.loc[valid & held, ["stage", "reason"]] = "analysed", ""
    runs.loc[valid & ~held, "reason"] = NO_PAIR
    for block, run, why in tables.tuples(exclusions, "block", "run", "reason"):
        left_out = (runs["block"] == block) & (runs["run"] == run)
        runs.loc[left_out & valid & ~held, "reason"] = f"excluded: {why}"
    return runs


def ledger(dataset: Dataset, stages: pd.DataFrame) -> pd.DataFrame:
    """Runs that came as far as each stage, attempts beside them, by case and arm (`LEDGER`)."""
    rank = stages["stage"].map({stage: number for number, stage in enumerate(STAGES)})
    reached = {stage: rank >= number for number, stage in enumerate(STAGES)}
    counts = stages[["case", "arm"]].assign(**reached).groupby(["case", "arm"]).sum()
    attempts = dataset.runs.loc[dataset.runs["attempt"] > 0, ["case", "arm"]].astype(object)
    counts["attempts"] = attempts.groupby(["case", "arm"]).size()
    return tables.frame(tables.LEDGER, tables.rows(counts.fillna(0).astype(int).reset_index()))


def losses(dataset: Dataset, stages: pd.DataFrame) -> pd.DataFrame:
    """Why runs were not analysed, with counts; no runs of what was not tested (`tables.LOSSES`)."""
    lost = stages[stages["stage"] != "analysed"]
    counts = lost.groupby(["case", "arm", "stage", "reason"]).size()
    rows = tables.rows(counts.rename("runs").reset_index())
    for case in dataset.plan.cases:
        for arm, why in dataset.not_tested(case.name).items():
            if (case.name, arm) not in dataset.planned_in:
                rows.append({
                    "case": case.name, "arm": arm, "stage": "not-planned",
                    "reason": f"not-tested: {why}", "runs": 0,
                })  # fmt: skip
    return tables.frame(tables.LOSSES, rows)


def dispersion(values: pd.DataFrame) -> pd.DataFrame:
    """Median, extremes, mean and coefficient of variation by case, metric and arm.

    Spread is reported beside every centre (Hoefler & Belli, SC15, rule 5; Georges et al., OOPSLA
    2007). The coefficient of variation is the sample standard deviation over the mean; null for one
    value or a mean of zero (`tables.DISPERSION`).
    """
    by_arm = values.groupby(["case", "metric", "arm"])
    spread = by_arm.agg(
        unit=("unit", "first"), runs=("value", "size"), median=("value", "median"),
        minimum=("value", "min"), maximum=("value", "max"), mean=("value", "mean"),
        cv=("value", "std"),
    ).reset_index()  # fmt: skip
    cv = spread["cv"] / spread["mean"].abs()
    spread["cv"] = cv.where(np.isfinite(cv), None).astype(object)
    return tables.frame(tables.DISPERSION, tables.rows(spread))


class Line(NamedTuple):
    """A straight line through runs; not known where fewer than APART had more timeouts or less."""

    slope: float | None = None  # seconds for each timeout
    low: float | None = None  # the ends of its 95 % interval
    high: float | None = None
    intercept: float | None = None  # seconds of a run without any
    explained: float | None = None  # the share of the variance of the times that the line has


def line(timeouts: NDArray[np.float64], seconds: NDArray[np.float64]) -> Line:
    """Least squares, with the percentile interval of a bootstrap of blocks.

    Runs of a block share its moment, and a case has one run of an arm in each, so blocks are drawn
    anew with their pairs of numbers (Freedman, Ann. Stat. 1981; Carlstein, ibid. 1986): that needs
    neither equal variances nor normal ones. Times have both a floor and a tail here. `timeouts`,
    `seconds`: of one run in each block.
    """
    _, often = np.unique(timeouts, return_counts=True)
    if len(timeouts) - often.max() < APART:
        return Line()
    (slope,) = _slopes(timeouts, seconds, np.ones((1, len(seconds))))
    samples = _slopes(timeouts, seconds, methods.resampled(len(seconds)))
    ends = methods.percentile_interval(samples, len(seconds))
    total = float(np.var(seconds))
    explained = float(slope**2 * np.var(timeouts) / total) if total else None
    return Line(float(slope), *ends, float(seconds.mean() - slope * timeouts.mean()), explained)


def _slopes(x: np.ndarray, y: np.ndarray, often: np.ndarray) -> NDArray[np.float64]:
    """Slopes of samples with replacement; not a number where x does not vary in one.

    `often`: how often each run is in each sample, shape (samples, runs).
    """
    count = often.sum(axis=1)
    # From the middle of all, so that no digits are lost; a slope does not change by that.
    x, y = x - x.mean(), y - y.mean()
    spread = often @ (x * x) - (often @ x) ** 2 / count
    shared = often @ (x * y) - (often @ x) * (often @ y) / count
    varies = spread > 1e-9 * (1 + often @ (x * x))
    return np.asarray(np.divide(shared, spread, out=np.full(len(count), np.nan), where=varies))


def timeouts(plan: Plan, by_case: ByCase) -> pd.DataFrame:
    """What TCP's timeouts cost, by case and arm whose runs say both (`tables.TIMEOUTS`).

    A lost segment that nothing else tells of is sent again after the least waiting time, rto_min.
    If that is what a program loses in its containers, a run takes rto_min longer for each timeout;
    less where several connections wait at once, more where one waits again, twice as long.
    """
    rows = []
    for case in plan.cases:
        counts, times = (by_case.get((case.name, metric)) for metric in (TIMEOUTS, TIME))
        if counts is None or times is None:
            continue
        for arm in plan.arms:
            shared = sorted(counts.of(arm).keys() & times.of(arm).keys())
            if shared:
                both = [[told.of(arm)[block] for block in shared] for told in (counts, times)]
                waits, seconds = np.array(both, dtype=np.float64)
                rows.append({
                    "case": case.name, "arm": arm, RTO_MIN: case.parameters.get(RTO_MIN),
                    "runs": len(shared), "timeouts": round(waits.sum()),
                    **line(waits, seconds)._asdict(),
                })  # fmt: skip
    return tables.frame(tables.TIMEOUTS, rows)
