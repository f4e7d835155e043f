"""A look at a campaign that is being measured: analysed so far, and what that stops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import conclusions, exclusions, pairing
from parity.analysis.conclusions import Conclusion
from parity.analysis.contrast import Engine
from parity.analysis.dataset import load
from parity.analysis.stopping import stops
from parity.plan.looks import HOPELESS, Look, Stop
from parity.plan.plan import Plan

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
    left_out = exclusions.excluded_runs(excluded, seen)
    numbers = pairing.numbers(pairing.counted_values(seen.metrics, left_out))
    compared = [each for each, _ in conclusions.comparisons(Engine(seen, numbers))]
    seconds = seen.runs.groupby(["case", "arm"])["wall_seconds"].mean()
    return Look(
        campaign=seen.plan.campaign,
        number=number,
        blocks=seen.plan.looks[number - 1],
        seen=len(seen.gathered),
        stops=stops_in_time(seen.plan, compared, before, seconds, most),
    )


def stops_in_time(
    plan: Plan,
    compared: Sequence[Conclusion],
    before: Sequence[Stop],
    seconds: pd.Series,
    most: Callable[[float], int],
) -> tuple[Stop, ...]:
    """What a look stops in all, where what it stops leaves its time to the others.

    What is decided is stopped first. Of what has no chance then, the case that takes longest is
    given up, which may give the others one.

    Args:
        compared: the comparisons, concluded on the blocks so far.
        before: what earlier looks stopped.
        seconds: of a run, by case and arm.
        most: as of `look_at`.
    """
    gone = {(stop.case, stop.arm) for stop in before}
    found = stops(plan, compared, before, most(1.0))
    kept = [stop for stop in found if stop in before or stop.reason != HOPELESS]
    by_case = seconds.groupby("case").sum()
    while True:
        share = share_left(seconds, gone, {(stop.case, stop.arm) for stop in kept})
        found = stops(plan, compared, kept, most(share))
        given_up = [stop for stop in found if stop not in kept]
        if not given_up:
            return found
        longest = max(given_up, key=lambda stop: by_case.get(stop.case, 0.0)).case
        kept += [stop for stop in given_up if stop.case == longest]


def share_left(seconds: pd.Series, gone: Collection[Run], stopped: Collection[Run]) -> float:
    """As how much of the time of a block now its runs take, once more of them are stopped.

    Args:
        seconds: of a run, by case and arm.
        gone: what was stopped before, and is not part of a block now.
    """
    now = seconds[[run not in gone for run in seconds.index]]
    left = now[[run not in stopped for run in now.index]]
    return float(left.sum() / now.sum()) if now.sum() else 1.0
