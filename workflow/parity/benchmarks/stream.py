"""STREAM 5.10, unmodified, with arrays that fit the node.

The length of its arrays is a constant of the compiler, so there are several builds, each twice as
large as the one before. A run takes the smallest whose arrays are each at least four times the
last-level cache, as the run rules ask: a build for the node at hand would fit one kind of node.
"""

import re
from collections.abc import Sequence

from parity.benchmarks import reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program, described
from parity.benchmarks.programs import SpackPackage, program_path
from parity.benchmarks.reading import Printed, Refused, Said, require_agreement, require_at_most
from parity.core.errors import UserError
from parity.core.spack_paths import TOOLCHAIN

ELEMENT_BYTES, ARRAYS, CACHE_MULTIPLE, MEMORY_FRACTION, FEWEST_TICKS = 8, 3, 4, 0.8, 20
# Elements of each array: 80 MB for caches up to 20 MB, … 5.1 GB for caches up to 1.3 GB.
BUILDS: tuple[int, ...] = tuple(described(__file__)["parameters"]["elements"]["enum"][1:])
# NTIMES, a constant of the compiler as well: 10 unless a build says otherwise.
PASSES = 10
_ARRAYS_MOVED = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
_BUILD = re.compile(r"/stream-([0-9]{1,18})/bin/")


def build_path(elements: int, toolchain: str = TOOLCHAIN) -> str:
    """The program whose arrays have that many elements."""
    return program_path(f"stream-{elements}", "stream_c.exe", toolchain)


def build(elements: int) -> SpackPackage:
    """The build for arrays of that many elements, of the last state of its repository."""
    # Static arrays of more than 2 GiB are out of the reach of the smaller code model.
    large = " cflags=-mcmodel=medium" if ARRAYS * ELEMENT_BYTES * elements > 2**31 else ""
    variants = f"+openmp stream_array_size={elements}{large}"
    version = "git.6703f7504a38a8da96b353cadafa64d3c2d7a2d3=5.10"
    return SpackPackage("stream", version, variants, f"stream-{elements}")


def conforms(elements: int, last_level_cache: int) -> bool:
    """Whether an array is large enough for a cache of so many bytes; unknown ones are not."""
    return 0 < CACHE_MULTIPLE * last_level_cache <= ELEMENT_BYTES * elements


def elements_for(node: NodeFacts) -> int:
    """The smallest build that conforms on this node; `UserError` if none does."""
    cache = node.last_level_cache
    if fitting := next((elements for elements in BUILDS if conforms(elements, cache)), 0):
        return fitting
    told = f"{cache / 2**20:.0f} MiB" if cache else "unknown"
    problem = f"no build of STREAM is for this node's last-level cache ({told})"
    action = "give elements in the study: arrays of four times the cache"
    allowed = ", ".join(map(str, BUILDS))
    raise UserError(problem, where="stream: elements", allowed=allowed, action=action)


class Stream(Benchmark):
    """Memory bandwidth by McCalpin's program: the best of ten passes, without the first."""

    spack_packages = tuple(build(elements) for elements in BUILDS)
    binaries = tuple(build_path(elements) for elements in BUILDS)
    # Not `sized_by` its elements: the cache sets them, and the passes are fixed when it is built.

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        threads, elements = parameters["threads"], parameters["elements"] or elements_for(node)
        needed, allowed = ARRAYS * ELEMENT_BYTES * elements, MEMORY_FRACTION * node.memory
        if needed > allowed:
            has = f"this node has {node.memory / 2**30:.1f} GiB"
            problem = f"STREAM needs {needed / 2**30:.1f} GiB, and {has}"
            action = "give fewer elements in the study: a variant of STREAM"
            raise UserError(problem, where="stream: elements", action=action)
        argv = (build_path(elements, self.toolchain),)
        cpus = node.first_cpus(threads, "stream: threads")
        variables = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
        return Program(argv, cpus, variables, memory_bytes=needed)

    def size(self, command: Sequence[str]) -> str:
        return ", ".join(f"{elements:,} elements" for elements in _builds(command))

    def read(self, outputs: Outputs) -> Parsed:
        text, builds = outputs.stdout, _builds(outputs.command)
        if "Failed Validation on array" in text:
            raise Refused("validation-failed", "STREAM's solution does not validate")
        said = self.printed.read(text)
        if len(builds) != 1:
            raise Refused("unparsable", "the command line names no build of STREAM")
        # A build without OpenMP has one thread and says nothing of it.
        if "Number of Threads" not in text:
            said["threads"] = "1"
        asked = {"elements": builds[0], "bytes of an element": ELEMENT_BYTES, "passes": PASSES}
        said.require({**asked, "threads": outputs.parameters["threads"]})
        if int(ticks := said["clock ticks"]) < FEWEST_TICKS:
            raise Refused("too-few-ticks", f"{ticks} ticks of the clock, needed {FEWEST_TICKS}")
        conforming = conforms(builds[0], outputs.last_level_cache)
        values = {kernel: _rate(kernel, said, builds[0]) for kernel in _ARRAYS_MOVED}
        variant = f"arrays not known to be {CACHE_MULTIPLE} times the last-level cache"
        detail = "" if conforming else f"a variant of STREAM: {variant}"
        return self.measured({**values, "conforming": float(conforming)}, detail)


def _builds(command: Sequence[str]) -> list[int]:
    return [int(match[1]) for word in command if (match := _BUILD.search(word))]


def _rate(kernel: str, said: Said, elements: int) -> float:
    """GB/s of one kernel, whose shortest time must be that of its bytes at this rate."""
    rate, mean, shortest, longest = said[kernel].split()
    megabytes = _ARRAYS_MOVED[kernel] * ELEMENT_BYTES * elements / 1e6
    number = reading.printed
    moved = number(rate, kernel) * number(shortest, "time")
    require_agreement(moved, Printed(megabytes), f"{kernel}: rate times time, and MB moved")
    for less, more in ((shortest, mean), (mean, longest)):
        require_at_most(number(less, kernel), number(more, kernel), f"{kernel}: the times")
    return reading.positive(rate, kernel) / 1000


BENCHMARK = Stream()
