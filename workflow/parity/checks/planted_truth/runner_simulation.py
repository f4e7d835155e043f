"""What befalls the runner in a block: which attempts it makes, in which session, how they end.

It follows the runner's rules (measure/block.py): a failed run is tried again, a case that a
kill tore apart is made anew as a whole, and the arms that cannot be started are skipped.
What the records must say of each run is known from that alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from parity.checks.planted_truth.campaign import ATTEMPTS, image_of
from parity.checks.planted_truth.planted_effects import Effects, chance
from parity.measure.documents import NotStarted
from parity.plan.plan import Run

# How an attempt can end; of the failing ones the reason code of the real runner.
GOOD, INTERRUPTED = "good", "interrupted"
TRUNCATED, OTHER_WORK = "truncated", "wrong-size"
FAILING = ("not-started", "exit-status", "signal", "timeout", "gate-where", "gate-steal")
# Why a run of an arm that is absent is not started.
NOT_STARTED = NotStarted(reason="not-tested", detail="the daemon is not running")
MINUTES_PER_RUN = 2.0
# What a failed, stopped or left-behind attempt prints is far from the truth, in containers
# the one way and natively the other: a pipeline that counts it is found out.
WRONG = 0.3

# As the runner sees it, which does not read the output.
ENDED_WELL = (GOOD, TRUNCATED, OTHER_WORK)


@dataclass(frozen=True)
class Attempt:
    """One attempt: where it stands in the study, how it ended, and what it cost.

    Attributes:
        number: from 1.
        session: of the runner in the block, from 1.
        minutes: since the study began.
    """

    case: str
    arm: str
    number: int
    session: int
    ending: str
    log_cost: float
    minutes: float


@dataclass
class SimulatedBlock:
    """What became of one block.

    Attributes:
        runs: the planned runs in their order.
        node: name of the node that it was made on.
        begin: minutes since the study began.
        attempts: by run.
        sessions: how many the runner needed.
        absent: the arm that the last session could not start; empty if none.
    """

    runs: Sequence[Run]
    node: str
    begin: float
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    sessions: int = 1
    absent: str = ""

    @property
    def not_started(self) -> dict[str, NotStarted]:
        """The runs that the last session could not start, with the reason."""
        return {run.name: NOT_STARTED for run in self.runs if run.arm == self.absent}

    def endings(self) -> dict[str, tuple[str, str]]:
        """Stage and reason that the records must give each run; a valid one has no reason."""
        newest: dict[str, int] = {}
        for made in self.attempts.values():
            if made and made[-1].ending in ENDED_WELL:
                newest[made[-1].case] = max(made[-1].session, newest.get(made[-1].case, 0))
        return {run.name: self._ending(run, newest) for run in self.runs}

    def _ending(self, run: Run, newest: Mapping[str, int]) -> tuple[str, str]:
        """Stage and reason of a run, from the newest session in which its case ended well."""
        made = self.attempts.get(run.name, [])
        last = made[-1].ending if made else ""
        if run.arm == self.absent and last not in ENDED_WELL:
            return "planned", f"{NOT_STARTED.reason}: {NOT_STARTED.detail}"
        if last in ENDED_WELL and made[-1].session < newest[run.case]:
            return "ran", "other-session"
        if last == GOOD:
            return "valid", ""
        return ("parsed" if last in ENDED_WELL else "ran"), last


def simulate(
    block: SimulatedBlock, effects: Effects, costs: Mapping[str, float], random: np.random.Generator
) -> None:
    """Let the runner make a block that has not begun, to its end.

    Args:
        costs: log cost of each run before chance.
    """
    runs, misfortune = block.runs, effects.misfortune
    arms = sorted({run.arm for run in runs})
    if random.random() < misfortune.absent:
        block.absent = arms[int(random.integers(len(arms)))]
    killed = int(random.integers(len(runs))) if random.random() < misfortune.killed else None
    runner = _Runner(effects, costs, random, block, block.begin)
    if killed is not None:
        runner.session(1, runs[: killed + 1], stop=runs[killed].name)
        block.sessions = 2
    runner.session(block.sessions, runs)
    _falsify(block)


def _falsify(block: SimulatedBlock) -> None:
    """Make wrong what must not count: all attempts but the last ones of valid runs."""
    for run, (stage, _) in block.endings().items():
        made = block.attempts.get(run, [])
        counted = made[-1:] if stage == "valid" else []
        block.attempts[run] = [
            attempt if attempt in counted else replace(attempt, log_cost=_wrong(attempt))
            for attempt in made
        ]


def _wrong(attempt: Attempt) -> float:
    """A log cost that must not count."""
    return attempt.log_cost + (-WRONG if image_of(attempt.arm) is None else WRONG)


@dataclass
class _Runner:
    """The runner in one block; `clock` is in minutes since the study began."""

    effects: Effects
    costs: Mapping[str, float]
    random: np.random.Generator
    block: SimulatedBlock
    clock: float

    def session(self, number: int, runs: Sequence[Run], stop: str = "") -> None:
        """Go through the runs as the runner does; it is killed in the run `stop`."""
        for _, group in groupby(runs, key=lambda run: run.case):
            of_case = list(group)
            # A kill comes in a first session, in which every arm is there.
            can = [run for run in of_case if stop or run.arm != self.block.absent]
            if self._is_settled(can):
                continue
            for run in can:
                self._make(run, number, stop)

    def _is_settled(self, runs: Sequence[Run]) -> bool:
        """Whether nothing of a case has to be made any more (measure/history.py)."""
        sessions = set()
        for run in runs:
            made = self.block.attempts.get(run.name, [])
            if made and made[-1].ending in ENDED_WELL:
                sessions.add(made[-1].session)
            elif _failures(made) < ATTEMPTS:
                return False
        return len(sessions) <= 1

    def _make(self, run: Run, session: int, stop: str) -> None:
        """Attempts of one run until one ends well or enough have failed."""
        made = self.block.attempts.setdefault(run.name, [])
        while _failures(made) < ATTEMPTS:
            ending = INTERRUPTED if run.name == stop else self._draw()
            cost = self.costs[run.name] + chance(self.effects.noise, self.random)
            number, case, arm = len(made) + 1, run.case, run.arm
            made.append(Attempt(case, arm, number, session, ending, cost, self.clock))
            self.clock += MINUTES_PER_RUN
            if ending not in FAILING:
                return

    def _draw(self) -> str:
        """How an attempt ends."""
        misfortune, at = self.effects.misfortune, self.random.random()
        if at < misfortune.failing:
            return FAILING[int(self.random.integers(len(FAILING)))]
        at -= misfortune.failing
        if at < misfortune.truncated:
            return TRUNCATED
        return OTHER_WORK if at < misfortune.truncated + misfortune.other_work else GOOD


def _failures(made: Sequence[Attempt]) -> int:
    return sum(attempt.ending in FAILING for attempt in made)
