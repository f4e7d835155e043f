"""Ends what a program with ranks left on the nodes: `python -m parity.measure.cleanup`.

It is run once on each node after a failed run. That it can be run at all also tells that
the allocation is still ours and whole, so that the failure was the run's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from parity.extensions.network_namespace import end_left_networks
from parity.measure import storage
from parity.measure.inner_command import WORK
from parity.measure.mpi_launcher import RANK
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, Arm, Launch


def clean_up(arm: Arm, launch: Launch, ranks: int) -> None:
    """Let the arm remove what it may have left: one container, or one for each rank."""
    names = [launch.name.replace(RANK, str(rank)) for rank in range(max(1, ranks))]
    arm.cleanup(*(replace(launch, name=name) for name in dict.fromkeys(names)))


def main(words: Sequence[str] | None = None) -> None:
    """Clean up after the run that the command line names, on this node."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--state", type=Path, required=True)
    given = parser.parse_args(words)
    clean_up(every_arm()[given.arm], Launch(given.name, None, SCRATCH, given.state), given.ranks)
    storage.end_processes_in(WORK)
    end_left_networks()


if __name__ == "__main__":
    main()
