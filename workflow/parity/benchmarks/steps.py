"""Steps: what a program of bulk-synchronous steps loses to whatever holds any of its ranks up.

All ranks do the same work and wait for the last one (steps.c). A model derives from detours
(`selfish`) how noise grows with ranks; this is the loop that the model is of.
"""

from parity.benchmarks import openmpi
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import compiled_path
from parity.benchmarks.reading import Refused, require_equal
from parity.benchmarks.selfish import NOT_LOCKED, quantiles_of

SOURCE, FILE = "steps.c", "steps.bin"
# The processor may run faster than when rank 0 looked for the time of the work, but not so much.
_FASTER = 2.0
_LENGTHS = {"shortest": 0.0, "p50": 0.5, "p99": 0.99, "longest": 1.0}


class Steps(Benchmark):
    """The same work on every rank, then a barrier, again and again."""

    sources = (SOURCE,)
    binaries = (compiled_path(SOURCE), openmpi.LAUNCHER)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """The ranks of an allocation; without one a single rank on the last CPU."""
        asked = [str(parameters[name]) for name in ("steps", "work_us", "idle_us")]
        words = (self.binaries[0], str(parameters.get("ranks", 1)), *asked, FILE)
        if "ranks" not in parameters:
            return Program(words, node.cpus[-1:], collect=(FILE,))
        return openmpi.program(words, parameters, node, self.name, {}, (FILE,))

    def read(self, outputs: Outputs) -> Parsed:
        # Whoever sleeps after its steps may never come to its CPU limit, so that is no fault.
        # Whoever measures reads no steps, and numpy takes longer to load than a program to start.
        from parity.benchmarks.traces import bytes_of, read_steps

        asked = outputs.parameters
        if (ranks := asked.get("ranks", 1)) > 1:
            openmpi.require_one_world(outputs)
        steps = read_steps(bytes_of(outputs.files, FILE, "steps"))
        require_equal(str(steps.ranks), ranks, "ranks")
        require_equal(str(len(steps.lengths)), asked["steps"], "steps")
        require_equal(str(steps.idle_us), asked["idle_us"], "microseconds of sleep")
        if abs(steps.work_ns - 1e3 * asked["work_us"]) > 10:
            require_equal(f"{steps.work_ns:.0f} ns", f"{asked['work_us']} µs", "work of a step")
        if _FASTER * steps.lengths.min() < steps.work_ns:
            raise Refused("contradictory", "a step took less than half the time of its work")
        work, slowdown = steps.work_ns / 1e9, float(steps.lengths.mean()) / steps.work_ns
        values = quantiles_of(steps.lengths / 1e9, _LENGTHS, "step")
        if steps.quota_us > 0 and steps.period_us:
            values["cpu_quota"] = steps.quota_us / steps.period_us
            values["throttled"] = steps.throttled / max(1, steps.periods)
        values |= {"slowdown": slowdown, "work": work}
        return self.measured(values, "" if steps.is_locked else NOT_LOCKED)


BENCHMARK = Steps()
