"""How likely a design is to prove equivalence, and the design that is likely enough.

Two one-sided t tests pass if the mean log ratio lies inside the margin by more than
t standard errors. The mean is normal, the standard error a chi variable, and they are
independent, so power is an integral over one dimension: Owen's Q functions (Owen,
Biometrika 1965; Phillips, J. Pharmacokinet. Biopharm. 1990), here evaluated by
Gauss-Legendre quadrature. It is exact for normal logarithms, also where the usual
noncentral-t approximation is not: few blocks, low power.

Margins are fractions: 0.05 is a ratio within (1/1.05, 1.05). Deviations are standard
deviations of logarithms: nearly the coefficient of variation, see `deviation_of_cv`.
Each of the two tests is made at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special, stats

from parity.analysis.estimate import ALPHA
from parity.analysis.statistics import checks

NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
FEW_NODES, FEW_WEIGHTS = np.polynomial.legendre.leggauss(48)
# The length of a vector of unit normals lies within this of its mean but for 1e-17.
REACH = 9.0
MOST_BLOCKS = 10_000_000
# Power of a test by deviation, blocks (or runs of each arm) and margin.
PowerOf = Callable[[float, int, float], float]


def deviation_of_cv(cv: float) -> float:
    """Standard deviation of the logarithm of a log-normal number with this CV (a fraction).

    Exact for log-normal numbers: sqrt(log(1 + cv^2)) (Johnson, Kotz & Balakrishnan 1994, ch. 14).
    """
    checks.above_zero(cv=cv)
    return math.sqrt(math.log1p(cv**2))


def tost_power(deviation: float, blocks: int, margin: float, true_ratio: float = 1.0) -> float:
    """Probability that `blocks` paired log ratios prove equivalence at the margin.

    Args:
        deviation: standard deviation of the paired log ratios.
        blocks: number of pairs, at least 2.
        margin: a fraction.
        true_ratio: the ratio that the arms truly have.

    Raises:
        ValueError: an argument is out of its range.
    """
    checks.count(2, blocks=blocks)
    checks.above_zero(deviation=deviation)
    error = deviation / math.sqrt(blocks)
    return _power(error, blocks - 1, margin, true_ratio)


def two_sample_tost_power(
    deviation: float, per_arm: int, margin: float, true_ratio: float = 1.0
) -> float:
    """The same for two independent samples of `per_arm` log values each.

    Args:
        deviation: standard deviation of the log values, the same in both arms.
        per_arm: runs of each arm, at least 2; the test has 2 (per_arm - 1) degrees of freedom.
        margin, true_ratio: as in `tost_power`.
    """
    checks.count(2, per_arm=per_arm)
    checks.above_zero(deviation=deviation)
    error = deviation * math.sqrt(2 / per_arm)
    return _power(error, 2 * (per_arm - 1), margin, true_ratio)


def gated_power(deviation: float, blocks: int, margin: float, true_ratio: float = 1.0) -> float:
    """Probability that a comparison passes and the A/A pair passes with it.

    Both share the reference's runs, so their log ratios correlate by 1/2 (equal, independent
    noise in every run). Given the reference's own mean and spread they are independent, each
    with a noncentral chi-square variance; that leaves an integral over three dimensions
    instead of a simulation.

    Args:
        deviation, blocks, margin: as in `tost_power`.
        true_ratio: of the arm over the reference; the A/A pair's is 1.
    """
    checks.count(2, blocks=blocks)
    checks.above_zero(deviation=deviation, true_ratio=true_ratio)
    bound, freedom = checks.log_margin(margin), blocks - 1
    error = deviation / math.sqrt(2 * blocks)  # of the mean of one arm's own noise
    mean = REACH * FEW_NODES
    mean_weight = REACH * FEW_WEIGHTS * stats.norm.pdf(mean)
    spread, spread_weight = _chi_grid(freedom, np.zeros(1), math.inf, FEW_NODES, FEW_WEIGHTS)
    # Standard error of the log ratio per unit length of an arm's vector of residuals.
    unit = stats.t.isf(ALPHA, freedom) / math.sqrt(freedom)
    length, weight = _chi_grid(freedom, spread[0] ** 2, bound / error / unit)
    room = bound / error - unit * length  # what the mean may be off at most

    def passes(log_ratio: float) -> np.ndarray:
        """Probability to pass, for each mean and each spread of the reference (rows, columns)."""
        centre = (log_ratio / error - mean)[:, None, None]
        inside = special.ndtr(room - centre) - special.ndtr(-room - centre)
        return np.asarray((inside * weight).sum(axis=-1))

    gate = passes(0.0)
    both = gate * (gate if true_ratio == 1 else passes(math.log(true_ratio)))
    return float(np.clip(mean_weight @ both @ spread_weight[0], 0, 1))


def blocks_needed(
    deviation: float, margin: float, power: float, power_of: PowerOf = tost_power
) -> int:
    """Fewest blocks (at least 2) in which equal arms reach this power by one of these tests."""
    checks.share(power=power)
    high = 2
    while power_of(deviation, high, margin) < power:
        high *= 2
        if high > MOST_BLOCKS:
            raise ValueError(f"more than {MOST_BLOCKS} would be needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_of(deviation, middle, margin) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def provable_margin(
    deviation: float, blocks: int, power: float, power_of: PowerOf = tost_power
) -> float:
    """Smallest margin that equal arms would prove with this power: a fraction.

    Args:
        blocks: or runs of each arm, as `power_of` counts.
    """
    checks.share(power=power)

    def excess(log_margin: float) -> float:
        return power_of(deviation, blocks, math.expm1(log_margin)) - power

    high = 1e-6
    while excess(high) < 0:
        high *= 2
    return math.expm1(optimize.brentq(excess, high / 2, high, xtol=1e-12))


def _power(error: float, freedom: int, margin: float, true_ratio: float) -> float:
    """Power, given the standard error of the mean log ratio and its degrees of freedom."""
    checks.above_zero(true_ratio=true_ratio)
    bound, off = checks.log_margin(margin), math.log(true_ratio)
    unit = stats.t.isf(ALPHA, freedom) / math.sqrt(freedom)
    # A larger estimated error leaves no mean at which both tests pass.
    length, weight = _chi_grid(freedom, np.zeros(1), bound / error / unit)
    room = bound / error - unit * length
    inside = special.ndtr(room - off / error) - special.ndtr(-room - off / error)
    return float(np.clip((inside * weight).sum(), 0, 1))


def _chi_grid(
    freedom: int,
    noncentrality: np.ndarray,
    largest: float,
    nodes: np.ndarray = NODES,
    weights: np.ndarray = WEIGHTS,
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of normal vectors up to `largest`, and their weights; one row per noncentrality.

    A length is the root of a chi-square number; unlike that, it has no pole at zero.
    """
    centre = np.sqrt(freedom + noncentrality)[:, None]
    low = np.clip(centre - REACH - 1, 0, largest)
    high = np.clip(centre + REACH, 0, largest)
    length = low + (high - low) * (nodes + 1) / 2
    density = 2 * length * stats.ncx2.pdf(length**2, freedom, noncentrality[:, None])
    return length, (high - low) / 2 * weights * density
