"""What a contrast is decided by: the numbers that count, independent effects, and lost runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy import special

from parity.analysis import tables
from parity.analysis.dataset import Dataset, Place
from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE

RATIO, DIFFERENCE = "ratio", "difference"
# A preliminary test at 5 % misses too much of what spoils the conclusion after it; at 25 % it
# does not (Bancroft, Biometrics 1964).
PRELIMINARY = 0.25
CLUSTERS = f"differs between nodes or sessions, fewer than {FEWEST_FOR_A_DIFFERENCE} of each"
# Fewer than 5 % lost hardly bias a trial, more than 20 % break it (Sackett et al., Evidence-Based
# Medicine, 2000). Here it is not known that slow runs were not the lost ones, so it is the first.
LOST_SHARE = 0.05
LOSSES = "runs were lost"
ByCase = Mapping[tuple[str, str], "Numbers"]  # By case and metric.
Units = list[list[str]]  # The blocks of each unit, in the order of time.


@dataclass(frozen=True)
class Numbers:
    """The numbers of one case and metric that count."""

    unit: str = ""  # their unit
    better: str = ""  # their direction: lower, higher or neither
    by_arm: dict[str, dict[str, float]] = field(default_factory=dict)  # arm to block to number

    __hash__ = object.__hash__

    @property
    def sign(self) -> float:
        """What turns the log of a number into the log of a cost: -1 where higher is better."""
        return -1.0 if self.better == "higher" else 1.0

    def of(self, arm: str) -> Mapping[str, float]:
        """The numbers of an arm by block."""
        return self.by_arm.get(arm, {})

    def costs(self, arm: str) -> Mapping[str, float]:
        """Logs of what an arm costs by block: of the number, or of its inverse."""
        return _logs(self, arm)

    def column(self, ratio: bool, arm: str) -> Mapping[str, float]:
        """What a contrast sums, by block: the logs of the costs of an arm, or its numbers."""
        return self.costs(arm) if ratio else self.of(arm)


# Comparisons of a case and metric follow each other; of all of them it would be most of the memory.
@lru_cache(maxsize=16)
def _logs(numbers: Numbers, arm: str) -> dict[str, float]:
    positive = ((block, value) for block, value in numbers.of(arm).items() if value > 0)
    return {block: numbers.sign * math.log(value) for block, value in positive}


def counted_values(metrics: pd.DataFrame, exclusions: pd.DataFrame) -> pd.DataFrame:
    """The numbers of valid, final runs that nobody excluded and that are numbers (`tables.VALUES`).

    Outliers stay: only failed checks and exclusions take runs out (Hoefler & Belli, SC15, rule 4).
    """
    keep = metrics["valid"] & np.isfinite(metrics["value"])
    if len(exclusions):
        runs, out = (pd.MultiIndex.from_frame(t[["block", "run"]]) for t in (metrics, exclusions))
        keep &= ~runs.isin(out)
    kept: pd.DataFrame = metrics.loc[keep, [column.name for column in tables.VALUES.columns]]
    return kept.sort_values([*tables.VALUES.order], ignore_index=True)


def numbers(values: pd.DataFrame) -> dict[tuple[str, str], Numbers]:
    """The counted values by case and metric. Raises ValueError: a block has two of one arm."""
    by_case: dict[tuple[str, str], Numbers] = {}
    # All share the names of blocks, which a column of texts would make anew for each.
    codes, texts = pd.factorize(values["block"])
    data, names = values.assign(block=codes), texts.tolist()
    for key, rows in data.groupby(["case", "metric", "arm"], sort=False):
        case, metric, arm = map(str, key)
        if (case, metric) not in by_case:
            by_case[case, metric] = Numbers(*rows.iloc[0][["unit", "better"]])
        blocks = map(names.__getitem__, rows["block"].tolist())
        of_arm = dict(zip(blocks, rows["value"].tolist(), strict=True))
        by_case[case, metric].by_arm[arm] = of_arm
        if len(of_arm) < len(rows):
            raise ValueError(f"two final values of a block: {case}, {metric}, {arm}")
    return by_case


class Sample(NamedTuple):
    """The numbers that a decision rests on."""

    effects: np.ndarray  # of units in the order of time: shape (units,), or (references, units)
    objection: str  # `CLUSTERS`, or empty


def sample(
    by_block: Mapping[str, float], places: Mapping[str, Place], each: np.ndarray | None = None
) -> Sample:
    """The independent effects of a comparison: the mean of each unit; as `units`.

    `each`: those against each reference, whose means `by_block` has; shape (blocks, references).
    """
    found, objection = units(by_block, places)
    place = {block: at for at, block in enumerate(by_block)}
    effects = np.array([*by_block.values()], float) if each is None else each
    if len(found) == len(by_block):
        return Sample(effects[[place[block] for (block,) in found]].T, objection)
    means = [effects[[place[block] for block in unit]].mean(axis=0) for unit in found]
    return Sample(np.array(means).T, objection)


def units(by_block: Mapping[str, float], places: Mapping[str, Place]) -> tuple[Units, str]:
    """The blocks that are independent, or the nodes or sessions that are; and `CLUSTERS`, or empty.

    Blocks on one node, or of one stretch of work, may share what an arm costs there. Then the node
    or the stretch is the unit (Donner & Klar, Design and Analysis of Cluster Randomization Trials,
    2000, ch. 6): wherever there are at least six, of which one holds two blocks, as Student's t of
    their means is exact whatever they share. Of both groupings that counts whose interval of the
    mean is wider, as nodes say nothing of what sessions share that each ran on all of them. Fewer
    are too few to say how much they differ; where an analysis of variance finds that they do,
    nothing can be concluded. `by_block`: the effect of each block. `places`: where and when each
    block ran; where one is not known, nothing is shared.
    """
    blocks = sorted(by_block, key=lambda name: (places[name].started if places else "", name))
    many, refused = list[Units](), list[Units]()
    for shared in (attrgetter("nodes"), attrgetter("session")) if places else ():
        groups: dict[object, list[str]] = {}
        for block in blocks:
            groups.setdefault(shared(places[block]), []).append(block)
        together = list(groups.values())
        if "" in groups or not 1 < len(groups) < len(blocks):
            continue
        if len(groups) >= FEWEST_FOR_A_DIFFERENCE:
            many.append(together)
        elif _differ([[by_block[block] for block in group] for group in together]):
            refused.append(together)
    if refused:
        return min(refused, key=len), CLUSTERS

    def width(of: Units) -> float:
        return half_width(np.array([fmean([by_block[block] for block in unit]) for unit in of]))

    return max(many, key=width, default=[[block] for block in blocks]), ""


def half_width(effects: np.ndarray) -> float:
    """Half the width of Student's 95 % interval of the mean of at least two effects."""
    error = effects.std(ddof=1) / len(effects) ** 0.5
    return float(special.stdtrit(len(effects) - 1, 0.975) * error)


def _differ(groups: list[list[float]]) -> bool:
    """Whether a one-way analysis of variance finds that groups differ; so do constant ones."""
    if all(np.ptp(group) == 0 for group in groups):
        return len({group[0] for group in groups}) > 1
    return float(scipy.stats.f_oneway(*groups).pvalue) < PRELIMINARY


def objection_to_losses(
    dataset: Dataset, of_case: Numbers, case: str, arms: tuple[str, str], ratio: bool = True
) -> str:
    """Why the runs that do not count let nothing be said of two arms; empty if they do.

    Too many of one arm are lost, or more of one than of the other (Fisher's exact test). A run that
    came to its time limit is lost even if it was repeated with success, since it was slow. Blocks
    in which nothing of the case was started yet are no losses, nor are those in which it was not
    measured any more in one of the arms. `of_case`: the numbers of the case that count. `ratio`:
    whether the arms are compared by ratios, to which a number of zero or below is lost.
    """
    planned = [dataset.planned_in.get((case, arm), set()) for arm in arms]
    begun = set.intersection(dataset.begun.get(case, set()), *planned)
    begun -= set().union(*(dataset.stopped.get((case, arm), set()) for arm in arms))
    slow = [dataset.too_slow.get((case, arm), set()) for arm in arms]
    told = [of_case.column(ratio, arm).keys() for arm in arms]
    lost = [len(begun - (there - late)) for there, late in zip(told, slow, strict=True)]
    if not any(lost):
        return ""
    counts = np.array([[one, len(begun) - one] for one in lost])
    unequal = scipy.stats.fisher_exact(counts).pvalue < PRELIMINARY
    if not unequal and max(lost) <= LOST_SHARE * len(begun):
        return ""
    said = ", ".join(f"{one} in {arm}" for one, arm in zip(lost, arms, strict=True))
    return f"{LOSSES}: {said} of {len(begun)}"
