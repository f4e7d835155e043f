"""Starts one process for each rank: the launcher's words, and what each rank fills in.

The launcher (srun, as a rule) starts a container for each rank. What differs between
ranks (their number, their CPU, the variables by which MPI finds the peers) is put into
the words of the runtime's command on the node itself, just before the runtime starts.
So it reaches the program through every runtime alike, and no runtime has to know of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parity.benchmarks.model import Program
from parity.plan.system import MpiLauncher

RANK, HOST, CPU = "@rank@", "@host@", "@cpu@"
# A word of its own, which becomes as many words `NAME=value` as there are variables.
VARIABLES = "@variables@"

# Words of the command come as arguments and are never read as part of the script; names of
# variables come from the system's file, where only capitals, digits and _ are allowed.
FILL_IN = r"""
cpus=$1 beginnings=$2 rank_name=$3
shift 3
eval "rank=\$$rank_name"
read -r host < /proc/sys/kernel/hostname
set -f
set_cpu() { shift $((rank % $#)); cpu=$1; }
set_cpu $cpus
names=$(awk -v beginnings="^($beginnings)" \
    'BEGIN {for (name in ENVIRON) if (name ~ beginnings && name ~ /^[A-Z0-9_a-z]+$/) print name}')
for word do
  shift
  case $word in
    @variables@)
      set -- "$@" "PARITY_RANK=$rank" "PARITY_NODE=$host"
      for name in $names; do
        eval "value=\$$name"
        set -- "$@" "$name=$value"
      done
      continue ;;
  esac
  filled=
  while :; do
    case $word in
      *@rank@*) filled=$filled${word%%@rank@*}$rank word=${word#*@rank@} ;;
      *) break ;;
    esac
  done
  word=$filled$word
  case $word in *@host@*) word=${word%%@host@*}$host${word#*@host@} ;; esac
  case $word in @cpu@) word=$cpu ;; esac
  set -- "$@" "$word"
done
exec "$@"
"""


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
        " ".join(map(str, program.cpus)),
        "|".join(map(re.escape, launcher.variables)),
        launcher.rank,
        *command,
    ]


def on_each_node(launcher: MpiLauncher, nodes: int, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` once on each node of the allocation."""
    return [*(word.format(nodes=nodes) for word in launcher.each_node), *command]
