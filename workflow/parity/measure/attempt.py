"""One attempt of one run: start it, sleep, keep what it left, judge the gates, write the record."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil

from parity.core.commands import answer_of
from parity.extensions.networks.measure.containers import containers
from parity.extensions.networks.measure.network import NetworkRefused, NetworkState, network
from parity.extensions.noise.measure.neighbour import NotStarted, neighbour
from parity.extensions.servers.measure.client_link import client_link
from parity.extensions.servers.measure.services import services
from parity.extensions.servers.measure.usage import of_client, usage
from parity.measure import inner_command, storage
from parity.measure.block_folder import RECORD, STARTED
from parity.measure.cleanup import clean_up
from parity.measure.documents import RunRecord, Started
from parity.measure.idle_cpu import steal_fraction
from parity.measure.mpi_launcher import HOST, RANK, launched, on_each_node
from parity.measure.orphans import end_orphans
from parity.measure.record import Order, Seen, record
from parity.measure.sampling import Sampler
from parity.measure.timed_process import launch_environment, run_and_wait
from parity.runtimes.model import SCRATCH, Launch

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
    launch = _launch(order, name, folder)
    work = storage.emptied(inner_command.WORK)
    for name_of_file, text in order.program.files.items():
        (work / name_of_file).write_text(text, encoding="utf-8")
    started = Started(
        name=launch.name,
        arm=order.arm.name,
        ranks=order.program.ranks,
        services=tuple(service.name for service in order.program.services),
        started=storage.now(),
    )
    STARTED.write_in(folder, started)
    load = os.getloadavg()[0]
    try:
        seen, steal = _beside_its_neighbour(order, launch, folder)
    except BaseException:
        # The runner is being stopped: a container must not go on without it.
        with suppress(AllocationLost):
            _end_left_overs(order, launch)
        end_orphans(order.arm.lasting)
        raise
    seen.left = end_orphans(order.arm.lasting)
    storage.refuse_when_full(folder)
    for path in sorted(path for pattern in order.program.collect for path in work.glob(pattern)):
        if path.is_file():
            (folder / "files").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "files" / path.name)
    stderr = (folder / "stderr").read_bytes()
    made = record(order, seen, stderr.decode("utf-8", "replace"), steal, load, started.started)
    if made.reason:
        _end_left_overs(order, launch)
    RECORD.write_in(folder, made)
    if order.program.ranks and not made.reason:
        # Of thousands of ranks that are 1.2 kB each, all of which the record holds by now.
        shorter = folder / ".stderr"
        shorter.write_bytes(inner_command.without_evidence(stderr))
        shorter.replace(folder / "stderr")
    return made


def _launch(order: Order, name: str, folder: Path) -> Launch:
    """The facts of the command line; of a program with ranks with what each fills in."""
    state, cpus = (folder / "state").resolve(), order.program.cpus
    facts = Launch(name, order.state.image, SCRATCH, state, cpus=cpus)
    return replace(facts, name=f"{name}-{RANK}", host=HOST) if order.program.ranks else facts


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


def _beside_its_neighbour(order: Order, launch: Launch, folder: Path) -> tuple[Seen, float]:
    """What was seen of all starts, and the share of CPU time that was stolen meanwhile.

    A program whose network or neighbour is not there is not started: that would be another
    measurement.
    """
    try:
        with (
            network(order, max(1, order.program.containers)) as net,
            neighbour(order, launch, folder) as gate,
            client_link(order) as link,
            services(order, launch, link, folder) as served,
            containers(order, launch, net) if order.program.containers else nullcontext() as inside,
        ):
            before = psutil.cpu_times(percpu=True)
            line = inside.command if inside else partial(_started_alone, order, launch, net)
            with usage(order, folder) as used:
                seen = _run(order, folder, line, served.let_go, used.stop)
            seen.used = used.evidence | of_client(order, seen.finished)
            seen.commands[:0] = map(list, inside.lines.values()) if inside else ()
            seen.commands[:0] = [server.command for server in served.servers]
            after = psutil.cpu_times(percpu=True)
        links = (each.gate for each in (net, link) if each and each.gate)
        seen.beside = (*gate, *links, *served.gates)
        seen.network = net.evidence
        return seen, steal_fraction(before, after, order.program.cpus)
    except (NotStarted, NetworkRefused) as error:
        for stream in ("stdout", "stderr"):
            (folder / stream).touch()
        return Seen([], [], error=str(error)), 0.0


def _started_alone(
    order: Order, launch: Launch, net: NetworkState, words: Sequence[str]
) -> list[str]:
    """The command line of a program without ranks, or with a container for each of them."""
    command = [*net.places[0].words, *order.program_arm.command(launch, words)]
    if not order.program.ranks:
        return command
    assert order.session.system.launcher
    return launched(order.session.system.launcher, order.program, command)


def _run(
    order: Order,
    folder: Path,
    line: Callable[[Sequence[str]], list[str]],
    let_go: Callable[[], None],
    stop_counting: Callable[[], None],
) -> Seen:
    """All starts of the attempt, one after the other.

    A program that is started once carries the witness. One that is started and timed
    several times has a witnessed start first, which is not timed, and then its timed
    starts consist of nothing but the runtime and the program's own words. The time
    limit is that of all starts together. A program of several command lines has a
    witness in each, and what checks it comes when nothing is measured any more. A line that
    is given stays as it is.

    Args:
        line: the command line that starts some words where the order says.
        let_go: ends what a program may wait for that cannot be killed.
        stop_counting: called before the check, which is not what is measured.
    """
    seen = Seen([], [])
    program, several = order.program, order.program.repetitions > 1
    lines = [program.argv, *program.then, *([program.check] if program.check else [])]
    tools = order.session.tools
    starts = [inner_command.witnessed(replace(program, argv=words), tools=tools) for words in lines]
    starts += [list(program.argv)] * program.repetitions if several else []
    environment, place = launch_environment(os.environ), inner_command.WORK
    if program.as_given:
        starts, environment, place = [list(program.argv)], dict(os.environ), Path.cwd()
    deadline = time.monotonic() + order.case.timeout_seconds
    sampler = (
        Sampler(program.sample_seconds, program.sample_processes)
        if program.sample_seconds
        else None
    )
    for words in starts:
        if program.check and words is starts[-1]:
            stop_counting()
        command = line(words)
        if not seen.commands or seen.commands[-1] != command:
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
                on_stop=let_go,
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
    return seen


def drop_page_cache() -> None:
    """Empty the page cache, so that the next start reads from the disk (root only)."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
