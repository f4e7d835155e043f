"""Steps tell what is planted: stops of any rank, another program on its CPU, a CPU limit.

No bound here needs a quiet machine: each is of what was measured beside the program.

Needs: gcc and Open MPI's libopenmpi-dev; for a CPU limit root and a hierarchy of version 1.
"""

import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmark_help import busy, compiled, stopped, wait_until_ran

from parity.benchmarks import openmpi
from parity.benchmarks.steps import FILE, SOURCE
from parity.benchmarks.traces import Steps, read_steps

pytestmark = [pytest.mark.system, pytest.mark.beside]
CPUS = sorted(os.sched_getaffinity(0))
STOPS = (0.020, 0.080)
# What the kernel does by itself in a step takes less than so many ns.
OWN = 1_000_000


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    if not shutil.which("mpicc"):
        pytest.skip("Open MPI's compiler is not installed")
    return compiled(tmp_path_factory.mktemp("steps"), SOURCE) / "steps"


def alone(program, *, steps=1000, work_us=1000, idle_us=0) -> list[str]:
    """One rank on the last CPU."""
    words = (program, 1, steps, work_us, idle_us, FILE)
    return ["taskset", "-c", str(CPUS[-1]), *map(str, words)]


def read(folder) -> Steps:
    return read_steps((folder / FILE).read_bytes())


def require_planted(found: Steps, planted: Sequence[tuple[int, int]]) -> None:
    # A machine may get faster than it was where the time of the work was found.
    lost = found.lengths - min(found.work_ns, found.lengths.min())
    longest = ", ".join(f"{ns:.0f}" for ns in sorted(lost)[-10:])
    for least, most in planted:
        seen = ((lost > 0.99 * least) & (lost < 1.01 * most)).any()
        assert seen, f"{planted} planted, lost at most {longest}"


def ranks_of(program) -> list[int]:
    """The program's two ranks in their order, when they have met and made room for their steps."""
    last = f"{os.fsencode(program).decode()}\0002\0"
    return sorted(
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.read_text(errors="replace").startswith(last)
        and not re.search(r"VmLck:\s+0 kB", (path.parent / "status").read_text())
    )


@pytest.mark.alone
def test_a_stop_of_the_rank_makes_a_step_longer_by_itself(program, tmp_path):
    process = subprocess.Popen(alone(program), cwd=tmp_path)
    wait_until_ran(process, [process.pid])
    planted = [stopped([process.pid], seconds, OWN) for seconds in STOPS]
    assert process.wait() == 0
    found = read(tmp_path)
    assert (len(found.lengths), found.ranks) == (1000, 1)
    require_planted(found, planted)


@pytest.mark.alone
def test_a_stop_of_another_rank_makes_the_step_of_all_longer(program, tmp_path):
    if len(CPUS) < 2:
        pytest.skip("fewer than 2 CPUs")
    words = openmpi.launch_words([*map(str, (program, 2, 1500, 1000, 0, FILE))], CPUS[:2])
    own = os.environ | openmpi.environment(2) | openmpi.INSIDE
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(words, cwd=tmp_path, env=own, stderr=stderr)
        # A launcher takes as long as the machine is slow.
        while len(ranks := ranks_of(program)) < 2 and process.poll() is None:
            time.sleep(0.01)
        wait_until_ran(process, ranks)
        planted = [stopped(ranks, seconds, OWN) for seconds in STOPS]
        assert process.wait() == 0
    openmpi.require_world((tmp_path / "stderr").read_text(), 1, 2)
    found = read(tmp_path)
    assert (len(ranks), found.ranks) == (2, 2)
    require_planted(found, planted)


def test_a_program_on_the_same_cpu_takes_what_the_steps_did_not_get(program, tmp_path):
    with busy(CPUS[-1]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(alone(program, steps=500), cwd=tmp_path, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Half a second is work, and a tenth of a second went before it.
    assert after.ru_utime - before.ru_utime == pytest.approx(0.6, abs=0.3)
    assert read(tmp_path).lengths.mean() > 1.4e6


def test_whoever_sleeps_between_steps_keeps_within_a_limit_that_holds_others_up(
    program, tmp_path, control_group
):
    (control_group / "cpu.cfs_period_us").write_text("50000")
    (control_group / "cpu.cfs_quota_us").write_text("10000")
    enter = ["sh", "-ec", 'echo 0 > "$0"; exec "$@"', control_group / "cgroup.procs"]
    seen = []
    for idle_us in (0, 60_000):
        line = alone(program, steps=30, work_us=5000, idle_us=idle_us)
        subprocess.run([*enter, *line], cwd=tmp_path, check=True)
        seen.append(read(tmp_path))
        assert (seen[-1].quota_us, seen[-1].period_us) == (10_000, 50_000)
    always, sleeping = seen
    # A fifth of the CPU makes all work take five times as long; less of it does not reach that.
    assert always.lengths.mean() > 2 * always.work_ns
    assert always.throttled > 5 and sleeping.throttled < always.throttled / 2


def test_a_rank_without_its_launcher_is_an_error_and_no_file(program, tmp_path):
    done = subprocess.run([program, "2", "10", "100", "0", FILE], cwd=tmp_path, capture_output=True)
    assert (done.returncode, list(tmp_path.iterdir())) == (7, [])
    assert done.stderr == b"steps: there are other ranks than was said\n"


@pytest.mark.parametrize("words", [["1", "10", "100", "0"], ["0", "1", "1", "0", FILE]])
def test_other_words_are_refused(program, tmp_path, words):
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("steps: ")
