"""What a plan costs here: jobs, time and disk, from what was measured before; and its gaps."""

import heapq
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parity.core.documents import canonical
from parity.measure.documents import BLOCK, BLOCK_FOLDERS, LIVE
from parity.plan.looks import batches_of, job_of
from parity.plan.plan import Block, Case, Plan, cases_of
from parity.plan.study import PILOT, Pilot, read_pilot
from parity.plan.system import System, kind_of
from parity.preview.terminal import duration, said
from parity.runtimes import every_arm
from parity.software.images import ImageRecord, read_images
from parity.software.install import Probe, probes

RUNS = Path("records/runs.parquet")
BLOCKS_WEIGHED = 5  # They are looked at to see how much a run leaves on disk.


@dataclass(frozen=True)
class MeasuredBefore:
    """How long a case took: a hint and no more unless with the `same` parameters here or there."""

    seconds: float
    same: bool


@dataclass(frozen=True)
class Surroundings:
    """What a preview knows besides the plan."""

    system: System
    jobs: int  # how many jobs may wait or run at once; 1 on a machine without a batch system
    before: Mapping[str, MeasuredBefore]  # how long runs took before, by case
    done: Collection[str]  # blocks that are measured already
    run_bytes: float | None  # what a run leaves on disk; None if no block was ever measured here
    images: Mapping[str, ImageRecord] | None  # by format; None before they are made
    probes: Sequence[Probe]  # what of the plan's arms and benchmarks is here

    @property
    def one_host(self) -> bool:
        """Whether all nodes share one host, whose lock lets one block measure at a time."""
        return kind_of([self.system.scale_label]).one_host

    @property
    def at_once(self) -> int:
        """How many blocks can be measured at the same time, at best."""
        return self.jobs if self.system.batch_system and not self.one_host else 1


def surroundings_of(
    plan: Plan, system: System, jobs: int, archive: Path, images: Path
) -> Surroundings:
    """What is known for a preview; times of `archive` count where nothing was measured here."""
    known, run_bytes = known_before(plan, archive), bytes_of_a_run(BLOCK_FOLDERS, plan.campaign)
    done = {block.name for block in plan.blocks if BLOCK.is_in(BLOCK_FOLDERS / block.name)}
    made = read_images(images) if images.exists() else None
    there = probes(plan.arms, plan.definitions, plan.provider)
    return Surroundings(system, jobs, known, done, run_bytes, made, there)


def known_before(plan: Plan, archive: Path) -> dict[str, MeasuredBefore]:
    """How long a run of each case takes, by what was measured here, this archive, and the pilot."""
    tables = [*sorted(LIVE.glob(f"*/{RUNS}")), archive / RUNS]
    before = seconds_before(plan, [table for table in tables if table.exists()])
    pilot = LIVE / plan.campaign / PILOT
    before = by_pilot(plan, read_pilot(pilot), before) if pilot.exists() else before
    for run in plan.shorter:
        if (longer := before.get(run.of)) and run.case.name not in before:
            before[run.case.name] = MeasuredBefore(run.share * longer.seconds, longer.same)
    return before


def seconds_before(plan: Plan, tables: Iterable[Path]) -> dict[str, MeasuredBefore]:
    """How long a run of each case took, the median over all runs of it in RUNS tables.

    The same parameters count before others, earlier tables before later; amounts in proportion.
    """
    before: dict[str, MeasuredBefore] = {}
    ours = {case.name: case for case in plan.run_cases}
    for table in tables:
        rows = pd.read_parquet(table, columns=["case", "parameters", "wall_seconds", "evidence"])
        # Of two on one CPU each takes half of what both do.
        rows["wall_seconds"] /= 1 + rows["evidence"].str.contains('"group_seconds"', regex=False)
        by_problem = rows.groupby(["case", "parameters"], observed=True, sort=False)
        medians = by_problem["wall_seconds"].median().dropna().reset_index()
        for case, parameters, seconds in medians.itertuples(index=False, name=None):
            own = ours.get(case)
            same = own is not None and parameters == canonical(own.parameters)
            if own and (case not in before or same > before[case].same):
                before[case] = MeasuredBefore(seconds * _more(own, json.loads(parameters)), same)
    return before


def by_pilot(
    plan: Plan, pilot: Pilot, before: Mapping[str, MeasuredBefore]
) -> dict[str, MeasuredBefore]:
    """The same, by what a pilot timed here where only other parameters were measured.

    An array that follows from the cache differs on each machine, though parameters are alike.
    """
    timed = {c.name: pilot.walls[c.benchmark] for c in plan.cases if c.benchmark in pilot.walls}
    other = {case for case in timed if case not in before or not before[case].same}
    return {**before, **{case: MeasuredBefore(timed[case], True) for case in other}}


def _more(case: Case, parameters: Mapping[str, Any]) -> float:
    """How many times the work of these parameters a case does; 1 if not only the amount differs."""
    amount, own = case.definition.sized_by, case.parameters
    is_told = amount in own and parameters.get(amount)
    is_alike = is_told and own == {**parameters, amount: own[amount]}
    return own[amount] / parameters[amount] if is_alike else 1.0


def bytes_of_a_run(blocks: Path, campaign: str) -> float | None:
    """What a run left on disk on average, in the campaign's youngest blocks, or any; or None."""
    files = sorted(blocks.glob(f"*/{BLOCK.file}"), key=lambda path: path.stat().st_mtime)
    own = [path for path in files if path.parent.name.startswith(f"{campaign}-")]
    weighed = [path.parent for path in (own or files)[-BLOCKS_WEIGHED:]]
    runs = sum(1 for folder in weighed for _ in folder.glob("runs/*"))
    # st_blocks counts units of 512 bytes whatever the file system's own.
    used = sum(path.lstat().st_blocks * 512 for folder in weighed for path in folder.rglob("*"))
    return used / runs if runs else None


def expected_seconds(block: Block, before: Mapping[str, MeasuredBefore]) -> float | None:
    """How long a block's programs take; None if any of its cases was never measured."""
    is_known = all(run.case in before for run in block.runs)
    return sum(before[run.case].seconds for run in block.runs) if is_known else None


def time_for(plan: Plan, here: Surroundings, case: str, blocks: int) -> str:
    """How long so many times all of the plan's blocks take that hold the case, in words."""
    held = [each for each in plan.blocks if case in cases_of(each.runs)]
    once = [each for each in held if each.number == held[0].number]
    seconds = [expected_seconds(each, here.before) for each in once]
    wall = shortest_wall([*filter(None, seconds)] * blocks, here.at_once)
    return "?" if None in seconds else duration(wall)


def shortest_wall(seconds: Sequence[float], at_once: int) -> float:
    """Seconds from first to last if blocks start in order, each as soon as a place is free."""
    free = [0.0] * max(1, min(at_once, len(seconds)))
    for took in seconds:
        heapq.heapreplace(free, free[0] + took)
    return max(free)


def plan_lines(plan: Plan, here: Surroundings) -> list[str]:
    """The plan in a few lines: size, order, margins, cost, what is not tested."""
    known = [expected_seconds(block, here.before) for block in plan.blocks]
    images = None if here.images is None else [image.bytes or 0 for image in here.images.values()]
    return said(
        "plan.txt.j2", plan=plan, here=here, runs=sum(len(block.runs) for block in plan.blocks),
        seconds=_all_of(known), is_exact=all(before.same for before in here.before.values()),
        jobs=_jobs(plan, here) if here.system.batch_system else None,
        image_bytes=None if images is None else sum(images), gaps=not_tested(plan, here),
    )  # fmt: skip


def _jobs(plan: Plan, here: Surroundings) -> dict[str, Any]:
    """Jobs, node-hours and wall seconds on a batch system, of the blocks still to be measured."""
    jobs = [
        batch._replace(blocks=left)
        for batch in batches_of(plan).values()
        if (left := tuple(block for block in batch.blocks if block.name not in here.done))
    ]
    limits = [60.0 * job_of(plan, job)["minutes"] for job in jobs]
    # Other parameters may be other problems altogether: they say nothing of node-hours.
    before = {case: takes for case, takes in here.before.items() if takes.same}
    expected = [_all_of([expected_seconds(block, before) for block in job.blocks]) for job in jobs]
    timed, by_nodes = list(zip(jobs, expected, limits, strict=True)), []
    for nodes in sorted({job.nodes for job in jobs}):
        own = [(takes, most) for job, takes, most in timed if job.nodes == nodes]
        by_nodes.append((nodes, len(own), own[0][0], max(most for _, most in own)))
    cases = {run.case for job in jobs for block in job.blocks for run in block.runs}
    known = [takes or 0.0 for takes in expected]
    hours, most_hours = (
        sum(job.nodes * takes for job, takes in zip(jobs, of_each, strict=True)) / 3600
        for of_each in (known, limits)
    )
    return {
        "count": len(jobs), "by_nodes": by_nodes, "cases": len(cases),
        "unknown": len(cases - before.keys()), "node_hours": hours, "most_node_hours": most_hours,
        "wall": shortest_wall(known, here.at_once),
        "most_wall": shortest_wall(limits, here.at_once),
    }  # fmt: skip


def _all_of(seconds: Sequence[float | None]) -> float | None:
    return None if None in seconds else sum(filter(None, seconds))


def not_tested(plan: Plan, here: Surroundings) -> list[str]:
    """What is in the publication or the plan and will not be tested, and why."""
    gaps = [f"{each.benchmark or each.arm}: {each.reason}" for each in plan.not_tested]
    missing = [probe for probe in here.probes if not probe.presence.available]
    elsewhere = " here; nodes may differ from this machine" if here.system.batch_system else ""
    gaps += [f"{probe.name}: {probe.presence.reason}{elsewhere}" for probe in missing]
    for name in sorted(set(plan.arms) - {probe.name for probe in missing}):
        image = (here.images or {}).get(every_arm()[name].image_format or "")
        if image and image.reason:
            gaps.append(f"{name}: its image could not be made: {image.reason}")
    nodes = {case.name: case.parameters.get("nodes", 0) for case in plan.cases}
    # Ranks in one container, or in one world of a node's containers, are started without it.
    inside = {case.name for case in plan.cases if case.definition.starts_ranks_inside}
    inside |= {case.name for case in plan.cases if "containers_per_node" in case.parameters}
    placed = [name for name, count in nodes.items() if count > (1 if name in inside else 0)]
    if placed and not here.system.launcher:
        gaps.append(f"{', '.join(placed)}: the system's file names no MPI launcher")
    return gaps
