"""Looking at data several times and erring once in twenty in all: group-sequential levels.

The error is spent over the looks (Lan & DeMets, Biometrika 1983) by the function that comes near
Pocock's constant level: alpha log(1 + (e - 1) t), where t is the share of the largest number of
blocks. At each look both one-sided tests are made at its nominal level, and the intervals have
the confidence that goes with it: they are repeated confidence intervals, which hold at all looks
together, whatever made anybody stop (Jennison & Turnbull, J. R. Stat. Soc. B 1989). A look may
come at another number of blocks than planned, if the numbers seen are not why.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from parity.analysis.estimate import ALPHA

NODES, WEIGHTS = np.polynomial.legendre.leggauss(160)
REACH = 8.0  # A sum of unit normals lies within so many standard deviations but for 1e-15.
ROOT = math.sqrt(2 * math.pi)


class Levels(NamedTuple):
    """One-sided levels of what is decided at one look."""

    same: float  # of each of the two tests by which arms are equivalent
    other: float  # of each of the two by which they differ
    designs: tuple[tuple[tuple[int, ...], int], ...] = ()  # looks made, and most blocks, if several

    def adjusted(self, p: float) -> float:
        """A one-sided p-value as one of a single look: the error at which it would just pass.

        It is the repeated p-value (Jennison & Turnbull, Group Sequential Methods, 2000, section
        9.3), below 0.05 if the test passes at its look, and fit for Holm's correction.
        """
        return max((_error_of(p, *design) for design in self.designs), default=p)

    def adjusted_both_ways(self, p: float) -> float:
        """The same of a two-sided p-value."""
        return min(1.0, 2 * self.adjusted(p / 2))


ONE_LOOK = Levels(ALPHA, ALPHA / 2)


def levels_at(looks: tuple[int, ...], blocks: int) -> Levels:
    """The levels of a look at so many blocks, after earlier ones of `looks` (blocks, ascending)."""
    # Before the first block nothing is decided at any level.
    last = min(max(blocks, 1), looks[-1])
    made = (*(look for look in looks if look < last), last)
    same, other = (nominal_level(made, looks[-1], alpha) for alpha in ONE_LOOK[:2])
    return Levels(same, other, ((made, looks[-1]),))


def strictest(several: Iterable[Levels]) -> Levels:
    """The levels that hold whichever of these does."""
    same, other, designs = zip(*several, strict=True)
    return Levels(min(same), min(other), tuple(dict.fromkeys(chain(*designs))))


def spent(share: float, alpha: float) -> float:
    """How much of the error may be spent when this share of the blocks is measured."""
    return alpha * math.log1p((math.e - 1) * share)


@lru_cache
def nominal_level(made: tuple[int, ...], most: int, alpha: float) -> float:
    """The one-sided nominal level of the last of some looks.

    By recursive integration over what goes on (Armitage, McPherson & Rowe, J. R. Stat. Soc. A
    1969), for a sum of unit normals. `made`: numbers of blocks, ascending. `most`: the largest
    number of blocks of the design. `alpha`: the error in all.
    """
    at, mass, before, gone, bound = np.zeros(1), np.ones(1), 0, 0.0, 0.0
    for blocks in made:
        step, reach = math.sqrt(blocks - before), REACH * math.sqrt(blocks)
        fresh = spent(blocks / most, alpha) - gone
        bound = _bound(at, mass, step, fresh, reach)
        sums = -reach + (bound + reach) * (NODES + 1) / 2
        density = np.exp(-(((sums[:, None] - at) / step) ** 2) / 2) / ROOT / step @ mass
        at, mass = sums, density * WEIGHTS * (bound + reach) / 2
        before, gone = blocks, gone + fresh
    return float(ndtr(-bound / math.sqrt(made[-1])))


def _error_of(p: float, made: tuple[int, ...], most: int) -> float:
    """The error in all at which the nominal level of the last of some looks is this p."""
    errors, levels = _levels_by_error(made, most)
    if p <= levels[0]:
        # What is as rare as this happens at one look only: the share of its spending.
        return p * float(errors[0] / levels[0])
    at = np.interp(-ndtri(p), -ndtri(levels[::-1]), -ndtri(errors[::-1]))
    return float(ndtr(-at)) if p < levels[-1] else 1.0


@lru_cache
def _levels_by_error(made: tuple[int, ...], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors in all, ascending, and the nominal level of the last look at each."""
    errors = np.sort([*np.geomspace(1e-12, 0.2, 40), *ONE_LOOK[:2], *np.linspace(0.25, 0.99, 10)])
    return errors, np.array([nominal_level(made, most, float(error)) for error in errors])


def _bound(at: np.ndarray, mass: np.ndarray, step: float, fresh: float, reach: float) -> float:
    """The sum that is exceeded with the probability `fresh`, one step after those that went on."""
    found = scipy.optimize.brentq(
        lambda bound: float(mass @ ndtr((at - bound) / step)) - fresh, -reach, reach, xtol=1e-10
    )
    return float(found)
