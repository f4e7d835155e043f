"""The ledger: every planned run counted once, at the furthest stage that it reached.

Reporting all that was planned, also what failed, is what separates a measurement
from a selection (Hoefler & Belli, SC15, rule 2; CONSORT's flow of participants).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis import tables
from parity.analysis.dataset import Dataset
from parity.analysis.pairing import Numbers
from parity.analysis.sample import PRELIMINARY
from parity.plan.looks import OUT_OF_TIME

STAGES = ("planned", "ran", "parsed", "valid", "analysed")
NOT_RUN = "not-run"
NO_PAIR = "no-pair"
# Fewer than 5 % lost hardly bias a trial, more than 20 % break it (Sackett et al., Evidence-Based
# Medicine, 2000). Here it is not known that slow runs were not the lost ones, so it is the first.
LOST_SHARE = 0.05
LOSSES = "runs were lost"


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


def objection_to_losses(
    dataset: Dataset, of_case: Numbers, case: str, arms: tuple[str, str], ratio: bool = True
) -> str:
    """Why the runs that do not count let nothing be said of two arms; empty if they do.

    Too many of one arm are lost, or more of one than of the other (Fisher's exact test). A run
    that came to its time limit is lost even if it was repeated with success, since it was slow.
    Blocks in which nothing of the case was started yet are no losses, nor are those in which it
    was not measured any more in one of the arms.

    Args:
        of_case: the numbers of the case that count.
        ratio: whether the arms are compared by ratios. These have no number of zero or below,
            which is lost to them.
    """
    planned = [dataset.planned_in.get((case, arm), set()) for arm in arms]
    begun = set.intersection(dataset.begun.get(case, set()), *planned)
    begun -= set().union(*(dataset.stopped.get((case, arm), set()) for arm in arms))
    usable = [of_case.costs(arm) if ratio else of_case.of(arm) for arm in arms]
    lost = [
        sum(block not in there or (block, case, arm) in dataset.too_slow for block in begun)
        for arm, there in zip(arms, usable, strict=True)
    ]
    if not any(lost):
        return ""
    counts = np.array([[one, len(begun) - one] for one in lost])
    unequal = stats.fisher_exact(counts).pvalue < PRELIMINARY
    if not unequal and max(lost) <= LOST_SHARE * len(begun):
        return ""
    said = ", ".join(f"{one} in {arm}" for one, arm in zip(lost, arms, strict=True))
    return f"{LOSSES}: {said} of {len(begun)}"
