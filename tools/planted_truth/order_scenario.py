"""A machine that drifts over the positions of a case: what the order of arms leaves of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby

import numpy as np
import pandas as pd

from planted_truth import acceptance
from planted_truth.acceptance import Observed, Promise
from planted_truth.campaign import CONTAINERS, REFERENCE, Campaign
from planted_truth.measures import Measure, Trials
from planted_truth.outputs import PROCESSOR
from planted_truth.planted_effects import Effects, Noise
from planted_truth.trials import Scenario

ARM = CONTAINERS[0]
# STREAM's on the machine of the archives: from the first of five positions to the last.
DRIFT = 0.011


def drifts() -> list[Scenario]:
    """Blocks that fill whole squares, of which nothing may be left, and two that do not.

    Each of the two may hold the arms two positions apart, as any two of five are on average.
    """
    two_left = acceptance.unbiased(2 * 2 * DRIFT / 4 / 12)
    size = "mean size of the estimate's error"
    return [
        _scenario("drift", 10, "estimates with an error", acceptance.never(0.015), _off),
        _scenario("drift, squares not filled", 12, size, two_left, _size),
    ]


def _scenario(
    name: str,
    blocks: int,
    measured: str,
    promise: Promise,
    observe: Callable[[pd.DataFrame], Observed],
) -> Scenario:
    """Runs that differ by their position alone, so that every estimate but none is an error."""
    about = (
        f"each run costs more the later it stands in its case, {100 * DRIFT:g} % from the first of "
        "five to the last, and deviates by nothing else"
    )
    effects = Effects(Noise(0.0), dict.fromkeys(CONTAINERS[:3], 1.0))
    campaign = Campaign("order", PROCESSOR, 25, blocks, 0.01, effects, ())
    measure = Measure("the same", measured, promise, lambda trials: observe(trials.comparisons))
    size = (blocks, None, campaign.cases, 500)
    return Scenario(
        name, "hazards", about, *size, [measure], lambda _golden: partial(_one, campaign)
    )


def _one(campaign: Campaign, _number: int, seed: int) -> Trials:
    """The errors of each case: the mean over its blocks of what the positions differ."""
    step = DRIFT / (len(campaign.all_arms) - 1)
    planned: dict[str, list[int]] = {}
    for block in campaign.plan(seed).blocks:
        for case, runs in groupby(block.runs, key=lambda run: run.case):
            order = [run.arm for run in runs]
            planned.setdefault(case, []).append(order.index(ARM) - order.index(REFERENCE))
    errors = [step * np.mean(each) for each in planned.values()]
    return Trials(comparisons=pd.DataFrame({"error": errors}))


def _size(errors: pd.DataFrame) -> Observed:
    return acceptance.mean(errors["error"].abs())


def _off(errors: pd.DataFrame) -> Observed:
    # What is left of whole squares is what adding numbers of the machine leaves.
    return acceptance.share(int((errors["error"].abs() > 1e-12).sum()), len(errors))
