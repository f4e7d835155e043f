"""SysBench cpu: trial division up to a limit, a fixed number of times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks.description import described
from parity.benchmarks.metrics import Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    never_raises,
    positive,
    require_complete,
    require_equal,
    search_text,
)
from parity.benchmarks.sizing import first_cpus

_DECIMAL = r"([0-9]+\.[0-9]+)"

TIME = Quantity("time", "computing time", "s", "lower")
EVENTS = Quantity("events_per_second", "events per second", "1/s", "higher")


DESCRIPTION = described(__file__, TIME)


class SysbenchCpu(Benchmark):
    """The processor benchmark of Torrez et al. 2019, section III-C.

    sysbench runs for ten seconds unless it is told otherwise, and then its time is a
    constant; here the number of events is fixed and the time is what it takes.
    """

    name = "sysbench"
    title = "SysBench cpu"
    packages: ClassVar[tuple[str, ...]] = ("sysbench",)
    binaries: tuple[str, ...] = ("/usr/bin/sysbench",)
    parameters = DESCRIPTION.parameters
    work = "events"
    metrics = (TIME, EVENTS)
    primary = (TIME.metric,)
    figures = DESCRIPTION.figures

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The command line; `--time=0` takes the limit on time away.

        Raises:
            UserError: more threads than logical CPUs.
        """
        argv = (
            *("/usr/bin/sysbench", "cpu"),
            f"--cpu-max-prime={parameters['prime']}",
            f"--events={parameters['events']}",
            "--time=0",
            f"--threads={parameters['threads']}",
            "run",
        )
        return Program(argv=argv, cpus=first_cpus(node, parameters["threads"], "sysbench: threads"))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Total time and rate; valid if it did every event asked for, and counted latencies."""
        text = outputs.stdout
        ending = r"execution time \(avg/stddev\): +[0-9.]+/[0-9.]+\n\n"
        require_complete(text, "Running the test with following options:", ending)
        for pattern, key in (
            (r"^Number of threads: ([0-9]+)$", "threads"),
            (r"^Prime numbers limit: ([0-9]+)$", "prime"),
            (r"^ +total number of events: +([0-9]+)$", "events"),
        ):
            require_equal(search_text(pattern, text, key), outputs.parameters[key], key)
        for name in ("min", "avg", "max", "95th percentile", "sum"):
            search_text(rf"^ +{name}: +([0-9]+\.[0-9]+)$", text, f"latency ({name})")
        time = search_text(rf"^ +total time: +{_DECIMAL}s$", text, "total time")
        rate = search_text(rf"^ +events per second: +{_DECIMAL}$", text, "rate")
        return Parsed(
            valid=True,
            metrics=(
                TIME.measured(positive(time, "total time")),
                EVENTS.measured(positive(rate, "rate")),
            ),
        )


BENCHMARK = SysbenchCpu()
