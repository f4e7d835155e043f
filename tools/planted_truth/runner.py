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

from parity.measure.documents import NotStarted
from parity.plan.plan import Block, Run
from planted_truth.study import ATTEMPTS, Effects, Noise, is_contained

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
    """What became of one block.

    Attributes:
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

    def ended_well(self, run: str) -> Attempt | None:
        """The last attempt of a run, if it ended well."""
        made = self.attempts.get(run)
        return made[-1] if made and made[-1].ending in ENDED_WELL else None

    def endings(self) -> dict[str, tuple[str, str]]:
        """Stage and reason that the records must give each run; a valid one has no reason."""
        newest: dict[str, int] = {}
        for run in self.runs:
            if good := self.ended_well(run.name):
                newest[run.case] = max(good.session, newest.get(run.case, 0))
        return {run.name: self._ending(run, newest) for run in self.runs}

    def _ending(self, run: Run, newest: Mapping[str, int]) -> tuple[str, str]:
        """Stage and reason of a run, from the newest session in which its case ended well."""
        good = self.ended_well(run.name)
        if good is None:
            if run.arm == self.absent:
                return "planned", f"{NOT_STARTED.reason}: {NOT_STARTED.detail}"
            return "ran", self.attempts[run.name][-1].ending
        if good.session < newest[run.case]:
            return "ran", "other-session"
        return ("valid", "") if good.ending == GOOD else ("parsed", good.ending)


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
    runner = _Runner(effects, costs, random, block, block.begin)
    if random.random() < misfortune.killed:
        killed = int(random.integers(len(runs)))
        runner.session(1, runs[: killed + 1], stop=runs[killed].name)
        block.sessions = 2
    runner.session(block.sessions, runs)
    _falsify(block)


def _falsify(block: SimulatedBlock) -> None:
    """Make wrong what must not count: all attempts but the last ones of valid runs."""
    endings = block.endings()
    for run in block.runs:
        made = block.attempts.get(run.name, [])
        counted = made[-1:] if endings[run.name][0] == "valid" else []
        wrong = -WRONG if not is_contained(run.arm) else WRONG
        block.attempts[run.name] = [
            attempt if attempt in counted else replace(attempt, log_cost=attempt.log_cost + wrong)
            for attempt in made
        ]


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
        """Whether nothing of a case has to be made any more (measure/progress.py)."""
        sessions = set()
        for run in runs:
            if good := self.block.ended_well(run.name):
                sessions.add(good.session)
            elif _failures(self.block.attempts.get(run.name, ())) < ATTEMPTS:
                return False
        return len(sessions) <= 1

    def _make(self, run: Run, session: int, stop: str) -> None:
        """Attempts of one run until one ends well or enough have failed."""
        made = self.block.attempts.setdefault(run.name, [])
        while _failures(made) < ATTEMPTS:
            ending = INTERRUPTED if run.name == stop else self._draw()
            cost = self.costs[run.name] + chance(self.effects.noise, self.random)
            number = len(made) + 1
            made.append(Attempt(run.case, run.arm, number, session, ending, cost, self.clock))
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


def shared_costs(
    effects: Effects, blocks: Sequence[Block], random: np.random.Generator
) -> tuple[list[dict[str, float]], list[int]]:
    """The log cost of each planned run before chance, and the node of each block.

    Returns:
        Run to log cost for each block, and the number of its node from 0.
    """
    noise = effects.noise
    of_node = random.normal(0, noise.node, noise.nodes)
    nodes = [int(node) for node in random.integers(0, noise.nodes, len(blocks))]
    costs = []
    for number, block in enumerate(blocks):
        level = of_node[nodes[number]] + random.normal(0, noise.block)
        level += noise.campaign * number / len(blocks)
        of_run, before = {}, None
        for position, run in enumerate(block.runs):
            order = noise.block_drift * position + noise.first * (run.case != before)
            of_run[run.name] = float(level + order + np.log(effects.ratio(run.arm)))
            before = run.case
        costs.append(of_run)
    return costs, nodes


def chance(noise: Noise, random: np.random.Generator) -> float:
    """What one attempt's log cost deviates by chance."""
    deviation = random.normal(0, noise.run)
    if noise.outlier_share and random.random() < noise.outlier_share:
        deviation += random.exponential(noise.outlier_size)
    return float(deviation)
