"""At which step a difference appears: decided by the rules by which everything here is decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.analysis import outcomes
from parity.analysis.decision import Decision, decide
from parity.analysis.estimate import mean_of
from parity.analysis.statistics.multiplicity import holm

ALPHA = 0.05
NATIVE = ("native-a", "native-b")


@dataclass(frozen=True)
class Rung:
    """One step of the measured ladder.

    Attributes:
        ratio: its cost over native's.
        increment: its cost over that of the step before.
        p_increment: that it costs neither more nor less than the step before, after Holm.
        fails: whether none of its runs ended well.
    """

    name: str
    ratio: Decision
    increment: Decision
    p_increment: float
    fails: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is found.

    Attributes:
        control: the second native over the first.
        rungs: all steps, the container itself last.
        causes: the steps at which the cost changes beyond the margin, the first one first.
        outcome: of the container over native, or `control-failed`.
    """

    control: Decision
    rungs: tuple[Rung, ...]
    causes: tuple[str, ...]
    outcome: str


def verdict_of(
    costs: Mapping[str, Mapping[int, float]], steps: Sequence[str], margin: float
) -> Verdict:
    """Who is to blame.

    Args:
        costs: of each block by arm; the two natives' are `native-a` and `native-b`.
        steps: arms in the order of the ladder, the container last.
        margin: 0.03 means that a ratio within (1/1.03, 1.03) is none.
    """
    reference = _mean_of_natives(costs)
    control = decide(_logs(costs[NATIVE[1]], costs[NATIVE[0]]), margin)
    before: Mapping[int, float] = reference
    found: list[tuple[str, Decision, Decision, float, bool]] = []
    for name in steps:
        own = costs.get(name, {})
        ratio, effects = decide(_logs(own, reference), margin), _logs(own, before)
        found.append((name, ratio, decide(effects, margin), _p_none(effects), not own))
        if own:
            before = own
    adjusted = holm([p for *_, p, _ in found])
    rungs = tuple(
        Rung(name, ratio, increment, p, fails)
        for (name, ratio, increment, _, fails), p in zip(found, adjusted, strict=True)
    )
    outcome = rungs[-1].ratio.outcome if not rungs[-1].fails else outcomes.DIFFERENT
    if control.as_control == outcomes.DIFFERENT:
        return Verdict(control, rungs, (), "control-failed")
    causes = _causes(rungs) if outcome == outcomes.DIFFERENT else ()
    return Verdict(control, rungs, causes, outcome)


def _causes(rungs: Sequence[Rung]) -> tuple[str, ...]:
    """The steps that bring the program to where the container has it, the first one first.

    Of a container in which it fails, those that fail; a step of ours that fails although the
    container does not says nothing of it. What changes a cost the other way is no cause of it, nor
    the first while the cost over native is still none.
    """
    last = rungs[-1]
    if last.fails:
        return tuple(rung.name for rung in rungs if rung.fails)[:1]
    found: list[str] = []
    for rung in rungs:
        is_change = rung.increment.outcome == outcomes.DIFFERENT and rung.p_increment <= ALPHA
        same_way = (rung.increment.estimate > 1) == (last.ratio.estimate > 1)
        is_there = rung.ratio.outcome == outcomes.DIFFERENT
        is_there &= (rung.ratio.estimate > 1) == (last.ratio.estimate > 1)
        if not rung.fails and is_change and same_way and is_there:
            found.append(rung.name)
    return tuple(found)


def explained(verdict: Verdict) -> float:
    """The share of the container's log ratio that the steps before it reach; NaN without any."""
    *before, last = verdict.rungs
    steps = [rung for rung in before if not rung.fails]
    whole = math.log(last.ratio.estimate) if not last.fails else math.nan
    return math.log(steps[-1].ratio.estimate) / whole if steps and whole else math.nan


def _mean_of_natives(costs: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """The geometric mean of both in each block that has both."""
    first, second = (costs[name] for name in NATIVE)
    return {block: math.sqrt(first[block] * second[block]) for block in first.keys() & second}


def _logs(costs: Mapping[int, float], others: Mapping[int, float]) -> list[float]:
    return [math.log(costs[block] / others[block]) for block in sorted(costs.keys() & others)]


def _p_none(effects: Sequence[float]) -> float:
    """Two-sided p that the mean of effects is none; 1 where too few tell."""
    if len(effects) < 2:
        return 1.0
    mean = mean_of(effects)
    return min(1.0, 2 * min(mean.p_above(0.0), mean.p_below(0.0)))
