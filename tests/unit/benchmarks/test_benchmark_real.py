"""Each benchmark really run, as small as it can be; what is not installed is skipped by name."""

import math
import os
import subprocess
import time

import pytest
from benchmark_help import defaults, values

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs
from parity.benchmarks.npb import kernel_path
from parity.extensions.networks.benchmarks.mpip import library
from parity.measure.node import node_facts

pytestmark = pytest.mark.system


# Hands mpirun's number of a rank on under the name that the runner gives it.
NUMBERED = """\
export PARITY_RANK="$OMPI_COMM_WORLD_RANK"
exec /usr/bin/taskset -c "$(echo "$1" | cut -d, -f$((PARITY_RANK + 1)))" "${@:2}"
"""

LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "isolated",
}  # fmt: skip
TWO, KERNELS = {"nodes": 1, "ranks": 2}, ("lu", "ep", "cg", "mg", "ft", "is")


def command(program):
    """The program bound to its CPUs; its ranks, if it has any, are started by mpirun."""
    cpus = ",".join(map(str, program.cpus))
    if not program.ranks:
        return ["/usr/bin/taskset", "-c", cpus, *program.argv]
    launcher = ("/usr/bin/mpirun", "--bind-to", "none", "-n", str(program.ranks))
    return [*launcher, "/bin/bash", "-c", NUMBERED, "rank", cpus, *program.argv]


def run(name, folder, **parameters):
    """Run a benchmark natively, as its own `Program` says, and parse what it leaves."""
    benchmark, node = benchmarks()[name], node_facts()
    if not (presence := benchmark.probe()).available:
        pytest.skip(presence.reason)
    if len(node.cpus) < 2:
        pytest.skip("fewer than 2 CPUs")
    parameters = defaults(benchmark, **parameters)
    program = benchmark.program(parameters, node)
    for file, text in program.files.items():
        (folder / file).write_text(text)
    own = {"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C"}
    own |= (LAUNCHER if program.ranks else {}) | dict(program.environment)
    how = {"capture_output": True, "text": True, "check": True}
    how["timeout"] = 300  # seconds, on a busy machine too
    start = time.monotonic()
    answer = subprocess.run(command(program), cwd=folder, env=own, **how)
    left = [file for pattern in program.collect for file in folder.glob(pattern)]
    return benchmark.parse(
        Outputs(
            answer.stdout, answer.stderr, {file.name: file.read_text() for file in left},
            wall_seconds=(time.monotonic() - start,), parameters=parameters, command=program.argv,
            last_level_cache=node.last_level_cache, memory=node.memory,
        )
    )  # fmt: skip


LIKWID = {"working_set_mib": 10, "threads": 2}
NETPIPE = TWO | {"upper_bound": 65_536, "repetitions": 50}


@pytest.mark.parametrize(("name", "asked", "metric", "low", "high"), [
    ("sysbench", {"events": 50, "threads": 2}, "time", 0, 10),
    ("sysbench-libaio", {"libaio": "linked", "events": 50}, "time", 0, 10),
    ("sysbench-libaio", {"libaio": "absent", "events": 50}, "time", 0, 10),
    ("oslat", {"seconds": 1}, "noise_share", -1e-9, 1),
    *(("likwid", LIKWID | {"kernel": kernel}, "bandwidth", 0.1, 1e4)
      for kernel in ("copy", "triad", "stream")),
    ("hpcc", {"n": 500}, "hpl", 0, math.inf),
    ("hpcc", {"n": 500, "nodes": 1, "ranks": 2}, "hpl", 0, math.inf),
    *(("netpipe", NETPIPE | {"protocol": on}, *bounds) for on in ("tcp", "mpi")
      for bounds in (("latency", 0, 0.01), ("bandwidth", 0.01, 1e4))),
    *(("hpcg", TWO | {"ranks": ranks, "n": 16, "seconds": 1, "libraries": libraries}, "rate", 0,
       math.inf) for ranks in (1, 2) for libraries in ("needed", "further")),
    ("stream", {"elements": 10_000_000, "threads": 2}, "triad", 0.1, 1e4),
    *(("npb", TWO | {"kernel": kernel, "class": "S"}, "rate", 0, math.inf) for kernel in KERNELS),
    *(("ior", TWO | {"file": file, "access": access, "block_mib": 4}, "write", 0, math.inf)
      for file in ("own", "shared") for access in ("buffered", "direct")),
])  # fmt: skip
def test_a_real_run(tmp_path, name, asked, metric, low, high):
    parsed = run(name, tmp_path, **asked)
    assert parsed.valid, parsed.detail
    assert low < values(parsed)[metric] < high
    assert parsed.detail.startswith("not an official HPCG result" if name == "hpcg" else "")


@pytest.mark.parametrize("kernel", KERNELS)
def test_mpip(tmp_path, kernel):
    parsed = run("mpip", tmp_path, **TWO, kernel=kernel, **{"class": "S"})
    assert parsed.valid, parsed.detail
    assert 0 < values(parsed)["mpi_init"] < values(parsed)["init"]
    # All that a kernel calls of MPI is timed, but for what asks nothing of any other rank.
    names = ("wtime", "comm_rank", "comm_size", "abort")
    asks = {*names, *(f"{name}_" for name in names)}
    mpip = benchmarks()["mpip"]
    program, preloaded = kernel_path(kernel, "S"), library(mpip.toolchain)
    called, timed = (
        {word.lower().removeprefix("mpi_") for word in symbols(path) if word.lower()[:4] == "mpi_"}
        for path in (program, preloaded)
    )
    assert called - timed <= asks


def symbols(path):
    """The functions that a program or library takes from others, or gives them."""
    said = subprocess.run(["nm", "--dynamic", path], capture_output=True, text=True, check=True)
    words = (line.split() for line in said.stdout.splitlines())
    return [name for *_, kind, name in words if kind in "UT"]
