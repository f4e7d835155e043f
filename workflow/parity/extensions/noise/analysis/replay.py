"""What recorded events do to programs on many ranks that wait for each other after each step.

A rank works for a fixed time and then waits until all have (bulk-synchronous: Valiant, CACM 1990;
with noise: Agarwal et al., SC05; Ferreira et al., SC08). Nothing is drawn: in a recording the
delay of a step is a function of the moment at which it starts that changes only where an event
enters or leaves the step, so its law is known exactly but for the width of bins, and the slowest
of N independent ranks has the product of their laws.

A step starts while a rank works, unless an event began while it waited for the others. How long
it could wait is the longest delay of the step before, so these delays are a Markov chain, whose
stationary law gives the mean step. That steps start at any moment of a recording, in events as
often as these last, is the limit of long steps and many ranks; of two ranks with steps of 0.1 ms
and events of 5 ms it would be wrong by a factor of three.

Each window is taken for a ring: a step that begins at its end goes on at its beginning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parity.analysis.methods import percentile_interval, resampled
from parity.extensions.noise.analysis.durations import Window, at_work

RANKS = tuple(2**power for power in range(21))
STEPS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
RANDOM, TOGETHER = "random", "together"
# Delays in ns are told apart to 1.4 %: fifty bins for each doubling, after one for none.
_EACH, _DOUBLINGS = 50, 41
_WAITS = 12  # doublings that tell waiting times apart, down to a thousandth of the longest delay
_REPLICATES, _NEVER = 100, 1e-60
_AT_ONCE = 10  # samples whose laws fit into a processor's cache together
_BINS = 1 + _EACH * _DOUBLINGS
_EDGES = np.concatenate([[0.0], 2.0 ** (np.arange(_BINS) / _EACH)])
_MIDDLES = (_EDGES[1:] + _EDGES[:-1]) / 2


@dataclass(frozen=True)
class Delays:
    """The delays of a step in each window: for how much of the time each is that.

    `working`: time in which the program works, by the delay of a step that starts then, ns.
    `stopped`: time in which it is kept from working, alike, within the first so many ns of an
    event, for each of the waiting times: such a step has the rest of that event before it.
    """

    step: int  # the work of a step, ns
    working: NDArray[np.float64]  # shape (windows, bins)
    moments: NDArray[np.float64]  # the sum of those delays, each times its time, ns²
    stopped: NDArray[np.float64]  # shape (windows, `_WAITS`, bins)
    values: NDArray[np.float64]  # the mean delay of each bin, ascending, ns
    longest: NDArray[np.float64]  # the longest delay of each class of waiting times, ascending, ns


def delays(windows: Sequence[Window], step: float) -> Delays:
    """The delays of steps of so many seconds of work."""
    work = round(1e9 * step)
    found = [_of_window(window, work) for window in windows]
    working, moments = (np.array(each) for each in list(zip(*found, strict=True))[:2])
    stopped = np.array([_within(_ends(rest, rest + lengths)) for *_, rest, lengths in found])
    there = (working + stopped).any(axis=0)  # few delays are possible at all
    working, moments, stopped = (each[:, there] for each in (working, moments, stopped))
    values = (moments + stopped * _MIDDLES[there]).sum(axis=0) / (working + stopped).sum(axis=0)
    longest = max(values[-1], 1.0) * 2.0 ** np.arange(1 - _WAITS, 1)
    # Whoever waited less than the shortest went straight on.
    waits = np.where(longest == longest[0], 0.0, longest / np.sqrt(2)).astype(np.int64)
    begun = np.array([_begun(rest, lengths, waits)[:, there] for *_, rest, lengths in found])
    return Delays(work, working, moments, begun, values, longest)


def _of_window(window: Window, work: int) -> tuple[np.ndarray, ...]:
    """Time at work and its moments by the delay's bin; each event's delay after it, and length."""
    # On the clock that stands still in events a step covers [u, u + work), and its delay is the
    # sum of the events in there: one comes in where u + work passes it, and leaves where u does.
    at, lengths, round_ = at_work(window)
    if round_ <= 0:
        raise ValueError(f"nothing is left of window {window.key} between its events")
    turns, part = divmod(work, round_)
    first = int(np.searchsorted(at, part))
    enter = np.concatenate([at[first:] - part, at[:first] - part + round_])
    order = np.argsort(np.concatenate([enter, at]), kind="stable")
    places = np.concatenate([enter, at])[order]
    change = np.concatenate([lengths[first:], lengths[:first], -lengths])[order]
    start = turns * int(lengths.sum()) + int(lengths[:first].sum())
    delay = start + np.concatenate([[0], np.cumsum(change)])
    time = np.diff(np.concatenate([[0], places, [round_]])).astype(np.float64)
    bins = _bin(delay)
    working, moments = (np.bincount(bins, each, _BINS) for each in (time, time * delay))
    # Within an event the delay falls from all of it and the rest to the rest, as time goes on.
    rest = delay[1:][order >= len(at)]
    return working, moments, rest, lengths


def _begun(
    rest: NDArray[np.int64], lengths: NDArray[np.int64], waits: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Time within the first so many ns of events (`waits`, ascending), as `Delays.stopped`."""
    # The first of the waiting times in which all of an event has room.
    first, last = np.searchsorted(waits, lengths), rest + lengths
    whole = [_ends(rest[first == k], last[first == k]) for k in range(len(waits))]
    parts = [_ends(last[first > k] - wait, last[first > k]) for k, wait in enumerate(waits)]
    return _within(np.cumsum(whole, axis=0) + parts)


def _bin(delay: NDArray[np.int64]) -> NDArray[np.int64]:
    bins = 1 + np.floor(_EACH * np.log2(np.maximum(delay, 1))).astype(np.int64)
    return np.where(delay < 1, 0, np.minimum(bins, _BINS - 1))


def _ends(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many more stretches end than begin in each bin, and the sum of those ends, alike."""
    of_high, of_low = _bin(high), _bin(low)
    more = np.bincount(of_high, minlength=_BINS) - np.bincount(of_low, minlength=_BINS)
    ends = np.bincount(of_high, high, _BINS) - np.bincount(of_low, low, _BINS)
    return np.array([more, ends], np.float64)


def _within(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of the stretches with these ends, shape (…, 2, bins), lies in each bin."""
    to_edges = np.cumsum(ends[..., 0, :], axis=-1) * _EDGES[1:]
    return np.asarray(ends[..., 1, :] - np.diff(to_edges, axis=-1, prepend=0))


def slowdowns(found: Delays, often: NDArray[np.float64]) -> NDArray[np.float64]:
    """Time of a step over its work, for all `RANKS` at random phases, shape (samples, ranks)."""
    # `often`: how often each window is in each sample.
    parts = np.array_split(often, max(1, len(often) // _AT_ONCE))
    return 1 + np.concatenate([_slowest(found, part) for part in parts]) / found.step


def laws(found: Delays, often: NDArray[np.float64]) -> NDArray[np.float64]:
    """How likely a rank's delay is at most each bin's, by its wait: (samples, `_WAITS`, bins)."""
    time = (often @ found.working)[:, None] + np.tensordot(often, found.stopped, 1)
    below = np.cumsum(time, axis=2)
    return np.asarray(below / below[:, :, -1:])


def _slowest(found: Delays, often: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected delay of the slowest rank, ns, shape (samples, ranks)."""
    law, gaps = laws(found, often), np.append(np.diff(found.values), 0)
    most = law.max(axis=(0, 1))
    # The last bin of each class of waiting times; delays of none are in the first.
    last = np.searchsorted(found.values, found.longest * (1 + 1e-9), side="right") - 1
    delays, reached = [], []
    for _ in RANKS:
        delays.append(found.values[-1] - law @ gaps)
        reached.append(np.where(last < 0, 0, law[:, :, np.maximum(last, 0)]))
        np.square(law, out=law)
        np.square(most, out=most)
        # Short delays of all ranks together are soon less likely than numbers can say.
        there = int((most < _NEVER).sum())
        law, most, gaps, last = law[:, :, there:], most[there:], gaps[there:], last - there
    # Of one rank nobody waits for it, and it for nobody.
    chains = np.diff(np.stack(reached[1:], axis=1), axis=3, prepend=0)
    # How often each chain is in each state, all of which sum to one; its rows are from where.
    flow = np.swapaxes(chains, -1, -2) - np.eye(_WAITS)
    flow[..., -1, :] = 1
    stationary = np.linalg.solve(flow, np.eye(_WAITS)[:, -1:])[..., 0]
    expected = (stationary * np.stack(delays[1:], axis=1)).sum(axis=2)
    return np.concatenate([delays[0][:, :1], expected], axis=1)


def together(found: Delays, often: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for ranks that all meet the same events at once, however many: one per sample."""
    lost = often @ found.moments.sum(axis=1) / (often @ found.working.sum(axis=1))
    return np.asarray(1 + lost / found.step)


def replay(windows: Sequence[Window], found: Delays) -> Iterator[dict[str, Any]]:
    """Rows of the table of replays for one length of a step, without case and arm.

    So many ranks spend together, in one step, their number times its time. More than was
    recorded says nothing of the events that are rarer, and the number is a lower bound: the
    mean of the largest of N is less by a recorded law than by the true one (Jensen). So is that
    of a step which is longer than a window.
    """
    count = len(windows)
    looked, shortest = (each(w.duration for w in windows) for each in (sum, min))
    once, often = np.ones((1, count)), resampled(count)[:_REPLICATES]
    same, alike = together(found, once)[0], percentile_interval(together(found, often), count)
    at_random, again = slowdowns(found, once)[0], slowdowns(found, often)
    for place, ranks in enumerate(RANKS):
        slowdown, is_long = float(at_random[place]), found.step > shortest
        row = {"ranks": ranks, "step_seconds": found.step / 1e9}
        for phases, value, (low, high), beyond in (
            (RANDOM, slowdown, percentile_interval(again[:, place], count),
             is_long or ranks * found.step * slowdown > looked),
            (TOGETHER, float(same), alike, is_long),
        ):  # fmt: skip
            said = {"phases": phases, "slowdown": value, "low": low, "high": high}
            yield row | said | {"beyond": beyond}
