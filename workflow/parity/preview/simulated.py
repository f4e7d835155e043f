"""The data that a plan would leave if no container cost anything: drawn, never measured.

What scatters is taken from earlier data, a pilot: whole blocks of it are drawn again, with
replacement, every arm around its own mean (a bootstrap of blocks: Davison & Hinkley, Bootstrap
Methods and their Application, 1997, ch. 3). So slow stretches, spikes and arms that scatter
more than others come as often as they came. Of a pilot with few blocks only the variances are
taken, and the draws are normal; so are those of an arm that it does not hold. Without any
pilot, every run scatters by ASSUMED. Cases and metrics are drawn independently. The positive
control costs what it does more.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from parity.analysis import tables
from parity.analysis.analysis import Analysed, Analysis
from parity.analysis.contrast import Engine, over
from parity.analysis.dataset import Dataset
from parity.analysis.evidence import Numbers, numbers
from parity.analysis.outcomes import DIFFERENT
from parity.benchmarks.description import CPU_SECONDS, OF_ANY
from parity.claims.cells import Cell, JudgingData
from parity.core.documents import canonical, digest_of_json
from parity.plan.plan import PAIR, Case, Plan, cases_of
from parity.plan.system import SystemKind
from parity.records import schema

ASSUMED = 0.01  # Deviation of the log of one run where nothing was ever measured.
ENOUGH_BLOCKS = 10  # So many of this machine tell more of it than any number of another's.
SEED = 20191118
Key = tuple[str, str]  # case and metric
NO_ANALYSIS = Analysis(**{name: tables.frame(table, []) for name, table in tables.TABLES.items()})


@dataclass(frozen=True)
class Noise:
    """How the numbers of one case and metric scatter; logs of them, where all are above zero."""

    unit: str
    better: str
    is_log: bool = True
    level: float = 0.0  # what the reference gives, on that scale
    own: float = ASSUMED  # deviation of what a run has for itself
    shared: float = 0.0  # deviation of what the runs of a block have in common
    arms: tuple[str, ...] = ()
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # shape (blocks, arms)
    widest: float = math.sqrt(2) * ASSUMED  # of the difference to the reference, of the widest arm
    across: int = 0  # how many arms the pilot has
    blocks: int = 0  # how many blocks it has; 0 without one
    dataset: str = ""  # which that is, such as `archive/machine-2026-11-20`; empty without one
    same: bool = False  # whether it has the parameters of the plan; else it is a hint

    @property
    def deviation(self) -> float:
        """Deviation of the difference of two arms in a block, pooled over all."""
        return math.sqrt(2) * self.own

    def drawn(
        self, arms: Sequence[str], blocks: int, random: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Numbers of so many blocks, by arm."""
        chosen = self.rows[random.integers(len(self.rows), size=blocks)] if len(self.rows) else None
        normal = self.shared * random.standard_normal(blocks)
        shared = normal if chosen is None else chosen.mean(axis=1)
        made = {}
        for arm in arms:
            if chosen is not None and arm in self.arms:
                made[arm] = self.level + chosen[:, self.arms.index(arm)]
            else:
                made[arm] = self.level + (shared + self.own * random.standard_normal(blocks))
        return {arm: np.exp(logs) for arm, logs in made.items()} if self.is_log else made


def noise_of_pairs(pilot: Numbers, reference: str, dataset: str) -> Noise | None:
    """The scatter of pairs side by side; None without two of an arm.

    What tells a pair apart is the difference of two runs alike, so one run has half its variance.
    """
    base = {block: value for block, value in pilot.of(reference).items() if value > 0}
    effects = [
        np.log([value / base[block] for block, value in of_arm.items() if block in base])
        for arm, of_arm in pilot.by_arm.items()
        if arm != reference and min(of_arm.values(), default=0.0) > 0
    ]
    if not (effects := [of_arm for of_arm in effects if len(of_arm) > 1]):
        return None
    own = float(np.mean([of_arm.var(ddof=1) for of_arm in effects])) / 2
    logs = np.log(list(base.values()))
    return Noise(
        unit=pilot.unit, better=pilot.better, level=float(logs.mean()), own=math.sqrt(own),
        shared=math.sqrt(max(0.0, float(logs.var(ddof=1)) - own)),
        widest=float(max(of_arm.std(ddof=1) for of_arm in effects)),
        across=1 + len(effects), blocks=min(map(len, effects)), dataset=dataset,
    )  # fmt: skip


def noise_of(pilot: Numbers, reference: str, dataset: str) -> Noise | None:
    """The scatter of a case and metric in a pilot; None without two blocks of two arms.

    Own and shared parts are those of an analysis of variance of blocks and arms without
    replicates (Scheffé, The Analysis of Variance, 1959, ch. 4). Arms that lack more than half
    of the reference's blocks are left out, and then blocks that lack an arm.
    """
    base = pilot.of(reference)
    arms = [arm for arm, of_arm in pilot.by_arm.items() if 2 * len(of_arm) > len(base)]
    held = set(base).intersection(*(pilot.of(arm) for arm in arms))
    if len(held) < 2 or len(arms) < 2 or reference not in arms:
        return None
    values = np.array([[pilot.of(arm)[block] for arm in arms] for block in sorted(held)])
    is_log = bool((values > 0).all())
    logs = np.log(values) if is_log else values
    deviations = logs - logs.mean(axis=0)
    of_blocks, (count, across) = deviations.mean(axis=1), deviations.shape
    own = float(((deviations - of_blocks[:, None]) ** 2).sum()) / ((count - 1) * (across - 1))
    shared = max(0.0, float(of_blocks.var(ddof=1)) - own / across)
    enough, base_column = count >= ENOUGH_BLOCKS, arms.index(reference)
    return Noise(
        unit=pilot.unit, better=pilot.better, is_log=is_log,
        level=float(logs[:, base_column].mean()), own=math.sqrt(own), shared=math.sqrt(shared),
        arms=tuple(arms) if enough else (),
        # Means take one degree of freedom; draws have to scatter as the blocks did.
        rows=deviations * math.sqrt(count / (count - 1)) if enough else np.empty((0, 0)),
        widest=float((deviations - deviations[:, [base_column]]).std(axis=0, ddof=1).max()),
        across=across, blocks=count, dataset=dataset,
    )  # fmt: skip


class Noises:
    """What is known of the scatter of a plan's cases, from the pilots that know most of each."""

    def __init__(self, pilots: Sequence[Analysed], kind: SystemKind) -> None:
        self.pilots, self.kind = pilots, kind  # of the system that is to measure
        self._numbers = [numbers(pilot.analysis.values) for pilot in pilots]
        self.known: dict[Key, Noise] = {}  # what was asked for until now

    def of(self, case: Case, metric: str) -> Noise:
        """The scatter of a case and metric."""
        key = case.name, metric
        if key not in self.known:
            self.known[key] = self._best(case, metric)
        return self.known[key]

    def _best(self, case: Case, metric: str) -> Noise:
        """Of the same parameters, this kind of system, measured here, many blocks: in this order.

        Without any pilot the unit is the benchmark's own, and the scatter ASSUMED.
        """
        ranked: list[tuple[tuple[bool, bool, bool, int], Noise]] = []
        for pilot, by_case in zip(self.pilots, self._numbers, strict=True):
            dataset, alone = pilot.dataset, case.name.removesuffix(PAIR)
            # A pair has the name of its case where nothing was measured in turn.
            is_pair, held = CPU_SECONDS.metric in case.primary, {c.name for c in dataset.plan.cases}
            names = (n for n in (alone, f"{alone}{PAIR}") if n in held)
            name = next((n for n in names if dataset.plan.in_pairs(n) == is_pair), "")
            there = by_case.get((name, metric))
            told = noise_of_pairs if is_pair else noise_of
            if found := there and told(there, dataset.plan.reference, dataset.name):
                same = dataset.plan.case(name).parameters == case.parameters
                here = dataset.name.startswith("live/") and found.blocks >= ENOUGH_BLOCKS
                rank = (same, dataset.kind == self.kind, here, found.blocks)
                ranked.append((rank, replace(found, same=same)))
        if ranked:
            return max(ranked, key=lambda each: each[0])[1]
        declared = {each.metric: each for each in (*case.definition.metrics, *OF_ANY)}
        return Noise(declared[metric].recorded, declared[metric].better)


def planned_runs(plan: Plan, **known: Any) -> pd.DataFrame:
    """Runs of a plan as if each was made once and valid: `schema.RUNS`, but for columns `known`."""
    made = [(block, run) for block in plan.blocks for run in block.runs]
    benchmarks = {case.name: case.benchmark for case in plan.run_cases}
    columns = {
        "campaign": plan.campaign, "block": [block.name for block, _ in made],
        "block_number": [block.number for block, _ in made], "run": [run.name for _, run in made],
        "attempt": 1, "benchmark": [benchmarks[run.case] for _, run in made],
        "case": [run.case for _, run in made], "arm": [run.arm for _, run in made],
        "parameters": "{}", "final": True, "session": 1, "stage": "valid", "binary_sha256": "drawn",
        "closure_sha256": "drawn",
    }  # fmt: skip
    return table_of(schema.RUNS, columns | known)


def table_of(table: schema.TableSchema, known: Mapping[str, Any]) -> pd.DataFrame:
    """A table with these columns, or one value in all rows; all others are empty, null or zero."""
    empty: dict[str, Any] = {
        column.name: "" if str(column.type) == "string" else None if column.nullable else 0
        for column in table.columns
    }
    return pd.DataFrame({**empty, **known})


@dataclass(frozen=True)
class Simulated(JudgingData):
    """One draw of some cases and metrics of a plan, as the rules of claims see data."""

    drawn: Mapping[Key, Numbers]  # their numbers
    known: dict[tuple[str, ...], Cell]  # cells of other draws, which differ in their numbers only

    @cached_property
    def engine(self) -> Engine:
        """What concludes contrasts of what was drawn."""
        return Engine(self.dataset, self.drawn)

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """Cases in which the A/A pair differs from itself by the plan's own comparisons."""
        of_pair = [c for c in self.plan.comparisons if c.arm == self.plan.double and c.margin]
        drawn = (c for c in of_pair if (c.case, c.metric) in self.drawn)
        asked = [over(c.case, c.metric, c.arm, (c.reference,), c.margin) for c in drawn]
        differing = (each for each in asked if self.engine.decided(each).as_control == DIFFERENT)
        return frozenset(case for each in differing for case in each.cases)

    def cell(self, case: str, metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        named = case, metric, arm, against
        if named not in self.known:
            self.known[named] = super().cell(*named)
        return replace(self.known[named], engine=self.engine)

    def absence(self, case: str, arm: str) -> str:
        """Nothing of a planned arm, which is taken to run."""
        return "" if arm in self.plan.arms else super().absence(case, arm)


class Simulator:
    """Draws of a plan, each known by its number: the same number, the same data."""

    def __init__(self, plan: Plan, noises: Noises) -> None:
        self.plan, self.noises, pilots, kind = plan, noises, noises.pilots, noises.kind
        nodes = pilots[0].dataset.nodes if pilots else tables.frame(schema.NODES, [])
        digest, runs = digest_of_json(canonical(plan)), planned_runs(plan)
        metrics, images = (tables.frame(table, []) for table in (schema.METRICS, schema.IMAGES))
        self._dataset = Dataset(plan.campaign, plan, digest, kind, runs, metrics, nodes, images)
        self._known: dict[tuple[str, ...], Cell] = {}
        held = {block.name: cases_of(block.runs) for block in plan.blocks}
        self._blocks = {c.name: [b for b, of in held.items() if c.name in of] for c in plan.cases}

    def enlarged(self, cases: Collection[str], blocks: int) -> "Simulator":
        """The same of these cases alone, in so many blocks."""
        holding = [b for b in self.plan.blocks if not set(cases).isdisjoint(cases_of(b.runs))]
        made = tuple(
            msgspec.structs.replace(
                block, name=f"{block.name}-{number}", number=number,
                runs=tuple(run for run in block.runs if run.case in cases),
            )
            for number, block in zip(range(1, blocks + 1), cycle(holding), strict=False)
        )  # fmt: skip
        return Simulator(msgspec.structs.replace(self.plan, blocks=made), self.noises)

    def draw(self, wanted: Sequence[Key], number: int) -> Simulated:
        """One draw of these cases and metrics."""
        drawn = {key: self._numbers(*key, number) for key in wanted}
        return Simulated(self._dataset, NO_ANALYSIS, drawn, self._known)

    def _numbers(self, case: str, metric: str, number: int) -> Numbers:
        planned, blocks = self.plan.case(case), self._blocks[case]
        noise = self.noises.of(planned, metric)
        # What is drawn of a case does not depend on what else is drawn.
        place = [each.name for each in self.plan.cases].index(case)
        random = np.random.default_rng([SEED, number, place, *metric.encode()])
        arms = self._dataset.arms_of(case)
        made, empty = noise.drawn(arms, len(blocks), random), Numbers(noise.unit, noise.better)
        by_arm = {}
        for arm, of_arm in made.items():
            more = self.plan.extra_work(planned, arm) ** empty.sign if noise.is_log else 1.0
            drawn, held = (more * of_arm).tolist(), self._dataset.planned_in[case, arm]
            by_arm[arm] = {b: value for b, value in zip(blocks, drawn, strict=True) if b in held}
        return replace(empty, by_arm=by_arm)
