"""What a test looks at: its selection, and the comparisons of a dataset that are of it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.analysis import Analysed
from parity.analysis.contrast import Contrast, Engine, Evidence, natives, over
from parity.analysis.dataset import worst
from parity.analysis.decision import NONE
from parity.analysis.evidence import Numbers, half_width, sample
from parity.analysis.sequential import ONE_LOOK, Levels, strictest
from parity.benchmarks import benchmarks
from parity.benchmarks.description import CPU_SECONDS, OF_ANY, WORK
from parity.claims.published import Published
from parity.core.wording import listed
from parity.plan.plan import Case
from parity.runtimes import every_arm

NODES, RANKS, PER_NODE = "nodes", "ranks", "containers_per_node"
CONTAINERS = "containers"
TIMES = (CPU_SECONDS.metric, WORK.metric)  # by clocks of ours: how long the timed work took, each
# At which levels a comparison and its A/A pair are decided.
BothLevels = tuple[Levels, Levels]
AT_ONE_LOOK: BothLevels = (ONE_LOOK, ONE_LOOK)
# How near a dataset comes to holding a cell.
NO_CASE, DECLARED_ABSENT, NO_LEVEL, NOT_AT_ONCE, NO_METRIC, CASE_IS_THERE = range(6)


@dataclass(frozen=True)
class Selection:
    """The `cells` of a test."""

    benchmark: str
    metric: str
    parameters: Mapping[str, tuple[Any, ...]]  # values of a case's parameters, which choose cases
    levels: Mapping[str, tuple[Any, ...]]  # that the published statement speaks of; choose nothing
    arms: tuple[str, ...] | None  # None for every plain arm whose runtime is not the reference's
    against: tuple[str, ...] = ()  # one for all arms or for each; empty for the plan's reference
    shortest_seconds: float = 0.0  # what a timed section has to last to tell anything

    def holds(self, case: Case) -> bool:
        """Whether a case of a plan is one that it chooses."""
        given = case.parameters
        return case.benchmark == self.benchmark and all(
            str(given.get(name)) in map(str, levels) for name, levels in self.parameters.items()
        )

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Selection":
        """The selection of a checked entry of the register."""

        def each(value: Any) -> tuple[Any, ...]:
            return tuple(value) if isinstance(value, list) else (value,)

        parameters = {name: each(value) for name, value in entry.get("parameters", {}).items()}
        levels = {name: tuple(levels) for name, levels in entry.get("levels", {}).items()}
        arms = None if entry["arms"] == CONTAINERS else tuple(entry["arms"])
        named, seconds = (entry["benchmark"], entry["metric"]), entry.get("shortest_seconds", 0.0)
        return cls(*named, parameters, levels, arms, each(entry.get("against", [])), seconds)


@dataclass(frozen=True)
class Cell:
    """One comparison: an arm against another in one case."""

    engine: Engine
    benchmark: str
    case: str
    metric: str
    arm: str
    against: str
    parameters: Mapping[str, Any]
    identity: str  # whether both ran the same binary, a name from `parity.analysis.dataset`
    shortage: str  # the commonest reason why a run does not count; empty if all do
    # All that a comparison with the reference is made with, each of which has to agree; or none.
    natives: tuple[str, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Reference and double, the two arms of the A/A pair."""
        plan = self.engine.dataset.plan
        return plan.reference, plan.double

    @property
    def numbers(self) -> Numbers:
        """The values of every arm in this case."""
        return self.engine.numbers(self.case, self.metric)

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.numbers.unit

    @property
    def ratio(self) -> bool:
        """Whether the plan compares by ratios, as it does what it does not compare."""
        margins = self.engine.dataset.margins
        return margins.get((self.case, self.metric), math.inf) is not None

    @property
    def blocks(self) -> int:
        """Blocks that hold a value of both arms, and for a ratio one above zero."""
        return len(self.evidence(self.ratio).blocks)

    @property
    def levels(self) -> BothLevels:
        """Those of the looks at its blocks: the strictest of two arms, which may stop apart."""
        of, own = self.engine.dataset.levels, (self.arm, self.against)
        at_own, at_pair = (strictest(of(self.case, arm) for arm in s) for s in (own, self.pair))
        return at_own, at_pair

    @property
    def seconds(self) -> float:
        """Length of the case's timed section, the shortest median of an arm; 0 if nothing tells."""
        known, metric = benchmarks().get(self.benchmark), self.metric
        if known and known.timed and metric not in TIMES:
            metric = known.timed

        def lasted(value: float) -> float:
            if metric in TIMES:
                return value
            return known.seconds_of(metric, value, self.parameters) if known else 0.0

        of_arms = self.engine.numbers(self.case, metric).by_arm.values()
        took = [median(map(lasted, of_arm.values())) for of_arm in of_arms if of_arm]
        return min(took, default=0.0)

    def evidence(self, ratio: bool = True, control: bool = False) -> Evidence:
        """What its contrast is decided by, or that of the A/A pair in this case."""
        return self.engine.evidence(self._contrast(ratio, control))

    def effects(self, ratio: bool = True, control: bool = False) -> np.ndarray:
        """Independent logs of the cost ratio, or differences in the unit, in the order of time.

        One of each block, or of each node or session that blocks share; against several
        references a row for each (`Typical`).
        """
        return self.evidence(ratio, control).effects

    def numbered(self, by_block: Mapping[str, float]) -> dict[int, float]:
        """The same by the number of the block."""
        # Cases of other node counts have other blocks: any of these may be put beside each other.
        number_of = self.engine.dataset.number_of
        return {number_of[block]: number for block, number in by_block.items()}

    def assay(self, margin: float) -> str:
        """Outcome of the positive control at a margin; `none` where there is none."""
        asked = self._contrast(True, False)._replace(margin=margin)
        positives = self.engine.positives(asked)
        return self.engine.decided(positives[0]).as_assay if positives else NONE

    def _contrast(self, ratio: bool, control: bool) -> Contrast:
        arm, against = self.pair[::-1] if control else (self.arm, self.against)
        is_to_both = self.natives[:1] == (against,) and arm not in self.natives
        natives = self.natives if is_to_both else (against,)
        return over(self.case, self.metric, arm, natives, None, ratio)


@dataclass(frozen=True)
class JudgingData(Analysed):
    """A dataset and its analysis, as the rules see them."""

    @cached_property
    def memory_mib(self) -> float | None:
        """MemTotal of the smallest node, MiB; None if no node says it in kB."""
        nodes = self.dataset.nodes
        texts = nodes.loc[nodes["fact"] == "memory_total", "value"].unique()
        sizes = [float(text.removesuffix("kB")) / 1024 for text in texts if text.endswith("kB")]
        return min(sizes, default=None)

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """Cases in which the A/A pair differs from itself by the plan's own comparisons."""
        controls = ((key[0], one.decision) for key, one in self.compared.items() if one.control)
        return frozenset(case for case, own in controls if own.as_control == outcomes.DIFFERENT)

    def is_of_same_system(self, other: "JudgingData") -> bool:
        """Whether both were measured on the same kind of system with the same processor."""
        # Two machines may go by the same name, and their data are never judged together.
        both = [data.dataset for data in (self, other)]
        models = [set(d.nodes.loc[d.nodes["fact"] == "cpu_model", "value"]) for d in both]
        return both[0].kind == both[1].kind and models[0] == models[1]

    def cell(self, case: str, metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        planned, of_case = self.plan.case(case), self.engine.numbers(case, metric)
        identities = (
            self.dataset.identity([case], (one, other), of_case.of(one).keys() & of_case.of(other))
            for one, other in self.plan.held_together(case, arm, against)
        )
        return Cell(
            self.engine, planned.benchmark, case, metric, arm, against, planned.parameters,
            identity=worst(identities), shortage=self.dataset.shortage(case, (arm, against)),
            natives=natives(self.plan, case),
        )  # fmt: skip

    def absence(self, case: str, arm: str) -> str:
        """Why no run of an arm was even possible here; empty if one was."""
        if arm not in self.plan.arms:
            declared = self.dataset.not_tested(case).get(arm)
            return f"{arm}: {declared}" if declared else f"the dataset has no arm {arm}"
        reasons = self.dataset.reasons.get((case, arm), [])
        if reasons and all(reason.startswith(outcomes.NOT_TESTED) for reason in reasons):
            return f"{arm}: {reasons[0].partition(': ')[2]}"
        return ""


@dataclass(frozen=True)
class Series:
    """The cells of one arm that differ in one parameter only, in the order of its levels."""

    along: str
    cells: tuple[Cell, ...]

    def complete(self, control: bool = False) -> pd.DataFrame:
        """Log cost ratios, or the pair's: a row per block with every level, a column per level."""
        by_block = (c.numbered(c.evidence(control=control).by_block) for c in self.cells)
        columns = [pd.Series(numbers, dtype=float) for numbers in by_block]
        levels = [cell.parameters.get(self.along) for cell in self.cells]
        return pd.concat(columns, axis=1, keys=levels).sort_index().dropna()

    def independent(self, effects: Mapping[int, float], arm: str) -> np.ndarray:
        """Effects of an arm by the number of the block as of a cell: by time, or of what is shared.

        Blocks of one number may have run elsewhere at each level. What any level's share counts;
        of several the one whose interval of the mean is widest.
        """
        if len(effects) < 2:
            return np.array(list(effects.values()), dtype=float)
        of_each = []
        for cell in self.cells:
            # Side by side each arm has blocks of its own, of the same numbers.
            ran, dataset = cell.numbers.of(arm), cell.engine.dataset
            there = {block: number for block, number in dataset.number_of.items() if block in ran}
            of_cell = {block: effects[n] for block, n in there.items() if n in effects}
            of_each.append(sample(of_cell, dataset.places).effects)
        return max(of_each, key=half_width)


def alike(cells: Iterable[Cell], along: str, grows: str = "") -> list[list[Cell]]:
    """The cells of each arm whose cases have all other parameters in common.

    Along nodes, ranks may grow with them. `grows`: a parameter that need only be in proportion.
    """
    grouped: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        level = cell.parameters.get(along)
        rest = {name: value for name, value in cell.parameters.items() if name != along}
        if along == NODES and level and RANKS in rest:
            rest[RANKS] = rest[RANKS] / level
        if grows in rest:
            rest[grows] = level / rest[grows]
        others = sorted((name, str(value)) for name, value in rest.items())
        grouped.setdefault((cell.arm, *others), []).append(cell)
    return list(grouped.values())


@dataclass(frozen=True)
class Absent:
    """A comparison that the dataset does not hold, and why."""

    metric: str
    arm: str
    against: str
    reason: str
    near: int = CASE_IS_THERE  # how near it comes to that; of several datasets the nearest says why
    of_arm: bool = False  # whether only an arm is missing, in a case that is there


@dataclass(frozen=True)
class Scope:
    """What one test looks at: comparisons that the dataset holds, and those that it does not."""

    data: JudgingData
    cells: tuple[Cell, ...]
    absent: tuple[Absent, ...]
    values: Mapping[str, Published]  # the claim's published numbers by `<metric>/<runtime>`


def resolve(
    chosen: Selection, data: JudgingData, against: str, values: Mapping[str, Published]
) -> Scope:
    """The comparisons of a selection, or why they are not there.

    `against`: what to compare with where it names nothing; empty for the plan's reference.
    """
    plan, bases, arms = data.plan, chosen.against or (against or data.plan.reference,), chosen.arms
    cases, near, reason = _cases(chosen, data)
    if reason:
        absent = Absent(chosen.metric, listed(arms or (CONTAINERS,)), bases[0], reason, near)
        return Scope(data, (), (absent,), values)
    if arms is None:
        # What a limit, a neighbour or a network costs is no container's cost.
        native, known = plan.arm_runtimes[plan.reference], every_arm()
        others = (arm for arm in plan.arms if plan.arm_runtimes[arm] != native)
        arms = tuple(a for a in others if a not in known or known[a].unlimited is known[a])
    cells, missing = [], []
    pairs = zip(arms, bases * (len(arms) if len(bases) == 1 else 1), strict=True)
    for (arm, base), case in product(pairs, cases):
        reasons = (data.absence(case.name, side) for side in (arm, base))
        if reason := next(filter(None, reasons), ""):
            missing.append(Absent(chosen.metric, arm, base, reason, of_arm=True))
        else:
            cells.append(data.cell(case.name, chosen.metric, arm, base))
    return Scope(data, tuple(cells), tuple(dict.fromkeys(missing)), values)


def nearest(scopes: Sequence[Scope]) -> list[Absent]:
    """Why no dataset holds a cell: the reasons of those that come nearest to it, each once."""
    every = [absent for scope in scopes for absent in scope.absent]
    near = max((absent.near for absent in every), default=NO_CASE)
    return list(dict.fromkeys(absent for absent in every if absent.near == near))


def _cases(chosen: Selection, data: JudgingData) -> tuple[list[Case], int, str]:
    """The cases of a selection, or how near the dataset comes and why there are none."""
    benchmark, metric = chosen.benchmark, chosen.metric
    # What publications print is no CPU time of pairs; by clocks of ours pairs are asked, too.
    pairs = () if metric in {each.metric for each in OF_ANY} else data.plan.pairs
    cases = [c for c in data.plan.cases if c.benchmark == benchmark and c.name not in pairs]
    none = f"the dataset holds no case of {benchmark}"
    if not cases:
        declared = [entry.reason for entry in data.plan.not_tested if entry.benchmark == benchmark]
        return [], DECLARED_ABSENT if declared else NO_CASE, ": ".join([none, *declared[:1]])
    # Of several levels of a parameter one is enough; the coverage says which are missing.
    for name, levels in chosen.parameters.items():
        if not any(str(case.parameters.get(name)) in map(str, levels) for case in cases):
            return [], NO_LEVEL, f"{none} with {name} {listed(levels)}"
    if not (fitting := list(filter(chosen.holds, cases))):
        asked = listed(f"{name} {listed(levels)}" for name, levels in chosen.parameters.items())
        return [], NOT_AT_ONCE, f"no case of {benchmark} has {asked} at once"
    known = data.engine.by_case
    if told := [c for c in fitting if (c.name, metric) in known or metric in c.primary]:
        return told, CASE_IS_THERE, ""
    return [], NO_METRIC, f"{benchmark} gives no {metric} here"
