"""What keeps programs of a name from their CPU while a command runs, by the kernel's scheduler.

`python tools/trace_switches.py NAME COMMAND…` (Debian's linux-perf, root) prints for each process
of that name how often it is moved to another CPU and taken off one, for how long, how regularly
(the deviation of gaps over their mean), and who ran in its place first. Tracing disturbs.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

EVENTS = ("sched:sched_switch", "sched:sched_migrate_task")
SWITCH = re.compile(
    r"(?P<time>\d+\.\d+): +sched:sched_switch: prev_comm=(?P<left>.+) prev_pid=(?P<left_pid>\d+) "
    r"prev_prio=\S+ prev_state=(?P<state>\S+) ==> "
    r"next_comm=(?P<came>.+) next_pid=(?P<came_pid>\d+) "
)
MOVE = re.compile(r": +sched:sched_migrate_task: comm=(?P<name>.+) pid=(?P<pid>\d+) ")
HEAD = (
    "pid  seconds  moves/s  taken off/s  off: median ms  longest ms  gaps: mean ms  deviation  for"
)


@dataclass
class Process:
    """What the scheduler did with a process; times are in seconds."""

    first: float
    last: float = 0.0
    moves: int = 0  # how often it was moved to another CPU
    taken: list[float] = field(default_factory=list)  # when it was taken off, though it could go on
    off: list[float] = field(default_factory=list)  # for how long
    others: Counter[str] = field(default_factory=Counter)  # how long others ran first in its place

    def row(self, pid: int) -> str:
        """A row below `HEAD`."""
        seconds = max(self.last - self.first, 1e-9)
        begin = f"{pid}  {seconds:.2f}  {self.moves / seconds:.1f}"
        if not self.off:
            return f"{begin}  0"
        gaps = np.diff(self.taken) if len(self.taken) > 1 else np.array([np.nan])
        shares = [(name, 100 * lost / sum(self.off)) for name, lost in self.others.most_common(3)]
        return (
            f"{begin}  {len(self.off) / seconds:.1f}  {1e3 * np.median(self.off):.3f}  "
            f"{1e3 * max(self.off):.2f}  {1e3 * gaps.mean():.1f}  {gaps.std() / gaps.mean():.2f}  "
            + ", ".join(f"{name} {share:.0f} %" for name, share in shares)
        )


def processes(lines: Iterable[str], name: str) -> Mapping[int, Process]:
    """The processes of a name, by their number, from the lines of `perf script`."""
    found: dict[int, Process] = {}
    waiting: dict[int, tuple[float, str]] = {}
    for line in lines:
        if (moved := MOVE.search(line)) and moved["name"] == name and int(moved["pid"]) in found:
            found[int(moved["pid"])].moves += 1
        elif switch := SWITCH.search(line):
            time, came = float(switch["time"]), int(switch["came_pid"])
            if switch["left"] == name:
                left = int(switch["left_pid"])
                found.setdefault(left, Process(time)).last = time
                # One that can go on is taken off; others wait for something themselves.
                if switch["state"].startswith("R"):
                    waiting[left] = time, switch["came"]
            if switch["came"] == name:
                process = found.setdefault(came, Process(time))
                process.last = time
                if came in waiting:
                    began, other = waiting.pop(came)
                    process.taken.append(began)
                    process.off.append(time - began)
                    process.others[other] += time - began
    return found


def lines(name: str, command: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "perf.data")
        events = [word for event in EVENTS for word in ("-e", event)]
        words = ["perf", "record", "--quiet", "--all-cpus", *events, "-o", data, "--", *command]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        told = subprocess.run(
            ["perf", "script", "--ns", "-F", "time,event,trace", "-i", data],
            check=True, capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    yield HEAD
    for pid, process in sorted(processes(told.stdout.splitlines(), name).items()):
        yield process.row(pid)


if __name__ == "__main__":
    for line in lines(sys.argv[1], sys.argv[2:]):
        print(line)
