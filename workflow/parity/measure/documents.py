"""What measuring leaves on disk, each document with every shape that it has had.

A block's folder holds for every session of the runner what it found on the nodes
(`session-<n>-start.json`, `-end.json`), for every attempt what was started (started.json) and what
became of it (record.json), how far the block is (progress.json), and at last all (block.json).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from msgspec import field

from parity.benchmarks.model import NodeFacts
from parity.core.documents import Content, Document, Format, adding, in_parts, said_from_2_on
from parity.core.errors import UserError
from parity.plan.plan import Run
from parity.runtimes.model import Image
from parity.software.binaries import ProgramFile
from parity.software.images import ImageRecord


class Gate(Document, frozen=True, kw_only=False):
    """The outcome of one gate; the reason code of a failure is `gate-` and its name."""

    name: str
    passed: bool
    detail: str = ""  # what was expected and what was seen, when it did not hold

    @property
    def failure(self) -> tuple[str, str]:
        """Reason code and detail; two empty texts if it held."""
        return ("", "") if self.passed else (f"gate-{self.name}", self.detail)


class Started(Document, frozen=True, kw_only=True):
    """What an attempt started: written first, so that what a killed runner left is known."""

    version: int = 2
    name: str  # of the container; with ranks it holds a placeholder for the rank's number
    arm: str
    ranks: int  # 0 for a program that is started once
    services: tuple[str, ...] = ()  # of the servers beside it, which may have containers, too
    started: str  # UTC, ISO 8601, as every time in these documents


class RunRecord(Document, frozen=True, kw_only=True):
    """What became of one attempt: record.json.

    `starts_wall_seconds`: of each timed start, of ranks their own time, if they tell it; the three
    sums are with their launcher's, and None without any start. `evidence`: of the (first) witness,
    with what a launcher of ranks took, and what a network of containers said of itself and counted.
    `ranks`: of each rank in turn what its witness said otherwise than the one before, None for what
    it did not say. Up to version 3 each repeats all of it.
    """

    version: int = 4
    session: int  # number of the runner's session in the block, from 1
    run: str
    case: str
    arm: str
    parameters: dict[str, Any]
    reason: str  # why it does not count; empty if it ended well and its gates held
    detail: str
    exit_code: int | None  # None if it was never started; minus the signal's number after one
    started: str
    starts_wall_seconds: tuple[float, ...]
    wall_seconds: float | None
    user_seconds: float | None
    system_seconds: float | None
    steal_fraction: float  # share of CPU time that the hypervisor took meanwhile, 0 to 1
    load_before: float  # one-minute load average just before
    commands: tuple[tuple[str, ...], ...]  # each once, last that of the timed starts, or the check
    environment: dict[str, str]  # of the program; empty if it was timed without one of ours
    environment_sha256: str
    evidence: dict[str, str]
    ranks: tuple[dict[str, str | None], ...]
    image_digest: str  # empty outside of any container
    gates: tuple[Gate, ...]

    @property
    def last_command(self) -> tuple[str, ...]:
        """The command line of the timed starts; empty if there was none."""
        return self.commands[-1] if self.commands else ()


class ArmState(Document, frozen=True, kw_only=True):
    """What a node found out about an arm before its first run."""

    image: Image | None  # None outside of any container, or where there is none
    recipe: str  # what the marker in the image says
    gate: Gate = field(name="image_gate")  # whether the image is the one the digest chain ends in
    reason: str  # why the arm cannot be used here; empty if it can
    detail: str
    version: str  # what the runtime says of itself

    @property
    def obstacle(self) -> tuple[str, str]:
        """Reason code and detail of why no run can be started; two empty texts if one can."""
        return (self.reason, self.detail) if self.gate.passed else self.gate.failure

    @property
    def image_digest(self) -> str:
        """Of the image that its runs are made from; empty without one."""
        return self.image.digest if self.image else ""


class Binary(ProgramFile, frozen=True, kw_only=True):
    """An executable of a benchmark inside an arm; with empty hashes if it is not there."""

    arm: str
    benchmark: str


class NodeState(Document, frozen=True, kw_only=True):
    """What a node said of itself before a block."""

    node_name: str
    facts: dict[str, str] = field(name="node")  # by name, as texts (`measure.node.facts`)
    busy_fraction: float  # share of CPU time that others used just before, 0 to 1
    arms: dict[str, ArmState]
    binaries: tuple[Binary, ...]  # of every arm that could be asked


class NodeAnswer(Document, frozen=True, kw_only=True):
    """What a node answers to a question; its state is kept with the block."""

    version: int = 1
    state: NodeState
    taken_by: str  # what kept the node busy to the end, in words; empty if it was idle
    waited_seconds: float = 0.0  # until it was idle
    size: NodeFacts  # what benchmarks size themselves by; its hosts and launcher are not filled in
    namespaces: dict[str, str]  # the runner's own there, name to inode


class Question(Document, frozen=True, kw_only=True):
    """What a node is asked."""

    version: int = 1
    arms: tuple[str, ...]
    binaries: Mapping[str, tuple[str, ...]]  # absolute paths of those to identify, by benchmark
    needs: Mapping[str, str]  # what is copied to where all arms see it, with the digests, by path
    images: Mapping[str, ImageRecord]  # the records of the image formats, by format
    expected: Mapping[str, str]  # SHA-256 by path of native programs whose build recorded it
    nodes: int  # how many nodes are asked
    max_busy_fraction: float  # up to which a node is idle
    settle_seconds: float  # how long it may take until it is


class ProgramIdentity(Document, frozen=True, kw_only=True):
    """Which state of this program it was (`core.package`)."""

    commit: str
    changed: bool
    package_sha256: str
    lock_sha256: str
    python: str


class SessionStart(NodeState, frozen=True, kw_only=True):
    """What a session of the runner found before anything was timed.

    Of the arms, the states in the whole allocation; the rest is the first node's. `other_nodes`:
    in the allocation's order; of arms and binaries what differs from the first's.
    """

    version: int = 3
    started: str
    program: ProgramIdentity
    system: str
    scale_label: str
    allocation: dict[str, str]  # what the batch system says of the job; empty without one
    other_nodes: tuple[NodeState, ...]


class SessionEnd(Document, frozen=True, kw_only=True):
    """The first node after the block; its busy fraction is None where it was not kept."""

    version: int = 3
    ended: str
    busy_fraction: float | None
    facts: dict[str, str] = field(name="node")


class SessionRecord(Document, frozen=True, kw_only=True):
    """A session of a block, from 1; `end` is None where the runner was killed."""

    number: int
    start: SessionStart
    end: SessionEnd | None


class NotStarted(Document, frozen=True, kw_only=True):
    """Why a run of the plan could not be started."""

    reason: str
    detail: str


class BlockRecord(Document, frozen=True, kw_only=True, rename={"name": "block"}):
    """A finished block: block.json."""

    version: int = 3
    campaign: str
    name: str
    number: int  # counts from 1 among the blocks of its node count
    runs: tuple[Run, ...]  # as planned, in their order
    sessions: tuple[SessionRecord, ...]
    not_started: dict[str, NotStarted]  # by run

    def session(self, number: int) -> SessionRecord:
        """The session of that number; KeyError if the block had none."""
        if found := [session for session in self.sessions if session.number == number]:
            return found[0]
        raise KeyError(f"block {self.name} has no session {number}")


class BlockProgress(Document, frozen=True, kw_only=True):
    """How far a block is: progress.json, renewed after each run."""

    version: int = 2
    block: str
    runs: int  # how many the block has
    started: str  # the block
    session_started: str
    updated: str  # this state
    seconds: float  # measured so far
    seconds_before: float  # measured by earlier sessions
    waited: float = 0.0  # seconds that it was waited for idle nodes, none of which are among those
    runs_ended: dict[str, str]  # with their reason, empty for a good one
    runs_not_started: dict[str, str]  # with their reason

    @property
    def failed(self) -> Counter[str]:
        """How many runs ended badly, by reason."""
        return Counter(filter(None, self.runs_ended.values()))

    @property
    def not_started(self) -> Counter[str]:
        """How many runs could not be started, by reason."""
        return Counter(self.runs_not_started.values())

    @property
    def ok(self) -> int:
        """How many runs ended well."""
        return len(self.runs_ended) - self.failed.total()


class BatchRecord(Document, frozen=True, kw_only=True):
    """A batch that was measured: batches/<batch>.json."""

    version: int = 1
    measured: tuple[str, ...]  # names of the blocks of which there are records
    out_of_time: tuple[str, ...]  # of those not begun, because the campaign's time was over


# Where the blocks of all campaigns lie, and the folder of each campaign that is measured here.
BLOCK_FOLDERS, LIVE = Path("results/blocks"), Path("results/live")
# What a session found before anything was timed, and how the block's first node was after it.
SESSION_START, SESSION_END = "session-{}-start.json", "session-{}-end.json"
NODE_ANSWER = "node-{}.json"  # beside the question


def _start_with_allocation(content: Content) -> Content:
    """1 to 2: one node and no batch system; what an image's marker says was not kept."""

    def with_recipes(arms: Content) -> Content:
        return reduce(lambda all_, name: in_parts(all_, name, adding(recipe="")), arms, arms)

    return in_parts({"allocation": {}, "other_nodes": []} | content, "arms", with_recipes)


_end_with_busy_fraction = adding(busy_fraction=None)  # of the node after the block


def _session_with_both(session: Content) -> Content:
    """What a block's session found is as old as the block."""
    begun = in_parts(session, "start", _start_with_allocation)
    return in_parts(begun, "end", _end_with_busy_fraction)


def _progress_not_counted(content: Content) -> Content:
    """1 to 2: what can be counted from the runs was in the file as well."""
    counts = {"done", "ok", "failed", "not_started", "reasons", "not_started_reasons"}
    return {key: value for key, value in content.items() if key not in counts}


# What says 1 or nothing may be of version 2 already: an upgrade keeps what it finds. From 3 on,
# each document says its version. Before there were launchers, no program had ranks.
RECORD = Format(RunRecord, (adding(ranks=[]), adding(), adding()), said_from_2_on,
                file="record.json")  # fmt: skip
STARTED = Format(Started, (adding(ranks=0),), said_from_2_on, file="started.json")
BLOCK = Format(BlockRecord, (
    lambda block: in_parts(block, "sessions", _session_with_both), adding(),
), file="block.json")  # fmt: skip
PROGRESS = Format(BlockProgress, (_progress_not_counted,), file="progress.json")
BATCH = Format(BatchRecord)
QUESTION = Format(Question, file="question.json")
ANSWER = Format(NodeAnswer)
_START = Format(SessionStart, (_start_with_allocation, adding()), said_from_2_on)
_END = Format(SessionEnd, (_end_with_busy_fraction, adding()), said_from_2_on)


def next_session(block: Path) -> int:
    """The number of a new session of the block in a folder, from 1."""
    return 1 + max((_number(path) for path in block.glob("session-*")), default=0)


def read_sessions(block: Path) -> tuple[SessionRecord, ...]:
    """The sessions of the block in a folder, first to last; raises UserError."""
    return tuple(SessionRecord(
        number=number, start=_START.read(block / SESSION_START.format(number)),
        end=_END.read(end) if (end := block / SESSION_END.format(number)).exists() else None,
    ) for number in sorted(map(_number, block.glob(SESSION_START.format("*")))))  # fmt: skip


def refuse_another_system(block: Path, sessions: Iterable[SessionRecord], system: str) -> None:
    """Refuse (UserError) a block that has sessions of another system; its name would not tell."""
    if others := {session.start.system for session in sessions} - {system}:
        problem = f"the block was measured on {', '.join(sorted(others))}, not on {system}"
        action = "use a clone for each system, or move results/ away"
        raise UserError(problem, where=str(block), action=action)


def _number(path: Path) -> int:
    return int(path.name.split("-")[1])
