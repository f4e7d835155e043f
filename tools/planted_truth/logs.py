"""The raw logs of a planted study: what the runner and the programs leave in block folders.

The runner's rules say which attempts it makes: a failed run is tried again, a case that a kill tore
apart is made anew as a whole, arms that cannot be started are skipped. What the records must say of
each run is known from that alone. Documents are made by the real runner's code where it has some.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parity.core.documents import Document, canonical
from parity.measure import attempt as measured
from parity.measure import documents, inner_command
from parity.measure.attempt import Order, record
from parity.measure.session import Session
from parity.measure.timed_process import Finished
from parity.plan.plan import Block, Case, Plan, Run
from parity.plan.system import Allocation, System
from parity.runtimes import arms
from parity.runtimes.model import NAMESPACES, SCRATCH, Arm, Image, Launch
from parity.software.binaries import Library
from parity.software.images import ImageRecord
from planted_truth.study import ATTEMPTS, FORMATS, NODE, SYSTEM, Campaign, Printer, sha256

GOOD, INTERRUPTED, TRUNCATED, OTHER_WORK = "good", "interrupted", "truncated", "wrong-size"
# How an attempt can fail: the reason codes of the real runner.
FAILING = ("not-started", "exit-status", "signal", "timeout", "gate-where", "gate-steal")
# As the runner sees it, which does not read the output.
ENDED_WELL = (GOOD, TRUNCATED, OTHER_WORK)
# Endings that leave only a part of the output.
CUT_OFF = (TRUNCATED, INTERRUPTED, "exit-status", "signal", "timeout")
# Why a run of an arm that is absent is not started.
NOT_STARTED = documents.NotStarted(reason="not-tested", detail="the daemon is not running")
MINUTES_PER_RUN, MINUTES_PER_BLOCK = 2.0, 24 * 60
# What a failed, stopped or left-behind attempt prints is far from the truth, in containers
# the one way and natively the other: a pipeline that counts it is found out.
WRONG = 0.3
RECIPE, HOST, MAX_STEAL = sha256("recipe"), "planted", 0.1
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
# The runner's own namespaces, and those of a container.
_HOST = {name: str(4_026_531_835 + number) for number, name in enumerate(NAMESPACES)}
_INSIDE = {name: str(4_026_532_177 + number) for number, name in enumerate(NAMESPACES)}
# The little of a node's facts that the analysis reads.
FACTS = {
    "cpu_model": "planted", "kernel": "planted", "memory_total": "24684092 kB",
    "memory_available": "23367848 kB", "last_level_cache": "272629760 B",
}  # fmt: skip
BUILT: dict[str, Any] = {
    "sha256": sha256("binary"), "build_id": sha256("build")[:40],
    "closure": (Library(library="libc.so.6", sha256=sha256("library")),),
    "closure_sha256": sha256("closure"),
}  # fmt: skip
PROGRAM = documents.ProgramIdentity(
    commit="0" * 40, changed=False, package_sha256=sha256("package"), lock_sha256=sha256("lock"),
    python="3.11.0",
)  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """One attempt: number and session from 1, and the minutes since the study began."""

    case: str
    arm: str
    number: int
    session: int
    ending: str
    log_cost: float
    minutes: float


@dataclass
class SimulatedBlock:
    """The runner in one block, and what becomes of it."""

    campaign: Campaign
    runs: Sequence[Run]
    node: str
    costs: Mapping[str, float]  # log cost of each run before chance
    random: np.random.Generator
    clock: float  # minutes since the study began
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)  # by run
    sessions: int = 1  # how many the runner needed
    absent: str = ""  # the arm that the last session could not start; empty if none

    def simulate(self) -> None:
        misfortune, random = self.campaign.misfortune, self.random
        here = sorted({run.arm for run in self.runs})
        if random.random() < misfortune.absent:
            self.absent = here[int(random.integers(len(here)))]
        if random.random() < misfortune.killed:
            killed = int(random.integers(len(self.runs)))
            self._session(1, self.runs[: killed + 1], stop=self.runs[killed].name)
            self.sessions = 2
        self._session(self.sessions, self.runs)
        # Made wrong is what must not count: all attempts but the last ones of valid runs.
        endings = self.endings()
        for run in self.runs:
            made = self.attempts.get(run.name, [])
            wrong = -WRONG if arms()[run.arm].image_format is None else WRONG
            for place, each in enumerate(made[:-1] if endings[run.name][0] == "valid" else made):
                made[place] = replace(each, log_cost=each.log_cost + wrong)

    def _session(self, number: int, runs: Sequence[Run], stop: str = "") -> None:
        """Go through the runs as the runner does; it is killed in the run `stop`."""
        for _, group in groupby(runs, key=lambda run: run.case):
            # A kill comes in a first session, in which every arm is there.
            can = [run for run in group if stop or run.arm != self.absent]
            if not self._is_settled(can):
                for run in can:
                    self._make(run, number, stop)

    def _is_settled(self, runs: Sequence[Run]) -> bool:
        """Whether nothing of a case has to be made any more (measure/progress.py)."""
        sessions = set()
        for run in runs:
            if good := self.ended_well(run.name):
                sessions.add(good.session)
            elif self._failures(run.name) < ATTEMPTS:
                return False
        return len(sessions) <= 1

    def _failures(self, run: str) -> int:
        return sum(attempt.ending in FAILING for attempt in self.attempts.get(run, ()))

    def _make(self, run: Run, session: int, stop: str) -> None:
        """Attempts of one run until one ends well or enough have failed."""
        made = self.attempts.setdefault(run.name, [])
        noise, random = self.campaign.noise, self.random
        while self._failures(run.name) < ATTEMPTS:
            ending = INTERRUPTED if run.name == stop else self._drawn_ending()
            cost = self.costs[run.name] + random.normal(0, noise.run)
            if noise.outlier_share and random.random() < noise.outlier_share:
                cost += random.exponential(noise.outlier_size)
            told = (len(made) + 1, session, ending, float(cost), self.clock)
            made.append(Attempt(run.case, run.arm, *told))
            self.clock += MINUTES_PER_RUN
            if ending not in FAILING:
                return

    def _drawn_ending(self) -> str:
        misfortune, at = self.campaign.misfortune, self.random.random()
        if at < misfortune.failing:
            return FAILING[int(self.random.integers(len(FAILING)))]
        at -= misfortune.failing
        if at < misfortune.truncated:
            return TRUNCATED
        return OTHER_WORK if at < misfortune.truncated + misfortune.other_work else GOOD

    def ended_well(self, run: str) -> Attempt | None:
        """The last attempt of a run, if it ended well."""
        made = self.attempts.get(run)
        return made[-1] if made and made[-1].ending in ENDED_WELL else None

    def endings(self) -> dict[str, tuple[str, str]]:
        """Stage and reason that the records must give each run; a valid one has no reason."""
        good = {run.name: self.ended_well(run.name) for run in self.runs}
        # The newest session in which each case ended well.
        ended = sorted(filter(None, good.values()), key=lambda made: made.session)
        newest, endings = {made.case: made.session for made in ended}, {}
        for run in self.runs:
            attempt = good[run.name]
            if attempt is None and run.arm == self.absent:
                endings[run.name] = "planned", f"{NOT_STARTED.reason}: {NOT_STARTED.detail}"
            elif attempt is None:
                why = self.attempts[run.name][-1].ending
                told = ": exit status 1" if why == "exit-status" else ""
                endings[run.name] = "ran", f"{why}{told}"
            elif attempt.session < newest[run.case]:
                endings[run.name] = "ran", "other-session"
            else:
                is_good = attempt.ending == GOOD
                endings[run.name] = ("valid", "") if is_good else ("parsed", attempt.ending)
        return endings


class Planted(NamedTuple):
    """A study on disk, its blocks' folders, and stage and reason of every run, by block and run."""

    plan: Plan
    folders: tuple[Path, ...]
    endings: Mapping[tuple[str, str], tuple[str, str]]


def plant(campaign: Campaign, folder: Path, seed: int) -> Planted:
    """Write the raw logs of a campaign below a folder; the same seed, the same logs."""
    random, plan = np.random.default_rng(seed), campaign.plan(seed)
    costs, nodes = _shared_costs(campaign, plan.blocks, random)
    folders: list[Path] = []
    endings: dict[tuple[str, str], tuple[str, str]] = {}
    for number, block in enumerate(plan.blocks):
        if random.random() < campaign.misfortune.lost:
            endings |= {(block.name, run.name): ("planned", "not-run") for run in block.runs}
            continue
        begin, node = float(number * MINUTES_PER_BLOCK), f"node-{nodes[number]}"
        made = SimulatedBlock(campaign, block.runs, node, costs[number], random, begin)
        made.simulate()
        endings |= {(block.name, run): end for run, end in made.endings().items()}
        folders.append(folder / block.name)
        for run in block.runs:
            case = plan.case_in(plan.case(run.case), run.arm)
            for attempt in made.attempts.get(run.name, ()):
                place = folders[-1] / f"runs/{run.name}/attempt-{attempt.number}"
                _write_attempt(campaign.printer, case, attempt, place)
        _write_block(made, plan, block, begin, folders[-1])
    return Planted(plan, tuple(folders), endings)


def _shared_costs(
    campaign: Campaign, blocks: Sequence[Block], random: np.random.Generator
) -> tuple[list[dict[str, float]], list[int]]:
    """The log cost of each planned run before chance, by block, and each block's node from 0."""
    noise = campaign.noise
    of_node = random.normal(0, noise.node, noise.nodes)
    nodes = [int(node) for node in random.integers(0, noise.nodes, len(blocks))]
    costs = []
    for number, block in enumerate(blocks):
        level = of_node[nodes[number]] + random.normal(0, noise.block)
        level += noise.campaign * number / len(blocks)
        of_run, before = {}, None
        for position, run in enumerate(block.runs):
            order = noise.block_drift * position + noise.first * (run.case != before)
            cost = np.log(campaign.ratios.get(run.arm, 1.0))
            of_run[run.name] = float(level + order + cost)
            before = run.case
        costs.append(of_run)
    return costs, nodes


def _write_block(
    made: SimulatedBlock, plan: Plan, block: Block, begin: float, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts, campaign = {"hostname": made.node, **FACTS}, made.campaign
    path = campaign.printer.benchmark.binaries[0]
    for number in range(1, made.sessions + 1):
        absent = made.absent if number == made.sessions else ""
        start = documents.SessionStart(
            started=at(begin), program=PROGRAM, system=SYSTEM, scale_label="vm", allocation={},
            node_name=made.node, facts=facts, busy_fraction=0.0, other_nodes=(),
            arms={arm: _state(arm, arm == absent) for arm in campaign.all_arms},
            binaries=tuple(
                documents.Binary(arm=arm, benchmark=campaign.benchmark, path=path, **BUILT)
                for arm in campaign.all_arms if arm != absent
            ),
        )  # fmt: skip
        write(folder / f"session-{number}-start.json", start)
    end = documents.SessionEnd(ended=at(begin + MINUTES_PER_BLOCK), busy_fraction=0.0, facts=facts)
    write(folder / f"session-{made.sessions}-end.json", end)
    record = documents.BlockRecord(
        campaign=plan.campaign, name=block.name, number=block.number, runs=block.runs,
        sessions=documents.read_sessions(folder),
        not_started={run.name: NOT_STARTED for run in block.runs if run.arm == made.absent},
    )  # fmt: skip
    write(folder / documents.BLOCK.file, record)


def _state(arm: str, is_absent: bool = False) -> documents.ArmState:
    """What the session finds out about an arm."""
    image_format, image = arms()[arm].image_format, None
    if image_format is not None:
        known = image_records()[image_format]
        image = Image(image_format, known.location, known.digest)
    return documents.ArmState(
        image=image, recipe=RECIPE if image else "", gate=documents.Gate("image", True),
        version="planted 1.0", reason=NOT_STARTED.reason if is_absent else "",
        detail=NOT_STARTED.detail if is_absent else "",
    )  # fmt: skip


def _write_attempt(printer: Printer, case: Case, attempt: Attempt, folder: Path) -> None:
    state, ending, parameters = folder / "state", attempt.ending, case.parameters
    state.mkdir(parents=True)
    started, name, arm = at(attempt.minutes), f"parity-1-1-{attempt.number}", arms()[attempt.arm]
    begun = documents.Started(name=name, arm=attempt.arm, ranks=0, started=started)
    write(folder / documents.STARTED.file, begun)
    program, stdout, stderr = printer.benchmark.program(parameters, NODE), "", ""
    if ending != "not-started":
        more = printer.counter, parameters[printer.counter] + (ending == OTHER_WORK)
        stdout = printer.text({**parameters, more[0]: more[1]}, attempt.log_cost)
        stdout = stdout[: len(stdout) * 9 // 10] if ending in CUT_OFF else stdout
        stderr = _witness(arm, program.cpus, ending == "gate-where")
    (folder / "stdout").write_text(stdout, encoding="utf-8")
    (folder / "stderr").write_text(stderr, encoding="utf-8")
    if ending == INTERRUPTED:
        return
    session = Session(
        number=attempt.session, node=NODE, allocation=Allocation((HOST,)), states={},
        namespaces={HOST: _HOST}, benchmarks={}, block_gates=(documents.Gate("quiet", True),),
        system=System(SYSTEM, "vm", "bootstrap", 1.0, 0.0, MAX_STEAL),
    )  # fmt: skip
    order = Order(
        run=f"{attempt.case}.{attempt.arm}", case=case, arm=arm, state=_state(attempt.arm),
        program=program, session=session,
    )  # fmt: skip
    launch = Launch(name, order.state.image, SCRATCH, state, host=HOST)
    command = arm.command(launch, inner_command.witnessed(program))
    made = measured.Attempt(order, launch, folder, started=started, load=0.1)
    if ending == "not-started":
        made.error = f"cannot start {command[0]}: planted"
    else:
        # How it ended, and the outer clock.
        seconds = printer.values(parameters, attempt.log_cost)["seconds"]
        codes = {"exit-status": 1, "signal": -9, "timeout": -9}
        made.commands, made.finished = [command], [Finished(
            exit_code=codes.get(ending, 0), wall_seconds=seconds + 0.05, user_seconds=seconds,
            system_seconds=0.01, timed_out=ending == "timeout",
        )]  # fmt: skip
    made.steal = 0.5 if ending == "gate-steal" else 0.001
    write(folder / documents.RECORD.file, record(made, stderr))


def _witness(arm: Arm, cpus: tuple[int, ...], elsewhere: bool) -> str:
    """What the witness says; `elsewhere` if the process is not where its arm says."""
    contained = arm.image_format is not None
    inodes = {name: (_INSIDE if name in arm.isolates else _HOST)[name] for name in NAMESPACES}
    lines = [
        f"marker={RECIPE if contained != elsewhere else ''}", "hostname=planted",
        *(f"namespace./proc/self/ns/{name}={inode}" for name, inode in inodes.items()),
        "NoNewPrivs:=0", "Seccomp:=0", f"Cpus_allowed_list:={','.join(map(str, cpus))}",
        f"root={arm.root_filesystem or 'ext4'},rw,relatime",
    ]  # fmt: skip
    return "".join(f"{inner_command.EVIDENCE}{line}\n" for line in lines)


def at(minutes: float) -> str:
    """The time so many minutes after the study began, UTC, ISO 8601."""
    return (BEGINNING + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


def write(path: Path, document: Document) -> None:
    """JSON with the runner's content, without its line breaks and without waiting for the disk."""
    path.write_text(canonical(document), encoding="utf-8")


def image_records() -> dict[str, ImageRecord]:
    return {
        name: ImageRecord(
            name, digest=f"sha256:{sha256(name)}", parent=parent,
            parent_digest=f"sha256:{sha256(parent)}" if parent else "", bytes=100_000_000,
            seconds=1.0, tool="planted 1.0", location=f"/images/{name}", recipe=RECIPE,
        )
        for name, parent in zip(FORMATS, ("", "oci", "directory", "oci"), strict=True)
    }  # fmt: skip
