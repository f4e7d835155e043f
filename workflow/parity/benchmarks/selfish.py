"""Selfish: when, and for how long, a program that only looks at the clock is kept from it.

Levy and Ferreira (SAND2021-6125 C) measured with a program of their laboratory that is not
published. This is our own (selfish.c): a tight loop over the time stamp counter that writes each
detour down with its start and length, and the fixed work quantum (FWQ) as a second look at the
same. Gaps of less than a threshold are the loop's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks import programs
from parity.benchmarks.description import CPU_PERIOD, CPU_QUOTA, LOOKED, Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, never_raises, require_equal
from parity.core.commands import Availability
from parity.core.files import as_bytes

SOURCE = "selfish.c"
TRACE = "selfish.trace"
NOT_LOCKED = "its memory could be touched beforehand, but not locked"

NOISE = Quantity("noise_share", "noise", "1", "lower", shown="%", factor=100)
RATE = Quantity("events_per_second", "detours per second", "1/s", "lower")
QUANTILES = {
    share: Quantity(f"duration_{name}", f"{words} of detours", "s", "lower", shown="µs", factor=1e6)
    for share, name, words in (
        (0.5, "p50", "median"),
        (0.99, "p99", "99th percentile"),
        (0.999, "p999", "99.9th percentile"),
        (1.0, "longest", "longest"),
    )
}
# Of runs under a CPU limit.
THROTTLED = Quantity(
    "throttled", "periods that were cut short", "1", "neither", shown="%", factor=100
)
# These a program under a limit and one without are asked alike.
CPU_SHARE = Quantity("cpu_share", "CPU time", "1", "higher", shown="%", factor=100)
IN_FORCE = Quantity("quota_in_force", "a quota was enforced", "1", "neither")
ABOVE = Quantity(
    "quota_above_one_percent", "share of detours that the quota made, above 1 %", "1", "neither"
)
PERIODIC = Quantity(
    "periodic_millisecond_events", "regular detours of about 1 ms", "1/s", "neither"
)
MILLISECOND_NS, FEWEST_PERIODIC, MOST_IRREGULAR = (500_000, 2_000_000), 10, 0.5
LOOP = Quantity("loop_minimum", "shortest loop", "s", "neither", shown="ns", factor=1e9)
PARAMETERS, FIGURES, NOTE = described(__file__, NOISE, RATE, *QUANTILES.values())


class Selfish(Benchmark):
    """Detours of a pinned loop: noise in the sense of operating systems."""

    name = "selfish"
    title = "Selfish"
    sources: ClassVar[tuple[str, ...]] = (SOURCE,)
    binaries: tuple[str, ...] = (programs.compiled_path(SOURCE),)
    factors: ClassVar = {"mode": ("detours", "fwq")}
    parameters, figures, note = PARAMETERS, FIGURES, NOTE
    metrics: ClassVar[tuple[Quantity, ...]] = (
        *(NOISE, RATE, *QUANTILES.values(), LOOP, LOOKED, CPU_QUOTA, CPU_PERIOD, THROTTLED),
        *(CPU_SHARE, IN_FORCE, ABOVE, PERIODIC),
    )
    primary: ClassVar[tuple[str, ...]] = (
        NOISE.metric,
        QUANTILES[0.5].metric,
        QUANTILES[0.99].metric,
    )
    # Percentage points: next to nothing, a ratio of shares says nothing.
    differences: ClassVar[tuple[str, ...]] = (NOISE.metric,)
    spelt: ClassVar = {"fwq": "FWQ"}

    def probe(self) -> Availability:
        """Whether it is compiled."""
        return programs.all_compiled(self.binaries)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """One process on the last CPU: the first has most interrupts, as Levy's slides say."""
        names = ("mode", "seconds", "threshold_ns", "multiple", "quantum", "capacity")
        words = [str(parameters[name]) for name in names]
        return Program((self.binaries[0], *words, TRACE), node.cpus[-1:], collect=(TRACE,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Shares, rate and quantiles; valid if the trace is whole and that of this run."""
        # Whoever measures reads no trace, and numpy takes longer to load than a program to start.
        from parity.benchmarks.traces import read_trace

        try:
            content = as_bytes(outputs.files.get(TRACE, ""))
        except ValueError:
            raise Refused("unparsable", "the run left no trace") from None
        trace = read_trace(content)
        _require_asked(trace, outputs)
        metrics = _metrics(trace.detours["length"], trace.duration_ns)
        metrics.append(LOOP.measured(trace.minimum_ns / 1e9))
        metrics.append(LOOKED.measured(trace.duration_ns / 1e9))
        metrics += _of_limit(trace) + _of_sharing(trace)
        return Parsed(True, detail="" if trace.is_locked else NOT_LOCKED, metrics=tuple(metrics))

    def events(self, outputs: Outputs) -> Any:
        """The detours."""
        from parity.benchmarks.traces import read_trace

        return read_trace(as_bytes(outputs.files[TRACE])).detours


def _require_asked(trace: Any, outputs: Outputs) -> None:
    """Refuse a trace of other parameters, or of another limit than that of the arm."""
    asked = outputs.parameters
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
        seen = getattr(trace, name)
        # Of shares and weight there is one.
        if seen != wanted and (seen or name not in ("shares", "weight")):
            said = f"{name} is to be {wanted}, and is {seen} inside"
            raise Refused("limit-not-in-force", said)


def _of_limit(trace: Any) -> list[Metric]:
    """The CPU quota that was there inside, if there was one.

    A loop that is never idle comes to any of less than a CPU. Where it never did, it shows nothing
    of it: the limit was not in force, or, by the loop's CPU time, others took the CPU first.
    """
    if trace.quota_us <= 0 or not trace.period_us:
        return []
    if trace.quota_us < trace.period_us and not trace.throttled:
        said = f"{trace.quota_us} of {trace.period_us} µs"
        if 0 < trace.cpu_ns < trace.duration_ns * trace.quota_us / trace.period_us:
            raise Refused("limit-not-reached", f"others left it less than {said}")
        raise Refused("limit-not-in-force", f"limited to {said}, and never stopped")
    return [
        CPU_QUOTA.measured(trace.quota_us / trace.period_us),
        CPU_PERIOD.measured(trace.period_us / 1e6),
        THROTTLED.measured(trace.throttled / max(1, trace.periods)),
    ]


def _of_sharing(trace: Any) -> list[Metric]:
    """What quotas and others took of a CPU; what a trace of version 1 does not tell is left out.

    The kernel counts how often a quota stopped it, so these detours are known from all others.
    Detours of 0.5 to 2 ms are regular if the times from one to the next vary by less than half
    their mean; those that come at random vary by the whole of it.
    """
    import numpy as np  # late, as above

    made = trace.throttled / max(1, len(trace.detours), trace.throttled)
    low, high = MILLISECOND_NS
    lengths = trace.detours["length"]
    gaps = np.diff(trace.detours["start"][(lengths >= low) & (lengths <= high)].astype(float))
    regular = len(gaps) >= FEWEST_PERIODIC and gaps.std() < MOST_IRREGULAR * gaps.mean()
    told = [CPU_SHARE.measured(trace.cpu_ns / trace.duration_ns)] if trace.cpu_ns else []
    return [
        *told,
        IN_FORCE.measured(float(trace.throttled > 0)),
        ABOVE.measured(max(0.0, made - 0.01)),
        PERIODIC.measured(1e9 * (len(gaps) + 1) / trace.duration_ns if regular else 0.0),
    ]


def _metrics(lengths: Any, duration_ns: int) -> list[Metric]:
    """Of the lengths of all detours in ns; there are no quantiles of none."""
    import numpy as np  # late, as above

    metrics = [
        NOISE.measured(float(lengths.sum()) / duration_ns),
        RATE.measured(len(lengths) / (duration_ns / 1e9)),
    ]
    if not len(lengths):
        return metrics
    # Each is the length of a detour that there was.
    values = np.quantile(lengths, list(QUANTILES), method="inverted_cdf")
    pairs = zip(QUANTILES.values(), values, strict=True)
    return metrics + [quantile.measured(float(value) / 1e9) for quantile, value in pairs]


BENCHMARK = Selfish()
