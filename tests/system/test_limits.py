"""CPU limits and neighbours for real: in force inside, refused, and gone after the run.

Needs: gcc, root; Podman and Docker with their images, or the arm is skipped with the reason.
"""

import json
import multiprocessing
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from benchmark_help import compiled, defaults, running, wait_for
from trials import ANYWHERE, containers

from parity.benchmarks.model import NodeFacts, Outputs, Program
from parity.benchmarks.selfish import BENCHMARK, SOURCE, TRACE
from parity.benchmarks.traces import read_trace
from parity.core.files import as_text
from parity.extensions.noise.measure import neighbour
from parity.measure.attempt import Order, make_attempt
from parity.measure.block import end_interrupted
from parity.measure.node_check import arm_state, host_namespaces, make_ready
from parity.measure.places import WORK, make_places, new_attempt, only_one, processes_in
from parity.measure.session import Session
from parity.measure.timed_process import adopt
from parity.plan.plan import Case
from parity.plan.system import Allocation
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="limits without a service manager are root's"),
]
CPUS = tuple(sorted(os.sched_getaffinity(0)))
PARAMETERS = defaults(BENCHMARK, mode="detours", seconds=0.5)
TRIES = 6
MOST_SHARES = 262144


@pytest.fixture(scope="module")
def program():
    """Selfish where every arm shows it, on the last CPU."""
    make_places(SCRATCH)
    folder = compiled(SCRATCH / f"selfish-{os.getpid()}", SOURCE)
    names = ("mode", "seconds", "threshold_ns", "multiple", "quantum", "capacity")
    asked = [str(PARAMETERS[name]) for name in names]
    yield Program((str(folder / "selfish"), *asked, TRACE), CPUS[-1:], collect=(TRACE,))
    shutil.rmtree(folder)


def order_of(name, program, images, shares=None) -> Order:
    arm = every_arm()[name]
    arm = replace(arm, limit=replace(arm.limit, shares=shares)) if shares else arm
    state = arm_state(arm, images)
    if state.reason:
        pytest.skip(f"{name}: {state.detail}")
    here = Allocation(("here",)), {}, {"here": host_namespaces()}
    session = Session(1, NodeFacts(CPUS, 1, 1), *here, {}, (), ANYWHERE)
    program = replace(program, cpus=arm.placed(program.cpus, CPUS).program)
    case = Case("selfish", "selfish", PARAMETERS, None, (), (), 60)
    return Order(f"selfish.{name}", case, arm, state, program, session)


def attempt(name, program, folder, images=None, shares=None):
    made = new_attempt(folder / "runs" / name)
    order = order_of(name, program, images or {}, shares)
    with only_one(SCRATCH, "another measurement on this node"):
        make_ready()
        return make_attempt(order, made), made


def loops() -> list[psutil.Process]:
    """The busy loops of neighbours of these tests."""
    ours = re.compile(r"parity-\d+-[0-9a-f]{8}.*neighbour.*")
    return running(lambda words: ours.fullmatch(words[-1]) and words[2] in neighbour.LOOPS.values())


def gate_of(record):
    (gate,) = (gate for gate in record.gates if gate.name == "neighbour")
    return gate


def parsed(folder, name):
    files = {TRACE: as_text((folder / "files" / TRACE).read_bytes())}
    limit = every_arm()[name].limit.seen_inside
    return BENCHMARK.parse(Outputs(files=files, parameters=PARAMETERS, limit=limit))


@pytest.fixture
def preferred():
    """Let the groups above all containers have CPUs before anybody else."""
    groups = Path("/sys/fs/cgroup/cpu")
    files = [groups / name / "cpu.shares" for name in ("libpod_parent", "docker")]
    before = {file: file.read_text() for file in files if file.exists()}
    for file in before:
        file.write_text(str(MOST_SHARES))
    yield
    for file, text in before.items():
        file.write_text(text)


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("runtime", ["podman", "docker", "ladder-cgroup"])
def test_half_a_period_is_lost_beside_a_neighbour_that_has_the_other_half(
    runtime, program, tmp_path, images
):
    """Where others take the CPU a loop uses its quota up later, and is stopped for less."""
    name, medians = f"{runtime}-quota-50000-of-100000-us", []
    while len(medians) < TRIES:
        record, folder = attempt(name, program, tmp_path, images, MOST_SHARES)
        assert record.reason == "", record.detail
        found = read_trace((folder / "files" / TRACE).read_bytes())
        assert (found.quota_us, found.period_us, found.cpus) == (50_000, 100_000, 1)
        assert gate_of(record).passed and gate_of(record).detail.startswith("took 0.")
        assert not loops()
        lengths = found.detours["length"]
        medians.append(float(np.median([*lengths[lengths > 20e6]] or [0])) / 1e6)
        if found.throttled and abs(medians[-1] - 50) <= 5:
            break
    assert abs(medians[-1] - 50) <= 5, medians
    assert found.cpu_ns < 0.7 * found.duration_ns
    assert parsed(folder, name).valid
    assert parsed(folder, f"{runtime}-quota-25000-of-100000-us").reason == "limit-not-in-force"
    assert record.commands and not containers(os.getpid())


@pytest.mark.parametrize("runtime", ["podman", "docker", "ladder-cgroup"])
def test_less_than_a_millisecond_is_refused_and_no_failure(runtime, program, tmp_path, images):
    for ending in ("500-of-5000-us-alone", "4500-of-5000-us"):
        record, _ = attempt(f"{runtime}-quota-{ending}", program, tmp_path, images)
        assert (record.reason, record.evidence) == ("limit-refused", {}), record.detail
        assert "quota" in record.detail
    record, _ = attempt(f"{runtime}-quota-1000-of-10000-us-alone", program, tmp_path, images)
    assert record.reason == ""


def test_burst_and_shares_are_seen_inside(program, tmp_path):
    for name in ("quota-50000-of-100000-us-burst-alone", "shares-128-same-cpu"):
        record, folder = attempt(f"ladder-cgroup-{name}", program, tmp_path)
        assert record.reason == "", record.detail
        found = read_trace((folder / "files" / TRACE).read_bytes())
        assert found.burst_us == 50_000 or found.shares == 128 or found.weight == 5
    # Beside eight times as many shares on one CPU.
    assert found.cpu_ns < 0.5 * found.duration_ns


def test_a_neighbour_that_is_idle_leaves_the_cpu_alone(program, tmp_path):
    took = {}
    for ending in ("same-cpu", "beside-idle-same-cpu"):
        record, _ = attempt(f"native-a-{ending}", program, tmp_path)
        assert record.reason == "", record.detail
        took[ending] = float(gate_of(record).detail.split()[1])
    assert took["beside-idle-same-cpu"] < took["same-cpu"] / 2


@pytest.mark.parametrize("does", ["memory", "io"])
def test_a_neighbour_fills_memory_or_writes_a_file_and_is_gone(does, program, tmp_path, images):
    for name in (f"native-a-beside-{does}", f"podman-beside-{does}"):
        record, _ = attempt(name, program, tmp_path, images)
        assert record.reason == "", record.detail
        assert float(gate_of(record).detail.split()[1]) >= (0.1 if does == "memory" else 0)
        assert (WORK / "beside").exists() == (does == "io")
        assert not loops()
        assert not [each for each in processes_in(WORK) if each.name() == "dd"]


@pytest.mark.parametrize(("does", "reason"), [("io", ""), ("memory", "gate-neighbour")])
def test_only_one_that_waits_for_a_disk_may_take_no_cpu_time(
    does, reason, program, tmp_path, monkeypatch
):
    monkeypatch.setattr(neighbour, "_taken", lambda process: 1.0)
    record, _ = attempt(f"native-a-beside-{does}", program, tmp_path)
    assert record.reason == reason, record.detail


@pytest.mark.parametrize(("script", "reason", "detail"), [
    # It begins, and ends as soon as the program does begin.
    ("until [ -e {} ]; do :; done", "gate-neighbour", "took 0.00 s"),
    ("echo no loop here >&2; exit 3", "not-started", "no loop here"),
])  # fmt: skip
def test_a_neighbour_that_does_not_run_is_told(
    script, reason, detail, program, tmp_path, monkeypatch
):
    mark = tmp_path / "begun"
    monkeypatch.setitem(neighbour.LOOPS, "cpu", script.format(mark))
    begin = ("/bin/sh", "-c", f'touch {mark}; exec "$@"', "begin")
    program = replace(program, argv=(*begin, *program.argv))
    record, _ = attempt("native-a-own-cpu", program, tmp_path)
    assert record.reason == reason and detail in record.detail
    assert not loops()


@pytest.mark.parametrize("name", ["native-a-own-cpu", "podman-own-cpu"])
def test_no_neighbour_outlives_a_killed_runner(name, program, tmp_path, images):
    long = replace(program, argv=(program.argv[0], "detours", "60", *program.argv[3:]))
    runner = multiprocessing.get_context("fork").Process(
        target=lambda: (adopt(), attempt(name, long, tmp_path, images))
    )
    order_of(name, long, images)
    runner.start()
    wait_for(lambda: loops() and any("detours" in p.cmdline() for p in processes_in(WORK)))
    assert runner.is_alive()
    runner.kill()
    runner.join()
    assert loops()
    # What the next session begins with.
    end_interrupted(tmp_path)
    make_ready()
    assert not loops()
    assert not containers(runner.pid)


def test_the_record_says_what_was_asked_of_the_runtime(program, tmp_path, images):
    record, folder = attempt("podman-shares-256-unpinned", program, tmp_path, images)
    assert record.reason == "", record.detail
    assert "--cpu-shares=256" in record.commands[0]
    assert record.evidence["cpus_allowed"] == f"{CPUS[0]}-{CPUS[-1]}" or len(CPUS) == 1
    document = json.loads((folder / "record.json").read_text())
    assert {gate["name"] for gate in document["gates"]} >= {"where", "binding", "neighbour"}
