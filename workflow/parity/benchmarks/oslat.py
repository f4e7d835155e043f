"""oslat of rt-tests: the question of selfish, asked by a program of others.

It looks at the time stamp counter again and again as selfish does, and counts how long each turn
took, to a microsecond. So it does not tell when, nor of what is shorter, and it holds no events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from parity.benchmarks.description import Metric, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Refused,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    search_text,
    stated,
    stated_once,
)
from parity.benchmarks.selfish import NOISE, QUANTILES, RATE

# The most that it has: turns of a millisecond and more are counted in the last one.
BUCKETS = 1024
RESULTS = "oslat.json"
_BUCKETS = "--bucket-size"
_PRINTED = re.compile(r"^ *(\d+) \(us\):\t (\d+)(?: \(including overflows\))?$", re.MULTILINE)
_Turns = dict[int, int]


class Oslat(Benchmark):
    """Turns of a pinned loop that took more than a microsecond."""

    name = "oslat"
    title = "oslat"
    packages = ("rt-tests",)
    binaries = ("/usr/bin/oslat",)
    parameters, figures, note = described(__file__, NOISE, RATE, *QUANTILES.values())
    metrics = (NOISE, RATE, *QUANTILES.values())
    primary = (NOISE.metric, QUANTILES[0.5].metric, QUANTILES[0.99].metric)
    # Percentage points, as of selfish.
    differences = (NOISE.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """One thread on the last CPU, where its main thread sleeps meanwhile."""
        cpu = str(node.cpus[-1])
        where = ("--cpu-list", cpu, "--cpu-main-thread", cpu)
        how = ("--duration", str(parameters["seconds"]), _BUCKETS, str(BUCKETS))
        what = ("--quiet", "--zero-omit", f"--json={RESULTS}")
        argv = (*self.binaries, *where, *how, *what)
        return Program(argv, node.cpus[-1:], collect=(RESULTS,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Share, rate and quantiles; valid if both of its outputs tell the same of a whole run."""
        thread = _thread(outputs.files.get(RESULTS, ""))
        turns = {int(length): int(times) for length, times in thread["histogram"].items()}
        _require_printed(thread, turns, outputs.stdout)
        seconds = positive(thread["duration"], "duration")
        if seconds < 0.99 * outputs.parameters["seconds"]:
            asked = outputs.parameters["seconds"]
            raise Refused("wrong-size", f"asked for {asked} s, it looked for {seconds:.3f}")
        return Parsed(True, metrics=tuple(_metrics(thread, turns, seconds)))


def _thread(text: str) -> dict[str, Any]:
    """What its file says of the only thread, with numbers as text; raises `Refused`."""
    require_complete(text, '"file_version": 1', r"\n\}")
    try:
        results = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=stated_once)
        # The colon is oslat's.
        words = str(stated(results, "cmdline:")).split()
        require_equal(words[words.index(_BUCKETS) + 1], BUCKETS, "buckets")
        thread = stated(stated(results, "thread"), "0")
        return {key: stated(thread, key) for key in ("max", "avg", "duration", "histogram")}
    except (ValueError, TypeError, RecursionError):
        raise Refused("truncated", "the results are not whole") from None


def _require_printed(thread: Mapping[str, Any], turns: _Turns, text: str) -> None:
    """Refuse results that are not those that were printed; raises `Refused`."""
    require_complete(text, "oslat V 2.", r"Duration:\t \S+ \(sec\)")
    said = stated_once(_PRINTED.findall(text))
    if {int(length): int(times) for length, times in said.items() if int(times)} != turns:
        raise Refused("contradictory", "the file counts other turns than were printed")
    require_equal(
        search_text(r"Maximum:\t (\d+) \(us\)$", text, "maximum"), thread["max"], "maximum"
    )
    for name, key in (("Average", "avg"), ("Duration", "duration")):
        seen = search_text(rf"{name}:\t (\S+) \(\w+\)$", text, name)
        require_agreement(printed(seen, name), printed(thread[key], key), f"{name}, twice")


def _metrics(thread: Mapping[str, Any], turns: _Turns, seconds: float) -> list[Metric]:
    """Of the turns by their length in µs, rounded up: the first bucket's are the loop's own.

    Its average counts each turn with its bucket, and those that are too long with their length:
    so much more is known of them.
    """
    import numpy as np  # whoever measures needs none, and it takes long to load

    buckets = np.array(sorted(length for length in turns if length > 1), dtype=float)
    times = np.array([turns[int(length)] for length in buckets], dtype=int)
    total = positive(thread["avg"], "average") * sum(turns.values())
    beyond = total - sum(length * number for length, number in turns.items())
    # In the middle of its microsecond each.
    lost = float(((buckets - 0.5) * times).sum()) + (beyond if BUCKETS in turns else 0.0)
    metrics = [NOISE.measured(lost / 1e6 / seconds), RATE.measured(int(times.sum()) / seconds)]
    if not len(times):
        return metrics
    lengths = np.append(np.repeat(buckets, times)[:-1], positive(thread["max"], "maximum"))
    values = np.quantile(lengths, list(QUANTILES), method="inverted_cdf") / 1e6
    pairs = zip(QUANTILES.values(), values, strict=True)
    return metrics + [quantile.measured(float(value)) for quantile, value in pairs]


BENCHMARK = Oslat()
