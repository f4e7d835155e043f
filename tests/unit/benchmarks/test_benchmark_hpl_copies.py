"""Copies of HPL: sum and least of the copies, and CPU time that is more than the host has."""

import os
import subprocess

import pytest
from benchmark_help import defaults, golden, outcome, values

from parity.benchmarks import benchmarks
from parity.benchmarks.hpl_copies import _COPY
from parity.benchmarks.model import Outputs

COPIES = benchmarks()["hpl-copies"]
ASKED = defaults(COPIES, nodes=1, ranks=2, n=1000)
ONE = golden("hpcc/real-1x1.txt")


def outputs(seconds: float = 10.0) -> Outputs:
    lines = [f"copy {rank} took 0m9.5s 0m0.25s of 2 CPUs\n" for rank in (1, 0)]
    files = {f"hpccoutf-{rank}.txt": ONE for rank in (0, 1)}
    return Outputs("".join(lines), files=files, wall_seconds=(seconds,), parameters=ASKED)


def test_copies_are_added_up():
    one = {"n": 1000, "p": 1, "q": 1}
    alone = values(outcome(benchmarks()["hpcc"], one, files={"hpccoutf.txt": ONE}))["hpl"]
    told = {"rate": 2 * alone, "slowest": alone, "host_cpu_exceeded": 0.0}
    assert values(COPIES.parse(outputs())) == told


def test_the_time_of_a_copy_follows_from_its_rate():
    hpcc, files = benchmarks()["hpcc"], {"hpccoutf.txt": ONE}
    said = hpcc.timed_seconds(Outputs(files=files))
    rate = values(COPIES.parse(outputs()))["rate"]
    assert COPIES.seconds_of("rate", rate, ASKED) == pytest.approx(said, rel=1e-3)
    assert hpcc.seconds_of("hpl", rate / 2, ASKED) == pytest.approx(said, rel=1e-3)
    assert hpcc.seconds_of("dgemm_single", rate, ASKED) == COPIES.seconds_of("rate", 0, ASKED) == 0
    # An imported case may not say the order of its matrix.
    assert hpcc.seconds_of("hpl", rate, {}) == COPIES.seconds_of("rate", rate, {}) == 0


# Two copies of 9.75 s each on two CPUs: 19.5 s of what the host has in so long.
@pytest.mark.parametrize(("seconds", "exceeded"), [(9.76, 0.0), (9.74, 1.0)])
def test_more_cpu_time_than_the_host_has(seconds, exceeded):
    assert values(COPIES.parse(outputs(seconds)))["host_cpu_exceeded"] == exceeded


def test_each_copy_runs_in_its_own_folder_as_a_world_of_its_own(tmp_path):
    (tmp_path / "hpccinf.txt").write_text("input\n")
    fake = tmp_path / "hpcc"
    fake.write_text("#!/bin/sh\n{ cat hpccinf.txt; pwd; env; } > hpccoutf.txt\nexit 3\n")
    fake.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "PARITY_RANK": "1", "PMIX_RANK": "1", "A": "b"}
    words = ["/bin/sh", "-c", _COPY, "hpl-copies", "2", str(fake)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    said = (tmp_path / "hpccoutf-1.txt").read_text().splitlines()
    assert (done.returncode, done.stderr) == (3, "")
    assert said[:2] == ["input", str(tmp_path / "copy-1")] and "A=b" in said
    assert "OMPI_MCA_ess_singleton_isolated=1" in said and "PMIX_RANK=1" not in said
    assert done.stdout.startswith("copy 1 took 0m")
