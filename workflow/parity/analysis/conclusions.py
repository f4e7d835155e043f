"""What is concluded of a plan: its comparisons, the factors crossed with them, its ladders' steps.

Torrez, Randles and Priedhorsky (CANOPIE-HPC 2019, section IV-A) saw a difference of 1.8 % between
the bare machine and every container, and it was that of a library which only one side had linked.
Where both levels of such a factor are run in every arm, the effect of the factor and that of the
container are told apart, and so is whether one depends on the other.

The rungs of a ladder are the arms of one runtime, in the order of the plan; each adds one thing to
the one before, and the first stands on the reference. Full runtimes do not build on each other, so
each is held against the top of the ladder, which has, one by one, what they are made of.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parity.analysis import tables
from parity.analysis.contrast import Contrast, Engine, Term, natives, over
from parity.analysis.decision import Decision
from parity.analysis.evidence import DIFFERENCE, RATIO
from parity.benchmarks.description import CPU_SECONDS
from parity.plan.plan import Case, Plan

ARM, STEP = "arm", "step"
LEVEL, LEVEL_OVERALL = "level", "level-overall"
ARM_OVERALL, INTERACTION = "arm-overall", "interaction"
# Weights of a factor's low and high level, of the reference and of the arm in each.
CROSSED = {
    LEVEL: ((0, -1), (0, 1)), LEVEL_OVERALL: ((-0.5, -0.5), (0.5, 0.5)),
    ARM_OVERALL: ((-0.5, 0.5), (-0.5, 0.5)), INTERACTION: ((1, -1), (-1, 1)),
}  # fmt: skip
LADDER = "ladder"  # the runtime of the rungs


@dataclass(frozen=True)
class Conclusion:
    """A row of `tables.CONCLUSIONS`: what was asked, and what is decided."""

    form: str  # arm, a form of `CROSSED`, or step
    benchmark: str
    case: str  # its case, or the two of a crossing, joined by a blank
    metric: str
    factor: str  # of a crossing, as its levels; else empty
    low: str
    high: str
    arm: str
    reference: str
    references: str  # the arms that are each compared with, joined by "+"; the reference is first
    kind: str
    unit: str
    better: str
    planned_blocks: int  # blocks in which the plan holds all runs
    identity: str  # a word of `parity.analysis.dataset`; empty for a level, which differs by design
    control: bool  # whether this is the A/A pair
    planned: bool  # whether the study compares by it
    decision: Decision

    def columns(self) -> dict[str, Any]:
        """The row."""
        return {name: getattr(self, name) for name in _NAMED} | self.decision.columns()


_NAMED = tuple(each.name for each in fields(Conclusion) if each.name != "decision")


def of_table(table: pd.DataFrame) -> list[Conclusion]:
    """The rows of `tables.CONCLUSIONS`, as they were made."""
    named = (({name: row[name] for name in _NAMED}, Decision.of(row)) for row in tables.rows(table))
    return [Conclusion(**columns, decision=decision) for columns, decision in named]


class Crossing(NamedTuple):
    """Two cases of a benchmark that differ in one factor alone."""

    metric: str
    factor: tuple[str, str, str]  # its name, and its levels in alphabetical order
    cases: tuple[str, str]  # the case of each level
    margin: float  # the margin that both cases share

    def contrast(self, form: str, arm: str, references: tuple[str, ...]) -> Contrast:
        """The contrast of an arm; nothing of the reference is in one of its levels alone."""
        terms = [
            Term(weight, case, arms)
            for case, weights in zip(self.cases, CROSSED[form], strict=True)
            for weight, arms in zip(weights, (references, (arm,)), strict=True)
            if weight
        ]
        return Contrast(self.metric, arm, references[0], tuple(terms), self.margin)


def conclude(engine: Engine) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All conclusions on a dataset, and the pairs of its comparisons (two of `tables`)."""
    compared = list(comparisons(engine))
    made = [*(each for each, _ in compared), *steps(engine)]
    for crossing in crossings(engine.dataset.plan):
        made += crossed(engine, crossing)
    concluded = tables.frame(tables.CONCLUSIONS, [each.columns() for each in made])
    return concluded, _pair_table(engine, compared)


def comparisons(engine: Engine) -> Iterator[tuple[Conclusion, Contrast]]:
    """Every arm over the reference: what the plan compares, the A/A pair, and declared gaps.

    Every other number that the runs gave is compared as a plain difference; CPU time in turn as a
    ratio, for what it differs by and a wall clock does not, or the other way round, is a finding.
    """
    dataset, plan = engine.dataset, engine.dataset.plan
    arms_of: dict[tuple[str, str], set[str]] = {}
    for planned in plan.comparisons:
        arms_of.setdefault((planned.case, planned.metric), set()).add(planned.arm)
    for case, metric in dataset.margins:
        arms_of[case, metric] |= {*filter(None, [plan.double]), *dataset.not_tested(case)}
    shorter = {run.case.name for run in plan.shorter}
    others = engine.by_case.keys() - dataset.margins.keys()
    for case, metric in (key for key in others if key[0] not in shorter):
        told = engine.by_case[case, metric].by_arm
        # What has no clock of CPU time, as another kernel, has none in any block.
        held = dataset.arms_of(case)
        arms_of[case, metric] = {a for a in held if a in told or metric != CPU_SECONDS.metric}
    for (case, metric), arms in sorted(arms_of.items()):
        of_time = plan.case(case).margin if metric == CPU_SECONDS.metric else None
        margin = dataset.margins.get((case, metric), of_time)
        pair, of_case = engine.pair(case, metric, margin), natives(plan, case)
        for arm in sorted(arms - {plan.reference}):
            contrast = pair if arm == plan.double else over(case, metric, arm, of_case, margin)
            yield _concluded(engine, ARM, contrast, pair), contrast


def steps(engine: Engine) -> Iterator[Conclusion]:
    """Each rung over the nearest below with pairs, each other arm over the top of the ladder."""
    dataset, plan = engine.dataset, engine.dataset.plan
    for (case, metric), margin in dataset.margins.items():
        arms = [arm for arm in dataset.arms_of(case) if arm != plan.positive_arm]
        ladder = rungs(plan, arms)
        if margin is None or not ladder:
            continue
        pair = engine.pair(case, metric, margin)
        for arm in (arm for arm in arms if arm not in plan.aa_pair):
            below = ladder[: ladder.index(arm)] if arm in ladder else ladder
            nearest = (over(case, metric, arm, (rung,), margin) for rung in reversed(below))
            paired = (each for each in nearest if engine.evidence(each).blocks)
            contrast = next(paired, None) or over(case, metric, arm, natives(plan, case), margin)
            yield _concluded(engine, STEP, contrast, pair)
        if plan.double in arms:
            yield _concluded(engine, STEP, pair, pair)


def crossed(engine: Engine, crossing: Crossing) -> Iterator[Conclusion]:
    """The effects of a factor, of each arm over both of its levels, and whether they interact.

    What the A/A pair must show is that the factor has the same effect in both of its arms, and
    for a container's own effect, that the pair has none itself.
    """
    plan, alone = engine.dataset.plan, (engine.dataset.plan.reference,)
    arms_of = [engine.dataset.arms_of(case) for case in crossing.cases]
    for arm in (arm for arm in arms_of[0] if arm in arms_of[1] and arm != plan.positive_arm):
        own = natives(plan, *crossing.cases) if arm != plan.double else alone
        for form in CROSSED if arm != plan.reference else (LEVEL,):
            gating = ARM_OVERALL if form == ARM_OVERALL else INTERACTION
            gate = crossing.contrast(gating, plan.double, alone)
            yield _concluded(engine, form, crossing.contrast(form, arm, own), gate, crossing)


def _concluded(
    engine: Engine, form: str, contrast: Contrast, gate: Contrast, crossing: Crossing | None = None
) -> Conclusion:
    """A row: the decision, and what it is of."""
    dataset, sides = engine.dataset, (contrast.arm, contrast.reference)
    of_case = engine.numbers(contrast.cases[0], contrast.metric)
    blocks = engine.evidence(contrast).blocks
    cells = tuple((case, arms[0]) for _, case, arms in contrast.terms)
    natives_of = [arms for _, _, arms in contrast.terms if arms[0] == contrast.reference]
    factor, low, high = crossing.factor if crossing else ("", "", "")
    return Conclusion(
        form=form, benchmark=dataset.plan.case(contrast.cases[0]).benchmark,
        case=" ".join(contrast.cases), metric=contrast.metric, factor=factor, low=low, high=high,
        arm=contrast.arm, reference=contrast.reference,
        references="" if form == LEVEL else "+".join(natives_of[0]),
        kind=RATIO if contrast.ratio else DIFFERENCE, unit=of_case.unit, better=of_case.better,
        planned_blocks=engine.planned_blocks(cells),
        identity="" if form == LEVEL else dataset.identity(contrast.cases, sides, blocks),
        control=contrast.arm == dataset.plan.double,
        planned=all((case, contrast.metric) in dataset.margins for case in contrast.cases),
        decision=engine.concluded(contrast, gate),
    )  # fmt: skip


def _pair_table(engine: Engine, compared: Iterable[tuple[Conclusion, Contrast]]) -> pd.DataFrame:
    """`tables.PAIRS`: both sides of comparisons by block, maybe millions: texts are categories."""
    named, sides = list[tuple[str, ...]](), list[tuple[np.ndarray, ...]]()
    for _, contrast in compared:
        found = engine.evidence(contrast)
        of_case = engine.numbers(contrast.cases[0], contrast.metric)
        (_, case, (arm,)), _ = contrast.terms
        values = of_case.of(arm)
        own = np.array([values[block] for block in found.blocks], float)
        other = own * np.exp(-of_case.sign * found.means) if contrast.ratio else own - found.means
        named += [(case, contrast.metric, arm, contrast.reference)]
        sides += [(np.array(found.blocks, object), own, other, found.means)]
    if not named:
        return tables.frame(tables.PAIRS, [])
    texts = pd.DataFrame(named, columns=["case", "metric", "arm", "reference"], dtype="category")
    counts, names = [len(blocks) for blocks, *_ in sides], ("value", "reference_value", "effect")
    pairs = texts.loc[texts.index.repeat(counts)].reset_index(drop=True)
    blocks, *others = (np.concatenate(columns) for columns in zip(*sides, strict=True))
    return pairs.assign(block=pd.Categorical(blocks), **dict(zip(names, others, strict=True)))


def crossings(plan: Plan) -> list[Crossing]:
    """The factors of two levels whose cases are compared by ratios, in the order of the plan."""
    margins = {(c.case, c.metric): c.margin for c in plan.comparisons}
    found = []
    for benchmark in dict.fromkeys(case.benchmark for case in plan.cases):
        cases = [case for case in plan.cases if case.benchmark == benchmark]
        for factor in _factors(cases):
            for low, high in _matched(cases, factor):
                named = factor, low.parameters[factor], high.parameters[factor]
                found += [
                    Crossing(metric, named, (low.name, high.name), margin)
                    for metric in low.primary
                    if (margin := margins.get((low.name, metric))) is not None
                    and margin == margins.get((high.name, metric))
                ]
    return found


def _factors(cases: Sequence[Case]) -> list[str]:
    """Parameters of these cases that take two values, both of them words."""
    words = [key for key, value in cases[0].parameters.items() if isinstance(value, str)]
    levels = {key: {case.parameters.get(key) for case in cases} for key in words}
    return [key for key, two in levels.items() if len(two) == 2 and {*map(type, two)} == {str}]


def _matched(cases: Sequence[Case], factor: str) -> Iterator[tuple[Case, Case]]:
    """Pairs of cases that are alike in all but the factor, the low level first."""
    groups: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        rest = sorted((k, str(v)) for k, v in case.parameters.items() if k != factor)
        # A case and the same side by side tell different things.
        groups.setdefault((case.primary, *rest), []).append(case)
    for group in groups.values():
        if len(group) == 2:
            low, high = sorted(group, key=lambda case: str(case.parameters[factor]))
            yield low, high


def rungs(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The rungs among these arms, from the lowest; none where the plan has no ladder."""
    return [arm for arm in arms if plan.arm_runtimes[arm] == LADDER]


def ladder_order(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The arms from bare to full runtimes: the A/A pair, the rungs, all others."""
    first = [*(arm for arm in (plan.reference, plan.double) if arm in arms), *rungs(plan, arms)]
    return [*first, *(arm for arm in arms if arm not in first)]
