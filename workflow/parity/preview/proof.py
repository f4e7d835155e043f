"""What each margin of a plan needs to be proven, and what the planned blocks can prove.

The spread between blocks is taken from earlier measurements, the pilots.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parity.analysis.analysis import Analysed, analysed
from parity.analysis.decision import FEWEST_FOR_EQUIVALENCE
from parity.analysis.statistics import power
from parity.core.errors import UserError
from parity.plan.plan import Plan, cases_of
from parity.preview.terminal import aligned, percent

POWERS = (0.8, 0.9)
# Below this, blocks do not differ but for rounding.
NO_SPREAD = 1e-9
# So many blocks of this machine tell more of it than any number of another's.
ENOUGH_BLOCKS = 10
HEAD = (
    "case", "margin", "SD (widest)", "alone", "with A/A", "time", "planned", "prove alone",
    "with A/A",
)  # fmt: skip
NOTES = (
    "SD: of one block's log ratio, variances pooled over arms; widest: of the arm that varies most",
    "with A/A: an arm and the A/A pair both pass, as a claim needs; time: of as many whole blocks",
    # Drawn and decided (tests/unit/preview/test_chances.py).
    "by Student's t alone: with a decision's guards 80 % become 53 % of 7 blocks, 68 % of 23",
)


@dataclass(frozen=True)
class Spread:
    """Scatter of the log cost ratios of one case and metric.

    Attributes:
        deviation: standard deviation of one block's log ratio, pooled over arms.
        widest: the same of the arm that scatters most.
        arms: how many arms were pooled, the A/A pair among them.
        blocks: of the arm that has fewest.
        dataset: where it was measured, such as `archive/machine-2026-11-20`.
        same: whether with the parameters of the plan; else it is a hint.
    """

    deviation: float
    widest: float
    arms: int
    blocks: int
    dataset: str
    same: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The higher, the more a spread tells of a case.

        The plan's own parameters come before others, then this machine's own blocks if they
        are enough, then more blocks before fewer.
        """
        is_here = self.dataset.startswith("live/")
        return self.same, is_here and self.blocks >= ENOUGH_BLOCKS, self.blocks


def pooled(effects: Iterable[ArrayLike]) -> float:
    """Standard deviation of effects around their own arm's mean.

    The root of the arms' variances, weighted by their degrees of freedom, as in an analysis
    of variance. Arms share the reference's runs, so it rests on fewer independent numbers
    than it has terms; it is unbiased all the same.

    Args:
        effects: log ratios per arm; an arm with fewer than two is left out.
    """
    arms = [arm for arm in (np.asarray(each, dtype=float) for each in effects) if len(arm) > 1]
    if not arms:
        raise ValueError("needs an arm with at least two effects")
    variances, freedoms = [arm.var(ddof=1) for arm in arms], [len(arm) - 1 for arm in arms]
    return math.sqrt(np.average(variances, weights=freedoms))


def spreads(plan: Plan, pilot: Analysed) -> dict[tuple[str, str], Spread]:
    """The spread of each case and metric of the plan that a dataset holds ratios of."""
    parameters = {case.name: case.parameters for case in plan.cases}
    by_case = defaultdict(list)
    for (case, metric, arm), row in pilot.compared.items():
        if case in parameters and row.asked.kind == "ratio" and row.decision.blocks > 1:
            by_case[case, metric].append(pilot.effects[case, metric, arm])
    return {
        (case, metric): Spread(
            deviation=pooled(effects),
            widest=max(pooled([arm]) for arm in effects),
            arms=len(effects),
            blocks=min(len(arm) for arm in effects),
            dataset=pilot.dataset.name,
            same=pilot.dataset.plan.case(case).parameters == parameters[case],
        )
        for (case, metric), effects in by_case.items()
    }


def best_spreads(plan: Plan, pilots: Iterable[Analysed]) -> dict[tuple[str, str], Spread]:
    """For each case and metric the spread of highest rank, of all datasets that have one."""
    best: dict[tuple[str, str], Spread] = {}
    for pilot in pilots:
        for key, spread in spreads(plan, pilot).items():
            if key not in best or spread.rank > best[key].rank:
                best[key] = spread
    return best


def pilots(
    folders: Iterable[Path], excluded: Sequence[dict[str, Any]] = ()
) -> tuple[list[Analysed], list[str]]:
    """The datasets in these folders, and a line for each that is there and cannot be read."""
    readable, unread = [], []
    for folder in folders:
        if not (folder / "records/metrics.parquet").exists():
            continue
        try:
            readable.append(analysed(folder, excluded))
        except UserError as error:
            unread.append(f"{'/'.join(folder.parts[-2:])} is not used: {error.what}")
    return readable, unread


@dataclass(frozen=True)
class Proof:
    """What it takes to prove equal arms equivalent, at each of POWERS.

    Attributes:
        blocks: fewest blocks for the case's margin, and enough for the rank test.
        margins: smallest that the planned blocks can prove; empty if these are too few for it.
    """

    blocks: tuple[int, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True)
class Need:
    """One case and metric of a plan that has a margin.

    Attributes:
        planned: blocks that the plan holds of it.
        spread: None if nothing is known of it.
        alone: for one comparison; None without a spread.
        gated: for one comparison and the A/A pair, which must pass as well.
    """

    case: str
    metric: str
    margin: float
    planned: int
    spread: Spread | None
    alone: Proof | None
    gated: Proof | None


def needs(plan: Plan, known: Mapping[tuple[str, str], Spread]) -> list[Need]:
    """Each case and metric of the plan with a margin, in its order.

    Powers are those of arms that truly cost the same; a true difference needs more.
    """
    wanted = {
        (comparison.case, comparison.metric): comparison.margin
        for comparison in plan.comparisons
        if comparison.margin is not None
    }
    planned = Counter(case for block in plan.blocks for case in cases_of(block.runs))
    return [
        need(case, metric, margin, planned[case], known.get((case, metric)))
        for (case, metric), margin in wanted.items()
    ]


def enough(blocks: int) -> int:
    """So many blocks, or as many as the rank test needs to say that anything is the same."""
    return max(blocks, FEWEST_FOR_EQUIVALENCE)


def need(case: str, metric: str, margin: float, planned: int, spread: Spread | None) -> Need:
    """What one case and metric needs."""
    if spread is None:
        return Need(case, metric, margin, planned, None, None, None)
    deviation = spread.deviation
    provable = POWERS if planned >= FEWEST_FOR_EQUIVALENCE else ()
    if deviation < NO_SPREAD:
        alone = gated = Proof((FEWEST_FOR_EQUIVALENCE,) * len(POWERS), (0.0,) * len(provable))
    else:
        alone, gated = (
            Proof(
                tuple(enough(fewest(deviation, margin, wanted)) for wanted in POWERS),
                tuple(smallest(deviation, planned, wanted) for wanted in provable),
            )
            for fewest, smallest in (
                (power.blocks_needed, power.provable_margin),
                (power.gated_blocks_needed, power.gated_provable_margin),
            )
        )
    return Need(case, metric, margin, planned, spread, alone, gated)


# How long so many blocks take that hold a case, in words.
Takes = Callable[[str, int], str]


def need_lines(needs: Sequence[Need], takes: Takes) -> list[str]:
    """Blocks and time for each margin, and what the planned blocks can prove."""
    if not needs:
        return ["Blocks needed: no comparison of this study has a margin"]
    lines = ["Blocks to prove each margin, at 80 / 90 % power, if arms truly cost the same"]
    metrics = Counter(need.case for need in needs)
    rows = [_cells(need, metrics[need.case] > 1, takes) for need in needs]
    lines += [f"  {line}" for line in aligned([HEAD, *rows])]
    known = [need.spread for need in needs if need.spread]
    lines += [f"  SD from {source}" for source in _sources(known)]
    return lines + [f"  {line}" for line in NOTES if known]


def _cells(need: Need, several: bool, takes: Takes) -> tuple[str, ...]:
    name = f"{need.case} {need.metric}" if several else need.case
    margin = f"±{percent(need.margin)} %"
    if need.spread is None or need.alone is None or need.gated is None:
        return name, margin, "no variance known: measure a pilot"
    if need.spread.deviation < NO_SPREAD:
        return name, margin, f"no spread between blocks: {FEWEST_FOR_EQUIVALENCE} suffice"
    other = "" if need.spread.same else "~"
    return (
        name,
        margin,
        f"{other}{percent(need.spread.deviation)} ({percent(need.spread.widest)}) %",
        *(" / ".join(map(str, each.blocks)) for each in (need.alone, need.gated)),
        " / ".join(dict.fromkeys(takes(need.case, count) for count in need.gated.blocks)),
        str(need.planned),
        *map(_margins, (need.alone, need.gated)),
    )


def _margins(proof: Proof) -> str:
    if not proof.margins:
        return f"needs {FEWEST_FOR_EQUIVALENCE}"
    return f"±{' / '.join(percent(margin) for margin in proof.margins)} %"


def _sources(known: Iterable[Spread]) -> list[str]:
    """Each dataset once, with what it rests on."""
    by_dataset = defaultdict(list)
    for spread in known:
        by_dataset[spread.dataset].append(spread)
    return [
        f"{dataset}, {min(spread.blocks for spread in those)} blocks, "
        f"{max(spread.arms for spread in those)} arms"
        f"{'' if all(spread.same for spread in those) else '; ~ with other parameters'}"
        for dataset, those in by_dataset.items()
    ]
