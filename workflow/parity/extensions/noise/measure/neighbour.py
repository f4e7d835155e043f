"""The neighbour: a busy loop that runs beside a program, because its arm says so.

It is part of what is measured. It runs in an arm of its own (another container, say) from before
the program is started until after it ended, and a gate tells that it did, by its own witness
and by the CPU time that it took meanwhile.
"""

import math
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil

from parity.benchmarks.model import Program
from parity.extensions.noise.runtimes.limited import CPU, NEIGHBOUR, Limited
from parity.measure import gates, inner_command, places
from parity.measure.attempt import Attempt, NotStarted, end_of_log, started_beside
from parity.measure.documents import Gate
from parity.measure.timed_process import kill_group

# The first asks the kernel for nothing, so all that it takes is CPU time. The second has the kernel
# clear more memory than caches hold, again and again; the third waits for the disk most of the
# time. Every image has dd. A loop's name is its last word.
LOOPS = {
    CPU: "while :; do :; done",
    "memory": "while :; do dd if=/dev/zero of=/dev/null bs=64M count=64 status=none; done",
    "io": "while :; do dd if=/dev/zero of=beside bs=1M count=64 conv=fsync status=none; done",
}
START_SECONDS = 60.0
END_SECONDS = 20.0


@contextmanager
def neighbour(attempt: Attempt) -> Iterator[None]:
    """Run the loop, if there is one, beside the body; its log is `neighbour`. Raises NotStarted."""
    order, launch, log = attempt.order, attempt.launch, attempt.folder / "neighbour"
    arm = order.arm.neighbour if isinstance(order.arm, Limited) else None
    if arm is None:
        yield
        return
    cpus = order.arm.placed(order.program.cpus, order.session.node.cpus).neighbour
    image = launch.image if arm.image_format else None
    its = replace(launch.beside(NEIGHBOUR), cpus=cpus, image=image)
    judged, words = False, ("/bin/sh", "-c", LOOPS[arm.does], its.name)
    its.state.mkdir()
    command = arm.command(its, inner_command.witnessed(Program(words, its.cpus)))
    process = started_beside(command, log, places.WORK)
    try:
        loop = _begun(process, words, log)
        began, taken = time.monotonic(), _taken(loop)
        yield
        took = _took_and_ended(loop) - taken
        detail = f"took {max(0.0, took):.2f} s of CPU time in {time.monotonic() - began:.2f} s"
        # One that is idle may get nothing beside one that is not, one that waits for a disk, too.
        ran = took > 0 or (took == 0 and (arm.limit.is_idle or arm.does == "io"))
        evidence = inner_command.evidence(log.read_text(errors="replace"))
        where = order.where(order.hosts[0], evidence, arm), gates.binding_gate(cpus, evidence)
        problems = [detail, *(gate.detail for gate in where if not gate.passed)]
        held = ran and len(problems) == 1
        attempt.beside.append(Gate("neighbour", held, "; ".join(problems)))
        judged = True
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
    finally:
        if process.poll() is None or not judged:
            kill_group(process.pid)
            process.wait()
            arm.cleanup(its)


def _took_and_ended(loop: psutil.Process) -> float:
    """The loop's CPU time in seconds, when it was killed; -inf if it had ended before."""
    with suppress(psutil.NoSuchProcess):
        took, status = _taken(loop), loop.status()
        loop.suspend()  # nothing more is started while it is ended
        every = [loop, *loop.children()]
        for each in every:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(every, END_SECONDS)  # whoever waits for a disk ends when that is done
        return took if status != psutil.STATUS_ZOMBIE else -math.inf
    return -math.inf


def _begun(process: subprocess.Popen[bytes], words: Sequence[str], log: Path) -> psutil.Process:
    """The loop itself, as soon as it took CPU time."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        for each in psutil.process_iter(["cmdline"]):
            with suppress(psutil.NoSuchProcess):
                if each.info["cmdline"] == [*words] and _taken(each):
                    return each
        time.sleep(0.02)
    raise NotStarted(f"the neighbour did not start: {end_of_log(log)}")


def _taken(process: psutil.Process) -> float:
    """CPU time in seconds, that of its ended children and of the one that runs included."""
    took, own = 0.0, None
    # A child that ends meanwhile is told by its parent, not yet or by itself as well: read again.
    while own is None or own != process.cpu_times()[2:4]:
        times = process.cpu_times()
        took, own = sum(times[:4]), times[2:4]
        for child in process.children():
            with suppress(psutil.NoSuchProcess):
                took += sum(child.cpu_times()[:2])
    return float(took)


COMPANION = neighbour
