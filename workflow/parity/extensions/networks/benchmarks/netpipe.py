"""NetPIPE: latency and bandwidth between two ranks, over bare TCP and over MPI."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from parity.benchmarks import openmpi, programs, reading
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program, described
from parity.benchmarks.reading import Printed, Refused, printed, require_agreement, require_equal
from parity.core.errors import UserError

# NPtcp of rank 0 gives up if nobody listens yet, and is started again for half a minute.
_TRANSMIT_OR_RECEIVE = Path(__file__).with_name("netpipe.sh").read_text(encoding="utf-8")

LATENCY = Quantity("latency", "latency", "s", "lower", shown="µs", factor=1e6)
BANDWIDTH = Quantity("bandwidth", "bandwidth", "Gbit/s", "higher")
_BITS = 1024 * 1024  # of NetPIPE's "Mbps"
_LINE = re.compile(r" *([0-9]+) +([0-9]+\.[0-9]{6}) +([0-9]+\.[0-9]{8})")

PARAMETERS = described(__file__, (LATENCY, BANDWIDTH))["parameters"]


def message_sizes(upper_bound: int) -> Iterator[int]:
    """The sizes that NetPIPE takes without perturbations: 1, 2, 3, 4, 6, 8, 12, … bytes."""
    # From its source (netpipe.c, main loop): the step doubles at every other size.
    size, step, number = 1, 1, 0
    while size <= upper_bound:
        yield size
        step *= 2 if number > 2 and number % 2 else 1
        size, number = size + step, number + 1


TIMES = {  # the curve: the time of a message of each size that may be asked for
    size: Quantity(f"time_{size}", f"time {size}", "s", "lower")
    for size in message_sizes(PARAMETERS["upper_bound"]["maximum"])
}


def read_points(text: str, upper_bound: int) -> list[tuple[int, float]]:
    """Size in bytes and one-way time in seconds of each line of np.out.

    The third column holds the time to 10 ns only, too coarse within a node, so the time is taken
    from the rate in the second and held against the third, as closely as their digits allow. Raises
    Refused: sizes are missing or others, a line is not NetPIPE's or contradicts itself.
    """
    lines, sizes = text.splitlines(), list(message_sizes(upper_bound))
    if len(lines) < len(sizes):
        raise Refused("truncated", f"{len(lines)} message sizes of {len(sizes)} were measured")
    require_equal(str(len(lines)), len(sizes), "message sizes")
    points = []
    for line, size in zip(lines, sizes, strict=True):
        if not (words := _LINE.fullmatch(line)):
            raise Refused("unparsable", f"a line does not state size, rate and time: {line[:40]!r}")
        require_equal(words[1], size, "message size")
        rate, time = printed(words[2], "rate"), printed(words[3], "time")
        megabits = Printed(8 * size / _BITS)
        require_agreement(rate * time, megabits, f"{size} bytes: rate times time, and the bits")
        points.append((size, 8 * size / (reading.positive(words[2], "rate") * _BITS)))
    return points


class NetPipe(Benchmark):
    """NetPIPE 3.7 of Ames Laboratory: messages of growing size, there and back.

    For each size it reports the best of three trials: half the time of a round trip, between two
    nodes or, on one node, over its memory (MPI) or loopback (TCP).
    """

    binaries = ("/usr/bin/NPtcp", "/usr/bin/NPopenmpi")
    # By a recipe of ours, with the system's Open MPI.
    by_spack = (
        (programs.SpackPackage("netpipe", "3.7.2"),),
        tuple(programs.program_path("netpipe", name) for name in ("NPtcp", "NPopenmpi")),
    )
    metrics = (LATENCY, BANDWIDTH, *TIMES.values())
    message_sizes: ClassVar = {time.metric: size for size, time in TIMES.items()}

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """Rank 0, which transmits and writes np.out, and rank 1, which answers."""
        if (ranks := parameters["ranks"]) != 2:
            problem, where = f"NetPIPE measures between 2 ranks, not {ranks}", "benchmarks.netpipe"
            allowed = "1x2 (within a node), 1x2/2 (containers on it) or 2x2 (between two nodes)"
            action = "correct it in the study"
            raise UserError(problem, where=f"{where}.allocations", allowed=allowed, action=action)
        over_mpi, (tcp, mpi) = parameters["protocol"] == "mpi", self.binaries
        argv = _command(mpi if over_mpi else tcp, parameters, node)
        place = openmpi.in_one_world if over_mpi else openmpi.placed
        where = "netpipe: allocations, ranks of one node"
        return place(Program(argv, (), collect=("np.out",)), parameters, node, where)

    def read(self, outputs: Outputs) -> Parsed:
        """Latency and bandwidth; valid if all sizes were measured, by one world of MPI."""
        asked = outputs.parameters
        if asked["protocol"] == "mpi":
            openmpi.require_one_world(outputs)
        points = read_points(outputs.files.get("np.out", ""), asked["upper_bound"])
        bandwidth = max(8 * size / seconds for size, seconds in points) / 1e9
        values = {"latency": points[0][1], "bandwidth": bandwidth}
        return self.measured(values | {f"time_{size}": seconds for size, seconds in points})


def _command(program: str, parameters: Asked, node: NodeFacts) -> tuple[str, ...]:
    """A rank's command: sizes without perturbations; over TCP, each rank finds its part."""
    options = ("-l", "1", "-u", str(parameters["upper_bound"]), "-p", "0", "-o", "np.out")
    trials = ("-n", str(parameters["repetitions"])) if parameters["repetitions"] else ()
    if parameters["protocol"] == "mpi":
        return (program, *options, *trials)
    if len(node.hosts) < (nodes := parameters["nodes"]) > 1:
        problem = f"the names of {nodes} nodes are needed, and {len(node.hosts)} are known"
        where, action = "netpipe: hosts of the allocation", "run it as a job of the batch system"
        raise UserError(problem, where=where, action=action)
    # As rank 0 calls the host of rank 1; within a node no name service is asked.
    receiver = "127.0.0.1" if nodes == 1 else node.hosts[1]
    shell = ("/bin/sh", "-c", _TRANSMIT_OR_RECEIVE, "netpipe", receiver, program)
    return (*shell, *options, *trials, "-P", str(parameters["port"]))


BENCHMARK = NetPipe()
