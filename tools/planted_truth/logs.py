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

from parity.core.documents import Document, canonical
from parity.measure import inner_command
from parity.measure.attempt import Order, Seen, record
from parity.measure.documents import (
    BLOCK,
    RECORD,
    STARTED,
    ArmState,
    Binary,
    BlockRecord,
    Gate,
    ProgramIdentity,
    SessionEnd,
    SessionStart,
    Started,
    read_sessions,
)
from parity.measure.session import Allocation, Session
from parity.measure.timed_process import Finished
from parity.plan.plan import Block, Case, Plan
from parity.plan.system import System
from parity.runtimes import arms
from parity.runtimes.model import NAMESPACES, SCRATCH, Arm, Image, Launch
from parity.software.binaries import Library
from parity.software.images import ImageRecord
from planted_truth.runner import (
    INTERRUPTED,
    NOT_STARTED,
    OTHER_WORK,
    TRUNCATED,
    Attempt,
    SimulatedBlock,
    shared_costs,
    simulate,
)
from planted_truth.study import FORMATS, NODE, SYSTEM, Campaign, Printer, sha256

MINUTES_PER_BLOCK = 24 * 60
# Endings that leave only a part of the output.
_CUT_OFF = (TRUNCATED, INTERRUPTED, "exit-status", "signal", "timeout")
RECIPE = sha256("recipe")
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
    costs, nodes = shared_costs(campaign.effects, plan.blocks, random)
    folders: list[Path] = []
    endings: dict[tuple[str, str], tuple[str, str]] = {}
    for number, block in enumerate(plan.blocks):
        if random.random() < campaign.effects.misfortune.lost:
            endings |= {(block.name, run.name): ("planned", "not-run") for run in block.runs}
            continue
        simulated = SimulatedBlock(block.runs, f"node-{nodes[number]}", number * MINUTES_PER_BLOCK)
        simulate(simulated, campaign.effects, costs[number], random)
        endings |= {(block.name, run): end for run, end in simulated.endings().items()}
        folders.append(folder / block.name)
        for run in block.runs:
            case = plan.case_in(plan.case(run.case), run.arm)
            for attempt in simulated.attempts.get(run.name, ()):
                place = folders[-1] / f"runs/{run.name}/attempt-{attempt.number}"
                _write_attempt(campaign.printer, golden, case, attempt, place)
        _write_block(campaign, plan, block, simulated, folders[-1])
    return Planted(plan, tuple(folders), endings)


def _write_block(
    campaign: Campaign, plan: Plan, block: Block, simulated: SimulatedBlock, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
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
        arms={name: _state(name, name == absent) for name in names},
        binaries=tuple(replace(binary, arm=name) for name in names if name != absent),
        other_nodes=(),
    )


def _state(arm: str, is_absent: bool) -> ArmState:
    """What the session finds out about an arm."""
    image = image_of(arm)
    return ArmState(
        image=image,
        recipe=RECIPE if image else "",
        gate=Gate("image", True),
        version="planted 1.0",
        reason=NOT_STARTED.reason if is_absent else "",
        detail=NOT_STARTED.detail if is_absent else "",
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


def _write_attempt(
    printer: Printer, golden: Path, case: Case, attempt: Attempt, folder: Path
) -> None:
    """Write what an attempt leaves in its folder."""
    state = folder / "state"
    state.mkdir(parents=True)
    started, name = at(attempt.minutes), f"parity-1-1-{attempt.number}"
    write(folder / STARTED.file, Started(name=name, arm=attempt.arm, ranks=0, started=started))
    order, stdout, stderr = _order(printer, case, attempt), "", ""
    if attempt.ending != "not-started":
        stdout = _output(printer, golden, case.parameters, attempt)
        stderr = _witness(order.arm, order.program.cpus, attempt.ending == "gate-where")
    (folder / "stdout").write_text(stdout, encoding="utf-8")
    (folder / "stderr").write_text(stderr, encoding="utf-8")
    if attempt.ending == INTERRUPTED:
        return
    launch = Launch(name, order.state.image, SCRATCH, state, host=HOST)
    command = order.arm.command(launch, inner_command.witnessed(order.program))
    seen = _seen(printer.seconds(case.parameters, attempt.log_cost), attempt.ending, command)
    seen.steal = 0.5 if attempt.ending == "gate-steal" else 0.001
    write(folder / RECORD.file, record(order, seen, stderr, 0.1, started))


def _output(printer: Printer, golden: Path, parameters: Mapping[str, Any], attempt: Attempt) -> str:
    if attempt.ending == OTHER_WORK:
        parameters = {**parameters, printer.counter: parameters[printer.counter] + 1}
    text = printer.text(golden, parameters, attempt.log_cost)
    return text[: len(text) * 9 // 10] if attempt.ending in _CUT_OFF else text


def _order(printer: Printer, case: Case, attempt: Attempt) -> Order:
    session = Session(
        number=attempt.session,
        node=NODE,
        allocation=Allocation((HOST,)),
        states={},
        namespaces={HOST: _HOST},
        benchmarks={},
        block_gates=(Gate("quiet", True),),
        system=System(SYSTEM, "vm", "bootstrap", 1.0, 0.0, MAX_STEAL),
    )
    return Order(
        run=f"{attempt.case}.{attempt.arm}",
        case=case,
        arm=arms()[attempt.arm],
        state=_state(attempt.arm, is_absent=False),
        program=printer.benchmark.program(case.parameters, NODE),
        session=session,
    )


def _seen(seconds: float, ending: str, command: list[str]) -> Seen:
    """What the runner saw of a program that took so long: how it ended, and the outer clock."""
    if ending == "not-started":
        return Seen([], [], error=f"cannot start {command[0]}: planted")
    finished = Finished(
        exit_code={"exit-status": 1, "signal": -9, "timeout": -9}.get(ending, 0),
        wall_seconds=seconds + 0.05,
        user_seconds=seconds,
        system_seconds=0.01,
        timed_out=ending == "timeout",
    )
    return Seen([command], [finished])


def _witness(arm: Arm, cpus: tuple[int, ...], elsewhere: bool) -> str:
    """What the witness says; `elsewhere` if the process is not where its arm says."""
    contained = arm.image_format is not None
    inodes = {name: (_INSIDE if name in arm.isolates else _HOST)[name] for name in NAMESPACES}
    marker = RECIPE if contained != elsewhere else ""
    lines = [
        f"marker={marker}",
        "hostname=planted",
        *(f"namespace./proc/self/ns/{name}={inode}" for name, inode in inodes.items()),
        "NoNewPrivs:=0",
        "Seccomp:=0",
        f"Cpus_allowed_list:={','.join(map(str, cpus))}",
        f"root={arm.root_filesystem or 'ext4'},rw,relatime",
    ]
    return "".join(f"{inner_command.EVIDENCE}{line}\n" for line in lines)


def at(minutes: float) -> str:
    """The time so many minutes after the study began, UTC, ISO 8601."""
    return (BEGINNING + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


def write(path: Path, document: Document) -> None:
    """JSON with the runner's content, without its line breaks and without waiting for the disk."""
    path.write_text(canonical(document), encoding="utf-8")


def image_records() -> dict[str, ImageRecord]:
    """The records of the image formats, as images.json holds them."""
    return {
        name: ImageRecord(
            name,
            digest=f"sha256:{sha256(name)}",
            parent=parent,
            parent_digest=f"sha256:{sha256(parent)}" if parent else "",
            bytes=100_000_000,
            seconds=1.0,
            tool="planted 1.0",
            location=f"/images/{name}",
            recipe=RECIPE,
        )
        for name, parent in zip(FORMATS, ("", "oci", "directory", "oci"), strict=True)
    }


def image_of(arm: str) -> Image | None:
    """The image that an arm runs from; None outside of any container."""
    image_format = arms()[arm].image_format
    if image_format is None:
        return None
    record = image_records()[image_format]
    return Image(image_format, record.location, record.digest)
