"""One attempt of one run: start it, sleep, keep what it left, judge the gates, write the record."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil

from parity.core.commands import answer_of
from parity.measure import inner_command, storage
from parity.measure.block_folder import RECORD, STARTED
from parity.measure.cleanup import clean_up
from parity.measure.companions import Attempt, NotStarted, attempt_of, companions
from parity.measure.documents import RunRecord, Started
from parity.measure.idle_cpu import steal_fraction
from parity.measure.mpi_launcher import on_each_node
from parity.measure.orphans import end_orphans
from parity.measure.record import Order, Seen, record
from parity.measure.sampling import Sampler
from parity.measure.timed_process import launch_environment, run_and_wait
from parity.runtimes.model import Launch

# How long a launcher may take to end its ranks on all nodes, and each node to clean up.
GRACE_SECONDS = 5.0
CLEANUP_SECONDS = 60.0


class AllocationLost(Exception):
    """The nodes are no longer ours, or one of them is gone: no fault of the run."""


def make_attempt(order: Order, name: str, folder: Path) -> RunRecord:
    """Make one attempt in its own, new folder; its record is written as the last act.

    Args:
        name: unique on this node; a container is called so.
        folder: empty but for a folder `state`.

    Returns:
        The record; its `reason` is empty when the program ended well and all gates held.

    Raises:
        AllocationLost: the run failed because its nodes were taken away; no record is
            written, so the attempt counts as interrupted.
    """
    attempt = attempt_of(order, name, folder)
    launch = attempt.launch
    work = storage.emptied(inner_command.WORK)
    for name_of_file, text in order.program.files.items():
        (work / name_of_file).write_text(text, encoding="utf-8")
    started = Started(
        name=launch.name,
        arm=order.arm.name,
        ranks=order.program.ranks,
        services=order.program.beside.names,
        started=storage.now(),
    )
    STARTED.write_in(folder, started)
    load = os.getloadavg()[0]
    try:
        _run_in_company(attempt)
    except BaseException:
        # The runner is being stopped: a container must not go on without it.
        with suppress(AllocationLost):
            _end_left_overs(order, launch)
        end_orphans(order.arm.lasting)
        raise
    seen = attempt.seen
    seen.left = end_orphans(order.arm.lasting)
    storage.refuse_when_full(folder)
    for path in sorted(path for pattern in order.program.collect for path in work.glob(pattern)):
        if path.is_file():
            (folder / "files").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "files" / path.name)
    stderr = (folder / "stderr").read_bytes()
    made = record(order, seen, stderr.decode("utf-8", "replace"), load, started.started)
    if made.reason:
        _end_left_overs(order, launch)
    RECORD.write_in(folder, made)
    if order.program.ranks and not made.reason:
        # Of thousands of ranks that are 1.2 kB each, all of which the record holds by now.
        shorter = folder / ".stderr"
        shorter.write_bytes(inner_command.without_evidence(stderr))
        shorter.replace(folder / "stderr")
    return made


def _end_left_overs(order: Order, launch: Launch) -> None:
    """End whatever a failed run left, ranks in sessions of their own included.

    Raises:
        AllocationLost: not every node of the allocation answers any more.
    """
    program, launcher = order.program, order.session.system.launcher
    clean_up(order.arm, launch, program.ranks)
    storage.end_processes_in(inner_command.WORK)
    if not program.ranks or program.containers or not launcher:
        return
    cleanup = [sys.executable, "-m", "parity", "clean-up", f"--arm={order.arm.name}"]
    cleanup += [f"--name={launch.name}", f"--ranks={program.ranks}", f"--state={launch.state}"]
    everywhere = on_each_node(launcher, len(order.hosts), cleanup)
    answered, said = answer_of(everywhere, seconds=CLEANUP_SECONDS)
    if not answered:
        raise AllocationLost(said)


def _run_in_company(attempt: Attempt) -> None:
    """Make all starts within the companions; none is made where one of them is not to be had."""
    try:
        with ExitStack() as around:
            for companion in companions():
                around.enter_context(companion(attempt))
            before = psutil.cpu_times(percpu=True)
            _run(attempt)
            after = psutil.cpu_times(percpu=True)
        attempt.seen.steal = steal_fraction(before, after, attempt.order.program.cpus)
    except NotStarted as error:
        for stream in ("stdout", "stderr"):
            (attempt.folder / stream).touch()
        attempt.seen = Seen([], [], error=str(error))


def _run(attempt: Attempt) -> None:
    """All starts of the attempt, one after the other.

    A program that is started once carries the witness. One that is started and timed
    several times has a witnessed start first, which is not timed, and then its timed
    starts consist of nothing but the runtime and the program's own words. The time
    limit is that of all starts together. A program of several command lines has a
    witness in each, and what checks it comes when nothing is measured any more. A line that
    is given stays as it is.
    """
    seen, order, folder = attempt.seen, attempt.order, attempt.folder
    program = order.program
    lines = [program.argv, *program.then, *([program.check] if program.check else [])]
    tools = order.session.tools
    starts = [inner_command.witnessed(replace(program, argv=words), tools=tools) for words in lines]
    starts += [list(program.argv)] * (program.repetitions if program.repetitions > 1 else 0)
    environment, place = launch_environment(os.environ), inner_command.WORK
    if program.as_given:
        starts, environment, place = [list(program.argv)], dict(os.environ), Path.cwd()
    deadline = time.monotonic() + order.case.timeout_seconds
    interval = program.sample_seconds
    sampler = Sampler(interval, program.sample_processes) if interval else None
    for words in starts:
        if program.check and words is starts[-1]:
            for measured in attempt.before_check:
                measured()
        command = attempt.line(words)
        if command not in seen.commands[-1:]:
            seen.commands.append(command)
        if program.drop_caches:
            drop_page_cache()
        try:
            finished = run_and_wait(
                command,
                stdout=folder / "stdout",
                stderr=folder / "stderr",
                environment=environment,
                folder=place,
                timeout_seconds=max(0.001, deadline - time.monotonic()),
                on_start=(lambda _pid: sampler.start()) if sampler else None,
                on_stop=attempt.on_stop,
                grace_seconds=GRACE_SECONDS if program.ranks else 0.0,
            )
        except OSError as error:
            seen.error = f"cannot start {command[0]}: {error.strerror}"
            break
        seen.finished.append(finished)
        if finished.exit_code != 0 or finished.timed_out:
            break
    if sampler:
        sampler.stop_and_write(folder / "samples.jsonl")


def drop_page_cache() -> None:
    """Empty the page cache, so that the next start reads from the disk (root only)."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
