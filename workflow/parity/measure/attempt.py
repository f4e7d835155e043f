"""One attempt of one run: start it, sleep, keep what it left, judge the gates, write the record.

Extensions have companions around the timed section: context managers around all of its starts.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

import parity.measure
from parity.benchmarks.model import Program
from parity.core.commands import answer_of
from parity.core.errors import UserError
from parity.core.package import extensions_with
from parity.measure import gates, inner_command, places, timed_process
from parity.measure.documents import RECORD, STARTED, ArmState, Gate, RunRecord, Started
from parity.measure.inner_command import HOST, RANK, clean_up, launched, on_each_node
from parity.measure.node import Sampler, cpu_times, steal_fraction
from parity.measure.node_check import check_arm, host_namespaces
from parity.measure.progress import LIMIT_REFUSED
from parity.measure.session import Session
from parity.measure.timed_process import end_orphans, launch_environment, run_and_wait, started
from parity.plan.plan import Case
from parity.runtimes import every_arm
from parity.runtimes.limits import NO_LIMIT, refusal
from parity.runtimes.model import SCRATCH, Arm, Launch, name_in


@dataclass(frozen=True)
class Order:
    """What an attempt is to do: a run of a case in an arm, whose state the session found out."""

    run: str
    case: Case
    arm: Arm
    state: ArmState
    program: Program
    session: Session

    @property
    def hosts(self) -> tuple[str, ...]:
        """The allocation's nodes, the one that we are on first."""
        return self.session.allocation.hosts

    @property
    def program_arm(self) -> Arm:
        """Where the program runs: natively where the arm holds what is beside it instead."""
        return self.arm if self.program.beside.is_in_arm(self.case.parameters) else self.native

    @property
    def native(self) -> Arm:
        """The plain program's arm."""
        known = (self.arm, *(every_arm()[name] for name in self.session.states))
        return next(arm for arm in known if arm.is_native)

    def where(self, host: str, evidence: Mapping[str, str], arm: Arm | None = None) -> Gate:
        """Whether a process of it ran on that node where its arm says; the program's by default."""
        arm, ours = arm or self.program_arm, self.session.namespaces[host]
        return gates.where_gate(arm, evidence, ours, self.state.recipe if arm.image_format else "")


Line = Callable[[Sequence[str]], list[str]]


class NotStarted(Exception):
    """What the program needs beside it is not to be had; the message says what is missing."""


def started_beside(command: Sequence[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    """What a companion starts, or NotStarted; all that it says goes to a file."""
    try:
        with log.open("wb") as said:
            return started(command, said, said, launch_environment(os.environ), folder)
    except OSError as error:
        raise NotStarted(f"cannot start {command[0]}: {error.strerror}") from error


def end_of_log(log: Path) -> str:
    """The end of what a companion's program said in a file, without its evidence."""
    said = inner_command.without_evidence(log.read_bytes()).decode(errors="replace").strip()
    return said[-600:] or "it said nothing"


@dataclass
class Attempt:
    """An attempt on its way to its record, and what is gathered for it."""

    order: Order
    launch: Launch  # the facts of the program's command line; with ranks, what each fills in
    folder: Path  # what it leaves goes there
    commands: list[list[str]] = field(default_factory=list)
    finished: list[timed_process.Finished] = field(default_factory=list)
    error: str = ""
    left: tuple[timed_process.Orphan, ...] = ()
    steal: float = 0.0  # share of CPU time that the hypervisor took meanwhile, 0 to 1
    beside: list[Gate] = field(default_factory=list)  # the gates of its companions
    evidence: dict[str, str] = field(default_factory=dict)  # what they read and counted
    # To end what a program may wait for that cannot be killed; called before its check, not timed.
    on_stop: list[Callable[[], None]] = field(default_factory=list)
    before_check: list[Callable[[], None]] = field(default_factory=list)
    work: Path = places.WORK  # where the program works, and its files lie
    started: str = ""  # when it was begun, as `places.now`
    load: float = 0.0  # one-minute load average just before
    line: Line = field(init=False)  # the command line that starts some words where the order says

    def __post_init__(self) -> None:
        self.line = self._started_alone

    def not_started(self, why: NotStarted) -> None:
        """Nothing of it was measured."""
        for stream in ("stdout", "stderr"):
            (self.folder / stream).touch()
        self.commands, self.finished, self.beside = [], [], []
        self.evidence, self.error = {}, str(why)

    def _started_alone(self, words: Sequence[str]) -> list[str]:
        """Without ranks, or with a container for each of them."""
        order, system = self.order, self.order.session.system
        command = order.program_arm.command(self.launch, words)
        if order.program.containers:
            raise NotStarted("no extension is here that puts several ranks into a container")
        if not order.program.ranks:
            return command
        assert system.launcher
        return launched(system.launcher, order.program, command)


def _gates_of_ranks(order: Order, ranks: gates.Ranks) -> list[Gate]:
    """The gates of a program with ranks; where one is missing, nothing else is judged."""
    program, cpus = order.program, order.program.cpus
    complete = gates.ranks_gate(program, order.hosts, ranks)
    if not complete.passed:
        return [complete]
    where = gates.of_ranks(lambda _, evidence: order.where(evidence["node"], evidence), ranks)
    own = [cpus[place : place + 1] if program.is_bound else cpus for place in range(len(cpus))]
    bound = gates.of_ranks(lambda r, said: gates.binding_gate(own[r % len(cpus)], said), ranks)
    if bound.passed and not program.is_bound:
        bound = Gate("binding", True, "each rank on any of the node's CPUs, as its arm says")
    return [complete, where, bound]


def record(attempt: Attempt, stderr: str) -> RunRecord:
    """What became of the attempt."""
    # Timed starts of several are bare words, not bound nor with our environment: none is told.
    order, program = attempt.order, attempt.order.program
    several = program.repetitions > 1 or program.as_given
    ranks: dict[int, dict[str, str]] = {}
    if program.ranks:
        ranks = inner_command.rank_evidence(stderr)
        evidence, inside = ranks.get(0, {}), _gates_of_ranks(order, ranks)
    else:
        evidence = inner_command.evidence(stderr)
        inside = [] if program.as_given else [order.where(order.hosts[0], evidence)]
        inside += [] if several else [gates.binding_gate(program.cpus, evidence)]
    judged = (
        *order.session.block_gates, order.state.gate, *inside,
        gates.steal_gate(attempt.steal, order.session.system.max_steal_fraction),
        gates.left_gate(attempt.left), *attempt.beside,
    )  # fmt: skip
    reason, detail = _reason(attempt, judged, stderr)
    if attempt.error or (reason == "exit-status" and not evidence):
        # Nothing of the program ran, and its arm says why.
        said = refusal(attempt.error or stderr) if order.arm.limit != NO_LIMIT else ""
        reason, detail = (LIMIT_REFUSED, said) if said else (reason, detail)
    environment = {} if several else inner_command.program_environment(program, attempt.work)
    variables = "".join(f"{name}={value}\n" for name, value in environment.items())
    first, last = (1, None) if program.repetitions > 1 else (0, 1 + len(program.then))
    timed = attempt.finished[first:last]
    walls = tuple(start.wall_seconds for start in timed)
    if timed and program.ranks:
        own = inner_command.seconds_of_ranks(ranks, order.hosts[0], walls[0])
        # The launcher's time is never taken for the ranks': who needs theirs refuses the run.
        took = "not told" if own is None else f"{walls[0] - own:.3f}"
        evidence = {**evidence, "launcher_seconds": took}
        walls = () if own is None else (own,)
    return RunRecord(
        session=order.session.number, run=order.run, case=order.case.name, arm=order.arm.name,
        parameters=dict(order.case.parameters), reason=reason, detail=detail,
        exit_code=attempt.finished[-1].exit_code if attempt.finished else None,
        started=attempt.started, starts_wall_seconds=walls, steal_fraction=attempt.steal,
        wall_seconds=sum(each.wall_seconds for each in timed) if timed else None,
        user_seconds=sum(each.user_seconds for each in timed) if timed else None,
        system_seconds=sum(each.system_seconds for each in timed) if timed else None,
        load_before=attempt.load, commands=tuple(map(tuple, attempt.commands)),
        environment_sha256="" if several else hashlib.sha256(variables.encode()).hexdigest(),
        evidence={**evidence, **attempt.evidence}, ranks=inner_command.rank_differences(ranks),
        environment=environment, image_digest=order.state.image_digest, gates=judged,
    )  # fmt: skip


def _reason(attempt: Attempt, judged: Sequence[Gate], stderr: str) -> tuple[str, str]:
    if attempt.error:
        return "not-started", attempt.error
    # A program whose server ended fails by it.
    of_servers = gates.first_failure([each for each in attempt.beside if each.name == "service"])
    if any(of_servers):
        return of_servers
    last = attempt.finished[-1]
    if last.timed_out:
        return "timeout", f"stopped after {last.wall_seconds:.1f} s"
    if last.exit_code < 0:
        return "signal", f"ended by signal {-last.exit_code}"
    if last.exit_code > 0:
        own = inner_command.without_evidence(stderr.encode()).decode().split("\n")
        said = [f"exit status {last.exit_code}", *list(filter(None, map(str.strip, own)))[-1:]]
        return "exit-status", ": ".join(said)[:200]
    return gates.first_failure(judged)


Companion = Callable[[Attempt], AbstractContextManager[None]]


@cache
def companions() -> tuple[Companion, ...]:
    """Those of all extensions, by the names of their modules: the first is the outermost."""
    return tuple(extensions_with(parity.measure, "COMPANION"))


# How long a launcher may take to end its ranks on all nodes, and each node to clean up.
GRACE_SECONDS, CLEANUP_SECONDS = 5.0, 60.0


class ArmLost(Exception):
    """An arm's image or runtime is gone since the session began: no fault of the run."""


def make_attempt(order: Order, folder: Path) -> RunRecord:
    """Make one attempt in its own, new folder; its record is written as the last act.

    `folder`: empty but for a folder `state`; a container is called after it. Raises UserError,
    ArmLost: the run failed because its nodes, or its arm's image or runtime, were taken away; no
    record is written, so the attempt counts as interrupted.
    """
    places.emptied(places.WORK)
    attempt = begun(order, folder)
    with ending_left_overs(attempt):
        _run_in_company(attempt)
    return ended(attempt)


def begun(order: Order, folder: Path, work: Path = places.WORK) -> Attempt:
    """An attempt, written down as started; its program's files lie in `work`, which was empty."""
    program, state = order.program, (folder / "state").resolve()
    launch = Launch(name_in(folder), order.state.image, SCRATCH, state, cpus=program.cpus)
    launch = replace(launch, name=f"{launch.name}-{RANK}", host=HOST) if program.ranks else launch
    for name, text in program.files.items():
        (work / name).write_text(text, encoding="utf-8")
    now, load = places.now(), os.getloadavg()[0]
    STARTED.write_in(folder, Started(
        name=launch.name, arm=order.arm.name, ranks=program.ranks, services=program.beside.names,
        started=now,
    ))  # fmt: skip
    return Attempt(order, launch, folder, work=work, started=now, load=load)


@contextmanager
def ending_left_overs(*attempts: Attempt) -> Iterator[None]:
    """The starts of attempts, told what they left; where we are stopped, no container goes on."""
    lasting = {name for attempt in attempts for name in attempt.order.arm.lasting}
    try:
        yield
    except BaseException:
        for attempt in attempts:
            with suppress(UserError):
                _end_left_overs(attempt.order, attempt.launch)
        end_orphans(lasting)
        raise
    left = end_orphans(lasting)
    for attempt in attempts:
        attempt.left = left


def ended(attempt: Attempt) -> RunRecord:
    """The record of an attempt that ran, written down; raises as `make_attempt`."""
    order, folder = attempt.order, attempt.folder
    places.refuse_when_full(folder)
    collected = (attempt.work.glob(pattern) for pattern in order.program.collect)
    for path in sorted(chain.from_iterable(collected)):
        if path.is_file():
            (folder / "files").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "files" / path.name)
    stderr = (folder / "stderr").read_bytes()
    made = record(attempt, stderr.decode("utf-8", "replace"))
    if made.reason:
        _end_left_overs(order, attempt.launch)
        # Where nothing of it ran inside.
        if inner_command.EVIDENCE.encode() not in stderr and made.reason != LIMIT_REFUSED:
            _refuse_lost_arm(order)
    RECORD.write_in(folder, made)
    if order.program.ranks and not made.reason:
        # Of thousands of ranks that are 1.2 kB each, all of which the record holds by now.
        shorter = folder / ".stderr"
        shorter.write_bytes(inner_command.without_evidence(stderr))
        shorter.replace(folder / "stderr")
    return made


def _refuse_lost_arm(order: Order) -> None:
    """Raises ArmLost where an arm that the session could use does not work any more."""
    arm, question = order.arm.unlimited, order.session.question
    if not question or not arm.image_format or order.program.as_given:
        return
    asked = msgspec.structs.replace(question, binaries={})
    state, _ = check_arm(arm, asked, host_namespaces())
    if any(state.obstacle):
        raise ArmLost(state.obstacle[1])


def _end_left_overs(order: Order, launch: Launch) -> None:
    """End what a failed run left, ranks too; UserError: not every node answers any more."""
    program, launcher = order.program, order.session.system.launcher
    clean_up(order.arm, launch, program.ranks)
    places.end_processes_in(places.WORK)
    if not program.ranks or program.containers or not launcher:
        return
    cleanup = [sys.executable, "-m", "parity", "clean-up", f"--arm={order.arm.name}"]
    cleanup += [f"--name={launch.name}", f"--ranks={program.ranks}", f"--state={launch.state}"]
    everywhere = on_each_node(launcher, len(order.hosts), cleanup)
    answered, said = answer_of(everywhere, seconds=CLEANUP_SECONDS)
    if not answered:
        # The nodes are no longer ours, or one of them is gone: no fault of the run.
        where = f"run {order.run}, on {', '.join(order.hosts)}"
        action = "start Snakemake again: it goes on with this block where it was"
        raise UserError(f"the allocation is no longer whole: {said}", where=where, action=action)


def _run_in_company(attempt: Attempt) -> None:
    """Make all starts within the companions; none is made where one of them is not to be had."""
    try:
        with ExitStack() as around:
            for companion in companions():
                around.enter_context(companion(attempt))
            before = cpu_times()
            _run(attempt)
            after = cpu_times()
        attempt.steal = steal_fraction(before, after, attempt.order.program.cpus)
    except NotStarted as error:
        attempt.not_started(error)


def _run(attempt: Attempt) -> None:
    """All starts of the attempt, one after the other, within one time limit.

    Each command line carries the witness. One that is started and timed several times has an
    untimed, witnessed start first, and then nothing but the runtime and the program's own words.
    What checks it comes when nothing is measured any more. A line that is given stays as it is.
    """
    order, folder, program = attempt.order, attempt.folder, attempt.order.program
    lines = [program.argv, *program.then, *([program.check] if program.check else [])]
    tools = order.session.tools
    starts = [inner_command.witnessed(replace(program, argv=words), tools=tools) for words in lines]
    if program.repetitions > 1:
        starts += [list(program.argv)] * program.repetitions
    environment, place = launch_environment(os.environ), places.WORK
    if program.as_given:
        starts, environment, place = [list(program.argv)], dict(os.environ), Path.cwd()
    deadline, interval = time.monotonic() + order.case.timeout_seconds, program.sample_seconds
    sampler = Sampler(interval, program.sample_processes) if interval else None
    for words in starts:
        if program.check and words is starts[-1]:
            for measured in attempt.before_check:
                measured()
        command = attempt.line(words)
        if command not in attempt.commands[-1:]:
            attempt.commands.append(command)
        if program.drop_caches:  # the next start reads from the disk
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
        try:
            (finished,) = run_and_wait(
                (command, folder), environment=environment, folder=place,
                timeout_seconds=max(0.001, deadline - time.monotonic()),
                on_start=(lambda _pids: sampler.start()) if sampler else None,
                on_stop=attempt.on_stop, grace_seconds=GRACE_SECONDS if program.ranks else 0.0,
            )  # fmt: skip
        except OSError as error:
            attempt.error = f"cannot start {command[0]}: {error.strerror}"
            break
        attempt.finished.append(finished)
        if finished.exit_code != 0 or finished.timed_out:
            break
    if sampler:
        sampler.stop_and_write(folder / "samples.jsonl")
