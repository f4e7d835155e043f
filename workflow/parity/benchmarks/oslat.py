"""oslat of rt-tests: the question of selfish, asked by a program of others.

It counts to a microsecond how long each turn took that looks at the time stamp counter, so it does
not tell when, nor of what is shorter, and it holds no events.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

from parity.benchmarks import reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.selfish import quantiles_of

# The most that it has: turns of a millisecond and more are counted in the last one.
BUCKETS, MOST_TURNS = 1024, 100_000_000
RESULTS, _BUCKETS, _THREAD = "oslat.json", "--bucket-size", "thread.0."
_PRINTED = re.compile(r"^ *(\d+) \(us\):\t (\d+)(?: \(including overflows\))?$", re.MULTILINE)
_WHOLE = re.compile(r"[0-9]{1,15}")


class Oslat(Benchmark):
    """Turns of a pinned loop that took more than a microsecond."""

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        # Its main thread sleeps meanwhile.
        cpu = str(node.cpus[-1])
        argv = (
            *self.binaries, "--cpu-list", cpu, "--cpu-main-thread", cpu, "--duration",
            str(parameters["seconds"]), _BUCKETS, str(BUCKETS), "--quiet", "--zero-omit",
            f"--json={RESULTS}",
        )  # fmt: skip
        return Program(argv, node.cpus[-1:], collect=(RESULTS,))

    def read(self, outputs: Outputs) -> Parsed:
        results = outputs.files.get(RESULTS, "")
        reading.require_complete(results, '"file_version": 1', r"\n\}")
        said = reading.said_in_json(results)
        # The colon is oslat's.
        words = pairwise(said["cmdline:"].split())
        buckets = [after for word, after in words if word == _BUCKETS]
        if len(buckets) != 1:
            raise reading.Refused("truncated", "the results do not tell their buckets")
        reading.require_equal(buckets[0], BUCKETS, "buckets")
        turns, counts = dict[int, int](), f"{_THREAD}histogram."
        for path in (it for it in said if it.startswith(counts)):
            length, times = path.removeprefix(counts), said[path]
            if not (_WHOLE.fullmatch(length) and _WHOLE.fullmatch(times)):
                problem = f"the file counts {times[:40]!r} of {length[:40]!r} µs"
                raise reading.Refused("unparsable", problem)
            turns[int(length)] = int(times)
        shown = self.printed.read(outputs.stdout)
        counted = reading.stated_once(_PRINTED.findall(outputs.stdout))
        if {int(length): int(times) for length, times in counted.items() if int(times)} != turns:
            raise reading.Refused("contradictory", "the file counts other turns than were printed")
        shown.require({"maximum": said[f"{_THREAD}max"]})
        for name, key in (("average", "avg"), ("duration", "duration")):
            both = f"{name.capitalize()}, twice"
            reading.require_agreement(shown.printed(name), said.printed(_THREAD + key), both)
        seconds, asked = said.positive(f"{_THREAD}duration"), outputs.parameters["seconds"]
        if seconds < 0.99 * asked:
            raise reading.Refused("wrong-size", f"asked for {asked} s, it looked for {seconds:.3f}")
        return self.measured(_values(said, turns, seconds))


def _values(said: reading.Said, turns: Mapping[int, int], seconds: float) -> dict[str, float]:
    """Of the turns by their length in µs, rounded up: the first bucket's are the loop's own.

    Its average counts turns by bucket, and too long ones by length: so much more is known of them.
    """
    import numpy as np  # whoever measures needs none, and it takes long to load

    buckets = np.array(sorted(length for length in turns if length > 1), dtype=float)
    times = np.array([turns[int(length)] for length in buckets], dtype=int)
    beyond = said.positive(f"{_THREAD}avg") * sum(turns.values())
    beyond -= sum(length * number for length, number in turns.items())
    # In the middle of its microsecond each.
    lost = float(((buckets - 0.5) * times).sum()) + (beyond if BUCKETS in turns else 0.0)
    if lost < 0:
        raise reading.Refused("contradictory", "the average is less than that of the turns")
    values = {"noise_share": lost / 1e6 / seconds, "events_per_second": int(times.sum()) / seconds}
    if not len(times):
        return values
    if times.sum() > MOST_TURNS:
        raise reading.Refused("unparsable", f"{times.sum()} turns of more than a microsecond")
    lengths = np.append(np.repeat(buckets, times)[:-1], said.positive(f"{_THREAD}max"))
    return values | quantiles_of(lengths / 1e6)


BENCHMARK = Oslat()
