"""How log cost ratios scatter between blocks, as earlier measurements have it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.analysis.analysis import Analysed, analysed
from parity.core.errors import UserError
from parity.plan.plan import Plan

# So many blocks of this machine tell more of it than any number of another's.
ENOUGH_BLOCKS = 10


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
        """Which of two spreads of a case tells more of it: the higher one."""
        is_here = self.dataset.startswith("live/")
        return self.same, is_here and self.blocks >= ENOUGH_BLOCKS, self.blocks


def pooled(effects: Iterable[Sequence[float]]) -> float:
    """Standard deviation of effects around their own arm's mean.

    The root of the arms' variances, weighted by their degrees of freedom, as in an analysis
    of variance. Arms share the reference's runs, so it rests on fewer independent numbers
    than it has terms; it is unbiased all the same.

    Args:
        effects: log ratios per arm; an arm with fewer than two is left out.
    """
    arms = [np.asarray(arm, dtype=float) for arm in effects if len(arm) > 1]
    if not arms:
        raise ValueError("needs an arm with at least two effects")
    squares = sum(float(((arm - arm.mean()) ** 2).sum()) for arm in arms)
    return math.sqrt(squares / sum(len(arm) - 1 for arm in arms))


def spreads(plan: Plan, pilot: Analysed) -> dict[tuple[str, str], Spread]:
    """The spread of each case and metric of the plan that a dataset holds ratios of."""
    parameters = {case["case"]: case["parameters"] for case in plan.cases}
    by_case: dict[tuple[str, str], list[np.ndarray]] = {}
    for (case, metric, arm), row in pilot.compared.items():
        if case in parameters and row.asked.kind == "ratio" and row.decision.blocks > 1:
            by_case.setdefault((case, metric), []).append(pilot.effects[case, metric, arm])
    return {
        (case, metric): Spread(
            deviation=pooled(effects),
            widest=max(pooled([arm]) for arm in effects),
            arms=len(effects),
            blocks=min(len(arm) for arm in effects),
            dataset=pilot.dataset.name,
            same=pilot.parameters[case] == parameters[case],
        )
        for (case, metric), effects in by_case.items()
    }


def best_spreads(plan: Plan, pilots: Iterable[Analysed]) -> dict[tuple[str, str], Spread]:
    """For each case and metric the spread that tells most, of all datasets that have one.

    The plan's own parameters come before others, then this machine's own blocks if they
    are enough, then more blocks before fewer.
    """
    best: dict[tuple[str, str], Spread] = {}
    for pilot in pilots:
        for key, found in spreads(plan, pilot).items():
            if key not in best or found.rank > best[key].rank:
                best[key] = found
    return best


def pilots(
    folders: Iterable[Path], excluded: Sequence[dict[str, Any]] = ()
) -> tuple[list[Analysed], list[str]]:
    """The datasets in these folders, and a line for each that is there and cannot be read."""
    found, unread = [], []
    for folder in folders:
        if not (folder / "records/metrics.parquet").exists():
            continue
        try:
            found.append(analysed(folder, excluded))
        except UserError as error:
            unread.append(f"{'/'.join(folder.parts[-2:])} is not used: {error.what}")
    return found, unread
