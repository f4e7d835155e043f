"""Equivalence of two independent samples and of several arms.

The paired test of one comparison is `parity.analysis.estimate`; here are the tests that
it lacks. Everything is about logarithms, so effects are ratios.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from statsmodels.stats.oneway import equivalence_oneway_generic
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from parity.analysis import estimate
from parity.analysis.statistics import checks
from parity.analysis.statistics.checks import Interval


@dataclass(frozen=True)
class Equivalence:
    """One tested ratio.

    Attributes:
        ratio: geometric mean of the first over that of the second.
        interval95, interval90: of the ratio.
        p: of the two one-sided tests.
        smallest_margin: the margin that would just have passed at the 5 % level; a fraction.
        samples: values of the first and of the second; equal for pairs.
    """

    ratio: float
    interval95: Interval
    interval90: Interval
    p: float
    smallest_margin: float
    samples: tuple[int, int]

    @property
    def equivalent(self) -> bool:
        """Whether both one-sided tests pass at 5 %."""
        return self.p < estimate.ALPHA


@dataclass(frozen=True)
class Pair:
    """Two arms, compared within blocks: `arm` over `against`."""

    arm: str
    against: str
    result: Equivalence


@dataclass(frozen=True)
class GroupEquivalence:
    """All arms against each other.

    Attributes:
        pairs: every pair of arms, in the order of their names.
        p: the largest p of the pairs: all must be equivalent (intersection-union test,
            Berger, Technometrics 1982), so nothing is corrected for their number.
        blocks: blocks that hold every arm; the sample of the omnibus test.
        p_omnibus: p of Wellek's F test of equivalence on these blocks; None if fewer than
            two blocks hold every arm, or without any residual variance.
    """

    pairs: tuple[Pair, ...]
    p: float
    blocks: int
    p_omnibus: float | None

    @property
    def equivalent(self) -> bool:
        """Whether every pair is equivalent at 5 %."""
        return self.p < estimate.ALPHA

    @property
    def worst(self) -> Pair:
        """The pair that needs the widest margin."""
        return max(self.pairs, key=lambda pair: pair.result.smallest_margin)


def paired_equivalence(log_ratios: Iterable[float], margin: float) -> Equivalence:
    """The paired test of `parity.analysis.estimate` in the form of this module.

    Args:
        log_ratios: one per block, at least 2.
        margin: a fraction; the ratio must lie within (1/(1+margin), 1+margin).
    """
    checks.above_zero(margin=margin)
    logs = checks.finite(log_ratios, 2, "log ratios")
    found = estimate.estimate(logs)
    p = estimate.equivalence_p(logs, margin)
    return _equivalence(found.mean, found.interval95, found.interval90, p, (len(logs), len(logs)))


def two_sample_equivalence(
    logs_a: Iterable[float], logs_b: Iterable[float], margin: float
) -> Equivalence:
    """Two one-sided Welch tests of two independent samples of log values, a over b.

    Schuirmann (J. Pharmacokinet. Biopharm. 1987) with Welch's degrees of freedom, so the
    arms may spread differently. Two samples without any spread leave no error to test
    against: p is then 0 inside the margin and 1 outside, as for pairs.

    Args:
        logs_a, logs_b: log values, at least 2 each; their numbers may differ.
        margin: a fraction.

    Raises:
        ValueError: too few values, values that are no numbers, or a margin not above zero.
    """
    bound = checks.log_margin(margin)
    a, b = checks.finite(logs_a, 2, "first logs"), checks.finite(logs_b, 2, "second logs")
    samples, mean = (len(a), len(b)), float(a.mean() - b.mean())
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        p = 0.0 if abs(mean) < bound else 1.0
        return _equivalence(mean, (mean, mean), (mean, mean), p, samples)
    means = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    p = float(means.ttost_ind(-bound, bound, usevar="unequal")[0])
    interval95, interval90 = (
        tuple(float(end) for end in means.tconfint_diff(alpha, usevar="unequal"))
        for alpha in (0.05, 0.10)
    )
    return _equivalence(mean, interval95, interval90, p, samples)


def group_equivalence(frame: pd.DataFrame, margin: float) -> GroupEquivalence:
    """Whether all arms are equivalent to each other, by paired tests of every pair.

    Args:
        frame: columns block, arm, log; at most one row per block and arm. A pair uses the
            blocks that hold both its arms.
        margin: a fraction, the same for every pair.

    Raises:
        ValueError: fewer than two arms, a repeated arm in a block, a log that is no finite
            number, or a pair with fewer than two common blocks.
    """
    checks.above_zero(margin=margin)
    table = wide(frame)
    if table.shape[1] < 2:
        raise ValueError("equivalence of a group needs at least two arms")
    pairs = []
    for first, second in combinations(table.columns, 2):
        logs = (table[first] - table[second]).dropna()
        if len(logs) < 2:
            raise ValueError(f"{first} and {second} have {len(logs)} common blocks, 2 are needed")
        pairs.append(Pair(str(first), str(second), paired_equivalence(logs, margin)))
    complete = table.dropna().to_numpy()
    p = max(pair.result.p for pair in pairs)
    return GroupEquivalence(tuple(pairs), p, len(complete), omnibus_p(complete, margin))


def wide(frame: pd.DataFrame, value: str = "log") -> pd.DataFrame:
    """Rows (block, arm, value) as one row per block and one column per arm, NaN where absent.

    Raises:
        ValueError: a repeated arm in a block, or a value that is no finite number.
    """
    checks.finite(frame[value].to_numpy(), 0, value)
    if frame.duplicated(["block", "arm"]).any():
        raise ValueError("a block holds two values of one arm")
    return frame.pivot(index="block", columns="arm", values=value)


def omnibus_p(logs: np.ndarray, margin: float) -> float | None:
    """Wellek's F test of equivalence of k arms in n blocks; None where it is not defined.

    Wellek (Testing Statistical Hypotheses of Equivalence and Noninferiority, 2010, ch. 7)
    in statsmodels, on the F statistic of a randomised block design. Its margin is Cohen's
    f squared; a ratio margin becomes the smallest f squared at which some pair could reach
    it: two arms at the ends, the others between them, which is bound^2 / (2 k s^2). The
    residual variance s^2 in it is estimated, so this p only stands beside the pairs' p.

    Args:
        logs: shape (blocks, arms), complete.
        margin: a fraction.
    """
    bound = checks.log_margin(margin)
    blocks, arms = logs.shape
    if blocks < 2 or arms < 2:
        return None
    freedom = (arms - 1, (arms - 1) * (blocks - 1))
    means = logs.mean(axis=0)
    residual = logs - logs.mean(axis=1, keepdims=True) - means + logs.mean()
    variance = float((residual**2).sum() / freedom[1])
    if math.isclose(variance, 0, abs_tol=1e-24):
        return None
    statistic = float(blocks * ((means - logs.mean()) ** 2).sum() / freedom[0] / variance)
    squared_margin = bound**2 / (2 * arms * variance)
    sizes = np.full(arms, blocks)
    found = equivalence_oneway_generic(statistic, arms, sizes, squared_margin, freedom)
    return float(found.pvalue)


def _equivalence(
    mean: float, interval95: Interval, interval90: Interval, p: float, samples: tuple[int, int]
) -> Equivalence:
    """A result on the log scale as ratios."""
    return Equivalence(
        ratio=math.exp(mean),
        interval95=(math.exp(interval95[0]), math.exp(interval95[1])),
        interval90=(math.exp(interval90[0]), math.exp(interval90[1])),
        p=p,
        smallest_margin=estimate.smallest_margin(interval90),
        samples=samples,
    )
