"""One attempt of one run: start it, sleep, keep what it left, judge the gates, write the record."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from parity.benchmarks.model import Program
from parity.execute import gates, inner, storage
from parity.execute.launch import Finished, launch_environment, run_and_wait
from parity.execute.quiet import steal_fraction
from parity.execute.sampling import Sampler
from parity.files import write_json
from parity.runtimes.model import SCRATCH, Arm, Image, Launch

RECORD_VERSION = 1


@dataclass(frozen=True)
class Order:
    """What an attempt is to do.

    Attributes:
        recipe: what the marker file of the arm's image says; empty if native.
        block_gates: gates of the block as a whole, judged once at its start.
        max_steal_fraction: limit of the steal gate.
        session: number of the runner's session in this block, from 1.
    """

    run: str
    case: str
    arm: Arm
    image: Image | None
    recipe: str
    program: Program
    parameters: Mapping[str, Any]
    timeout_seconds: float
    host_namespaces: Mapping[str, str]
    block_gates: tuple[gates.Gate, ...]
    max_steal_fraction: float
    session: int


@dataclass
class _Seen:
    """What is gathered on the way to the record."""

    commands: list[list[str]]
    finished: list[Finished]
    error: str = ""


def make_attempt(order: Order, name: str, folder: Path) -> dict[str, Any]:
    """Make one attempt in its own, new folder; its record is written as the last act.

    Args:
        name: unique on this node; a container is called so.
        folder: empty but for a folder `state`.

    Returns:
        The record; its `reason` is empty when the program ended well and all gates held.
    """
    launch = Launch(name, order.image, SCRATCH, (folder / "state").resolve())
    work = storage.emptied(inner.WORK)
    for file, text in order.program.files.items():
        (work / file).write_text(text, encoding="utf-8")
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    write_json(folder / storage.STARTED, {"name": name, "arm": order.arm.name, "started": started})
    load, before = os.getloadavg()[0], psutil.cpu_times(percpu=True)
    try:
        seen = _run(order, launch, folder)
    except BaseException:
        # The runner is being stopped: a container must not go on without it.
        order.arm.cleanup(launch)
        raise
    steal = steal_fraction(before, psutil.cpu_times(percpu=True), order.program.cpus)
    for file in order.program.collect:
        if (work / file).is_file():
            (folder / "files").mkdir(exist_ok=True)
            shutil.copyfile(work / file, folder / "files" / file)
    record = _record(order, seen, _evidence(folder), steal, load, started)
    if record["reason"]:
        # Whatever a failed run left, ranks in sessions of their own included, ends here.
        order.arm.cleanup(launch)
        storage.end_processes_in(inner.WORK)
    write_json(folder / storage.RECORD, record)
    return record


def _run(order: Order, launch: Launch, folder: Path) -> _Seen:
    """All starts of the attempt, one after the other.

    A program that is started once carries the witness. One that is started and timed
    several times has a witnessed start first, which is not timed, and then its timed
    starts consist of nothing but the runtime and the program's own words. The time
    limit is that of all starts together.
    """
    seen = _Seen([], [])
    program, several = order.program, order.program.repetitions > 1
    starts = [inner.witnessed(program)]
    starts += [inner.bare(program)] * program.repetitions if several else []
    environment = launch_environment(os.environ)
    deadline = time.monotonic() + order.timeout_seconds
    sampler = (
        Sampler(program.sample_seconds, program.sample_processes)
        if program.sample_seconds
        else None
    )
    for words in starts:
        command = order.arm.command(launch, words)
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
                folder=inner.WORK,
                timeout_seconds=max(0.001, deadline - time.monotonic()),
                on_start=(lambda _pid: sampler.start()) if sampler else None,
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


def _evidence(folder: Path) -> dict[str, str]:
    path = folder / "stderr"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return inner.evidence(text)


def _record(
    order: Order,
    seen: _Seen,
    evidence: Mapping[str, str],
    steal: float,
    load: float,
    started: str,
) -> dict[str, Any]:
    # Timed starts of several are the program's bare words: neither bound nor with an
    # environment of ours, and the record does not say that they were.
    several = order.program.repetitions > 1
    judged = [
        *order.block_gates,
        gates.where_gate(order.arm, evidence, order.host_namespaces, order.recipe),
        *([] if several else [gates.binding_gate(order.program.cpus, evidence)]),
        gates.steal_gate(steal, order.max_steal_fraction),
    ]
    reason, detail = _reason(seen, judged)
    timed = seen.finished[1:] if several else seen.finished
    return {
        "version": RECORD_VERSION,
        "session": order.session,
        "run": order.run,
        "case": order.case,
        "arm": order.arm.name,
        "parameters": dict(order.parameters),
        "reason": reason,
        "detail": detail,
        "exit_code": seen.finished[-1].exit_code if seen.finished else None,
        "started": started,
        "starts_wall_seconds": [start.wall_seconds for start in timed],
        "wall_seconds": sum(start.wall_seconds for start in timed) if timed else None,
        "user_seconds": sum(start.user_seconds for start in timed) if timed else None,
        "system_seconds": sum(start.system_seconds for start in timed) if timed else None,
        "steal_fraction": steal,
        "load_before": load,
        "commands": seen.commands,
        "environment": {} if several else inner.program_environment(order.program),
        "environment_sha256": "" if several else inner.environment_digest(order.program),
        "evidence": dict(evidence),
        "image_digest": order.image.digest if order.image else "",
        "gates": [gate.as_record() for gate in judged],
    }


def _reason(seen: _Seen, judged: list[gates.Gate]) -> tuple[str, str]:
    """Reason code and detail of an attempt; how it ended comes before the gates."""
    if seen.error:
        return "not-started", seen.error
    last = seen.finished[-1]
    if last.timed_out:
        return "timeout", f"stopped after {last.wall_seconds:.1f} s"
    if last.exit_code < 0:
        return "signal", f"ended by signal {-last.exit_code}"
    if last.exit_code > 0:
        return "exit-status", f"exit status {last.exit_code}"
    return gates.first_failure(judged)
