"""What a look stops: arms of which all is decided, or nothing is to be.

Stopping what is decided is what the levels allow for (`sequential`). Where the time is limited, all
other cases race for what is left of it: `waiting` says which of them wait until the next look. What
the time may not decide goes on for its bound, which every further block makes smaller.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.analysis.analysis import Analysed
from parity.analysis.conclusions import Conclusion
from parity.analysis.decision import CLAIMS, Decision
from parity.plan.looks import DECIDED, REPORTED, WAITING, Look, Stop
from parity.plan.plan import Plan


def stops(plan: Plan, compared: Iterable[Conclusion], before: Iterable[Stop]) -> tuple[Stop, ...]:
    """Which arms are not run any more, by case: those stopped before, and those of now.

    The reference and its double go on as long as any other arm of the case does. `compared`: the
    comparisons, concluded on the blocks so far. `before`: what earlier looks stopped.
    """
    found = {(stop.case, stop.arm): stop for stop in before}
    by_run: dict[tuple[str, str], list[Conclusion]] = defaultdict(list)
    for conclusion in compared:
        if conclusion.planned:
            by_run[conclusion.case, conclusion.arm].append(conclusion)
    longer = {shorter.case.name: shorter.of for shorter in plan.shorter}
    for case in plan.run_cases:
        others = [a for a in plan.arms_of(case.name) if a not in plan.aa_pair] or [plan.double]
        for arm in others:
            key = case.name, arm
            if key not in found and (why := _why(by_run[longer.get(case.name, case.name), arm])):
                found[key] = Stop(*key, *why)
        reasons = [found[case.name, arm].reason for arm in others if (case.name, arm) in found]
        if len(reasons) == len(others):
            for arm in {*plan.aa_pair} - {*others}:
                key = case.name, arm
                found.setdefault(key, Stop(*key, reasons[0], "no other arm of the case goes on"))
    return tuple(found[key] for key in sorted(found))


def _why(compared: Sequence[Conclusion]) -> tuple[str, str] | None:
    """Why an arm is not run any more, with a detail; None if it goes on."""
    decisions = [(each.metric, each.decision) for each in compared if each.decision.margin]
    if not decisions:
        return REPORTED, "nothing of it is to be decided"
    if any(decision.outcome not in CLAIMS for _, decision in decisions):
        return None
    said = (f"{metric} {one.outcome} after {one.blocks}" for metric, one in decisions)
    return DECIDED, "; ".join(said)


def waiting(
    plan: Plan, blocks: int, compared: Iterable[Conclusion], stopped: Sequence[Stop],
    seconds: Mapping[tuple[str, str], float], left: float,
) -> tuple[Stop, ...]:  # fmt: skip
    """The arms of cases that wait until the next look, because others do more with the time.

    What can be decided in the time that is left comes first, the nearest to its decision before
    others; then what only gets a smaller bound, the widest first. Each takes the stage that begins
    now, or all that it needs, and whoever finds too little time waits. One case always goes on.
    A decision falls where the half-width, which shrinks as the root of the blocks, is smaller than
    what lies between the estimate and the nearer end of the margin. The levels of a case follow
    the blocks that it has, whichever those are. `blocks`: how many the stage has that begins now.
    `compared`, `stopped`: as of `stops`, and what it gave. `seconds`: of a run, by case and arm.
    `left`: seconds that are left for runs.
    """
    ended = {(stop.case, stop.arm) for stop in stopped}
    going: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for conclusion in compared:
        decision, key = conclusion.decision, (conclusion.case, conclusion.arm)
        if decision.margin and conclusion.planned and key not in ended and not conclusion.control:
            going[conclusion.case].append(_blocks_to_go(decision))
    runs: dict[str, list[tuple[str, str]]] = {}
    for case in going:
        names = [case, *(shorter.case.name for shorter in plan.shorter if shorter.of == case)]
        both = ((name, arm) for name in names for arm in plan.arms_of(name))
        runs[case] = [run for run in both if run not in ended]
    block = {case: sum(seconds.get(run, 0.0) for run in of) for case, of in runs.items()}
    needs = {case: min(to_go for to_go, _ in of) * block[case] for case, of in going.items()}
    first = sorted((case for case in going if needs[case] <= left), key=needs.__getitem__)
    others = {case: max(half for _, half in of) for case, of in going.items() if case not in first}
    taken, late = 0.0, list[str]()
    for case in [*first, *sorted(others, key=others.__getitem__, reverse=True)]:
        takes = max(blocks * block[case], needs[case] if case in first else 0.0)
        if taken and taken + takes > left:
            late.append(case)
        else:
            taken += takes
    detail = "others do more with the time until the next look"
    return tuple(Stop(*run, WAITING, detail) for case in late for run in runs[case])


def _blocks_to_go(decision: Decision) -> tuple[float, float]:
    """How many more blocks may decide it, and the half-width of its interval as a log."""
    (low, high), cost = decision.interval90, math.log(decision.estimate or math.nan)
    half = math.log(high / low) / 2 if low > 0 and math.isfinite(high) else math.inf
    if not math.isfinite(half + cost):
        return math.inf, math.inf
    assert decision.margin
    room = abs(math.log1p(decision.margin) - abs(cost))
    return max(1.0, decision.blocks * ((half / room) ** 2 - 1)) if room else math.inf, half


def look_at(
    found: Analysed, number: int, before: Sequence[Stop], time: tuple[float, float] | None = None
) -> Look:
    """What the blocks so far decide, in addition to what is stopped.

    `found`: those blocks, analysed. `number`: of the look, from 1. `before`: what is stopped.
    `time`: seconds that all blocks took so far, and that are left; None without a limit.
    """
    seen, compared, looks = found.dataset, found.compared.values(), found.dataset.plan.looks
    ended = stops(seen.plan, compared, [stop for stop in before if stop.reason != WAITING])
    if time and number < len(looks):
        # Both of a pair take the same time.
        in_pairs = np.array([seen.plan.in_pairs(case) for case in seen.runs["case"]], dtype=bool)
        is_beside = in_pairs & (seen.runs["arm"] == seen.plan.reference).to_numpy()
        by_run = seen.runs[~is_beside].groupby(["case", "arm"])["wall_seconds"]
        # What stands around a run takes its part of the time, too.
        around = time[0] / by_run.sum().sum()
        means: dict[Any, float] = dict(by_run.mean().dropna())
        seconds = {run: around * mean for run, mean in means.items()}
        stage = looks[number] - looks[number - 1]
        ended += waiting(seen.plan, stage, compared, ended, seconds, time[1])
    campaign, blocks, there = seen.plan.campaign, looks[number - 1], len(seen.gathered)
    return Look(campaign=campaign, number=number, blocks=blocks, seen=there, stops=ended)
