"""Selfish and oslat of rt-tests, one after the other on the same CPU: both see the same noise.

Needs: gcc and rt-tests.
"""

import os
import subprocess
from pathlib import Path

import pytest
from benchmark_help import busy, compiled, values

from parity.benchmarks.model import NodeFacts, Outputs
from parity.benchmarks.oslat import BENCHMARK, RESULTS
from parity.benchmarks.selfish import SOURCE, TRACE
from parity.benchmarks.traces import read_trace

pytestmark = [pytest.mark.system, pytest.mark.beside]
CPU = max(os.sched_getaffinity(0))
SECONDS = 2


@pytest.fixture(scope="module")
def selfish(tmp_path_factory) -> Path:
    if not BENCHMARK.probe().available:
        pytest.skip("rt-tests is not installed")
    return compiled(tmp_path_factory.mktemp("selfish"), SOURCE) / "selfish"


def by_selfish(selfish, folder) -> tuple[float, float]:
    """Share of time and longest detour in seconds; what is shorter than 1 µs is not counted."""
    words = [selfish, "detours", str(SECONDS), "1000", "0", "1", "1000000", TRACE]
    subprocess.run(["taskset", "-c", str(CPU), *words], cwd=folder, check=True)
    found = read_trace((folder / TRACE).read_bytes())
    lengths = found.detours["length"]
    return float(lengths.sum()) / found.duration_ns, float(lengths.max()) / 1e9


def by_oslat(folder) -> tuple[float, float]:
    parameters = {"seconds": SECONDS}
    program = BENCHMARK.program(parameters, NodeFacts((CPU,), 0, 0))
    words = ["taskset", "-c", str(CPU), *program.argv]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    files = {RESULTS: (folder / RESULTS).read_text()}
    parsed = BENCHMARK.parse(Outputs(done.stdout, files=files, parameters=parameters))
    assert parsed.valid, parsed.detail
    return values(parsed)["noise_share"], values(parsed)["duration_longest"]


def test_both_see_what_another_program_takes(selfish, tmp_path):
    with busy(CPU):
        before, between = by_selfish(selfish, tmp_path), by_oslat(tmp_path)
        after = by_selfish(selfish, tmp_path)
    # Selfish's numbers, of before and after, over oslat's in between.
    share, longest = (
        (one * two) ** 0.5 / middle for one, middle, two in zip(before, between, after, strict=True)
    )
    print(f"selfish over oslat: {share:.2f}, longest {longest:.2f}; {before} {between} {after}")
    # Half of the time each, on a machine where others may take more of it now than then.
    assert 0.6 < share < 1.7
    assert 0.1 < longest < 10
