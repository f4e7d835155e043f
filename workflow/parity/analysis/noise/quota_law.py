"""The detours of a CPU limit: a program that is never idle waits for what is left of each period.

The kernel lets a control group have its quota of CPU time in each period and then stops it until
the next one, so it is kept for period - quota each time. It looks at what was used at its ticks
(CONFIG_HZ), or at most a slice of a few ms later, which smears the shorter ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parity.analysis.noise.windows import Window, joined
from parity.analysis.statistics.quantiles import ranks_of_interval

# What is longer than this part of the predicted length is due to the limit. A tenth of a second
# and more of waiting stands out from all else; with limits of a millisecond it is a convention.
DUE = 0.5


def quota_law(
    windows: Sequence[Window], quota_us: int, period_us: int, hz: float | None
) -> dict[str, Any]:
    """A row of the table of that name, without case and arm.

    Args:
        hz: ticks of the kernel in a second; None where the node does not tell.
    """
    lengths = np.sort(joined(windows)) / 1e9
    predicted = (period_us - quota_us) / 1e6
    due = lengths[lengths > DUE * predicted]
    looked, lost = sum(window.duration for window in windows) / 1e9, float(lengths.sum())
    low, high = ranks_of_interval(len(due), 0.5) if len(due) else (None, None)
    observed = float(np.median(due)) if len(due) else None
    return {
        "quota_us": quota_us,
        "period_us": period_us,
        "predicted": predicted,
        "observed": observed,
        "low": None if low is None else float(due[low - 1]),
        "high": None if high is None else float(due[high - 1]),
        "residual": None if observed is None else observed - predicted,
        "tick": None if hz is None else 1 / hz,
        "events": len(due),
        "share": len(due) / len(lengths) if len(lengths) else None,
        "per_second": len(lengths) / looked,
        "per_cpu_second": len(lengths) / (looked - lost),
    }
