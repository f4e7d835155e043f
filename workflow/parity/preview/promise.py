"""The first lines of a campaign with a time limit: what that time can prove, and what it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.core.wording import listed
from parity.plan.plan import Plan
from parity.preview.proof import NO_SPREAD, POWERS, Need
from parity.preview.terminal import duration, folded, percent

# Beside its programs: the nodes are checked, and it is waited until they are idle.
SECONDS_BESIDE = 2.0


def promise_lines(
    plan: Plan, needs: Sequence[Need], seconds: Mapping[str, float] | None
) -> list[str]:
    """What can be proven with a power of 80 %, if arms truly cost the same.

    Args:
        needs: of the plan.
        seconds: how long the programs of a block take, by case; None if that is not known.
    """
    assert plan.minutes is not None
    limit = f"{plan.minutes:g} min here"
    if seconds is None:
        return [f"{limit}: nobody has measured yet how long a block of this takes"]
    reached = blocks_in_time(plan, needs, seconds)
    can, cannot, sources = [], [], set()
    for need in needs:
        if need.noise is None or need.proof is None:
            cannot.append(f"{need.case}, of which no scatter is known")
            continue
        sources.add(need.noise.dataset)
        blocks = reached[need.case]
        margin = need.proof.margin(blocks, POWERS[0])
        if margin <= NO_SPREAD:
            can.append(f"any margin for {need.case}, which does not scatter")
        elif margin < 1:
            can.append(f"±{percent(margin)} % for {need.case} in {blocks} blocks")
        if margin > need.margin:
            more = need.blocks[0] - _first(plan)
            takes = _block(seconds) * _first(plan) + seconds[need.case] * more
            cannot.append(f"±{percent(need.margin)} % for {need.case} needs {duration(takes)}")
    lines = folded(f"{limit} can prove {listed(can) if can else 'nothing'}", "")
    lines += folded(listed(cannot)) if cannot else []
    return lines + (folded(f"by the scatter in {listed(sorted(sources))}") if sources else [])


def blocks_in_time(
    plan: Plan, needs: Sequence[Need], seconds: Mapping[str, float]
) -> dict[str, int]:
    """How many blocks there can be of each case with a margin, as looks leave them the time.

    All go on to the first look. What is decided by then stops; after it those that are decided
    soonest have what they need, and each of the others the time that these leave.
    """
    longest = max((block.number for block in plan.blocks), default=0)
    left, first = 60 * (plan.minutes or 0.0), _first(plan)
    made = min(longest, int(left / _block(seconds)))
    if made < first:
        return {need.case: made for need in needs}
    left -= first * _block(seconds)
    # Which block decides what nobody knows the scatter of is not known either.
    wanted = {need.case: need.blocks[0] if need.blocks else longest for need in needs}
    reached = dict.fromkeys(wanted, first)
    for case in sorted(wanted, key=lambda case: (wanted[case] - first) * seconds[case]):
        more = max(0, min(wanted[case], longest) - first)
        taken = more * (seconds[case] + SECONDS_BESIDE)
        if taken <= left:
            left -= taken
        else:
            more = int(left / (seconds[case] + SECONDS_BESIDE))
        reached[case] += more
    return reached


def _first(plan: Plan) -> int:
    """The first look, or the last block."""
    return plan.looks[0] if plan.looks else len(plan.blocks)


def _block(seconds: Mapping[str, float]) -> float:
    return sum(seconds.values()) + SECONDS_BESIDE
