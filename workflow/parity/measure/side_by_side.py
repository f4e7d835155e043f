"""CPU time of programs, and side by side: one in an arm and the same natively, at once on one CPU.

The kernel switches between the two every few milliseconds, so whatever a neighbour does meanwhile
hits both alike: the idea of duet benchmarking (Bulej et al., Duet Benchmarking, ICPE 2020
Companion), on one CPU instead of two. What is measured is the CPU time of each (`wait4`) for the
same work, in a static program, the same in every container, that waits at a FIFO until both are
there, so no start-up of a runtime is in it. In turn it tells CPU time too, and waits for nobody.

Both stand in CPU control groups of equal depth and weight, which gives them equal shares. A bare
program is started in `<group>/program`; an engine is told to make its own group below `<group>`.
"""

import errno
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import psutil

from parity.benchmarks.model import NOTHING, Program
from parity.core.errors import UserError
from parity.core.files import digest
from parity.measure import inner_command, places
from parity.measure.attempt import Attempt, NotStarted, Order, begun, ended, ending_left_overs
from parity.measure.documents import Gate, RunRecord
from parity.measure.node import busy_now, cpu_times, read, steal_fraction
from parity.measure.timed_process import launch_environment, run_and_wait
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE
from parity.runtimes.limits import CONTROL_GROUPS, CpuLimit, control_group_version
from parity.runtimes.model import KERNEL, SCRATCH, Arm

SOURCE = Path(__file__).with_name("cputime.c")
# Called after what it is made of; no longer than the kernel keeps the name of a process.
CPUTIME = places.OWN / f"{SOURCE.stem}-{digest(SOURCE)[-7:]}"
# The two groups, by the place of a program in its pair; and where bare programs stand in them.
GROUPS, PROGRAM = ("parity/0", "parity/1"), "program"
START_SECONDS, NO_FIFO = 60.0, "-"
_TRIED = dict[Path, str]()  # why there is none, by where it should be
# What decides how much of a CPU a group has, in both versions.
_WEIGHTS = ("cpu.shares", "cpu.weight", "cpu.idle", "cpu.cfs_quota_us", "cpu.max")
# Of a pair's time; beyond it costs differ by a third or more, which turns show as well.
MOST_ALONE = 0.25
WINDOWS = 12  # three seconds in all, of which the quietest tells: a busy node is so in each
# Enters the groups whose files stand before `--`.
_ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit; shift; done; shift; exec "$@"'


def refusal(program: Program, arm: Arm) -> str:
    """Why a program cannot be measured side by side in an arm; empty if it can."""
    if program.ranks or len(program.cpus) > 1:
        return "side by side takes programs of one process on one CPU"
    if not _is_started_once(program):
        return "side by side takes programs that are started once, with nothing done beside them"
    if program.beside != NOTHING or arm.unlimited is not arm:
        return "side by side, nothing else is beside a program, nor any limit on it"
    if KERNEL in arm.isolates:
        return "what another kernel calls CPU time is not the host's"
    free, needed = psutil.virtual_memory().available, 2 * program.memory_bytes
    if needed > free:
        return f"two programs side by side take {needed} bytes of memory, and {free} are free"
    return ""


def _is_started_once(program: Program) -> bool:
    several = program.repetitions > 1 or program.then or program.check or program.ranks
    return not (several or program.as_given or program.drop_caches or program.sample_seconds)


def clocked(program: Program, arm: Arm) -> Program:
    """A program in turn with what tells its CPU time before it; itself where nothing could."""
    is_told = _is_started_once(program) and program.beside == NOTHING
    if not is_told or KERNEL in arm.isolates or not_compiled():
        return program
    return replace(program, argv=_clocked(program, NO_FIFO))


def _clocked(program: Program, fifo: str) -> tuple[str, ...]:
    return (str(CPUTIME), inner_command.EVIDENCE.strip(), fifo, *program.argv)


def obstacle() -> str:
    """Why no two programs can be measured side by side here; empty if they can."""
    try:
        places.make_places(SCRATCH)
        make_ready(may_take_turns=False)
    except UserError as refused:
        return refused.what
    return ""


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


def make_ready(may_take_turns: bool) -> None:
    """Compile what tells CPU time, and try the control groups; UserError: one cannot be had."""
    if why := not_compiled():
        problem = f"what tells CPU time cannot be compiled: {why}"
        raise UserError(problem, where=str(SOURCE), action="as root: apt-get install gcc libc6-dev")
    try:
        with control_groups():
            pass
    except NotStarted as why:
        if not may_take_turns:
            problem = f"no two programs can be measured side by side here: {why}"
            action = ("measure as root on the node; or write `design: side-by-side-or-in-turn`"
                      " into the scale, for CPU time one after the other")  # fmt: skip
            raise UserError(problem, where=str(CONTROL_GROUPS), action=action) from None


def not_compiled() -> str:
    """Why what tells CPU time cannot be made or run; else empty. A failure is not tried again."""
    why = _TRIED.get(CPUTIME)
    if why is None or not (why or CPUTIME.exists()):
        why = _TRIED[CPUTIME] = _compiled(CPUTIME)
    return why


def _compiled(program: Path) -> str:
    with tempfile.TemporaryDirectory(dir=places.OWN) as folder:
        part = Path(folder) / program.name
        words = ["gcc", "-std=gnu11", "-O2", "-static", "-o", str(part), str(SOURCE)]
        try:
            for tried in words, [str(part), "-", NO_FIFO, "/bin/true"]:
                subprocess.run(tried, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return str(getattr(error, "stderr", "") or error)
        part.replace(program)
    return ""


def hierarchies(root: Path = CONTROL_GROUPS) -> tuple[Path, ...]:
    """Where groups are made: what shares CPU time out first, then what counts it, if apart."""
    if control_group_version(root) == 2:
        unified = root / "unified"
        return (unified if unified.exists() else root,)
    return tuple(dict.fromkeys((root / name).resolve() for name in ("cpu", "cpuacct")))


@contextmanager
def control_groups(root: Path = CONTROL_GROUPS) -> Iterator[None]:
    """The two groups, while the body runs; raises NotStarted: they cannot be made, and why."""
    tops = hierarchies(root)
    try:
        try:
            _make_groups(tops)
        except OSError as error:
            raise NotStarted(f"{error.filename}: {error.strerror}") from error
        yield
    finally:
        # Engines make these groups in all hierarchies, with some of their own, and leave them.
        for top in {*tops, *root.glob("*")}:
            for folder, _, _ in os.walk(top / Path(GROUPS[0]).parent, topdown=False):
                with suppress(OSError):
                    Path(folder).rmdir()


def _make_groups(tops: Sequence[Path]) -> None:
    for top in tops:
        if not (top / "cgroup.procs").exists():
            raise NotStarted(f"there is no controller at {top}")
        for path in (Path(group, PROGRAM) for group in GROUPS):
            (top / path).mkdir(parents=True, exist_ok=True)
            # In version 2 a group has controllers only if each group above it hands them down.
            for above in reversed((top / path).parents[:3]):
                if (above / "cgroup.subtree_control").exists():
                    (above / "cgroup.subtree_control").write_text("+cpu")


def make_pair(
    orders: Sequence[Order], folders: Sequence[Path], may_take_turns: bool
) -> list[RunRecord]:
    """As `attempt.make_attempt` of two runs at once; in turn, if they may, without the groups."""
    places.emptied(places.WORK)
    attempts = []
    for place, (order, folder) in enumerate(zip(orders, folders, strict=True)):
        work = places.WORK / str(place)
        work.mkdir()
        attempts.append(begun(order, folder, work))
    with ending_left_overs(*attempts):
        try:
            _run_pair(attempts, may_take_turns)
        except NotStarted as why:
            for attempt in attempts:
                attempt.not_started(why)
    return [ended(attempt) for attempt in attempts]


def _run_pair(attempts: Sequence[Attempt], may_take_turns: bool) -> None:
    with ExitStack() as around:
        try:
            around.enter_context(control_groups())
        except NotStarted:
            if not may_take_turns:
                raise
            for attempt in attempts:
                _run([attempt], grouped=False)
            return
        _run(attempts, grouped=True)
        _judge_alone(attempts)


def _run(attempts: Sequence[Attempt], grouped: bool) -> None:
    """Start the programs, let them go when all of them wait, and wait until all have ended."""
    for attempt, group in zip(attempts, GROUPS, strict=False):
        os.mkfifo(fifo := attempt.work / "go")
        attempt.commands.append(command_of(attempt, fifo, group if grouped else ""))
    starts = [(attempt.commands[-1], attempt.folder) for attempt in attempts]
    used = list[float]()

    def go(pids: Sequence[int]) -> None:
        with _waiting([attempt.work / "go" for attempt in attempts], pids) as doors:
            if grouped:
                refuse_unequal([standing(group) for group in GROUPS])
                used.extend(map(used_seconds, GROUPS))
            for door in doors:
                os.write(door, b"x")

    before = cpu_times()
    try:
        finished = run_and_wait(
            *starts, environment=launch_environment(os.environ), folder=places.WORK,
            timeout_seconds=sum(attempt.order.case.timeout_seconds for attempt in attempts),
            on_start=go,
        )  # fmt: skip
    except OSError as error:
        raise NotStarted(f"cannot start {starts[-1][0][0]}: {error.strerror}") from error
    after = cpu_times()
    for attempt, one in zip(attempts, finished, strict=True):
        attempt.finished.append(one)
        attempt.steal = steal_fraction(before, after, attempt.order.program.cpus)
    for attempt, group, seconds in zip(attempts, GROUPS, used, strict=False):
        attempt.evidence["group_seconds"] = f"{used_seconds(group) - seconds:.6f}"


def command_of(attempt: Attempt, fifo: Path, group: str) -> list[str]:
    """The command line of a program that waits at a FIFO, in a control group; empty for none."""
    program, tools = attempt.order.program, attempt.order.session.tools
    waiting = replace(program, argv=_clocked(program, str(fifo)))
    inner = inner_command.witnessed(waiting, attempt.work, tools)
    if not group:
        return attempt.line(inner)
    limits = attempt.order.program_arm.limit_words(CpuLimit(group=group)) or ()
    attempt.launch = replace(attempt.launch, limits=tuple(limits))
    files = [str(top / group / PROGRAM / "cgroup.procs") for top in hierarchies()]
    return ["/bin/sh", "-c", _ENTER, "enter", *files, "--", *attempt.line(inner)]


@contextmanager
def _waiting(fifos: Sequence[Path], pids: Sequence[int]) -> Iterator[list[int]]:
    """The FIFOs, open for writing, once a program waits at each; NotStarted: one does not come."""
    deadline, doors = time.monotonic() + START_SECONDS, list[int]()
    try:
        while len(doors) < len(fifos):
            try:
                doors.append(os.open(fifos[len(doors)], os.O_WRONLY | os.O_NONBLOCK))
            except OSError as nobody:
                if nobody.errno != errno.ENXIO:
                    raise
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                gone = any(os.waitid(os.P_PID, pid, flags) for pid in pids)
                if gone or time.monotonic() > deadline:
                    who = f"a program of the pair {'ended' if gone else 'did not begin'}"
                    raise NotStarted(f"{who} before both were there") from None
                time.sleep(0.005)
        yield doors
    finally:
        for door in doors:
            os.close(door)


def standing(group: str) -> list[dict[str, str]]:
    """What decides on the CPU time of the program that waits in a group, by level; NotStarted."""
    top = hierarchies()[0]
    for procs in sorted((top / group).rglob("cgroup.procs")):
        if any(read(f"/proc/{pid}/comm") == CPUTIME.name for pid in read(procs).split()):
            leaf = procs.parent
            levels = [leaf, *leaf.parents][: len(leaf.relative_to(top / group).parts) + 1]
            return [
                {name: (level / name).read_text().strip()
                 for name in _WEIGHTS if (level / name).exists()}
                for level in levels
            ]  # fmt: skip
    raise NotStarted(f"the program is not in its control group {group}")


def refuse_unequal(levels: Sequence[list[dict[str, str]]]) -> None:
    """Refuse, by NotStarted, two programs in groups of which one gets more than the other."""
    first, other = levels
    if len(first) != len(other):
        raise NotStarted(f"control groups of unequal depth: {len(first)} and {len(other)} levels")
    for one, two in zip(first, other, strict=True):
        for name in one.keys() | two.keys():
            if one.get(name) != two.get(name):
                raise NotStarted(f"unequal groups: {name} is {one.get(name)} and {two.get(name)}")


def used_seconds(group: str) -> float:
    """CPU time of all that ever ran in a group, in s."""
    folder = hierarchies()[-1] / group
    if (nanoseconds := folder / "cpuacct.usage").exists():
        return int(nanoseconds.read_text()) / 1e9
    words = (folder / "cpu.stat").read_text().split()
    return int(words[words.index("usage_usec") + 1]) / 1e6


def _judge_alone(attempts: Sequence[Attempt]) -> None:
    """Note and bound the last stretch, in which one of two was alone; nothing where one failed."""
    # A shorter run is not bounded: it tells what is paid once, which may well be much of its time.
    texts = [(attempt.folder / "stderr").read_text(errors="replace") for attempt in attempts]
    said = list(map(inner_command.evidence, texts))
    if not all("ended" in one for one in said):
        return
    ends = [int(one["ended"]) for one in said]
    alone = (max(ends) - min(ends)) / (max(ends) - min(int(one["began"]) for one in said))
    detail = f"one program was alone for {alone:.1%} of the time, at most {MOST_ALONE:.0%} may be"
    for attempt in attempts:
        attempt.evidence["alone"] = f"{alone:.4f}"
        if attempt.order.case.primary:
            attempt.beside.append(Gate("alone", alone <= MOST_ALONE, detail))
