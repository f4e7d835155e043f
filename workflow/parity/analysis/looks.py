"""What a look stops: arms of which all is decided, and those of which nothing will be.

Stopping what is decided is what the levels allow for (`sequential`). Giving up what
has no chance adds no error: it only lets go of findings.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from parity.analysis import conclusions, evidence, outcomes
from parity.analysis.conclusions import Conclusion
from parity.analysis.contrast import Engine
from parity.analysis.dataset import excluded_runs, load
from parity.analysis.decision import Decision
from parity.analysis.estimate import Mean
from parity.analysis.sequential import Levels, levels_at
from parity.plan.looks import DECIDED, HOPELESS, REPORTED, Look, Stop
from parity.plan.plan import Plan

# Below this probability to be decided by the last block, a comparison is given up.
LEAST_CHANCE = 0.05
# The scatter is taken for as small as one sample in ten would hide.
HIDDEN = 0.9


def stops(
    plan: Plan, compared: Iterable[Conclusion], before: Iterable[Stop], most: int
) -> tuple[Stop, ...]:
    """Which arms are not run any more, by case: those stopped before, and those of now.

    The reference and its double go on as long as any other arm of the case does.

    Args:
        compared: the comparisons, concluded on the blocks so far.
        before: what earlier looks stopped.
        most: how many blocks there can be in the end.
    """
    found = {(stop.case, stop.arm): stop for stop in before}
    by_run: dict[tuple[str, str], list[Conclusion]] = defaultdict(list)
    for each in compared:
        if each.planned:
            by_run[each.case, each.arm].append(each)
    for case in plan.cases:
        arms = plan.arms_of(case.name)
        others = [arm for arm in arms if arm not in plan.aa_pair] or [plan.double]
        control = {each.metric: each.decision for each in by_run[case.name, plan.double]}
        for arm in others:
            if (case.name, arm) in found:
                continue
            if why := _why(by_run[case.name, arm], control, plan.looks, most):
                found[case.name, arm] = Stop(case.name, arm, *why)
        reasons = [found[case.name, arm].reason for arm in others if (case.name, arm) in found]
        if len(reasons) == len(others):
            reason = HOPELESS if HOPELESS in reasons else reasons[0]
            for arm in {*plan.aa_pair} - {*others}:
                key = case.name, arm
                found.setdefault(key, Stop(*key, reason, "no other arm of the case goes on"))
    return tuple(found[key] for key in sorted(found))


def _why(
    compared: Sequence[Conclusion],
    control: Mapping[str, Decision],
    looks: tuple[int, ...],
    most: int,
) -> tuple[str, str] | None:
    """Why an arm is not run any more, with a detail; None if it goes on."""
    said = []
    for each in compared:
        if each.decision.margin is None:
            continue
        found = each.decision
        if found.outcome in (outcomes.EQUIVALENT, outcomes.DIFFERENT):
            said.append((DECIDED, f"{each.metric} {found.outcome} after {found.blocks}"))
            continue
        chance = chance_of(found, control.get(each.metric), looks, most)
        if chance >= LEAST_CHANCE:
            return None
        word = f"{each.metric} has a chance of {chance:.2f} to be decided by {most} blocks"
        said.append((HOPELESS, word))
    if not said:
        return REPORTED, "nothing of it is to be decided"
    return max(reason for reason, _ in said), "; ".join(detail for _, detail in said)


def chance_of(
    found: Decision, control: Decision | None, looks: tuple[int, ...], most: int
) -> float:
    """How likely a comparison that is open is decided by the last block.

    Predictive power (Spiegelhalter, Freedman & Blackburn, Control. Clin. Trials 1986): the mean
    of all blocks, given that of those so far, lies around it by Student's t. For "the same" the
    A/A pair has to pass as well.

    Args:
        found: the decision so far; its margin is a ratio's.
        control: that on the A/A pair, None where there is none.
        most: how many blocks there can be in the end.
    """
    if control is None or control.as_control == outcomes.DIFFERENT:
        return 0.0
    if not found.blocks or not control.blocks:
        return 0.0
    same, other = _chances(found, looks, most)
    return min(same, 1.0 if control is found else _chances(control, looks, most)[0]) + other


def _chances(found: Decision, looks: tuple[int, ...], most: int) -> tuple[float, float]:
    """How likely it is that a ratio comes out as equivalent, and as different."""
    if found.units < 2 or found.margin is None:
        return 1.0, 0.0
    freedom, share = found.units - 1, found.blocks / max(most, found.blocks)
    low, value, high = map(math.log, (found.interval90[0], found.estimate, found.interval90[1]))
    levels = levels_at(looks, found.blocks)
    # The end that few skewed effects put far away says nothing of more blocks; the other is by t.
    error = min(value - low, high - value) / float(stats.t.isf(levels.same, freedom))
    now = Mean(value, error, freedom)
    return _by_then(now, share, math.log1p(found.margin), levels_at(looks, most))


def _by_then(now: Mean, share: float, bound: float, levels: Levels) -> tuple[float, float]:
    """The same, of a mean with its error now.

    The scatter is taken for small only in the interval by which arms are the same. Taken so in
    how far the mean moves as well, it would give up what few blocks have put beside the margin
    by chance; and in the interval of a difference, it would find one in any noise.

    Args:
        share: how much of the blocks there is now.
        levels: of the last look.
    """
    small = math.sqrt(now.freedom / float(stats.chi2.ppf(HIDDEN, now.freedom)))
    then, moves = now.error * math.sqrt(share), now.error * math.sqrt(1 - share)
    same, other = (then * float(stats.t.isf(level, now.freedom / share)) for level in levels[:2])
    same *= small

    def below(value: float) -> float:
        if not moves:
            return float(value > now.value)
        return float(stats.t.cdf((value - now.value) / moves, now.freedom))

    equivalent = max(0.0, below(bound - same) - below(same - bound))
    return equivalent, below(-bound - other) + 1 - below(bound + other)


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
    left_out = excluded_runs(excluded, seen)
    numbers = evidence.numbers(evidence.counted_values(seen.metrics, left_out))
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
