"""Steps: what a program of bulk-synchronous steps loses to whatever holds any of its ranks up.

All ranks do the same work and wait for the last one (steps.c), so a step takes as long as the
slowest rank. How noise grows with ranks is derived from detours (`selfish`) by a model; this is
the loop that the model is of, with as many ranks as there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.benchmarks import openmpi, programs
from parity.benchmarks.description import CPU_QUOTA, Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, never_raises, require_equal
from parity.benchmarks.selfish import NOT_LOCKED, THROTTLED
from parity.core.commands import Availability
from parity.core.files import as_bytes

SOURCE = "steps.c"
FILE = "steps.bin"
# The processor may run faster than when rank 0 looked for the time of the work, but not so much.
_FASTER = 2.0

SLOWDOWN = Quantity("slowdown", "mean step over its work", "1", "lower")
LENGTHS = {
    share: Quantity(f"step_{name}", f"{words} step", "s", "lower", shown="µs", factor=1e6)
    for share, name, words in (
        (0.0, "shortest", "shortest"),
        (0.5, "p50", "median"),
        (0.99, "p99", "99th percentile"),
        (1.0, "longest", "longest"),
    )
}
WORK = Quantity("work", "work of a step", "s", "neither", shown="µs", factor=1e6)


class Steps(Benchmark):
    """The same work on every rank, then a barrier, again and again."""

    name = "steps"
    title = "Bulk-synchronous steps"
    packages = ("openmpi-bin",)
    sources = (SOURCE,)
    binaries = (programs.compiled_path(SOURCE), openmpi.LAUNCHER)
    parameters, figures, note = described(__file__, SLOWDOWN, *LENGTHS.values())
    allocations = "optional"
    starts_ranks_inside = True
    metrics = (SLOWDOWN, *LENGTHS.values(), WORK, CPU_QUOTA, THROTTLED)
    primary = (SLOWDOWN.metric, LENGTHS[0.99].metric)

    def probe(self) -> Availability:
        """Whether it is compiled, and Open MPI is here."""
        return programs.all_compiled(self.binaries)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The ranks of an allocation; without one a single rank on the last CPU.

        Raises:
            UserError: more ranks on a node than CPUs, or several nodes without a launcher.
        """
        asked = [str(parameters[name]) for name in ("steps", "work_us", "idle_us")]
        words = (self.binaries[0], str(parameters.get("ranks", 1)), *asked, FILE)
        if "ranks" not in parameters:
            return Program(words, node.cpus[-1:], collect=(FILE,))
        return openmpi.program(words, parameters, node, self.name, {}, (FILE,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Slowdown and lengths of steps; valid if all ranks made all steps of that work together.

        Whoever sleeps after its steps may never come to its CPU limit, so that is no fault.
        """
        # Whoever measures reads no steps, and numpy takes longer to load than a program to start.
        from parity.benchmarks.traces import read_steps

        asked = outputs.parameters
        ranks = asked.get("ranks", 1)
        if ranks > 1:
            openmpi.require_one_world(outputs)
        try:
            content = as_bytes(outputs.files.get(FILE, ""))
        except ValueError:
            raise Refused("unparsable", "the run left no steps") from None
        steps = read_steps(content)
        require_equal(str(steps.ranks), ranks, "ranks")
        require_equal(str(len(steps.lengths)), asked["steps"], "steps")
        require_equal(str(steps.idle_us), asked["idle_us"], "microseconds of sleep")
        if abs(steps.work_ns - 1e3 * asked["work_us"]) > 10:
            require_equal(f"{steps.work_ns:.0f} ns", f"{asked['work_us']} µs", "work of a step")
        if _FASTER * steps.lengths.min() < steps.work_ns:
            raise Refused("contradictory", "a step took less than half the time of its work")
        return Parsed(True, "", "" if steps.is_locked else NOT_LOCKED, tuple(_metrics(steps)))


def _metrics(steps: Any) -> list[Metric]:
    """Of the file `steps`; each length is that of a step that there was."""
    import numpy as np  # late, as above

    values = np.quantile(steps.lengths, list(LENGTHS), method="inverted_cdf") / 1e9
    metrics = [SLOWDOWN.measured(float(steps.lengths.mean()) / steps.work_ns)]
    pairs = zip(LENGTHS.values(), values, strict=True)
    metrics += [length.measured(float(value)) for length, value in pairs]
    metrics.append(WORK.measured(steps.work_ns / 1e9))
    if steps.quota_us > 0 and steps.period_us:
        metrics.append(CPU_QUOTA.measured(steps.quota_us / steps.period_us))
        metrics.append(THROTTLED.measured(steps.throttled / max(1, steps.periods)))
    return metrics


BENCHMARK = Steps()
