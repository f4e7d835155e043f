"""SysBench cpu: trial division up to a limit, a fixed number of times."""

import math
from collections.abc import Sequence

from parity.benchmarks import reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Printed, Refused, Said, require_agreement, require_at_most

_LATENCIES = {name: f"latency ({name})" for name in ("min", "avg", "max", "95th percentile", "sum")}
# How much later than the total time the rate may be taken: seconds, or a part of the total.
LATER_SECONDS, LATER_PART = 0.05, 0.05


class SysbenchCpu(Benchmark):
    """The processor benchmark of Torrez et al. 2019, section III-C, of a fixed number of events.

    With its own default the time is ten seconds, and what is done in it differs.
    """

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        prime, events, threads = (parameters[name] for name in ("prime", "events", "threads"))
        # `--time=0` takes the limit on time away.
        words = ("cpu", f"--cpu-max-prime={prime}", f"--events={events}", "--time=0")
        argv = ("/usr/bin/sysbench", *words, f"--threads={threads}", "run")
        return Program(argv, node.first_cpus(threads, "sysbench: threads"))

    def read(self, outputs: Outputs) -> Parsed:
        said, asked = self.printed.read(outputs.stdout), outputs.parameters
        said.require({key: asked[key] for key in ("threads", "prime", "events")})
        for latency in _LATENCIES.values():
            said.finite(latency)
        _require_consistent(said, asked["threads"], asked["events"])
        values = {"time": said.positive("total time"), "events_per_second": said.positive("rate")}
        return self.measured(values)


def _require_consistent(said: Said, threads: int, events: int) -> None:
    """Hold time and rate against all else that tells of events and times.

    The rate is over the total time and a moment more, in which latencies are summed up (sysbench.c
    of 1.0.20, report_cumulative): 1.1 to 1.6 ms in 630 archived runs. A longer one is let pass.
    """
    time, rate, total = said.printed("total time"), said.printed("rate"), Printed(events)
    # Of what each thread did: mean and standard deviation of all threads.
    shares = [
        [reading.printed(it, share) for it in said[f"{share} of threads"].split("/")]
        for share in ("events", "execution time")
    ]
    (done, _), (busy, _) = shares
    require_agreement(done * Printed(threads), total, "events of the threads, and of all")
    latency, mean = (said.printed(_LATENCIES[name]) for name in ("sum", "avg"))
    require_agreement(mean * total, latency, "mean latency times events, and the sum")
    milliseconds = busy * Printed(threads) * Printed(1000.0)
    require_agreement(milliseconds, latency, "execution time of the threads, and latency")
    require_at_most(busy, time, "execution time, and total time")
    later = Printed(max(LATER_SECONDS, LATER_PART * time.value))
    require_at_most(rate * time, total, "rate times total time, and events")
    require_at_most(total, rate * (time + later), "events, and rate times total time")
    require_balance(shares, threads)


def require_balance(shares: Sequence[Sequence[Printed]], threads: int) -> None:
    """Refuse (mean, scatter) of events and busy time at which one thread may have done nothing.

    Of n threads one of which has none, the standard deviation is at least mean/sqrt(n-1), if the
    others share equally. Both must be as large, because events alone scatter where processors
    differ, and the time is printed to 10 ms only. Raises Refused: one of several did nothing, or
    one alone differs from itself (`unbalanced`).
    """
    root = math.sqrt(max(threads - 1, 1))
    idle = (it.value + it.error >= (mean.value - mean.error) / root for mean, it in shares)
    alone = (deviation.value > 0 for _, deviation in shares)
    if all(idle) if threads > 1 else any(alone):
        raise Refused("unbalanced", f"the {threads} threads did not share the work")


BENCHMARK = SysbenchCpu()
