"""How a campaign goes on that begins on a busy node: seen and decided once, before its plan."""

from typing import NamedTuple

import psutil

from parity.measure.node import busy_now
from parity.measure.side_by_side import obstacle
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE

WINDOWS = 12  # three seconds in all, of which the quietest tells: a busy node is so in each


class Begun(NamedTuple):
    """The design of a campaign that begins now, and why in a line; empty on an idle node."""

    design: str
    said: str = ""


def design_here(most_busy: float) -> Begun:
    """Side by side where others take more than this share of the node, and pairs can be made."""
    busy, cpus = min(busy_now() for _ in range(WINDOWS)), psutil.cpu_count() or 1
    if busy <= most_busy:
        return Begun(IN_TURN)
    said = f"this node is busy ({busy * cpus:.1f} of {cpus} CPUs)"
    if why := obstacle():
        return Begun(IN_TURN, f"{said}, and is waited for: {why}")
    blind = "what a program waits for is not in it"
    return Begun(SIDE_BY_SIDE, f"{said}: CPU time side by side, on one CPU; {blind}")
