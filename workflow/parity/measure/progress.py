"""What runs have behind them: what they left, whether they are good, how far their block is."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from parity.benchmarks.model import Outputs
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.measure import places
from parity.measure.documents import BLOCK, PROGRESS, RECORD, BlockProgress, RunRecord
from parity.measure.inner_command import without_evidence
from parity.measure.node import sizes
from parity.plan.looks import PAUSE, stage_of
from parity.plan.plan import Block, Case, Plan
from parity.runtimes import every_arm

# Reasons of the block as a whole: another try at once mends none, and no run is to blame.
OF_THE_BLOCK = ("gate-quiet", "gate-image")
INTERRUPTED = "interrupted"  # an attempt that left no record
LIMIT_REFUSED = "limit-refused"  # the kernel or the runtime does not, and never will, take it
Attempts = Sequence[RunRecord | None]  # of a run, first to last; None for an interrupted one


def attempts_of(run_folder: Path) -> list[RunRecord | None]:
    """What became of a run's attempts; raises UserError."""
    made = places.attempts(run_folder)
    return [RECORD.read_in(folder) if RECORD.is_in(folder) else None for folder in made]


def good_record(attempts: Attempts) -> RunRecord | None:
    """The record by which a run is good: its last attempt's, if that ended well."""
    # One that was interrupted was begun because those before it did not count any more.
    last = attempts[-1] if attempts else None
    return last if last and not last.reason else None


def last_reason(attempts: Attempts) -> str:
    """Why a run that was started is not good; empty if it is."""
    return attempts[-1].reason if attempts[-1] else INTERRUPTED


def failures(attempts: Attempts) -> int:
    """Attempts that are held against the run."""
    reasons = [attempt.reason for attempt in attempts if attempt]
    return sum(bool(reason) and reason not in OF_THE_BLOCK for reason in reasons)


def left_in(attempt: Path) -> dict[str, Any]:
    """What an attempt left in its folder, by the columns of the table RAW (records/tables.yaml)."""
    record, stdout, stderr, samples = (
        path.read_bytes() if (path := attempt / name).exists() else b""
        for name in (RECORD.file, "stdout", "stderr", "samples.jsonl")
    )
    files = {path.name: as_text(path.read_bytes()) for path in (attempt / "files").glob("*")}
    return {
        "record": record.decode(), "stdout": stdout, "stderr": stderr,
        "files": json.dumps(files, sort_keys=True), "samples": samples.decode(),
    }  # fmt: skip


def outputs_of(
    case: Case, arm: str, left: Mapping[str, Any], record: RunRecord, facts: Mapping[str, str]
) -> Outputs:
    """What an attempt left (`left_in`), as parsers see it; the case is as the arm runs it.

    `facts`: of the first node, before its session.
    """
    return Outputs(
        stdout=left["stdout"].decode("utf-8", "replace"),
        # What ours said there is for no pattern of a program.
        stderr=without_evidence(left["stderr"]).decode("utf-8", "replace"),
        files=json.loads(left["files"]), wall_seconds=record.starts_wall_seconds,
        cpu_seconds=(record.user_seconds or 0.0) + (record.system_seconds or 0.0),
        command=record.last_command, parameters=case.parameters,
        samples=tuple(map(msgspec.json.decode, left["samples"].splitlines())),
        limit=known.limit.seen_inside if (known := every_arm().get(arm)) else {}, **sizes(facts),
    )  # fmt: skip


def case_is_settled(runs: Mapping[Path, str], most_failures: int) -> bool:
    """Whether nothing of a case has to be made any more.

    Arms are compared within a block, so all good runs of a case must come from one session: the
    same boot, the same node, one after the other. What a killed runner left half-made, or was made
    from another image, is made anew; earlier attempts stay. `runs`: the folder of each run that can
    be made now, with its image's digest. `most_failures`: how many of its attempts may fail in all.
    """
    sessions = set()
    for folder, digest in runs.items():
        attempts = attempts_of(folder)
        if (good := good_record(attempts)) and good.image_digest == digest:
            sessions.add(good.session)
            continue
        # One that was refused once is refused again.
        refused = attempts and last_reason(attempts) == LIMIT_REFUSED
        if failures(attempts) < most_failures and not refused:
            return False
    return len(sessions) <= 1


_RENEWED = "\r\x1b[K"  # To the begin of a line, and away with it.


def begin(block: Block, folder: Path) -> None:
    """Start a session's count, with nothing counted yet but the time that earlier sessions took."""
    # It counts again what is settled, each run under its name, so none is ever counted twice.
    before, now = _kept(folder), places.now()
    seconds, waited = (before.seconds, before.waited) if before else (0.0, 0.0)
    PROGRESS.write_in(folder, BlockProgress(
        block=block.name, runs=len(block.runs), started=before.started if before else now,
        session_started=now, updated=now, seconds=seconds, seconds_before=seconds, waited=waited,
        runs_ended={}, runs_not_started={},
    ))  # fmt: skip


def leave_out(waited: float, folder: Path) -> None:
    """Take seconds of waiting out of what the session of a block has measured."""
    before = PROGRESS.read_in(folder)
    after = datetime.fromisoformat(before.session_started) + timedelta(seconds=waited)
    started = after.isoformat(timespec="milliseconds")
    changed = replace(before, session_started=started, waited=before.waited + waited)
    PROGRESS.write_in(folder, changed)


def count(run: str, reason: str, was_started: bool, folder: Path) -> None:
    """Add one run of the block that was begun; `reason` is empty if it ended well."""
    kind, before = "runs_ended" if was_started else "runs_not_started", PROGRESS.read_in(folder)
    renew(folder, **{kind: getattr(before, kind) | {run: reason}})


def renew(folder: Path, **changed: Any) -> None:
    """Count the time of the session until now, with these changes."""
    before, now = PROGRESS.read_in(folder), places.now()
    seconds = before.seconds_before + _seconds_between(before.session_started, now)
    PROGRESS.write_in(folder, replace(before, updated=now, seconds=round(seconds, 3), **changed))


def show(line: str) -> None:
    """Tell of a run: in the log, and on a terminal in place of what was told before."""
    print(line, file=sys.stderr, flush=True)
    if sys.stdout.isatty():
        print(f"{_RENEWED}{line[: shutil.get_terminal_size().columns - 1]}", end="\r", flush=True)


def clear() -> None:
    """Leave nothing of `show` on a terminal."""
    if sys.stdout.isatty():
        print(_RENEWED, end="", flush=True)


def read(block: Block, folder: Path) -> BlockProgress | None:
    """How far a block is, None if it was never begun; UserError: its record is broken."""
    # One that was finished without the file (by an earlier version) is counted from its records.
    return _kept(folder) or (_of_finished(block, folder) if BLOCK.is_in(folder) else None)


def _kept(folder: Path) -> BlockProgress | None:
    """The file's content; None if there is none, or a broken one: nothing else hangs on it."""
    with suppress(UserError):
        return PROGRESS.read_in(folder) if PROGRESS.is_in(folder) else None
    return None


class Lasted(NamedTuple):
    """Seconds of all blocks of a plan that were begun."""

    measured: float
    one_more: float  # as its like of the newest stage: looks stop what is decided
    waited: float  # beside them, for idle nodes


def lasted(plan: Plan, folders: Sequence[Path], following: str = "") -> Lasted:
    """How long blocks lasted, and the `following` one may, if asked; UserError: a broken file."""
    read_of = ((plan.block(folder.name), folder) for folder in folders)
    begun = [(block, kept) for block, folder in read_of if (kept := read(block, folder))]
    alike: dict[int, list[float]] = {0: [0.0]}
    for block, kept in begun:
        if following and plan.is_pair(block) == plan.is_pair(plan.block(following)):
            alike.setdefault(1 + stage_of(plan, block.number), []).append(kept.seconds)
    return Lasted(
        sum(kept.seconds for _, kept in begun), fmean(alike[max(alike)]),
        sum(kept.waited for _, kept in begun),
    )  # fmt: skip


class Told:
    """Says how far a plan's minutes are, each tenth of them once, and what went beside them."""

    def __init__(self, plan: Plan, folders: Sequence[Path]) -> None:  # folders of all its blocks
        self._plan, self._folders, self._tenth, self._waited = plan, folders, 0, 0.0

    def before(self) -> None:
        """Advise who goes on after a pause that makes two sessions of one campaign."""
        updated = [read(self._plan.block(folder.name), folder) for folder in self._folders]
        last = max((each.updated for each in updated if each), default=places.now())
        if datetime.fromisoformat(last) + PAUSE < datetime.fromisoformat(places.now()):
            print(f"the blocks so far ended at {last[:16]} UTC, so these are of another session:"
                  " where two differ nothing is concluded; a study of another name has one alone",
                  flush=True)  # fmt: skip

    def after(self, name: str, is_last: bool) -> None:
        """Say it after a block; after the last one of a batch the workflow tells how far it is."""
        if self._plan.minutes is None:
            return
        spent = lasted(self._plan, self._folders)
        measured, waited = spent.measured / 60, spent.waited / 60
        tenth = int(10 * measured / self._plan.minutes)
        if self._tenth < tenth and not is_last:
            self._tenth, left = tenth, max(0.0, self._plan.minutes - measured)
            said = f"{measured:.1f} of {self._plan.minutes:g} min, about {left:.1f} min left"
            print(f"block {self._plan.block(name).number}: {said}", flush=True)
        if waited > max(self._waited, measured):
            self._waited = 2 * waited
            print(f"{waited:.1f} of {measured + waited:.1f} min went into waiting for an idle node,"
                  " and none of the minutes", flush=True)  # fmt: skip


def _of_finished(block: Block, folder: Path) -> BlockProgress | None:
    finished = BLOCK.read_in(folder)
    not_started = {run: why.reason for run, why in finished.not_started.items()}
    attempts = {run.name: attempts_of(folder / "runs" / run.name) for run in block.runs}
    spans = [(each.start.started, each.end.ended) for each in finished.sessions if each.end]
    if not spans:  # all of it was stopped before it began
        return None
    each = [_seconds_between(*span) for span in spans]
    return BlockProgress(
        block=block.name, runs=len(block.runs), started=spans[0][0], session_started=spans[-1][0],
        updated=spans[-1][1], seconds=sum(each), seconds_before=sum(each[:-1]),
        runs_ended={r: last_reason(a) for r, a in attempts.items() if a and r not in not_started},
        runs_not_started=not_started,
    )  # fmt: skip


def _seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
