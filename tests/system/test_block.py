"""A block on this machine, natively: records, gates, failures, and a runner killed half-way.

Needs: sysbench; and, where a runner is stopped, each runtime and its image, or the arm is
skipped with the reason.
"""

import json
import multiprocessing
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest
import trials
from benchmark_help import running, wait_for
from trials import ANYWHERE, NO_IMAGES, PAIR, SHORT, case_of, measured, parsed, runner_of, trial

from parity.benchmarks.model import Program
from parity.core.commands import Availability
from parity.core.errors import UserError
from parity.measure import block, node
from parity.measure.attempt import Order, make_attempt
from parity.measure.block import end_interrupted, run_batch, run_block
from parity.measure.documents import BLOCK, ArmState, Gate
from parity.measure.node_check import arm_state, make_ready
from parity.measure.places import WORK, make_places, new_attempt, processes_in
from parity.measure.session import Session
from parity.measure.timed_process import adopt
from parity.plan.looks import batches_of
from parity.plan.plan import Case
from parity.plan.system import Allocation, System, load_system
from parity.runtimes import arms
from parity.runtimes.model import KERNEL, SCRATCH, Arm, Image
from parity.runtimes.namespaces import Bubblewrap
from parity.software.images import ImageRecord

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]


def _case(name="sysbench", timeout=60, **parameters) -> Case:
    return case_of(name, SHORT | parameters, timeout=timeout)


def test_a_block_leaves_a_record_of_every_run_or_its_reason_and_a_second_call_none(tmp_path):
    absent = [name for name, arm in arms().items() if arm.image_format]
    plan = trial(_case(), arms=(*PAIR, *absent), attempts=2)
    tables = measured(plan, tmp_path)
    rows = {row["arm"]: row for row in tables["runs"]}
    assert len(tables["runs"]) == len(rows) and set(rows) == {*PAIR, *absent}
    for row in (rows.pop(name) for name in absent):
        assert (row["stage"], row["reason"], row["attempt"]) == ("planned", "not-tested", 0)
        assert row["detail"]
    told = {(row["arm"], row["metric"]): row["value"] for row in tables["metrics"]}
    for name, row in rows.items():
        assert (row["stage"], row["exit_code"], row["attempt"]) == ("valid", 0, 1)
        assert 0 < row["wall_seconds"] < 30
        assert json.loads(row["command"])[-1] == "run"
        assert len(row["binary_sha256"]) == len(row["closure_sha256"]) == 64
        # The clock of the program's CPU stands before it, and has little to do itself.
        if shutil.which("gcc"):
            assert 0 < told[name, "cpu_seconds"] < row["wall_seconds"]
    time_rows = [row for row in tables["metrics"] if row["metric"] == "time"]
    assert len(time_rows) == 2 and all(row["valid"] and row["primary"] for row in time_rows)
    assert {row["phase"] for row in tables["nodes"]} == {"before", "after"}
    of_pair = {row["sha256"] for row in tables["binaries"] if row["arm"] in PAIR}
    assert of_pair == {rows["native-a"]["binary_sha256"]}
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/*/record.json")}
    again = measured(plan, tmp_path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/*/record.json")} == before
    assert Counter(row["stage"] for row in again["runs"])["valid"] == 2


def test_a_campaign_begun_on_another_system_is_refused_before_anything_is_measured(tmp_path: Path):
    plan = trial(_case(), attempts=2, blocks=2)
    first, second = (tmp_path / block.name for block in plan.blocks)
    run_block(plan, first.name, NO_IMAGES, {}, ANYWHERE, first)
    elsewhere = msgspec.structs.replace(ANYWHERE, name="elsewhere")
    for folder in (second, first):
        with pytest.raises(UserError) as raised:
            run_block(plan, folder.name, NO_IMAGES, {}, elsewhere, folder)
        assert raised.value.what == "the block was measured on test, not on elsewhere"
        assert raised.value.where == str(first)
    assert not list(second.glob("runs/*"))


def test_what_a_slow_launcher_takes_is_none_of_the_program_s_time(tmp_path: Path) -> None:
    """A batch system that lets a step wait made a program's start-up, as mpip has it, longer."""
    site = load_system(ROOT / "config/systems/pbs.yaml").launcher
    slow = ("/bin/sh", "-c", 'sleep 1; "$@"; status=$?; sleep 1; exit $status', "slow")
    as_root = ("env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
    launcher = msgspec.structs.replace(site, command=(*slow, *as_root, *site.command))
    plan = trial(case_of("hpcc", {"nodes": 1, "ranks": 2, "n": 500, "nb": 64}))
    system = msgspec.structs.replace(ANYWHERE, launcher=launcher)
    tables = measured(plan, tmp_path, system=system)
    for row in tables["runs"]:
        assert row["stage"] == "valid", row
        text = (tmp_path / f"runs/{row['run']}/attempt-1/record.json").read_text()
        record = json.loads(text)
        (own,) = record["starts_wall_seconds"]
        assert float(record["evidence"]["launcher_seconds"]) >= 2
        assert 0 < own <= row["wall_seconds"] - 2


def test_a_run_that_takes_too_long_is_tried_again_and_then_counted_once(tmp_path: Path) -> None:
    tables = measured(trial(_case(timeout=1, events=100_000_000), attempts=2), tmp_path)
    rows = [row for row in tables["runs"] if row["arm"] == "native-a"]
    assert [(row["attempt"], row["final"], row["reason"]) for row in rows] == [
        (1, False, "timeout"),
        (2, True, "timeout"),
    ]
    assert not tables["metrics"]


def _patient(seconds: float) -> System:
    """A system whose node is busy if others take half of its CPU time, and waits so long."""
    return System("test", "vm", "bootstrap", 0.5, seconds, max_steal_fraction=1.0)


def test_a_busy_node_spends_no_block_and_names_what_is_in_the_way(tmp_path, monkeypatch) -> None:
    plan = trial(_case(), attempts=2)
    monkeypatch.setattr(node, "busy_now", lambda: 0.75)
    with pytest.raises(UserError) as raised:
        measured(plan, tmp_path, system=_patient(0.5))
    assert raised.value.what == (
        "the node is busy: others used 0.750 of CPU time, allowed 0.5, after 0.5 s of waiting"
    )
    assert raised.value.where.startswith(f"{platform.node()}: ")
    assert "quiet_node.settle_seconds" in raised.value.action
    assert not list(tmp_path.glob("runs/*")) and not (tmp_path / "block.json").exists()
    # The same call goes on where it was, and both sessions are kept.
    tables = measured(plan, tmp_path)
    assert [row["stage"] for row in tables["runs"]] == ["valid", "valid"]
    assert {row["session"] for row in tables["runs"]} == {2}


def test_a_block_begins_when_the_node_is_idle(tmp_path, monkeypatch, capsys) -> None:
    seen = iter([0.75, 0.75, 0.25])
    monkeypatch.setattr(node, "busy_now", lambda: next(seen))
    tables = measured(trial(_case(), attempts=2), tmp_path, system=_patient(120.0))
    assert [row["stage"] for row in tables["runs"]] == ["valid", "valid"]
    assert capsys.readouterr().out.count("waiting 120 s at most for an idle node: ") == 1


@pytest.mark.parametrize("name", ["apptainer", "charliecloud-sqfs"])
def test_one_changed_byte_of_a_real_image_is_refused(name: str, tmp_path: Path, images) -> None:
    arm = arms()[name]
    image, record = trials.image_of(arm, images), images[arm.image_format]
    copy = Path(shutil.copyfile(image.location, tmp_path / "image"))
    moved = {arm.image_format: msgspec.structs.replace(record, location=str(copy))}
    assert arm_state(arm, moved).gate.passed
    with copy.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
    gate = arm_state(arm, moved).gate
    assert not gate.passed
    assert gate.detail.startswith(f"{copy}: expected {image.digest}, found sha256:")


@pytest.fixture
def boxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, ImageRecord]]:
    """A runtime whose image is one script, which starts what it is given; and its records."""
    arm = arms()["bubblewrap"]
    (image := tmp_path / "image").mkdir()
    (image / "run").write_text('#!/bin/sh\nexec "$@"\n')
    (image / "run").chmod(0o755)
    monkeypatch.setitem(vars(arm), "isolates", ())
    monkeypatch.setattr(Bubblewrap, "probe", lambda _: Availability(True))
    monkeypatch.setattr(
        Bubblewrap, "command", lambda _, launch, inner: [f"{launch.image.location}/run", *inner]
    )
    record = ImageRecord("directory", digest=arm.digest(str(image)), location=str(image))
    return image, {**NO_IMAGES, "directory": record}


def _break(image: Path) -> None:
    (image / "run").write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")


@pytest.mark.parametrize("fault", ["moved", "broken", "broken between two jobs"])
def test_what_goes_away_in_the_middle_of_a_batch_is_mended_by_the_same_command(
    fault: str, boxed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, images = boxed
    plan = trial(_case(), arms=(*PAIR, "bubblewrap"), attempts=2, blocks=2, blocks_per_job=2)
    (batch,) = batches_of(plan).values()
    aside, whole = tmp_path / "aside", (image / "run").read_text()
    if fault != "moved":
        # The runtime, not the image: that one is the same as before.
        images["directory"] = msgspec.structs.replace(images["directory"], digest="sha256:same")
        monkeypatch.setattr(Bubblewrap, "digest", lambda *_: "sha256:same")

    def run() -> None:
        run_batch(plan, batch, images, {}, ANYWHERE, tmp_path / "blocks", {})

    real, made = block.run_block, []

    def second_is_disturbed(*given, checked=None):
        made.append(given[1])
        if len(made) == 2:
            image.rename(aside) if fault == "moved" else _break(image)
        return real(*given, checked=None if fault == "broken between two jobs" else checked)

    monkeypatch.setattr(block, "run_block", second_is_disturbed)
    with pytest.raises(UserError, match=r"bubblewrap worked .* and does not any more") as refused:
        run()
    assert "start Snakemake again" in refused.value.action
    assert ("is broken" if fault != "moved" else "found nothing") in refused.value.where
    second = tmp_path / "blocks" / made[1]
    assert not BLOCK.is_in(second)
    before = {path: path.read_bytes() for path in tmp_path.glob("blocks/*/runs/*/*/record.json")}
    aside.rename(image) if fault == "moved" else (image / "run").write_text(whole)
    run()
    assert {path: path.read_bytes() for path in before} == before
    for each in plan.blocks:
        rows = parsed(plan, tmp_path / "blocks" / each.name)["runs"]
        assert [row["stage"] for row in rows if row["final"]] == ["valid"] * 3


def test_a_native_program_that_is_not_the_one_that_was_built_is_refused(tmp_path: Path) -> None:
    built = "0" * 64
    tables = measured(trial(_case(), attempts=2), tmp_path, expected={"/usr/bin/sysbench": built})
    assert [(row["stage"], row["reason"]) for row in tables["runs"]] == [
        ("planned", "gate-binary")
    ] * 2
    seen = tables["binaries"][0]["sha256"]
    detail = f"/usr/bin/sysbench: expected {built}, found {seen}"
    assert {row["detail"] for row in tables["runs"]} == {detail}


def test_a_killed_runner_is_begun_again_and_every_run_counts_once(tmp_path: Path) -> None:
    start_up = _case("startup-warm", repetitions=2, cache="warm")
    plan = trial(_case(events=4000, prime=10000), start_up, attempts=2)
    folder, command = tmp_path / plan.blocks[0].name, runner_of(plan, tmp_path)
    begun = folder / "runs" / "sysbench.native-a" / "attempt-1"
    trials.killed(command, lambda: begun.exists() and list(processes_in(WORK)))
    assert not (folder / "block.json").exists()
    assert list(processes_in(WORK)), "the program outlives its killed runner until the next start"

    subprocess.run(**command, check=True, timeout=120)
    assert not list(processes_in(WORK))
    tables = parsed(plan, folder)
    final = trials.require_each_once(plan, tables["runs"], interrupted="sysbench.native-a")
    # Arms of a case are compared with each other, so all of them come from one session.
    for case in ("sysbench", "startup-warm"):
        assert len({row["session"] for row in final if row["case"] == case}) == 1
    assert len({row["phase"] for row in tables["nodes"]}) == 3  # before, before-2, after-2


def _sleep(arm: Arm, image: Image | None, stop: int, folder: Path) -> None:
    """Make an attempt of a program that sleeps, as a runner does."""
    if stop == signal.SIGTERM:
        # As `parity run-batch` does.
        adopt()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = Program(argv=("/bin/sleep", "300"), cpus=(0,))
    gate = Gate("image", True)
    state = ArmState(image=image, recipe="", gate=gate, reason="", detail="", version="")
    case = Case("sleep", "sleep", {}, None, (), (), 400)
    session = Session(1, None, Allocation(("here",)), {}, {"here": {}}, {}, (), ANYWHERE)
    make_attempt(Order("sleep.x", case, arm, state, program, session), folder)


# The two ways in which a runtime hangs below the runner, or beside it under a daemon.
OFTEN = ("apptainer", "docker")


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if x in OFTEN else pytest.mark.long) for x in arms()]
)
def test_nothing_of_a_stopped_runner_runs_on(name: str, stop: int, tmp_path: Path, images) -> None:
    arm = arms()[name]
    image = trials.image_of(arm, images)
    folder = new_attempt(tmp_path / "runs" / "sleep.x")
    make_places(SCRATCH)
    attempt = partial(_sleep, arm, image, stop, folder)
    runner = multiprocessing.get_context("fork").Process(target=attempt)
    runner.start()
    # A program under another kernel is no process of this one, but whoever runs it is.
    state = str(folder / "state") if KERNEL in arm.isolates else ""
    wait_for(lambda: _sleeps(state) or not runner.is_alive())
    assert runner.is_alive(), "the runner ended before its program began"
    begun = psutil.Process(runner.pid).children(recursive=True)
    os.kill(runner.pid, stop)
    runner.join()
    if stop == signal.SIGKILL:
        # What the next session of the runner begins with.
        end_interrupted(tmp_path)
        make_ready()
    wait_for(lambda: not _sleeps(state), seconds=20)
    assert not list(processes_in(WORK))
    wait_for(lambda: not any(map(_runs, begun)), seconds=20)


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _sleeps(state: str = "") -> list[psutil.Process]:
    if state:
        return running(lambda words: state in " ".join(words))
    return running(["/bin/sleep", "300"].__eq__)
