"""Ends what a program with ranks left on the nodes: the command `clean-up`.

It is run once on each node after a failed run. That it can be run at all also tells that
the allocation is still ours and whole, so that the failure was the run's own.
"""

from __future__ import annotations

from dataclasses import replace

import parity.measure
from parity.core.registry import extensions_with
from parity.measure import storage
from parity.measure.inner_command import WORK
from parity.measure.mpi_launcher import RANK
from parity.runtimes.model import Arm, Launch


def clean_up(arm: Arm, launch: Launch, ranks: int) -> None:
    """Let the arm remove what it may have left: one container, or one for each rank."""
    names = [launch.name.replace(RANK, str(rank)) for rank in range(max(1, ranks))]
    arm.cleanup(*(replace(launch, name=name) for name in dict.fromkeys(names)))


def sweep() -> None:
    """End what runners that died left of their companions on this node."""
    for end in extensions_with(parity.measure, "SWEEP"):
        end()


def clean_node(arm: Arm, launch: Launch, ranks: int) -> None:
    """Clean up on a node that is measured: also processes and networks that are nobody's."""
    clean_up(arm, launch, ranks)
    storage.end_processes_in(WORK)
    sweep()
