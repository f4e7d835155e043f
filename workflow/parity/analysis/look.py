"""A look at a campaign that is being measured: analysed so far, and what that stops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import comparisons, exclusions, pairing
from parity.analysis.dataset import load
from parity.analysis.stopping import stops
from parity.plan.looks import HOPELESS, Look, Stop

# A case and an arm.
Run = tuple[str, str]


def look_at(
    folder: Path,
    number: int,
    before: Sequence[Stop],
    excluded: Sequence[dict[str, Any]],
    most: Callable[[float], int],
) -> Look:
    """What the blocks so far decide, in addition to what is stopped.

    Args:
        folder: their dataset.
        number: of the look, from 1.
        before: what is stopped.
        excluded: entries of config/exclusions.yaml.
        most: how many blocks of each node count there can be in the end, if this share of a
            block goes on.

    Raises:
        UserError: the dataset cannot be read.
    """
    seen = load(folder, whole=False)
    left_out = exclusions.of_dataset(excluded, seen)
    numbers = pairing.numbers(pairing.counted_values(seen.metrics, left_out))
    compared = comparisons.of_table(comparisons.conclude(seen, numbers)[0])
    # What is decided anyway leaves its time to the others: they are given up by that.
    sure = stops(seen.plan, compared, before, most(1.0))
    decided = {(stop.case, stop.arm) for stop in sure if stop.reason != HOPELESS}
    share = share_left(seen.runs, {(stop.case, stop.arm) for stop in before}, decided)
    return Look(
        campaign=seen.plan.campaign,
        number=number,
        blocks=seen.plan.looks[number - 1],
        seen=len(seen.gathered),
        stops=stops(seen.plan, compared, before, most(share)),
    )


def share_left(runs: pd.DataFrame, gone: Collection[Run], stopped: Collection[Run]) -> float:
    """As how much of the time of a block now its runs take, once more of them are stopped.

    Args:
        runs: the table RUNS.
        gone: what was stopped before, and is not part of a block now.
    """
    seconds = runs.groupby(["case", "arm"])["wall_seconds"].mean()
    now = seconds[[run not in gone for run in seconds.index]]
    left = now[[run not in stopped for run in now.index]]
    return float(left.sum() / now.sum()) if now.sum() else 1.0
