"""How long recorded events last: windows of runs, quantiles, return levels, and a CPU limit's law.

Events come in bursts, so one after the other they are not independent. Runs, or their parts of
half a minute, are drawn anew instead (`methods.resampled`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from parity.analysis.methods import NO_INTERVAL, percentile_interval, resampled

SECONDS = 30
Key = tuple[str, int]  # whose events they are: block and number within its run


@dataclass(frozen=True)
class Window:
    """A stretch of a run, and the events that began in it, in order of time; all in ns."""

    key: Key
    duration: int
    starts: NDArray[np.int64]  # since its begin
    lengths: NDArray[np.int64]


def split(
    block: str, seconds: float, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> list[Window]:
    """A run in windows of about half a minute; a shorter run is one."""
    parts = parts_of(seconds)
    size = round(1e9 * seconds) // parts
    ends = np.searchsorted(starts, size * np.arange(parts + 1))
    ends[0], ends[-1] = 0, len(starts)
    return [
        Window((block, part), size, starts[first:last] - size * part, lengths[first:last])
        for part, (first, last) in enumerate(pairwise(ends))
    ]


def parts_of(seconds: float) -> int:
    """How many windows a run of so many seconds has."""
    return max(1, int(seconds // SECONDS))


def joined(windows: Sequence[Window]) -> NDArray[np.int64]:
    """The lengths of all events, ns."""
    return np.concatenate([np.empty(0, np.int64), *(window.lengths for window in windows)])


def millisecond_rate(run: Sequence[Window]) -> float:
    """Events of about a millisecond in each second of a run: of 0.5 to 2 ms, both ends included."""
    lengths = joined(run)
    of_band = np.count_nonzero((lengths >= 500_000) & (lengths <= 2_000_000))
    return float(1e9 * of_band / sum(window.duration for window in run))


def at_work(window: Window) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Where events begin on a clock that stands still in them, their lengths, and the work; ns."""
    starts = np.maximum.accumulate(np.clip(window.starts, 0, window.duration))
    lengths = np.minimum(window.lengths, window.duration - starts)
    places = np.maximum.accumulate(starts - (np.cumsum(lengths) - lengths))
    return places, lengths, window.duration - int(lengths.sum())


def interrupted(window: Window, per_second: float, length: int) -> Window:
    """The window with more events of one length (ns), evenly, so many in a second of its work."""
    places, lengths, work = at_work(window)
    number = round(per_second * work / 1e9)
    more = (work * (np.arange(number) + 0.5) / max(number, 1)).astype(np.int64)
    order = np.argsort(every := np.concatenate([places, more]), kind="stable")
    lengths = np.concatenate([lengths, np.full(number, length)])[order]
    starts = every[order] + np.cumsum(lengths) - lengths
    return Window(window.key, work + int(lengths.sum()), starts, lengths)


SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
_GROUPS = 4000  # ranks that tell lengths apart, and lie the closer the longer these are


@dataclass(frozen=True)
class Quantiles:
    """The quantiles of an arm."""

    rows: tuple[dict[str, Any], ...]  # without any interval; lengths in seconds
    replicates: NDArray[np.float64]  # of the lengths in ns, shape (replicates, shares)

    def beside(self, reference: "Quantiles | None", windows: int) -> list[dict[str, Any]]:
        """The rows with intervals, and ratios to the same quantiles of a reference (None: it)."""
        made = []
        for place, row in enumerate(self.rows):
            own, ratio = percentile_interval(self.replicates[:, place] / 1e9, windows), None
            ends = NO_INTERVAL
            if reference and row["value"] and (other := reference.rows[place]["value"]):
                ratio = row["value"] / other
                both = self.replicates[:, place] / reference.replicates[:, place]
                ends = percentile_interval(both, windows)
            made.append(row | {
                "low": own[0], "high": own[1], "ratio": ratio, "ratio_low": ends[0],
                "ratio_high": ends[1],
            })  # fmt: skip
        return made


def quantiles(
    windows: Sequence[Window], place_of: Mapping[Key, int], often: NDArray[np.float64]
) -> Quantiles:
    """The quantiles of an arm: each a length that there was.

    Intervals and ratios are of windows that are drawn anew, as often as `resampled` says (`often`).
    So that arms are drawn alike, `place_of` has its column of each window of any arm.
    """
    lengths, rows = np.sort(joined(windows)), list[dict[str, Any]]()
    number, looked = len(lengths), sum(window.duration for window in windows) / 1e9
    for share in SHARES:
        # Rounding must not make a share of all of them one more than it is.
        at = math.ceil(share * number - 1e-6)
        value = float(lengths[at - 1]) / 1e9 if number else None
        rows.append({"share": share, "events": number, "seconds": looked, "value": value})
    groups = [(place_of[window.key], window.lengths) for window in windows]
    return Quantiles(tuple(rows), _drawn_anew(groups, often, SHARES))


def _drawn_anew(
    groups: Sequence[tuple[int, NDArray[np.int64]]], often: NDArray[np.float64],
    shares: Sequence[float],
) -> NDArray[np.float64]:  # fmt: skip
    """Quantiles of lengths in samples of groups, shape (samples, shares); NaN without any length.

    `groups`: the column of each in `often`, which says how often it is in each sample.
    """
    lengths = np.sort(np.concatenate([np.empty(0, np.int64), *(of for _, of in groups)]))
    if not len(lengths):
        return np.full((len(often), len(shares)), math.nan)
    from_top = np.unique(np.geomspace(1, len(lengths), _GROUPS).astype(np.int64))
    edges = np.unique(lengths[-from_top])
    counts = np.zeros((often.shape[1], len(edges)))
    for column, of_group in groups:
        counts[column] += np.bincount(np.searchsorted(edges, of_group), minlength=len(edges))
    below = np.cumsum(often @ counts, axis=1)
    wanted = np.outer(below[:, -1], shares) - 1e-6
    places = np.stack([(below < each[:, None]).sum(axis=1) for each in wanted.T], axis=1)
    found: NDArray[np.float64] = edges[np.minimum(places, len(edges) - 1)].astype(np.float64)
    found[below[:, -1] == 0] = math.nan
    return found


PERIOD_SECONDS = 900.0
# The threshold is the 95th percentile, or higher where more than so many would lie above it:
# the law is one of the far tail. Of fewer than 30 nothing is fitted.
SHARE, MOST, FEWEST_EXCEEDANCES = 0.95, 1000, 30
FURTHEST = 100  # a law that was fitted to a shorter part of the period says nothing of it
_GRID = 240  # ratios of shape to scale at which likelihoods are compared
_SIMULATED = 99
_LEAST_SHAPE = -0.5  # below it the usual theory holds at no maximum (Smith, Biometrika 1985)


class Tail(NamedTuple):
    """A generalised Pareto law of what lies above a threshold, in the unit of that; or several."""

    shape: NDArray[np.float64]
    scale: NDArray[np.float64]


class Peaks(NamedTuple):
    """What lies above the threshold, seconds."""

    threshold: float
    above: list[NDArray[np.float64]]  # by how much, of each window
    looked: float  # how long all windows are together

    def levels(self, tail: Tail, often: NDArray[np.float64]) -> NDArray[np.float64]:
        """The return level of each sample of windows, seconds; NaN if the time was too short."""
        if FURTHEST * self.looked < PERIOD_SECONDS:
            return np.full(len(often), math.nan)
        rates = often @ np.array([len(each) for each in self.above]) / self.looked
        # What is exceeded once in so many exceedances; the threshold where there are not so many.
        times = np.maximum(rates * PERIOD_SECONDS, 1.0)
        excess = tail.scale * scipy.special.boxcox(times, tail.shape)
        return np.asarray(self.threshold + excess, np.float64)


def peaks(windows: Sequence[Window]) -> Peaks | None:
    """The exceedances of these windows; None where they are too few."""
    lengths = np.sort(joined(windows)) / 1e9
    exceedances = min(MOST, math.floor((1 - SHARE) * len(lengths) + 1e-6))
    if exceedances < FEWEST_EXCEEDANCES:
        return None
    threshold = float(lengths[-exceedances - 1])
    over = (window.lengths / 1e9 - threshold for window in windows)
    looked, above = sum(w.duration for w in windows) / 1e9, [each[each > 0] for each in over]
    # Events of one length make fewer exceedances than were asked for.
    are_many = sum(map(len, above)) >= FEWEST_EXCEEDANCES
    return Peaks(threshold, above, looked) if are_many else None


def level_of(windows: Sequence[Window]) -> float | None:
    """The return level of windows alone, seconds; None where events or time are too few."""
    if (found := peaks(windows)) is None:
        return None
    once = np.ones((1, len(windows)))
    level = float(found.levels(fitted(found.above, once), once)[0])
    return None if math.isnan(level) else level


def return_level(windows: Sequence[Window]) -> dict[str, Any]:
    """A row of the table of return levels, without case and arm; null where events are too few."""
    null = ("threshold", "shape", "shape_low", "shape_high", "scale", "level", "low", "high", "fit")
    longest = max((int(w.lengths.max()) / 1e9 for w in windows if len(w.lengths)), default=None)
    row: dict[str, Any] = dict.fromkeys(null) | {"exceedances": 0, "longest": longest}
    row["period_seconds"] = PERIOD_SECONDS
    if (found := peaks(windows)) is None:
        return row
    once, often = np.ones((1, len(windows))), resampled(len(windows))
    tail, again = fitted(found.above, once), fitted(found.above, often)
    low, high = percentile_interval(found.levels(again, often), len(windows))
    shape_low, shape_high = percentile_interval(again.shape, len(windows))
    return row | {
        "exceedances": sum(map(len, found.above)), "threshold": found.threshold,
        "shape": float(tail.shape[0]), "shape_low": shape_low, "shape_high": shape_high,
        "scale": float(tail.scale[0]), "level": float(found.levels(tail, once)[0]),
        "low": low, "high": high, "fit": _p_of_fit(np.concatenate(found.above), tail),
    }  # fmt: skip


def fitted(above: Sequence[NDArray[np.float64]], often: NDArray[np.float64]) -> Tail:
    """The laws of greatest likelihood for samples of groups of exceedances.

    With t the ratio of shape to scale, the likelihood is greatest where the shape is the mean of
    log(1 + t x), and is then one of t alone (Grimshaw, Technometrics 1993). Its sums over groups
    are the same in all samples, so one product of matrices compares all t in all samples; a
    parabola through the best three finds the place between them. `above`: the exceedances, above
    zero, in groups; `often`: how often each group is in each sample, shape (samples, groups).
    """
    every = np.concatenate(above)
    # The mean of a heavy tail says nothing of its scale; the median does.
    most = 1e4 * max(1.0, every.mean() / (100 * np.median(every)))
    ratios = np.geomspace(1e-3, most, _GRID) / every.mean() - (1 - 1e-6) / every.max()
    ratios[ratios == 0] = 1e-9 / every.mean()
    sums = np.array([np.log1p(np.outer(each, ratios)).sum(axis=0) for each in above])
    numbers = often @ np.array([[len(each)] for each in above], np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        shapes = often @ sums / numbers
        # Of one exceedance, without what is the same for all t.
        likelihoods = -np.log(shapes / ratios) - shapes
    likelihoods[~(shapes >= _LEAST_SHAPE)] = -np.inf
    best, rows = np.clip(likelihoods.argmax(axis=1), 1, _GRID - 2), np.arange(len(often))
    left, top, right = (likelihoods[rows, best + step] for step in (-1, 0, 1))
    with np.errstate(invalid="ignore"):
        shift = np.nan_to_num((left - right) / (2 * (left - 2 * top + right)), posinf=0, neginf=0)
    shift = np.clip(shift, -1, 1)
    part, beside = np.abs(shift), best + np.where(shift < 0, -1, 1)
    shape = (1 - part) * shapes[rows, best] + part * shapes[rows, beside]
    return Tail(shape, shape / ((1 - part) * ratios[best] + part * ratios[beside]))


def _p_of_fit(above: NDArray[np.float64], tail: Tail) -> float:
    """P of the largest distance between law and data, where both are from that law."""
    # Each simulated sample is fitted anew, as the data were (Stute et al., Metrika 1993): against
    # the law itself the data would look better than they are.
    law = scipy.stats.genpareto(tail.shape[0], scale=tail.scale[0])
    samples = law.rvs((_SIMULATED, len(above)), random_state=np.random.default_rng(len(above)))
    observed, once = _distance(above, tail), np.ones((1, 1))
    further = sum(_distance(sample, fitted([sample], once)) >= observed for sample in samples)
    return (1 + further) / (1 + _SIMULATED)


def _distance(above: NDArray[np.float64], tail: Tail) -> float:
    """Kolmogorov and Smirnov's: the largest distance of the shares below from their law."""
    shape, scale = float(tail.shape[0]), float(tail.scale[0])
    scaled, count = np.sort(above) / scale, len(above)
    # The law as scipy has it, which takes longer to make a distribution than to use it. With a
    # shape below zero it ends, and all lies below what is beyond.
    below = np.nan_to_num(-scipy.special.inv_boxcox1p(-scaled, -shape), nan=1.0)
    places = np.arange(count + 1) / count
    return float(max((places[1:] - below).max(), (below - places[:-1]).max()))


# What is longer than this part of the predicted length is due to the limit. A tenth of a second
# and more of waiting stands out from all else; with limits of a millisecond it is a convention.
DUE = 0.5


def quota_law(
    windows: Sequence[Window], quota_us: int, period_us: int, hz: float | None
) -> dict[str, Any]:
    """A row of the table of that name, without case and arm; `hz`: the kernel's ticks, if known."""
    lengths = np.sort(joined(windows)) / 1e9
    predicted = (period_us - quota_us) / 1e6
    due = lengths[lengths > DUE * predicted]
    looked, lost = sum(window.duration for window in windows) / 1e9, float(lengths.sum())
    is_due = (window.lengths[window.lengths > 1e9 * DUE * predicted] for window in windows)
    medians = _drawn_anew([*enumerate(is_due)], resampled(len(windows)), (0.5,))[:, 0]
    low, high = percentile_interval(medians / 1e9, len(windows))
    observed = float(np.median(due)) if len(due) else None
    return {
        "quota_us": quota_us, "period_us": period_us, "predicted": predicted, "observed": observed,
        "low": low, "high": high,
        "residual": None if observed is None else observed - predicted,
        "tick": None if hz is None else 1 / hz, "events": len(due),
        "share": len(due) / len(lengths) if len(lengths) else None,
        "per_second": len(lengths) / looked, "per_cpu_second": len(lengths) / (looked - lost),
    }  # fmt: skip
