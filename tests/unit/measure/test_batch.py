"""Batches: as far as the time goes, what was begun is finished, and what is stopped is not run.

Where real programs run, sysbench is needed, and the test is marked.
"""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmark_help import golden, wait_for
from msgspec import to_builtins
from msgspec.structs import replace
from plans import block_record_of, run_record_of
from trials import ANYWHERE, PAIR, case_of, trial

from parity.analysis import evidence
from parity.analysis.conclusions import conclude
from parity.analysis.contrast import Engine
from parity.analysis.dataset import excluded_runs, load
from parity.analysis.descriptive import ledger, losses, run_stages
from parity.core.commands import Availability
from parity.core.documents import write_document
from parity.core.errors import UserError
from parity.measure import block, documents, places, progress
from parity.measure.block import is_measured, is_time_over, run_batch
from parity.measure.documents import BLOCK, PROGRESS, RECORD, ArmState, BatchRecord, Gate
from parity.plan.looks import DECIDED, HOPELESS, Stop, batches_of
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE, Block, Plan, write_plan
from parity.records import dataset
from parity.records.dataset import collect
from parity.runtimes import every_arm
from parity.runtimes.model import Image
from parity.software.images import ImageRecord, write_images

LOOKS = (5, 6)


def _plan(minutes: float | None = None, per_job: int = 3, cases=("sysbench",)) -> Plan:
    design = {"looks": LOOKS, "minutes": minutes, "blocks_per_job": per_job}
    return trial(*map(case_of, cases), blocks=LOOKS[-1], **design)


def _took(block: Block, blocks: Path, seconds: float) -> Path:
    """The folder of a block that was begun, and took so long, or so much longer; its progress."""
    folder = blocks / block.name
    folder.mkdir(parents=True, exist_ok=True)
    progress.begin(block, folder)
    before = PROGRESS.read_in(folder)
    PROGRESS.write_in(folder, replace(before, seconds=before.seconds + seconds))
    return folder


def _run(plan: Plan, blocks: Path, which: int = 0, stops=None) -> BatchRecord:
    chosen = list(batches_of(plan).values())[which]
    return run_batch(plan, chosen, {}, {}, ANYWHERE, blocks, stops or {})


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """The blocks that were run, in order, with the session that each was handed; of a minute each.

    Nothing is started.
    """
    handed: dict[str, str | None] = {}

    def run(plan, name, images, expected, system, folder, stops, checked) -> str:
        handed[name] = checked
        BLOCK.write_in(_took(plan.block(name), folder.parent, 60), block_record_of(sessions=0))
        return f"session of {name}"

    monkeypatch.setattr(block, "run_block", run)
    return handed


@pytest.fixture
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started, so another measurement on this machine is in nobody's way."""
    monkeypatch.setattr(block, "SCRATCH", tmp_path / "scratch")


def _names(plan: Plan, *numbers: int) -> tuple[str, ...]:
    return tuple(plan.blocks[number].name for number in numbers)


@pytest.mark.parametrize(("minutes", "seconds", "over"), [
    (None, [10_000.0], False), (10, [], False),
    # One more block, as long as those so far on average, must end in time.
    (10, [300.0], False), (10, [301.0], True), (10, [100.0, 300.0], False),
    (10, [100.0, 301.0], True),
    # Shorter ones of a later stage tell how long the next is.
    (10, [100.0] * 5 + [49.0], False), (10, [100.0] * 5 + [51.0], True), (10, [1000.0], True),
])  # fmt: skip
def test_the_time_is_over_if_one_more_block_would_end_after_it(tmp_path, minutes, seconds, over):
    plan = _plan(minutes)
    for each, took in zip(plan.blocks, seconds, strict=False):
        _took(each, tmp_path, took)
    assert is_time_over(plan, tmp_path, plan.blocks[-1].name) == over


def test_a_pair_is_as_long_as_pairs_and_not_as_what_is_in_turn(tmp_path) -> None:
    cases = map(case_of, ("sysbench", "sysbench-2"))
    plan = trial(*cases, blocks=2, pairs=("sysbench-2",), minutes=10.0)
    in_turn, pair, *others = plan.blocks
    assert [block.number for block in (in_turn, pair, *others)] == [1, 1, 2, 2]
    _took(in_turn, tmp_path, 400.0)
    _took(pair, tmp_path, 10.0)
    assert [is_time_over(plan, tmp_path, block.name) for block in others] == [True, False]


@pytest.mark.parametrize("pattern", ["took (.*) s", "lasted (.*) s"])
def test_a_first_block_in_which_a_pattern_fits_nothing_ends_it(tmp_path, pattern: str) -> None:
    read = {"name": "time", "pattern": pattern, "unit": "s", "better": "lower"}
    command = {"title": "Mine", "program": ["/mine"], "binaries": ["/mine"], "metrics": [read]}
    mine = replace(case_of(), name="mine", benchmark="mine", parameters={"command": command},
                   primary=("time",))  # fmt: skip
    plan = trial(mine)
    (of,) = plan.blocks
    for run in of.runs:
        attempt = places.new_attempt(tmp_path / of.name / "runs" / run.name)
        (attempt / "stdout").write_text("lasted 2 s\n")
        (attempt / "stderr").write_text("")
        RECORD.write_in(attempt, run_record_of())
    BLOCK.write_in(tmp_path / of.name, replace(block_record_of(), name=of.name, runs=of.runs))
    if pattern.startswith("lasted"):
        block._refuse_vain(plan, tmp_path / of.name)
    else:
        with pytest.raises(UserError, match="unparsable: time: 0 lines match instead of one"):
            block._refuse_vain(plan, tmp_path / of.name)


@pytest.mark.parametrize(("design", "failed", "reason", "is_vain"), [
    (IN_TURN, {"namespaces"}, "exit-status", True), (IN_TURN, {*PAIR}, "signal", True),
    (IN_TURN, {"namespaces"}, "unparsable", True), (IN_TURN, {"native-b"}, "unparsable", False),
    (IN_TURN, set(), "", False), (IN_TURN, {"native-b"}, "exit-status", False),
    # What others do to the node they may not do to the next block.
    (IN_TURN, {"namespaces"}, "gate-steal", False),
    (SIDE_BY_SIDE, {"namespaces", "native-a"}, "exit-status", True),
    (SIDE_BY_SIDE, {"namespaces"}, "exit-status", False),
    # The other of a pair may not have come.
    (SIDE_BY_SIDE, {"namespaces", "native-a"}, "not-started", False),
])  # fmt: skip
def test_a_first_block_in_which_nothing_can_be_compared_ends_it(
    tmp_path, capsys, design: str, failed: set[str], reason: str, is_vain: bool
) -> None:
    plan = trial(case_of("sysbench"), arms=(*PAIR, "namespaces"), design=design)
    of = next(each for each in plan.blocks if "namespaces" in {run.arm for run in each.runs})
    folder = tmp_path / of.name
    for run in of.runs:
        # A program that ended well, and left nothing that could be read.
        is_empty = run.arm in failed and reason == "unparsable"
        why = reason if run.arm in failed and not is_empty else ""
        record = run_record_of(reason=why, detail=why and "no module named x")
        attempt = places.new_attempt(folder / "runs" / run.name)
        (attempt / "stdout").write_text("" if is_empty else golden("sysbench/real.txt"))
        RECORD.write_in(attempt, record)
    BLOCK.write_in(folder, replace(block_record_of(), name=of.name, runs=of.runs))
    if is_vain:
        with pytest.raises(UserError, match="nothing of this study can be compared") as refused:
            block._refuse_vain(plan, folder)
        assert f": {reason}: " in refused.value.what
        assert ("no module named x" in refused.value.what) == (reason != "unparsable")
    else:
        block._refuse_vain(plan, folder)
        is_said = reason in ("exit-status", "not-started")
        assert ("no module named x" in capsys.readouterr().out) == is_said


def test_a_batch_runs_its_blocks_one_after_the_other(tmp_path: Path, measured) -> None:
    plan = _plan()
    first, second, third = names = _names(plan, 0, 1, 2)
    assert _run(plan, tmp_path).measured == names
    sessions = {first: None, second: f"session of {first}", third: f"session of {second}"}
    assert list(measured.items()) == list(sessions.items())


# Of a format that could not be made then, or cannot be made now, there is no digest.
@pytest.mark.parametrize(("digest", "now", "counts"), [
    ("sha256:1", "sha256:1", True), ("sha256:1", "sha256:2", False),
    ("", "sha256:1", False), ("sha256:1", "", False),
])  # fmt: skip
def test_a_finished_block_counts_if_it_was_measured_with_the_images_of_now(
    tmp_path: Path, monkeypatch, digest: str, now: str, counts: bool
) -> None:
    image = Image("sif", "/image.sif", digest) if digest else None
    empty = dict.fromkeys(("recipe", "reason", "detail", "version"), "")
    native = ArmState(image=None, gate=Gate("image", True), **empty)
    arms = {"native-a": native, "native-b": native, "apptainer": replace(native, image=image)}
    plan = replace(_plan(), arms=(*PAIR, "apptainer"))
    images = {"sif": ImageRecord("sif", digest=now)}
    assert not is_measured(plan, tmp_path, images)
    runs = [{"run": f"sysbench.{arm}", "case": "sysbench", "arm": arm} for arm in arms]
    for made, is_counted in ((runs, counts), (runs[:2], True)):
        started = {"arms": to_builtins({run["arm"]: arms[run["arm"]] for run in made})}
        BLOCK.write_in(tmp_path, block_record_of(start=started, runs=made))
        # A pair of natives knows nothing of arms that the study has now as well.
        assert is_measured(plan, tmp_path, images) == is_counted
    # A runtime that was not there, and still is not, would run from no image.
    none = Availability(False, reason="not installed")
    monkeypatch.setattr(type(every_arm()["apptainer"]), "probe", lambda _: none)
    absent = arms | {"apptainer": replace(native, reason="not-tested")}
    started = {"arms": to_builtins(absent)}
    BLOCK.write_in(tmp_path, block_record_of(start=started, runs=runs))
    assert is_measured(plan, tmp_path, images)


def test_blocks_that_the_time_leaves_out_are_said(tmp_path: Path, measured) -> None:
    plan = _plan(minutes=2)
    record = BatchRecord(measured=_names(plan, 0, 1), out_of_time=_names(plan, 2))
    assert _run(plan, tmp_path) == record
    assert tuple(measured) == _names(plan, 0, 1)
    measured.clear()
    # The other batch begins nothing; with more minutes both go on where they were.
    assert _run(plan, tmp_path, 1).measured == ()
    longer = replace(plan, minutes=4)
    assert _run(longer, tmp_path).measured == _names(plan, 0, 1, 2)
    assert _run(longer, tmp_path, 1).measured == _names(plan, 3)
    # What is measured is not measured again.
    assert tuple(measured) == _names(plan, 2, 3)


def test_what_was_begun_is_finished_though_the_time_is_over(tmp_path: Path, measured) -> None:
    plan = _plan(minutes=2)
    _took(plan.blocks[0], tmp_path, 6000.0)
    assert _run(plan, tmp_path).measured == _names(plan, 0) == tuple(measured)


def test_a_block_that_is_gone_is_refused_with_the_batch_s_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(dataset, "BLOCK_FOLDERS", tmp_path)
    for name in ("here", "begun"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / BLOCK.file).touch()
    path = tmp_path / "batch.json"
    write_document(path, BatchRecord(measured=("here",), out_of_time=("gone",)))
    assert dataset.measured_blocks([path]) == [tmp_path / "here"]
    for lost in ("gone", "begun"):
        write_document(path, BatchRecord(measured=("here", lost), out_of_time=()))
        with pytest.raises(UserError) as refused:
            dataset.measured_blocks([path])
        assert refused.value.what == f"block {lost} was measured, and is not there any more"
        assert refused.value.where == str(path)
        assert "delete this file" in refused.value.action
    path.write_text('{"version": 1, "measured": "here", "out_of_time": []}')
    with pytest.raises(UserError) as refused:
        dataset.measured_blocks([path])
    assert refused.value.where == f"{path}: measured"


STOPS = {("sysbench", arm): Stop("sysbench", arm, DECIDED, "time same after 5") for arm in PAIR}


def _not_started(folder: Path) -> dict[str, str]:
    return {run: why.reason for run, why in BLOCK.read_in(folder).not_started.items()}


def _of_both(reason: str) -> dict[str, str]:
    return {f"sysbench.{arm}": reason for arm in PAIR}


def _collected(plan: Plan, blocks: Path, folder: Path):
    """The dataset of all blocks in a folder, gathered, parsed and read as a look does."""
    write_plan(folder / "plan.json", plan)
    write_images(folder / "images.json", {})
    dataset = folder / "live" / plan.campaign
    collect(folder / "plan.json", sorted(blocks.iterdir()), folder / "images.json", ANYWHERE.name,
            dataset)  # fmt: skip
    return load(dataset)


def _ledger(dataset):
    left_out = excluded_runs([], dataset)
    numbers = evidence.numbers(evidence.counted_values(dataset.metrics, left_out))
    stages = run_stages(dataset, conclude(Engine(dataset, numbers))[1], left_out)
    return ledger(dataset, stages), losses(dataset, stages)


def test_a_block_of_which_all_is_stopped_is_written_down_without_a_session(tmp_path, own_place):
    plan, blocks = _plan(minutes=60, per_job=1), tmp_path / "blocks"
    (name,) = _run(plan, blocks, 5, STOPS).measured
    record = BLOCK.read_in(blocks / name)
    assert record.number == 6 and record.sessions == ()
    assert _not_started(blocks / name) == _of_both(DECIDED)
    assert not list((blocks / name).glob("session-*")) and not list((blocks / name).glob("runs/*"))
    progress = json.loads((blocks / name / PROGRESS.file).read_text())
    assert progress["runs_not_started"] == _of_both(DECIDED)
    dataset = _collected(plan, blocks, tmp_path)
    rows = dataset.runs[["arm", "stage", "reason", "detail", "attempt", "final"]]
    assert sorted(rows.itertuples(index=False, name=None)) == [
        (arm, "planned", DECIDED, "time same after 5", 0, True) for arm in PAIR
    ]
    counts, lost = _ledger(dataset)
    assert counts["planned"].tolist() == [6, 6] and counts["ran"].tolist() == [0, 0]
    said = lost[["arm", "stage", "reason", "runs"]].itertuples(index=False, name=None)
    # Of the other blocks there is no record: this plan limits the time.
    assert sorted(said) == [
        (arm, "planned", reason, runs)
        for arm in PAIR
        for reason, runs in ((DECIDED, 1), ("stopped-time", 5))
    ]


def test_side_by_side_a_run_is_stopped_with_the_other_of_its_pair(tmp_path, own_place) -> None:
    plan = trial(case_of("sysbench"), blocks=1, design=SIDE_BY_SIDE)
    of_one = {key: stop for key, stop in STOPS.items() if stop.arm == "native-b"}
    (name,) = _run(plan, tmp_path, 0, of_one).measured
    assert _not_started(tmp_path / name) == _of_both(DECIDED)


def test_pairs_that_cannot_be_made_are_rows_beside_others(tmp_path, monkeypatch, own_place):
    def refuse(may_take_turns: bool) -> None:
        raise UserError("no two programs can be measured side by side here: it takes root")

    monkeypatch.setattr(block, "make_ready", refuse)
    (name,) = _run(trial(case_of("sysbench"), pairs=("sysbench",)), tmp_path).measured
    assert _not_started(tmp_path / name) == _of_both("not-tested")
    left = BLOCK.read_in(tmp_path / name).not_started
    assert all("it takes root" in why.detail for why in left.values())
    with pytest.raises(UserError, match="it takes root"):
        _run(trial(case_of("sysbench"), design=SIDE_BY_SIDE), tmp_path)


def test_who_makes_a_container_just_now_is_ended_before_its_removal(tmp_path: Path, monkeypatch):
    """A client of Podman's outlived its runner, and made one after it had been removed."""
    (work := tmp_path / "work").mkdir()
    monkeypatch.setattr(places, "WORK", work)
    container = tmp_path / "container"
    arm = SimpleNamespace(cleanup=lambda *_: container.unlink(missing_ok=True))
    monkeypatch.setattr(block, "every_arm", lambda: {"podman": arm})
    (attempt := tmp_path / "runs/x.podman/attempt-1").mkdir(parents=True)
    started = documents.Started(name="parity-1-x", arm="podman", ranks=0, started="")
    documents.STARTED.write_in(attempt, started)
    making = ["/bin/sh", "-c", 'while :; do : > "$1"; done', "podman", str(container)]
    with subprocess.Popen(making, cwd=work) as client:
        try:
            wait_for(container.exists)
            block.end_interrupted(tmp_path)
            assert not list(places.processes_in(work)) and not container.exists()
        finally:
            client.kill()


@pytest.mark.system
def test_what_is_stopped_is_not_started_and_the_rest_is_measured(tmp_path: Path) -> None:
    plan, blocks = _plan(per_job=1, cases=("sysbench", "sysbench-2")), tmp_path / "blocks"
    stops = {("sysbench-2", arm): Stop("sysbench-2", arm, HOPELESS, "no chance") for arm in PAIR}
    _run(plan, blocks, 5, stops)
    dataset = _collected(plan, blocks, tmp_path)
    ended = dataset.runs.set_index(["case", "arm"])[["stage", "reason"]]
    for arm in PAIR:
        assert tuple(ended.loc["sysbench", arm]) == ("valid", "")
        assert tuple(ended.loc["sysbench-2", arm]) == ("planned", HOPELESS)
    assert dataset.stopped.keys() == {("sysbench-2", arm) for arm in PAIR}
    counts, lost = _ledger(dataset)
    ran = dict(zip(counts["case"], counts["ran"], strict=True))
    assert ran == {"sysbench": 1, "sysbench-2": 0}
    stopped = lost[lost["reason"] == HOPELESS]
    assert stopped["runs"].tolist() == [1, 1] and set(stopped["case"]) == {"sysbench-2"}
