"""Starts one process for each rank: the launcher's words, and what each rank fills in.

The launcher (srun, as a rule) starts a container for each rank. What differs between
ranks (their number, their CPU, the variables by which MPI finds the peers) is put into
the words of the runtime's command on the node itself, just before the runtime starts.
So it reaches the program through every runtime alike, and no runtime has to know of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from parity.benchmarks.model import Program
from parity.plan.system import MpiLauncher

RANK, HOST, CPU = "@rank@", "@host@", "@cpu@"
# A word of its own, which becomes as many words `NAME=value` as there are variables.
VARIABLES = "@variables@"

# Words of the command come as arguments and are never read as part of the script; names of
# variables come from the system's file, where only capitals, digits and _ are allowed.
EVIDENCE = "parity-evidence "
FILL_IN = (
    Path(__file__)
    .with_name("fill_in.sh")
    .read_text(encoding="utf-8")
    .replace("@evidence@", EVIDENCE.strip())
)


def launched(launcher: MpiLauncher, program: Program, command: Sequence[str]) -> list[str]:
    """The command line that starts `command`, an arm's, once for each rank of `program`."""
    counts = {
        "nodes": program.nodes,
        "ranks": program.ranks,
        "ranks_per_node": program.ranks // program.nodes,
    }
    return [
        *(word.format(**counts) for word in launcher.command),
        *("/bin/sh", "-c", FILL_IN, "fill-in"),
        # One list of CPUs for each rank, or one for all.
        (" " if program.is_bound else ",").join(map(str, program.cpus)),
        "|".join(map(re.escape, launcher.variables)),
        launcher.rank,
        *command,
    ]


def on_each_node(launcher: MpiLauncher, nodes: int, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` once on each node of the allocation."""
    return [*(word.format(nodes=nodes) for word in launcher.each_node), *command]
