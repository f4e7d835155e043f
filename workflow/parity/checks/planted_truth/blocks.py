"""Block folders as the runner leaves them: sessions, attempts, and block.json at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from parity.checks.planted_truth.attempts import Writer, at, write
from parity.checks.planted_truth.campaign import RECIPE, SYSTEM, Campaign, image_of, sha256
from parity.checks.planted_truth.planted_effects import shared_costs
from parity.checks.planted_truth.runner_simulation import ABSENT, Story, tell
from parity.measure.block_folder import BLOCK, read_sessions
from parity.measure.documents import (
    ArmState,
    Binary,
    BlockRecord,
    Gate,
    Library,
    NotStarted,
    ProgramIdentity,
    SessionEnd,
    SessionStart,
)
from parity.plan.plan import Block, Plan
from parity.runtimes import arms

MINUTES_PER_BLOCK = 24 * 60


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
    costs, nodes = shared_costs(campaign.truth, plan.blocks, random)
    folders, endings = [], {}
    for number, block in enumerate(plan.blocks):
        name, runs = block.name, block.runs
        if random.random() < campaign.truth.misfortune.lost:
            endings |= {(name, run.name): ("planned", "not-run") for run in runs}
            continue
        story = Story(runs, f"node-{nodes[number]}", number * MINUTES_PER_BLOCK)
        tell(story, campaign.truth, costs[number], random)
        endings |= {(name, run): end for run, end in story.endings().items()}
        folders.append(folder / name)
        _write_block(campaign, writer, plan, block, story, folders[-1])
    return Planted(plan, tuple(folders), endings)


def _write_block(
    campaign: Campaign,
    writer: Writer,
    plan: Plan,
    block: Block,
    story: Story,
    folder: Path,
) -> None:
    folder.mkdir(parents=True)
    for attempts in story.attempts.values():
        for attempt in attempts:
            writer.write(attempt, folder / "runs" / f"{attempt.case}.{attempt.arm}")
    for number in range(1, story.sessions + 1):
        last = number == story.sessions
        start = _start(campaign, story.absent if last else "", story)
        write(folder / f"session-{number}-start.json", start)
        if last:
            ended = at(story.begin + MINUTES_PER_BLOCK)
            end = SessionEnd(ended=ended, busy_fraction=0.0, facts=_facts(story.node))
            write(folder / f"session-{number}-end.json", end)
    record = BlockRecord(
        campaign=plan.campaign,
        name=block.name,
        number=block.number,
        runs=block.runs,
        sessions=read_sessions(folder),
        not_started={run: NotStarted(**why) for run, why in story.not_started.items()},
    )
    write(folder / BLOCK.file, record)


def _start(campaign: Campaign, absent: str, story: Story) -> SessionStart:
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
        started=at(story.begin),
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
        node_name=story.node,
        facts=_facts(story.node),
        busy_fraction=0.0,
        arms={name: _state(name, absent) for name in names},
        binaries=tuple(replace(binary, arm=name) for name in names if name != absent),
        other_nodes=(),
    )


def _state(name: str, absent: str) -> ArmState:
    """What the session finds out about an arm."""
    why = ABSENT if name == absent else {"reason": "", "detail": ""}
    image = image_of(name)
    recipe = RECIPE if arms()[name].image_format else ""
    gate = Gate("image", True)
    return ArmState(image=image, recipe=recipe, gate=gate, version="planted 1.0", **why)


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
