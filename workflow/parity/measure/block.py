"""Runs a batch: its blocks, every run of each once, in the plan's order; resumes what was begun."""

import dataclasses
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from parity.benchmarks.model import Program
from parity.benchmarks.own_program import WALL
from parity.core.commands import answer_of
from parity.core.errors import UserError
from parity.measure import documents, places, progress
from parity.measure import session as sessions
from parity.measure.attempt import ArmLost, Order, make_attempt
from parity.measure.inner_command import clean_up, on_each_node
from parity.measure.session import Session, begin_session, begun, end_session, this_allocation
from parity.measure.side_by_side import clocked, make_pair, make_ready, refusal
from parity.plan.looks import Batch, Stop, is_stopped
from parity.plan.plan import EITHER, Block, Case, Plan, Run
from parity.plan.system import System
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, SPREAD, UNBOUND, Arm, Launch
from parity.software.images import ImageRecord

OF_OTHERS = ("gate-", progress.INTERRUPTED)  # for which a run may fail in one block alone
STARTS = 10  # so many of them at least should a run last whose wall clock counts
Asked = dict[Run, Order | documents.NotStarted]


def run_block(
    plan: Plan, block_name: str, images: Mapping[str, ImageRecord], expected: Mapping[str, str],
    system: System, folder: Path, stops: Mapping[tuple[str, str], Stop] = MappingProxyType({}),
    checked: Session | None = None,
) -> Session | None:  # fmt: skip
    """Run a block in `folder`, which keeps every attempt ever made; write its record last.

    Raises UserError: the working folder is not ours, or we stand in it; the allocation is not the
    block's, or was lost on the way; a file of the block is broken; blocks of this plan were
    measured on another system. Returns its session; None if there was nothing to run. `images`:
    their records by format. `expected`: SHA-256 by path of native programs whose build recorded it.
    `stops`: what is not measured any more, by case and arm; a block of which nothing is left is
    only written down. `checked`: the session of the block before it in this process, if any.
    """
    block = plan.block(block_name)
    folder.mkdir(parents=True, exist_ok=True)
    places.make_places(SCRATCH)
    if Path.cwd().is_relative_to(SCRATCH):
        problem = f"the study lies in {SCRATCH}, where measured programs work and are ended"
        raise UserError(problem, action="move the clone to another folder")
    for each, before in begun(plan, folder).items():
        documents.refuse_another_system(each, before, system.name)
    allocation = this_allocation(system, block.nodes)
    # A killed workflow's jobs go on; the next one's wait for them here, and find the block done.
    was_finished = documents.BLOCK.is_in(folder)
    with places.only_one(folder, "another job that runs this block"):
        if documents.BLOCK.is_in(folder) and not was_finished:
            return checked
        with places.only_one(SCRATCH, "another measurement on this node"):
            end_interrupted(folder)
            progress.begin(block, folder)
            not_started = {
                run.name: documents.NotStarted(reason=stop.reason, detail=stop.detail)
                for run in block.runs
                # Of a pair there is no run without the other.
                for stop in (stops.get((r.case, r.arm)) for r in block.runs if r.case == run.case)
                if stop and (plan.in_pairs(run.case) or stop.arm == run.arm)
            }
            if len(not_started) < len(block.runs) and (why := _no_pairs(plan, block)):
                lacks = documents.NotStarted(reason="not-tested", detail=why)
                not_started = {run.name: lacks for run in block.runs} | not_started
            for name, stopped in not_started.items():
                progress.count(name, stopped.reason, False, folder)
            left = replace(block, runs=[run for run in block.runs if run.name not in not_started])
            session = None
            if left.runs:
                session = begin_session(plan, images, expected, system, allocation, folder, checked)
                waited = max((each.waited_seconds for each in session.answers), default=0.0)
                progress.leave_out(waited, folder)
                if not checked:
                    sessions.tell_what_lacks(session, plan)
                not_started |= BlockRun(plan, left, session, folder).make_all_runs()
                end_session(session, folder)
                progress.renew(folder)
            documents.BLOCK.write_in(folder, documents.BlockRecord(
                campaign=plan.campaign, name=block.name, number=block.number, runs=block.runs,
                sessions=documents.read_sessions(folder), not_started=not_started,
            ))  # fmt: skip
            return session


def _no_pairs(plan: Plan, block: Block) -> str:
    """Why a block's pairs, if any, cannot be made; UserError if the study is of nothing else."""
    if plan.is_pair(block):
        try:
            make_ready(plan.design == EITHER)
        except UserError as refused:
            if plan.is_paired:
                raise
            return refused.what
    return ""


def end_interrupted(folder: Path) -> None:
    """End what a killed runner left on this node, and remove its containers: the node is ours."""
    for attempt in sorted(folder.glob("runs/*/attempt-*")):
        if documents.RECORD.is_in(attempt) or not documents.STARTED.is_in(attempt):
            continue
        # First who may be making the container just now, which would be there after its removal.
        places.end_processes_in(places.WORK)
        left = documents.STARTED.read_in(attempt)
        if arm := every_arm().get(left.arm):
            launch = Launch(left.name, None, SCRATCH, (attempt / "state").resolve())
            clean_up(arm, launch, left.ranks)
            arm.cleanup(*(launch.beside(name) for name in left.services))


@dataclass(frozen=True)
class BlockRun:
    """A block that a session makes the runs of, in its folder."""

    plan: Plan
    block: Block
    session: Session
    folder: Path

    def make_all_runs(self) -> dict[str, documents.NotStarted]:
        """Make every run that is not settled; why those that cannot be started cannot."""
        not_started, is_pair = dict[str, documents.NotStarted](), self.plan.is_pair(self.block)
        try:
            for case, runs in groupby(self.block.runs, key=lambda run: run.case):
                asked = {run: self.order(self.plan.case(case), run) for run in runs}
                if is_pair:
                    asked = _whole(asked)
                orders = {run: each for run, each in asked.items() if isinstance(each, Order)}
                now = {self.folder / "runs" / o.run: o.state.image_digest for o in orders.values()}
                settled = progress.case_is_settled(now, self.plan.attempts)
                for together in [[*asked]] if is_pair else [[run] for run in asked]:
                    if not settled and (possible := [orders[r] for r in together if r in orders]):
                        self._attempt_until_settled(*possible)
                    for run in together:
                        if isinstance(why := asked[run], documents.NotStarted):
                            not_started[run.name] = why
                        self._show(run, not_started.get(run.name))
        finally:
            progress.clear()
        return not_started

    def order(self, case: Case, run: Run) -> Order | documents.NotStarted:
        """What attempts of a run of the case are to do, or why none can be made here."""
        arm, state = every_arm()[run.arm], self.session.states[run.arm]
        of_arm, (reason, detail) = self.plan.case_in(case, run.arm), state.obstacle
        try:
            is_pair = self.plan.is_pair(self.block)
            program = _program(of_arm, arm, self.plan.provider, self.session, is_pair)
            if not reason and (why := sessions.lacking(self.session, self.plan, case, run.arm)):
                raise UserError(why)
        except UserError as error:
            # Also where this node is too small for the case; the other cases still run.
            return documents.NotStarted(reason="not-tested", detail=error.what)
        if reason:
            return documents.NotStarted(reason=reason, detail=detail)
        return Order(run.name, of_arm, arm, state, program, self.session)

    def _attempt_until_settled(self, *orders: Order) -> None:
        """Attempts of a run, or of a pair of runs, until they are good or tried often enough."""
        folders = [self.folder / "runs" / order.run for order in orders]
        while all(progress.failures(progress.attempts_of(f)) < self.plan.attempts for f in folders):
            attempts = [places.new_attempt(folder) for folder in folders]
            try:
                if self.plan.is_pair(self.block):
                    records = make_pair(orders, attempts, self.plan.design == EITHER)
                else:
                    records = [make_attempt(orders[0], attempts[0])]
            except ArmLost as error:
                arms = " and ".join(order.arm.name for order in orders)
                problem = f"{arms} worked when this block began, and does not any more"
                action = f"put its image back, or mend the runtime, and {places.GO_ON}"
                raise UserError(problem, where=str(error), action=action) from None
            ends = ("", *progress.OF_THE_BLOCK, progress.LIMIT_REFUSED)
            if all(record.reason in ends for record in records):
                return

    def _show(self, run: Run, why: documents.NotStarted | None) -> None:
        """One line of progress: how the run ended, or why it did not start; and count it."""
        if why:
            reason = said = why.reason
        else:
            attempts = progress.attempts_of(self.folder / "runs" / run.name)
            reason, good = progress.last_reason(attempts), progress.good_record(attempts)
            said = f"{good.wall_seconds:.2f} s" if good else reason
        progress.count(run.name, reason, why is None, self.folder)
        place = f"{1 + self.block.runs.index(run):>3}/{len(self.block.runs)}"
        progress.show(f"{self.block.name}  {place}  {run.name:<28} {said}")


def _whole(pair: Asked) -> Asked:
    """The orders of a pair; where one run cannot be started, or is stopped, nor is the other."""
    lacking = {run: why for run, why in pair.items() if isinstance(why, documents.NotStarted)}
    for run, why in lacking.items():
        beside = replace(why, detail=f"side by side with {run.arm}: {why.detail}")
        return {each: lacking.get(each, beside) for each in pair}
    return pair


def _program(case: Case, arm: Arm, provider: str, session: Session, paired: bool) -> Program:
    presence, node = session.benchmarks[case.benchmark], session.node
    if not presence.available:
        raise UserError(f"{case.benchmark}: {presence.reason}; {presence.remedy}".rstrip("; "))
    provided = case.definition.provided_by(provider)
    program = places.staged_program(provided.program(case.parameters, node), provided.needs)
    nothing = places.tool(session.tools, "/bin/true")
    cpus = arm.placed(program.cpus, node.cpus).program
    program = dataclasses.replace(program, argv=program.argv or nothing, cpus=cpus)
    if arm.placement == UNBOUND:
        program = dataclasses.replace(program, cpus=node.cpus, is_bound=False)
    free, least = shutil.disk_usage(SCRATCH).free, program.least_free_bytes
    refused = ""
    if arm.placement == SPREAD and program.nodes != program.ranks:
        refused = "one rank on each node needs as many nodes as ranks"
    elif arm.placement == UNBOUND and not program.ranks:
        refused = "only ranks that a launcher starts are left unbound"
    elif program.ranks and not program.containers and not session.system.launcher:
        refused = "the system's file names no MPI launcher"
    elif of_arm := arm.refusal(program.ranks, program.containers):
        refused = of_arm
    elif paired and (of_pair := refusal(program, arm)):
        refused = of_pair
    elif program.drop_caches and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        refused = "dropping the page cache needs root"
    elif free < least:
        refused = f"{SCRATCH} has {free} bytes free, and {least} are needed"
    if refused := refused or program.beside.refusal(arm.isolates, program.ranks):
        raise UserError(refused)
    return program if paired else clocked(program, arm)


def run_batch(
    plan: Plan, batch: Batch, images: Mapping[str, ImageRecord], expected: Mapping[str, str],
    system: System, blocks: Path, stops: Mapping[tuple[str, str], Stop],
) -> documents.BatchRecord:  # fmt: skip
    """Run the blocks of a batch, each in its own folder below `blocks`; else as `run_block`."""
    # Where that or `_refuse_vain` raises UserError, what is measured by then is kept.
    names, measured, session = [block.name for block in batch.blocks], list[str](), None
    told = progress.Told(plan, [blocks / block.name for block in plan.blocks])
    told.before()
    try:
        for name in names:
            if not (folder := blocks / name).exists() and is_time_over(plan, blocks, name):
                break
            if not is_measured(plan, folder, images):
                given, is_first = (plan, name, images, expected, system, folder), session is None
                made = run_block(*given, stops, checked=session)
                session = made or session
                if made and is_first and (len(names) > 1 or plan.block(name).number == 1):
                    _refuse_vain(plan, folder)
                    if plan.block(name).number == 1:
                        _warn_of_starts(plan, folder)
                told.after(name, is_last=name == names[-1])
            measured.append(name)
    finally:
        if plan.needs:
            places.remove_copies()
            if session and system.launcher and (others := len(session.allocation.hosts)) > 1:
                answer_of(on_each_node(system.launcher, others, ["rm", "-rf", str(places.NEEDS)]))
    out_of_time = tuple(names[len(measured) :])
    return documents.BatchRecord(measured=tuple(measured), out_of_time=out_of_time)


def _refuse_vain(plan: Plan, folder: Path) -> None:
    """Say of the first block that was measured which runs failed; UserError: going on is vain."""
    # It is where no arm could be compared with the reference; of a pair, if that was started.
    record, good, lost = documents.BLOCK.read_in(folder), set(), list[str]()
    for run in record.runs:
        attempts = progress.attempts_of(folder / "runs" / run.name)
        last = record.not_started.get(run.name) or (attempts[-1] if attempts else None)
        reason, detail = (last.reason, last.detail) if last else ("", "")
        if isinstance(last, documents.RunRecord) and not reason:
            reason, detail = _unread(plan, run, last, record, folder)
        # Another block may be without what others do to the node.
        if not last or not reason or reason.startswith(OF_OTHERS) or is_stopped(reason):
            good.add((run.case, run.arm))
            continue
        title = plan.benchmark_titles[plan.case(run.case).benchmark]
        said = f"{reason}: {detail}" if detail else reason
        lost.append(f"{title}, {plan.arm_titles[run.arm]}: {said}")
    # A shorter run is compared with nothing by itself.
    whole = ((case.name, plan.reference) for case in plan.cases)
    there = {case for case, reference in whole if (case, reference) in good}
    arms = {arm for case, arm in good if case in there}
    is_vain = arms <= {*plan.aa_pair}
    if plan.is_pair(plan.block(folder.name)):
        is_vain = not there and not any("not-started" in line for line in lost)
    if lost and is_vain:
        problem = "\n".join(["nothing of this study can be compared", *dict.fromkeys(lost)])
        action = "mend that, and start the same command again"
        raise UserError(problem, where=f"block {record.name}", action=action)
    for line in dict.fromkeys(lost):
        print(f"no run ended well: {line}", flush=True)


def _unread(
    plan: Plan, run: Run, last: documents.RunRecord, record: documents.BlockRecord, folder: Path
) -> tuple[str, str]:
    """Why nobody can read what a program left, such as a pattern that fits nothing; else empty."""
    case = plan.case_in(plan.case(run.case), run.arm)
    left = progress.left_in(places.attempts(folder / "runs" / run.name)[-1])
    facts = record.session(last.session).start.facts
    parsed = case.definition.parse(progress.outputs_of(case, run.arm, left, last, facts))
    return (parsed.reason, parsed.detail) if parsed.reason == "unparsable" else ("", "")


def _warn_of_starts(plan: Plan, folder: Path) -> None:
    """Say of the first block of which wall clocks a start is a large part."""
    made = ((run, progress.attempts_of(folder / "runs" / run.name))
            for run in plan.block(folder.name).runs)  # fmt: skip
    seconds = {(run.case, run.arm): good.wall_seconds for run, attempts in made
               if (good := progress.good_record(attempts))}  # fmt: skip
    alone = [each for each in plan.shorter if not each.share]
    for each in (one for one in alone if WALL in plan.case(one.of).definition.metrics):
        for arm in plan.arms:
            start, whole = seconds.get((each.case.name, arm)), seconds.get((each.of, arm))
            if start and whole and whole < STARTS * start and every_arm()[arm].image_format:
                said = f"a run takes {whole:.2f} s, and a start alone {start:.2f} s"
                print(f"{plan.arm_titles[arm]}: {said}: more work in each run tells more of it",
                      flush=True)  # fmt: skip


def is_measured(plan: Plan, folder: Path, images: Mapping[str, ImageRecord]) -> bool:
    """Whether the block in a folder is finished, with the images (by format) that are here now."""
    if not documents.BLOCK.is_in(folder):
        return False
    record = documents.BLOCK.read_in(folder)
    formats = {run.arm: every_arm()[run.arm].image_format or "" for run in record.runs}
    now = {arm: images[name].digest if name in images else "" for arm, name in formats.items()}
    # A block of which all was stopped has no session, and nothing that an image could change.
    if not record.sessions:
        return True
    then = record.sessions[-1].start.arms
    # An arm that had no runtime then, and has none now, runs from no image.
    return all(
        then[arm].image_digest == digest
        or (then[arm].reason and not then[arm].image and not every_arm()[arm].probe().available)
        for arm, digest in now.items()
    )


def is_time_over(plan: Plan, blocks: Path, following: str) -> bool:
    """Whether one more block, of that name, would end after the plan's time."""
    folders = [blocks / block.name for block in plan.blocks]
    lasted = progress.lasted(plan, folders, following)
    return plan.minutes is not None and lasted.measured + lasted.one_more > 60 * plan.minutes
