"""The raw logs of a planted study: what the runner and the programs leave in block folders.

All documents that the real runner writes are made here, by its own code where it has some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from parity.checks.planted_truth.campaign import RECIPE, SYSTEM, Campaign, image_of, sha256
from parity.checks.planted_truth.outputs import NODE, Printer
from parity.checks.planted_truth.planted_effects import shared_costs
from parity.checks.planted_truth.runner_simulation import (
    INTERRUPTED,
    NOT_STARTED,
    OTHER_WORK,
    TRUNCATED,
    Attempt,
    SimulatedBlock,
    simulate,
)
from parity.core.documents import Document, canonical
from parity.measure import inner_command
from parity.measure.block_folder import BLOCK, RECORD, STARTED, read_sessions
from parity.measure.documents import (
    ArmState,
    Binary,
    BlockRecord,
    Gate,
    ProgramIdentity,
    SessionEnd,
    SessionStart,
    Started,
)
from parity.measure.record import Order, Seen, record
from parity.measure.timed_process import Finished
from parity.plan.plan import Block, Plan
from parity.runtimes import arms
from parity.runtimes.model import NAMESPACES, SCRATCH, Arm, Launch
from parity.software.binaries import Library

MINUTES_PER_BLOCK = 24 * 60
# Endings that leave only a part of the output.
_CUT_OFF = (TRUNCATED, INTERRUPTED, "exit-status", "signal", "timeout")
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
MAX_STEAL = 0.1
HOST = "planted"
# The runner's own namespaces, and those of a container.
_HOST = {name: str(4_026_531_835 + number) for number, name in enumerate(NAMESPACES)}
_INSIDE = {name: str(4_026_532_177 + number) for number, name in enumerate(NAMESPACES)}


@dataclass(frozen=True)
class Planted:
    """A study on disk, and what is known of it beforehand.

    Attributes:
        plan: the plan.
        folders: of the blocks that were made.
        endings: stage and reason of every planned run, by block and run.
    """

    plan: Plan
    folders: tuple[Path, ...]
    endings: Mapping[tuple[str, str], tuple[str, str]]


def plant(campaign: Campaign, golden: Path, folder: Path, seed: int) -> Planted:
    """Write the raw logs of a campaign below a folder; the same seed, the same logs.

    Args:
        golden: folder of the golden outputs.
    """
    random = np.random.default_rng(seed)
    plan = campaign.plan(seed)
    parameters = {case.name: case.parameters for case in plan.cases}
    writer = Writer(campaign.printer, golden, parameters)
    costs, nodes = shared_costs(campaign.effects, plan.blocks, random)
    folders: list[Path] = []
    endings: dict[tuple[str, str], tuple[str, str]] = {}
    for number, block in enumerate(plan.blocks):
        name, runs = block.name, block.runs
        if random.random() < campaign.effects.misfortune.lost:
            endings |= {(name, run.name): ("planned", "not-run") for run in runs}
            continue
        simulated = SimulatedBlock(runs, f"node-{nodes[number]}", number * MINUTES_PER_BLOCK)
        simulate(simulated, campaign.effects, costs[number], random)
        endings |= {(name, run): end for run, end in simulated.endings().items()}
        folders.append(folder / name)
        _write_block(campaign, writer, plan, block, simulated, folders[-1])
    return Planted(plan, tuple(folders), endings)


def _write_block(
    campaign: Campaign,
    writer: Writer,
    plan: Plan,
    block: Block,
    simulated: SimulatedBlock,
    folder: Path,
) -> None:
    folder.mkdir(parents=True)
    for attempts in simulated.attempts.values():
        for attempt in attempts:
            writer.write(attempt, folder / "runs" / f"{attempt.case}.{attempt.arm}")
    for number in range(1, simulated.sessions + 1):
        last = number == simulated.sessions
        start = _start(campaign, simulated.absent if last else "", simulated)
        write(folder / f"session-{number}-start.json", start)
        if last:
            ended = at(simulated.begin + MINUTES_PER_BLOCK)
            end = SessionEnd(ended=ended, busy_fraction=0.0, facts=_facts(simulated.node))
            write(folder / f"session-{number}-end.json", end)
    record = BlockRecord(
        campaign=plan.campaign,
        name=block.name,
        number=block.number,
        runs=block.runs,
        sessions=read_sessions(folder),
        not_started=simulated.not_started,
    )
    write(folder / BLOCK.file, record)


def _start(campaign: Campaign, absent: str, simulated: SimulatedBlock) -> SessionStart:
    """What a session finds before anything is timed."""
    names = campaign.all_arms
    binary = Binary(
        arm="",
        benchmark=campaign.benchmark,
        path=campaign.printer.benchmark.binaries[0],
        sha256=sha256("binary"),
        build_id=sha256("build")[:40],
        closure=(Library(library="libc.so.6", sha256=sha256("library")),),
        closure_sha256=sha256("closure"),
    )
    return SessionStart(
        started=at(simulated.begin),
        program=ProgramIdentity(
            commit="0" * 40,
            changed=False,
            package_sha256=sha256("package"),
            lock_sha256=sha256("lock"),
            python="3.11.0",
        ),
        system=SYSTEM,
        scale_label="vm",
        allocation={},
        node_name=simulated.node,
        facts=_facts(simulated.node),
        busy_fraction=0.0,
        arms={name: _state(name, absent) for name in names},
        binaries=tuple(replace(binary, arm=name) for name in names if name != absent),
        other_nodes=(),
    )


def _state(name: str, absent: str) -> ArmState:
    """What the session finds out about an arm."""
    image = image_of(name)
    recipe = RECIPE if arms()[name].image_format else ""
    gate = Gate("image", True)
    return ArmState(
        image=image,
        recipe=recipe,
        gate=gate,
        version="planted 1.0",
        reason=NOT_STARTED.reason if name == absent else "",
        detail=NOT_STARTED.detail if name == absent else "",
    )


def _facts(node: str) -> dict[str, str]:
    """The little of a node's facts that the analysis reads."""
    return {
        "hostname": node,
        "cpu_model": "planted",
        "kernel": "planted",
        "memory_total": "24684092 kB",
        "memory_available": "23367848 kB",
        "last_level_cache": "272629760 B",
    }


@dataclass(frozen=True)
class Writer:
    """Writes what attempts leave.

    Attributes:
        golden: folder of the golden outputs.
        parameters: of each case.
    """

    printer: Printer
    golden: Path
    parameters: Mapping[str, Mapping[str, Any]]

    def write(self, attempt: Attempt, run: Path) -> None:
        """Write an attempt's folder below its run's folder."""
        folder = run / f"attempt-{attempt.number}"
        state = folder / "state"
        state.mkdir(parents=True)
        started = at(attempt.minutes)
        order = self._order(attempt)
        name = f"parity-1-1-{attempt.number}"
        write(folder / STARTED.file, Started(name=name, arm=attempt.arm, ranks=0, started=started))
        stdout, stderr = self._said(order, attempt)
        (folder / "stdout").write_text(stdout, encoding="utf-8")
        (folder / "stderr").write_text(stderr, encoding="utf-8")
        if attempt.ending == INTERRUPTED:
            return
        launch = Launch(name, order.image, SCRATCH, state, host=HOST)
        command = order.arm.command(launch, inner_command.witnessed(order.program))
        steal = 0.5 if attempt.ending == "gate-steal" else 0.001
        seen = self._seen(order, attempt, command)
        write(folder / RECORD.file, record(order, seen, stderr, steal, 0.1, started))

    def _order(self, attempt: Attempt) -> Order:
        parameters = self.parameters[attempt.case]
        image = image_of(attempt.arm)
        return Order(
            run=f"{attempt.case}.{attempt.arm}",
            case=attempt.case,
            arm=arms()[attempt.arm],
            image=image,
            recipe=RECIPE if image else "",
            program=self.printer.benchmark.program(parameters, NODE),
            parameters=parameters,
            timeout_seconds=600,
            namespaces={HOST: _HOST},
            hosts=(HOST,),
            launcher=None,
            block_gates=(Gate("quiet", True), Gate("image", True)),
            max_steal_fraction=MAX_STEAL,
            session=attempt.session,
        )

    def _said(self, order: Order, attempt: Attempt) -> tuple[str, str]:
        """Standard output and standard error."""
        if attempt.ending == "not-started":
            return "", ""
        parameters = dict(order.parameters)
        if attempt.ending == OTHER_WORK:
            parameters[self.printer.counter] += 1
        text = self.printer.text(self.golden, parameters, attempt.log_cost)
        if attempt.ending in _CUT_OFF:
            text = text[: len(text) * 9 // 10]
        return text, _witness(order.arm, order.program.cpus, attempt.ending == "gate-where")

    def _seen(self, order: Order, attempt: Attempt, command: list[str]) -> Seen:
        """What the runner saw of the program: how it ended, and the outer clock."""
        if attempt.ending == "not-started":
            return Seen([], [], error=f"cannot start {command[0]}: planted")
        seconds = self.printer.seconds(order.parameters, attempt.log_cost)
        finished = Finished(
            exit_code={"exit-status": 1, "signal": -9, "timeout": -9}.get(attempt.ending, 0),
            wall_seconds=seconds + 0.05,
            user_seconds=seconds,
            system_seconds=0.01,
            timed_out=attempt.ending == "timeout",
        )
        return Seen([command], [finished])


def _witness(arm: Arm, cpus: tuple[int, ...], elsewhere: bool) -> str:
    """What the witness says; `elsewhere` if the process is not where its arm says."""
    contained = arm.image_format is not None
    inodes = {name: (_INSIDE if name in arm.isolates else _HOST)[name] for name in NAMESPACES}
    filesystem = arm.root_filesystem or "ext4"
    marker = RECIPE if contained != elsewhere else ""
    lines = [
        f"marker={marker}",
        "hostname=planted",
        *(f"namespace./proc/self/ns/{name}={inode}" for name, inode in inodes.items()),
        "NoNewPrivs:=0",
        "Seccomp:=0",
        f"Cpus_allowed_list:={','.join(map(str, cpus))}",
        f"root={filesystem},rw,relatime",
    ]
    return "".join(f"{inner_command.EVIDENCE}{line}\n" for line in lines)


def at(minutes: float) -> str:
    """The time so many minutes after the study began, UTC, ISO 8601."""
    return (BEGINNING + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


def write(path: Path, document: Document) -> None:
    """JSON with the runner's content, without its line breaks and without waiting for the disk."""
    path.write_text(canonical(document), encoding="utf-8")
