"""What a look stops: arms of which all is decided, or nothing is to be.

Stopping what is decided is what the levels allow for (`sequential`). What the time may not decide
goes on until it is over: for its bound, which every further block makes smaller.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from parity.analysis.analysis import Analysed
from parity.analysis.conclusions import Conclusion
from parity.analysis.decision import CLAIMS
from parity.plan.looks import DECIDED, REPORTED, Look, Stop
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
        arms = plan.arms_of(case.name)
        others = [arm for arm in arms if arm not in plan.aa_pair] or [plan.double]
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


def look_at(found: Analysed, number: int, before: Sequence[Stop]) -> Look:
    """What the blocks so far decide, in addition to what is stopped.

    Args:
        found: those blocks, analysed.
        number: of the look, from 1.
        before: what is stopped.
    """
    seen = found.dataset
    return Look(
        campaign=seen.plan.campaign, number=number, blocks=seen.plan.looks[number - 1],
        seen=len(seen.gathered), stops=stops(seen.plan, found.compared.values(), before),
    )  # fmt: skip
