"""The neighbour: a busy loop that runs beside a program, because its arm says so.

It is part of what is measured. It runs in an arm of its own (another container, say) from before
the program is started until after it ended, and a gate tells that it did, by its own witness
and by the CPU time that it took meanwhile.
"""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil

from parity.benchmarks.model import Program
from parity.measure import gates, inner_command
from parity.measure.documents import Gate
from parity.measure.record import Order
from parity.measure.timed_process import kill_group, launch_environment
from parity.runtimes.limited import beside
from parity.runtimes.model import Arm, Launch

# It asks the kernel for nothing, so all that it takes is CPU time; its name is its last word.
LOOP = ("/bin/sh", "-c", "while :; do :; done")
START_SECONDS = 60.0
END_SECONDS = 20.0


class NotStarted(Exception):
    """The loop did not begin; the message is what its arm said."""


@contextmanager
def neighbour(order: Order, launch: Launch, folder: Path) -> Iterator[list[Gate]]:
    """Run the loop while the body does; nothing without one.

    Args:
        launch: of the program beside it.
        folder: of the attempt; what the loop says goes there.

    Yields:
        A list that holds the loop's gate after the body.

    Raises:
        NotStarted: the program must not be started either.
    """
    found: list[Gate] = []
    if (arm := order.arm.neighbour) is None:
        yield found
        return
    cpus = order.arm.placed(order.program.cpus, order.session.node.cpus).neighbour
    its = replace(beside(launch), cpus=cpus, image=launch.image if arm.image_format else None)
    process = _started(arm, its, folder)
    try:
        loop = _begun(process, its.name, folder / "neighbour")
        began, taken = time.monotonic(), _taken(loop)
        yield found
        took = _took_and_ended(loop) - taken
        detail = f"took {max(0.0, took):.2f} s of CPU time in {time.monotonic() - began:.2f} s"
        # One that is idle may get nothing beside a program that is not.
        ran = took > 0 or (took == 0 and arm.limit.is_idle)
        evidence = inner_command.evidence((folder / "neighbour").read_text(errors="replace"))
        found.append(_gate(order, cpus, evidence, ran, detail))
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
    finally:
        if process.poll() is None or not found:
            kill_group(process.pid)
            process.wait()
            arm.cleanup(its)


def _started(arm: Arm, its: Launch, folder: Path) -> subprocess.Popen[bytes]:
    its.state.mkdir()
    words = inner_command.witnessed(Program((*LOOP, its.name), its.cpus))
    command = arm.command(its, words)
    try:
        with (folder / "neighbour").open("wb") as said:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=launch_environment(os.environ),
                cwd=inner_command.WORK,
                start_new_session=True,
            )
    except OSError as error:
        raise NotStarted(f"cannot start {command[0]}: {error.strerror}") from error


def _took_and_ended(loop: psutil.Process) -> float:
    """The loop's CPU time in seconds, when it was killed; -inf if it had ended before."""
    with suppress(psutil.NoSuchProcess):
        took, status = _taken(loop), loop.status()
        loop.kill()
        return took if status != psutil.STATUS_ZOMBIE else -math.inf
    return -math.inf


def _begun(process: subprocess.Popen[bytes], name: str, said: Path) -> psutil.Process:
    """The loop itself, as soon as it took CPU time."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        for each in psutil.process_iter(["cmdline"]):
            with suppress(psutil.NoSuchProcess):
                if each.info["cmdline"] == [*LOOP, name] and _taken(each):
                    return each
        time.sleep(0.02)
    text = inner_command.without_evidence(said.read_bytes()).decode(errors="replace")
    raise NotStarted(f"the neighbour did not start: {text.strip()[-600:] or 'it said nothing'}")


def _taken(process: psutil.Process) -> float:
    """CPU time in seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _gate(
    order: Order, cpus: tuple[int, ...], evidence: dict[str, str], ran: bool, detail: str
) -> Gate:
    """Whether the loop ran, where its arm says, and on its CPUs."""
    arm = order.arm.neighbour
    assert arm
    ours = order.session.namespaces[order.hosts[0]]
    where = gates.where_gate(arm, evidence, ours, order.state.recipe if arm.image_format else "")
    judged = (where, gates.binding_gate(cpus, evidence))
    problems = [gate.detail for gate in judged if not gate.passed]
    return Gate("neighbour", ran and not problems, "; ".join([detail, *problems]))
