"""Samples with replacement of whole units: runs, or stretches of time, that are independent.

What lies within a unit may depend on each other (block bootstrap: Carlstein, Ann. Stat. 1986;
Künsch, Ann. Stat. 1989).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Of fewer units a bootstrap says too little of how much they differ.
FEWEST_UNITS = 6
REPLICATES = 500
PartialInterval = tuple[float | None, float | None]
NO_INTERVAL: PartialInterval = (None, None)


def resampled(units: int) -> NDArray[np.float64]:
    """How often each unit is in each sample, shape (replicates, units); always the same."""
    random = np.random.default_rng(units)
    often = random.multinomial(units, [1 / units] * units, size=REPLICATES)
    return often.astype(np.float64)


def percentile_interval(replicates: NDArray[np.float64], units: int) -> PartialInterval:
    """The 95 % percentile interval of the bootstrap; none where units or numbers are too few."""
    found = replicates[~np.isnan(replicates)]
    if units < FEWEST_UNITS or len(found) < len(replicates) / 2:
        return NO_INTERVAL
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)
