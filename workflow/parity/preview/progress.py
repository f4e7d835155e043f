"""How far a campaign is: blocks, runs, and about how long the rest takes.

`python -m parity progress` prints it from the files that the blocks keep, at any time and from any
terminal; without `--plan plan.json` for the campaign that Snakemake last worked on here, or else
for the configured one.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from parity.core.package import configured
from parity.core.settings import load_checked
from parity.measure import progress
from parity.measure.documents import BLOCK, BLOCK_FOLDERS, LIVE
from parity.plan.looks import BESIDE_PROGRAMS_MINUTES
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, Block, Plan, read_plan
from parity.plan.study import load_study
from parity.plan.system import load_system
from parity.preview.terminal import duration

REPORT = "progress.txt"
MOST_BLOCKS_NAMED = 16
States = Sequence["BlockState"]


@dataclass(frozen=True)
class BlockState:
    """How far a block is."""

    block: str
    nodes: int
    runs: int
    finished: bool = False
    ok: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)  # runs by reason, as `not_started`
    not_started: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # how long it has been measured so far, pauses left out; 0 if not begun
    updated: datetime | None = None  # when its last run ended; None if it was never begun

    @property
    def done(self) -> int:
        """Runs that need not be waited for any more."""
        return self.ok + sum(self.failed.values()) + sum(self.not_started.values())


def state_of(block: Block, folder: Path) -> BlockState:
    """The state of a planned block, from its folder."""
    planned = block.name, block.nodes, len(block.runs)
    if (kept := progress.read(block, folder)) is None:
        return BlockState(*planned)
    told, updated = (kept.ok, kept.failed, kept.not_started), datetime.fromisoformat(kept.updated)
    return BlockState(*planned, BLOCK.is_in(folder), *told, kept.seconds, updated)


class KnownStates:
    """The states of a plan's blocks, for who looks again and again.

    A block that is known to be finished is not read again, and one without a folder not at all: a
    look costs what is at work, not what the campaign is. `blocks`: holds the blocks' folders.
    """

    def __init__(self, plan: Plan, blocks: Path) -> None:
        self._blocks, self._finished = blocks, set[str]()
        self._planned = {block.name: block for block in plan.blocks}
        self._states = {b.name: BlockState(b.name, b.nodes, len(b.runs)) for b in plan.blocks}

    def look(self, at_work: Collection[str] = ()) -> list[BlockState]:
        """States in the plan's order; those `at_work` are read even if they were finished."""
        self._finished.difference_update(at_work)
        there = {each.name for each in os.scandir(self._blocks)} if self._blocks.is_dir() else set()
        for name in self._planned.keys() & there - self._finished:
            self._states[name] = state = state_of(self._planned[name], self._blocks / name)
            if state.finished and name not in at_work:
                self._finished.add(name)
        return list(self._states.values())


def at_once(blocks: Iterable[BlockState]) -> float:
    """How many blocks were measured at the same time, on average over the time in use.

    Each block is taken to have ended with its last run and to have lasted without pauses. It is a
    figure that was seen, so it knows of queues, of nodes in short supply, and of virtual nodes that
    measure one after the other.
    """
    known = ((block.updated, block.seconds) for block in blocks if block.seconds > 0)
    spans = sorted((ended - timedelta(seconds=took), ended) for ended, took in known if ended)
    in_use, end = 0.0, datetime.min.replace(tzinfo=UTC)
    for start, stop in spans:
        in_use += max(0.0, (stop - max(start, end)).total_seconds())
        end = max(end, stop)
    total = sum((stop - start).total_seconds() for start, stop in spans)
    return max(1.0, total / in_use) if in_use else 1.0


def estimate(blocks: Sequence[BlockState]) -> tuple[float, float] | None:
    """Seconds until the last block is finished, the least and the most.

    They hold if all blocks to come are like the shortest finished one of their node count, and if
    all are like the longest. None before a block of each node count has finished.
    """
    durations = defaultdict(list)
    for block in blocks:
        if block.finished:
            durations[block.nodes].append(block.seconds)
    to_come, side_by_side = [block for block in blocks if not block.finished], at_once(blocks)
    if any(block.nodes not in durations for block in to_come):
        return None

    def lasts(extreme: Callable[[Iterable[float]], float]) -> float:
        whole = {nodes: extreme(seconds) for nodes, seconds in durations.items()}
        left = [max(0.0, whole[block.nodes] - block.seconds) for block in to_come]
        return max(sum(left) / side_by_side, max(left, default=0.0))

    return lasts(min), lasts(max)


def rest(blocks: States, stopped: Collection[str] = (), minutes: float | None = None) -> str:
    """The estimate in words, but for blocks whose job failed; `minutes`: limit of all together."""
    blocks = [block for block in blocks if block.finished or block.block not in stopped]
    if not any(block.finished for block in blocks):
        return "time to the end: not known before a block is done"
    if (bounds := estimate(blocks)) is None:
        done = {block.nodes for block in blocks if block.finished}
        counts = sorted({block.nodes for block in blocks} - done)
        nodes = f"{' and '.join(map(str, counts))} node{'' if counts == [1] else 's'}"
        return f"time to the end: not known before a block on {nodes} is done"
    if all(block.finished for block in blocks):
        return "the other blocks are done" if stopped else "all blocks are done"
    of_all = ""
    if minutes is not None:
        left = max(0.0, 60 * minutes - sum(block.seconds for block in blocks))
        bounds, of_all = (min(bounds[0], left), min(bounds[1], left)), f" of its {minutes:g} min"
    words = list(dict.fromkeys(duration(seconds) for seconds in bounds))
    return f"about {' to '.join(words)} left{of_all}"


def one_line(blocks: States, stopped: Collection[str] = (), minutes: float | None = None) -> str:
    """The whole campaign in one line; as of `rest`."""
    done, left = sum(block.finished for block in blocks), rest(blocks, stopped, minutes)
    failed, most = f", {len(stopped)} stopped" * bool(stopped), " at most" * (minutes is not None)
    return f"{done}/{len(blocks)} blocks{most} done{failed}; {_runs(blocks)}; {left}"


def progress_lines(
    plan: Plan, blocks: States, now: datetime, stopped: Collection[str] = ()
) -> list[str]:
    """The whole picture; `stopped`: blocks of which Snakemake said that their job failed."""
    done = sum(block.finished for block in blocks)
    begun = [(block, block.updated) for block in blocks if block.updated and not block.finished]
    waiting = len(blocks) - done - len(begun)
    head = f"{plan.campaign}: {done} of {len(blocks)} blocks done, {len(begun)} begun, {waiting}"
    lines = [f"{head} waiting", f"  {_runs(blocks)}", f"  {rest(blocks, stopped, plan.minutes)}"]
    # A run is counted when it is settled, which its time limit and attempts bound.
    longest = max(case.timeout_seconds for case in plan.cases) * plan.attempts
    silent = timedelta(seconds=longest, minutes=BESIDE_PROGRAMS_MINUTES)
    for block, updated in begun[:MOST_BLOCKS_NAMED]:
        age = now - updated
        ended = f"{duration(max(0.0, age.total_seconds()))} ago"
        if block.block in stopped:
            said = f"stopped with an error {ended}"
        elif age > silent:
            said = f"no sign of life since {ended}: probably interrupted"
        else:
            said = f"last sign of life {ended}"
        lines.append(f"  {block.block}  {block.done}/{block.runs} runs, {said}")
    if more := begun[MOST_BLOCKS_NAMED:]:
        lines.append(f"  … and {len(more)} more")
    return lines


def _runs(blocks: Sequence[BlockState]) -> str:
    ok, planned = sum(block.ok for block in blocks), sum(block.runs for block in blocks)
    parts = [f"{ok} ok"]
    for kind in ("failed", "not_started"):
        reasons = sum((Counter(getattr(block, kind)) for block in blocks), Counter[str]())
        if reasons or kind == "failed":
            why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
            parts.append(f"{reasons.total()} {kind.replace('_', ' ')}" + f" ({why})" * bool(why))
    return f"{', '.join(parts)} of {planned} runs"


def _plan_at_work() -> Plan:
    """The plan of the campaign that Snakemake last worked on here, or the configured one."""
    reports = [path for path in LIVE.glob(f"*/{REPORT}") if path.with_name(PLAN).exists()]
    if reports:
        return read_plan(max(reports, key=lambda path: path.stat().st_mtime).with_name(PLAN))
    config = load_checked(configured("config/config.yaml"), "config")
    study, toolchain = configured(config["study"]), Path(config["spack"]["toolchain"]).name
    software = load_system(configured(config["system"])).software
    return make_plan(load_study(study, config["scale"], toolchain, software=software))


def print_progress(path: Path | None) -> None:
    """Print how far a campaign is; `path` is its plan.json, if it is not the one at work."""
    plan = read_plan(path) if path else _plan_at_work()
    states = KnownStates(plan, BLOCK_FOLDERS).look()
    print("\n".join(progress_lines(plan, states, datetime.now(UTC))))
