"""The first lines of a campaign with a time limit: what that time can prove, and what it cannot."""

from __future__ import annotations

from collections.abc import Sequence

from parity.core.wording import listed
from parity.plan.plan import Plan
from parity.preview.proof import Need, need
from parity.preview.terminal import duration, percent

# Beside its programs: the nodes are checked, and it is waited until they are idle.
SECONDS_BESIDE = 2.0


def promise_lines(plan: Plan, needs: Sequence[Need], block_seconds: float | None) -> list[str]:
    """What can be proven with a power of 80 %, if arms truly cost the same and none is stopped.

    Args:
        needs: of the plan.
        block_seconds: how long the programs of a block take; None if that is not known.
    """
    assert plan.minutes is not None
    limit = f"{plan.minutes:g} min here"
    if block_seconds is None:
        return [f"{limit}: nobody has measured yet how long a block of this takes"]
    each = block_seconds + SECONDS_BESIDE
    longest = max((block.number for block in plan.blocks), default=0)
    blocks = min(longest, int(60 * plan.minutes / each))
    can, cannot, sources = [], [], []
    for asked in needs:
        if asked.noise is None:
            cannot.append(f"{asked.case}, of which no scatter is known")
            continue
        found = need(asked.case, asked.metric, asked.margin, blocks, asked.noise).gated
        assert found is not None
        sources.append(asked.noise.dataset)
        wanted = f"±{percent(asked.margin)} % for {asked.case}"
        if found.margins:
            can.append(f"±{percent(found.margins[0])} % for {asked.case}")
        if not found.margins or found.margins[0] > asked.margin:
            cannot.append(f"{wanted} needs {duration(found.blocks[0] * each)}")
    said = f"can prove {listed(can)}" if can else "can prove nothing"
    lines = [f"{limit}, up to {blocks} blocks, {said}"]
    lines += [f"  {listed(cannot)}"] if cannot else []
    known = sorted(set(sources))
    return lines + ([f"  by the scatter in {listed(known)}"] if known else [])
