"""Selfish: when, and for how long, a program that only looks at the clock is kept from it.

Our own program (selfish.c; that of Levy and Ferreira, SAND2021-6125 C, is not published): a tight
loop over the time stamp counter writes down its detours; fixed work quanta (FWQ) are a second look.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import compiled_path
from parity.benchmarks.reading import Refused, require_equal

SOURCE, TRACE = "selfish.c", "selfish.trace"
NOT_LOCKED = "its memory could be touched beforehand, but not locked"
MILLISECOND_NS, FEWEST_PERIODIC, MOST_IRREGULAR = (500_000, 2_000_000), 10, 0.5
_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "longest": 1.0}


class Selfish(Benchmark):
    """Detours of a pinned loop: noise in the sense of operating systems."""

    sources: ClassVar[tuple[str, ...]] = (SOURCE,)
    binaries: tuple[str, ...] = (compiled_path(SOURCE),)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """One process on the last CPU: the first has most interrupts, as Levy's slides say."""
        names = ("mode", "seconds", "threshold_ns", "multiple", "quantum", "capacity")
        words = [str(parameters[name]) for name in names]
        return Program((self.binaries[0], *words, TRACE), node.cpus[-1:], collect=(TRACE,))

    def read(self, outputs: Outputs) -> Parsed:
        _require_asked(trace := _trace(outputs), outputs)
        lengths, seconds = trace.detours["length"] / 1e9, trace.duration_ns / 1e9
        values = {
            "noise_share": float(trace.detours["length"].sum()) / trace.duration_ns,
            "events_per_second": len(lengths) / seconds, "loop_minimum": trace.minimum_ns / 1e9,
            "looked": seconds, **quantiles_of(lengths), **_of_limit(trace), **_of_sharing(trace),
        }  # fmt: skip
        return self.measured(values, "" if trace.is_locked else NOT_LOCKED)

    def events(self, outputs: Outputs) -> Any:
        return _trace(outputs).detours


def _trace(outputs: Outputs) -> Any:
    # Whoever measures reads no trace, and numpy takes longer to load than a program to start.
    from parity.benchmarks.traces import bytes_of, read_trace

    return read_trace(bytes_of(outputs.files, TRACE, "trace"))


def quantiles_of(
    lengths: Any, shares: Mapping[str, float] = _SHARES, what: str = "duration"
) -> dict[str, float]:
    """Quantiles of lengths in s by their metrics; each is one that there was, and none of none."""
    import numpy as np  # late, as above

    if not len(lengths):
        return {}
    values = np.quantile(lengths, list(shares.values()), method="inverted_cdf")
    return {f"{what}_{name}": float(v) for name, v in zip(shares, values, strict=True)}


def _require_asked(trace: Any, outputs: Outputs) -> None:
    asked = outputs.parameters
    if max(trace.entries[name].max(initial=0) for name in ("start", "length")) > trace.duration_ns:
        raise Refused("contradictory", "an entry is longer than the trace, or begins after it")
    require_equal(trace.mode, asked["mode"], "mode of the trace")
    require_equal(str(trace.quantum), asked["quantum"], "multiplications of a quantum")
    multiple = asked["multiple"] if trace.mode == "detours" else 0
    threshold = asked["threshold_ns"] + multiple * trace.minimum_ns
    # The counter has whole ticks, and its pace is known better in the end than at first.
    if abs(trace.threshold_ns - threshold) > 1e9 / trace.hz + 1e-3 * threshold:
        require_equal(f"{trace.threshold_ns:.0f} ns", f"{threshold:.0f} ns", "threshold")
    if trace.duration_ns < 0.999 * 1e9 * asked["seconds"]:
        seconds = f"{trace.duration_ns / 1e9:.3f}"
        raise Refused("wrong-size", f"asked for {asked['seconds']} s, it looked for {seconds}")
    for name, wanted in outputs.limit.items():
        # Of shares and weight there is one.
        if (seen := getattr(trace, name)) != wanted and (seen or name not in ("shares", "weight")):
            said = f"{name} is to be {wanted}, and is {seen} inside"
            raise Refused("limit-not-in-force", said)


def _of_limit(trace: Any) -> dict[str, float]:
    """The CPU quota that was there inside, if there was one.

    A loop that is never idle comes to any of less than a CPU, unless others take the CPU first.
    """
    if trace.quota_us <= 0 or not trace.period_us:
        return {}
    if trace.quota_us < trace.period_us and not trace.throttled:
        said = f"{trace.quota_us} of {trace.period_us} µs"
        if 0 < trace.cpu_ns < trace.duration_ns * trace.quota_us / trace.period_us:
            raise Refused("limit-not-reached", f"others left it less than {said}")
        raise Refused("limit-not-in-force", f"limited to {said}, and never stopped")
    values = {"cpu_quota": trace.quota_us / trace.period_us, "cpu_period": trace.period_us / 1e6}
    return values | {"throttled": trace.throttled / max(1, trace.periods)}


def _of_sharing(trace: Any) -> dict[str, float]:
    """What quotas and others took of a CPU; what a trace of version 1 does not tell is left out.

    Detours of 0.5 to 2 ms are regular if the times from one to the next vary by less than half
    their mean; those that come at random vary by the whole of it. Archives hold that number, and
    nothing is concluded from it: it misses what is regular and comes a few times in a run.
    """
    import numpy as np  # late, as above

    made = trace.throttled / max(1, len(trace.detours), trace.throttled)
    (low, high), lengths = MILLISECOND_NS, trace.detours["length"]
    gaps = np.diff(trace.detours["start"][(lengths >= low) & (lengths <= high)].astype(float))
    regular = len(gaps) >= FEWEST_PERIODIC and gaps.std() < MOST_IRREGULAR * gaps.mean()
    share = {"cpu_share": trace.cpu_ns / trace.duration_ns} if trace.cpu_ns else {}
    periodic = 1e9 * (len(gaps) + 1) / trace.duration_ns if regular else 0.0
    quota = {"quota_in_force": float(trace.throttled > 0)}
    quota["quota_above_one_percent"] = max(0.0, made - 0.01)
    return share | quota | {"periodic_millisecond_events": periodic}


BENCHMARK = Selfish()
