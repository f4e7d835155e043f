"""The inner command: the words that every arm runs alike, and what they tell of where they ran.

Binding, environment and folder are set by these words inside the arm. What differs between ranks
is filled into them on the node, just before the runtime starts, so no runtime knows of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import parity.measure
from parity.benchmarks.model import Program
from parity.core.package import extensions_with
from parity.measure.places import WORK, tool
from parity.plan.system import MpiLauncher
from parity.runtimes.model import MARKER, Arm, Launch

RANK, HOST, CPU = "@rank@", "@host@", "@cpu@"
VARIABLES = "@variables@"  # a word that becomes one of `NAME=value` for each variable
# Words of the command come as arguments and are never read as part of the script; names of
# variables come from the system's file, where only capitals, digits and _ are allowed.
EVIDENCE = "parity-evidence "
FILL_IN = Path(__file__).with_name("fill_in.sh").read_text(encoding="utf-8")
FILL_IN = FILL_IN.replace("@evidence@", EVIDENCE.strip())


def launched(launcher: MpiLauncher, program: Program, command: Sequence[str]) -> list[str]:
    """The command line that starts `command`, an arm's, once for each rank of `program`."""
    counts = {"nodes": program.nodes, "ranks": program.ranks}
    counts["ranks_per_node"] = program.ranks // program.nodes
    return [
        *(word.format(**counts) for word in launcher.command),
        *("/bin/sh", "-c", FILL_IN, "fill-in"),
        # One list of CPUs for each rank, or one for all.
        (" " if program.is_bound else ",").join(map(str, program.cpus)),
        "|".join(map(re.escape, launcher.variables)), launcher.rank, *command,
    ]  # fmt: skip


def on_each_node(launcher: MpiLauncher, nodes: int, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` once on each node of the allocation."""
    return [*(word.format(nodes=nodes) for word in launcher.each_node), *command]


_OF_A_RANK = re.compile(r"(\d+)@(\S+) (.*)")  # which of several it is, and on which node
# Runs inside the arm just before the program takes its place (`exec`), so the evidence comes from
# the very process that is measured; about 3 ms. Its name ($0) is how its lines begin.
WITNESS = Path(__file__).with_name("witness.sh").read_text("utf-8").replace("@marker@", MARKER)


def program_environment(program: Program, folder: Path = WORK) -> dict[str, str]:
    """The whole environment of a program that works in a folder, the same in every arm."""
    fixed = {
        "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C", "TZ": "UTC",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }  # fmt: skip
    return dict(sorted((fixed | dict(program.environment)).items()))


def witnessed(program: Program, folder: Path = WORK, tools: str = "") -> list[str]:
    """The inner command, the witness before a program in `folder`; `tools`: as of `tools_for`."""
    cpus, begin, variables = ",".join(map(str, program.cpus)), EVIDENCE.strip(), []
    if program.ranks:
        cpus, begin, variables = CPU, f"{EVIDENCE}{RANK}@{HOST}", [VARIABLES]
    assignments = [f"{key}={value}" for key, value in program_environment(program, folder).items()]
    # The static `env` cannot change its folder.
    there = [] if tools else [f"--chdir={folder}"]
    go = [*tool(tools, "/bin/sh"), "-c", 'cd "$0" && exec "$@"', str(folder)] if tools else []
    return [
        *(*tool(tools, "/usr/bin/taskset"), "-c", cpus),
        *(*tool(tools, "/bin/sh"), "-c", WITNESS, begin, *go),
        *(*tool(tools, "/usr/bin/env"), "-i", *there, *assignments, *variables, *program.argv),
    ]


def evidence(stderr: str) -> dict[str, str]:
    """What the witness of a program without ranks said, from a run's standard error.

    That is marker, hostname, root (`fstype,options`), cpus_allowed, seccomp, no_new_privs, and
    `namespace.<name>` with its inode; whatever is missing there is missing here.
    """
    return _facts(line for line in _said(stderr) if not _OF_A_RANK.match(line))


def rank_evidence(stderr: str) -> dict[int, dict[str, str]]:
    """What the witnesses of all ranks said, by rank, each with its `node` beside `evidence`."""
    lines: dict[tuple[int, str], list[str]] = {}
    for line in _said(stderr):
        if match := _OF_A_RANK.match(line):
            lines.setdefault((int(match[1]), match[2]), []).append(match[3])
    return {rank: {"node": node} | _facts(said) for (rank, node), said in sorted(lines.items())}


def seconds_of_ranks(
    ranks: Mapping[int, Mapping[str, str]], host: str, outer: float
) -> float | None:
    """Seconds from the first start to the last end of the ranks on a node; None if not told.

    Of one node, because clocks differ; programs end together. `outer`: of the whole start, in
    seconds, with the launcher's own.
    """
    there = [each for each in ranks.values() if each["node"] == host]
    began, ended = ([each.get(name, "") for each in there] for name in ("began", "ended"))
    if not there or not all(time.isdecimal() for time in began + ended):
        return None
    seconds = (max(map(int, ended)) - min(map(int, began))) / 1e9
    # A clock that was set meanwhile is no clock.
    return seconds if 0 < seconds <= outer else None


def rank_differences(ranks: Mapping[int, Mapping[str, str]]) -> tuple[dict[str, str | None], ...]:
    """Of each rank in turn what it says otherwise than the one before; None for what it lacks."""
    return tuple({key: said.get(key) for key in before | said if said.get(key) != before.get(key)}
                 for before, said in pairwise([{}, *map(dict, ranks.values())]))  # fmt: skip


def without_evidence(stderr: bytes) -> bytes:
    """A run's standard error without what the witnesses said in it."""
    begin = EVIDENCE.encode()
    return b"".join(line for line in stderr.splitlines(True) if not line.startswith(begin))


def _said(stderr: str) -> list[str]:
    return [row.removeprefix(EVIDENCE) for row in stderr.splitlines() if row.startswith(EVIDENCE)]


_NAMES = {"Cpus_allowed_list:": "cpus_allowed", "Seccomp:": "seccomp"}  # the kernel's, a record's
_NAMES |= {"NoNewPrivs:": "no_new_privs"}


def _facts(lines: Iterable[str]) -> dict[str, str]:
    told = (line.replace("/proc/self/ns/", "").partition("=") for line in lines if "=" in line)
    return {_NAMES.get(key, key): value.strip() for key, _, value in told}


def cpu_list(text: str) -> tuple[int, ...]:
    """The CPUs of a list like `0-2,5`; empty for text that is none."""
    cpus: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return ()
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def namespaces(said: Mapping[str, str]) -> dict[str, str]:
    """The namespaces of an evidence by name."""
    prefix = "namespace."
    return {key.removeprefix(prefix): value for key, value in said.items() if prefix in key}


def clean_up(arm: Arm, launch: Launch, ranks: int) -> None:
    """Let the arm remove what it may have left: one container, or one for each rank."""
    names = [launch.name.replace(RANK, str(rank)) for rank in range(max(1, ranks))]
    arm.cleanup(*(replace(launch, name=name) for name in dict.fromkeys(names)))


def sweep() -> None:
    """End what runners that died left of their companions on this node."""
    for end in extensions_with(parity.measure, "SWEEP"):
        end()
