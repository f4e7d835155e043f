"""Selfish finds what is planted: stops, another program on its CPU, storms of stops.

Oslat of rt-tests sees the same noise, after it on the same CPU.

No bound here needs a quiet machine: each is of what was measured beside the program.

Needs: gcc; for CPU limits root and a hierarchy of version 1; rt-tests for one of them.
"""

import filecmp
import os
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from benchmark_help import busy, compiled, stopped, values, wait_until_ran

from parity.benchmarks import oslat
from parity.benchmarks.model import NodeFacts, Outputs
from parity.benchmarks.selfish import SOURCE, TRACE
from parity.benchmarks.traces import Trace, read_trace

pytestmark = [pytest.mark.system, pytest.mark.beside]
CPU = str(max(os.sched_getaffinity(0)))
STOPS = (0.010, 0.040, 0.100)
# Waking up and the kernel's own work take less than so many ns.
OWN = 200_000


def build(folder: Path) -> Path:
    return compiled(folder, SOURCE) / "selfish"


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("selfish"))


def words(
    program, *, mode="detours", seconds=1.0, threshold=300, multiple=5, quantum=100_000,
    capacity=400_000,
):  # fmt: skip
    numbers = map(str, (seconds, threshold, multiple, quantum, capacity))
    return ["taskset", "-c", CPU, program, mode, *numbers, TRACE]


def read(folder) -> Trace:
    return read_trace((folder / TRACE).read_bytes())


def run(program, folder, **other) -> Trace:
    subprocess.run(words(program, **other), cwd=folder, check=True)
    return read(folder)


def started(program, folder, **other) -> subprocess.Popen:
    """Selfish, when it has begun to look: finding the shortest loop takes 0.1 s of the CPU."""
    process = subprocess.Popen(words(program, **other), cwd=folder)
    wait_until_ran(process, [process.pid])
    return process


def test_the_same_source_gives_the_same_bytes_wherever_it_is_compiled(program, tmp_path):
    assert filecmp.cmp(build(tmp_path / "elsewhere"), program, shallow=False)


def test_it_looks_as_long_as_it_is_told_and_its_counter_keeps_time(program, tmp_path):
    found = run(program, tmp_path, seconds=0.5)
    assert found.duration_ns > 0.5e9 * 0.999
    assert 1 < found.minimum_ns < 1000
    assert found.threshold_ns == pytest.approx(300 + 5 * found.minimum_ns, abs=1)
    assert (found.detours["length"] > found.threshold_ns - 1).all()
    ends = found.detours["start"] + found.detours["length"]
    # Ticks become whole nanoseconds by rounding down.
    assert (found.detours["start"][1:] + 2 >= ends[:-1]).all()
    assert found.detours["length"].sum() < found.duration_ns


def test_the_shortest_loop_is_that_of_bare_looks(program, tmp_path):
    (tmp_path / "bare.c").write_text(
        "#include <stdio.h>\n#include <x86intrin.h>\n"
        "int main(void) { unsigned long long least = -1, last = 0;\n"
        "for (int i = 0; i < 20000000; i++) { _mm_lfence(); unsigned long long at = __rdtsc();\n"
        'if (at - last < least) least = at - last; last = at; } printf("%llu", least); }\n'
    )
    subprocess.run(["gcc", "-O2", "-o", "bare", "bare.c"], cwd=tmp_path, check=True)
    bare = int(subprocess.check_output(["taskset", "-c", CPU, tmp_path / "bare"]))
    found = run(program, tmp_path, seconds=0.1)
    assert found.minimum_ns * found.hz / 1e9 == pytest.approx(bare, rel=0.1)


def test_stops_are_found_with_their_lengths(program, tmp_path):
    process = started(program, tmp_path, seconds=1.5)
    planted = [stopped([process.pid], seconds, OWN) for seconds in STOPS]
    assert process.wait() == 0
    lengths = read(tmp_path).detours["length"]
    for least, most in planted:
        found = lengths[(lengths > 0.99 * least) & (lengths < 1.01 * most)]
        assert len(found), (planted, sorted(lengths)[-10:])


def test_a_program_on_the_same_cpu_takes_what_selfish_did_not_get(program, tmp_path):
    with busy(CPU):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = run(program, tmp_path, seconds=2)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Finding the shortest loop before, and conversions after, are small against two seconds.
    got = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    share = found.detours["length"].sum() / found.duration_ns
    assert share > 0.2
    assert 1 - share == pytest.approx(got / 2, abs=0.1)
    assert found.detours["length"].max() > 1_000_000


def test_a_storm_of_stops_is_found_stop_by_stop(program, tmp_path):
    process = started(program, tmp_path, seconds=5)  # a busy machine takes its time for each stop
    planted = [stopped([process.pid], 0, OWN, after=0.001)[0] for _ in range(100)]
    assert process.wait() == 0
    lengths = read(tmp_path).detours["length"]
    assert (lengths >= 0.99 * min(planted)).sum() >= len(planted)
    assert lengths.sum() >= 0.99 * sum(planted)


def test_the_work_of_a_quantum_is_the_same_and_its_detours_are_found(program, tmp_path):
    process = started(program, tmp_path, mode="fwq", seconds=1)
    least, most = stopped([process.pid], 0.1, OWN)
    assert process.wait() == 0
    found = read(tmp_path)
    assert found.mode == "fwq" and found.quantum == 100_000
    # Next to nothing of the time lies between two quanta.
    assert found.entries["length"].sum() > 0.99 * found.duration_ns
    lengths = found.detours["length"]
    # A stop falls into a quantum, which other things may make longer as well.
    assert ((lengths > 0.99 * least) & (lengths < 1.01 * most + 1_000_000)).any()


# Its share of a CPU is certain where nothing else runs; beside the other tests it was not.
@pytest.mark.alone
@pytest.mark.parametrize(("quota", "period"), [(10_000, 100_000), (5_000, 50_000)])
def test_a_limit_is_seen_from_inside_and_its_detours_are_period_less_quota(
    program, tmp_path, control_group, quota, period
):
    (control_group / "cpu.cfs_period_us").write_text(str(period))
    (control_group / "cpu.cfs_quota_us").write_text(str(quota))
    (control_group / "cpu.cfs_burst_us").write_text("3000")
    (control_group / "cpu.shares").write_text("512")
    enter = ["sh", "-ec", 'echo 0 > "$0"; exec "$@"', control_group / "cgroup.procs"]
    subprocess.run([*enter, *words(program, seconds=2)], cwd=tmp_path, check=True)
    found = read(tmp_path)
    assert (found.quota_us, found.period_us, found.burst_us) == (quota, period, 3000)
    assert (found.shares, found.weight, found.cpus) == (512, 0, 1)
    assert found.throttled > found.periods / 2 > 0
    # The scheduler looks at its clock every few milliseconds (CONFIG_HZ), and others may take
    # the CPU in addition; the limit itself cannot be exceeded for long.
    left = 1 - found.detours["length"].sum() / found.duration_ns
    assert left == pytest.approx(quota / period, rel=0.5)
    # Detours below the threshold and the kernel's own work in between are the difference.
    assert found.cpu_ns / found.duration_ns == pytest.approx(left, abs=0.03)
    stops = found.detours["length"][found.detours["length"] > 1000 * (period - quota) / 2]
    assert 1000 * (period - quota) - 10e6 < np.median(stops) < 1000 * (period - quota) + 10e6


def test_a_limit_of_version_2_is_read_as_well(program, tmp_path):
    """A made-up hierarchy in the place of the machine's, in a mount namespace of its own."""
    hierarchy = tmp_path / "hierarchy"
    hierarchy.mkdir()
    (hierarchy / "cpu.max").write_text("7500 10000\n")
    (hierarchy / "cpu.max.burst").write_text("300\n")
    (hierarchy / "cpu.weight").write_text("39\n")
    (hierarchy / "cpu.stat").write_text("usage_usec 1\nnr_periods 5\nnr_throttled 2\n")
    unshare = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces")
    mount = [*unshare, 'mount --bind "$0" /sys/fs/cgroup; exec "$@"', hierarchy]
    subprocess.run([*mount, *words(program, seconds=0.1)], cwd=tmp_path, check=True)
    found = read(tmp_path)
    assert (found.quota_us, found.period_us, found.periods) == (7500, 10000, 0)
    assert (found.burst_us, found.shares, found.weight) == (300, 0, 39)
    (hierarchy / "cpu.max").write_text("max 100000\n")
    subprocess.run([*mount, *words(program, seconds=0.1)], cwd=tmp_path, check=True)
    assert read(tmp_path).quota_us == -1


@pytest.mark.parametrize(("change", "status", "said"), [
    ({"mode": "fwq", "capacity": 10}, 5, "more entries than there is room for"),
    ({"mode": "other"}, 2, "selfish: "), ({"seconds": 0}, 2, "selfish: "),
    ({"quantum": "x"}, 2, "selfish: "), ({"seconds": 0.1}, 6, "No space left"),
])  # fmt: skip
def test_other_words_and_what_has_no_room_are_refused_without_a_trace(
    program, tmp_path, change, status, said
):
    if full := status == 6:
        (tmp_path / TRACE).symlink_to("/dev/full")
    done = subprocess.run(words(program, **change), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status and said in done.stderr
    assert full or not list(tmp_path.iterdir())


def test_many_entries_are_kept_and_nothing_is_written_before_the_end(program, tmp_path):
    """Of quanta of half a microsecond there are more than detours ever are."""
    line = words(program, mode="fwq", quantum=500, seconds=0.8, capacity=10_000_000)
    process = subprocess.Popen(line, cwd=tmp_path)
    time.sleep(0.5)
    written = Path(f"/proc/{process.pid}/io").read_text()
    assert "syscw: 0\n" in written and not list(tmp_path.iterdir())
    assert process.wait() == 0
    found = read(tmp_path)
    assert len(found.entries) > 100_000


def by_selfish(program, folder) -> tuple[float, float]:
    """Share of time and longest detour in seconds; what is shorter than 1 µs is not counted."""
    found = run(program, folder, seconds=2, threshold=1000, multiple=0, quantum=1, capacity=10**6)
    lengths = found.detours["length"]
    return float(lengths.sum()) / found.duration_ns, float(lengths.max()) / 1e9


def by_oslat(folder) -> tuple[float, float]:
    parameters = {"seconds": 2}
    program = oslat.BENCHMARK.program(parameters, NodeFacts((int(CPU),), 0, 0))
    line = ["taskset", "-c", CPU, *program.argv]
    done = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True)
    files = {oslat.RESULTS: (folder / oslat.RESULTS).read_text()}
    parsed = oslat.BENCHMARK.parse(Outputs(done.stdout, files=files, parameters=parameters))
    assert parsed.valid, parsed.detail
    return values(parsed)["noise_share"], values(parsed)["duration_longest"]


def test_oslat_sees_the_same_of_what_another_program_takes(program, tmp_path):
    if not oslat.BENCHMARK.probe().available:
        pytest.skip("rt-tests is not installed")
    with busy(CPU):
        before, between = by_selfish(program, tmp_path), by_oslat(tmp_path)
        after = by_selfish(program, tmp_path)
    # Selfish's numbers, of before and after, over oslat's in between.
    share, longest = (
        (one * two) ** 0.5 / middle for one, middle, two in zip(before, between, after, strict=True)
    )
    print(f"selfish over oslat: {share:.2f}, longest {longest:.2f}; {before} {between} {after}")
    # Half of the time each, on a machine where others may take more of it now than then.
    assert 0.6 < share < 1.7
    assert 0.1 < longest < 10
