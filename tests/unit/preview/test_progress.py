"""Progress: counted once, estimated from what was seen, and shown by Snakemake's own log."""

import logging
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from plans import block_record_of, run_record_of
from snakemake_interface_logger_plugins.common import LogEvent

from parity.core.files import write_json
from parity.measure import progress
from parity.measure.documents import BLOCK, PROGRESS, RECORD
from parity.plan.making import make_plan
from parity.plan.plan import Plan, write_plan
from parity.plan.study import load_study
from parity.preview import progress as shown
from parity.preview.progress import REPORT, BlockState, KnownStates, at_once, estimate, rest
from parity.preview.snakemake_log import BlockLog, Shown, teller

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_study(ROOT / "config/studies/torrez2019.yaml", "smoke"))


def _block(name: str, seconds: float, ended: float | None, nodes: int = 1, **facts) -> BlockState:
    """A block whose last run ended `ended` seconds after NOW; finished unless told."""
    updated = None if ended is None else NOW + timedelta(seconds=ended)
    facts = {"finished": ended is not None, **facts}
    return BlockState(name, nodes, 10, seconds=seconds, updated=updated, **facts)


def test_a_block_is_counted_as_its_runs_end(plan, tmp_path) -> None:
    block = plan.blocks[0]
    assert KnownStates(plan, tmp_path).look()[0] == BlockState(block.name, 1, 72)
    (folder := tmp_path / block.name).mkdir()
    progress.begin(block, folder)
    for run, reason in zip(block.runs, ("", "timeout", "not-tested"), strict=False):
        progress.count(run.name, reason, reason != "not-tested", folder)
    state = KnownStates(plan, tmp_path).look()[0]
    assert (state.ok, state.failed, state.not_started) == (1, {"timeout": 1}, {"not-tested": 1})
    assert (state.done, state.runs, state.finished) == (3, 72, False)
    write_json(folder / "block.json", {})
    assert KnownStates(plan, tmp_path).look()[0].finished


def test_a_resumed_block_counts_no_run_twice_and_keeps_its_time(plan, tmp_path) -> None:
    block = plan.blocks[0]
    progress.begin(block, tmp_path)
    for run in block.runs[:20]:
        progress.count(run.name, "", True, tmp_path)
    killed = replace(PROGRESS.read_in(tmp_path), seconds=100.0)
    PROGRESS.write_in(tmp_path, killed)
    progress.begin(block, tmp_path)
    # It walks past what is settled, and makes the rest; one run fails at first.
    progress.count(block.runs[0].name, "timeout", True, tmp_path)
    for run in block.runs:
        progress.count(run.name, "", True, tmp_path)
    resumed = PROGRESS.read_in(tmp_path)
    assert (resumed.ok, resumed.failed) == (72, {})
    assert 100 <= resumed.seconds < 110
    assert resumed.started == killed.started


def test_waiting_for_an_idle_node_is_none_of_the_minutes(plan, tmp_path, capsys) -> None:
    block, timed = plan.blocks[0], replace(plan, minutes=1.0)
    folders = [tmp_path / each.name for each in plan.blocks]
    folders[0].mkdir()
    progress.begin(block, folders[0])
    began = (datetime.now(UTC) - timedelta(seconds=50)).isoformat()
    PROGRESS.write_in(folders[0], replace(PROGRESS.read_in(folders[0]), session_started=began))
    progress.leave_out(40.0, folders[0])
    progress.count(block.runs[0].name, "", True, folders[0])
    spent = progress.lasted(timed, folders, folders[1].name)
    assert 10 <= spent.measured == spent.one_more < 40 and spent.waited == 40
    told = progress.Told(timed, folders)
    for is_last in (False, False, True):
        told.after(block.name, is_last)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in said] == [f"block {block.number}", said[1]]
    assert "of its" not in said[0] and said[1].endswith("an idle node, and none of the minutes")


def test_who_goes_on_after_an_hour_is_told_of_two_sessions(plan, tmp_path, capsys) -> None:
    folders = [tmp_path / each.name for each in plan.blocks]
    folders[0].mkdir()
    progress.begin(plan.blocks[0], folders[0])
    for minutes in (50, 70):
        progress.Told(plan, folders).before()
        assert capsys.readouterr().out == ""
        ended = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
        PROGRESS.write_in(folders[0], replace(PROGRESS.read_in(folders[0]), updated=ended))
    progress.Told(plan, folders).before()
    said = capsys.readouterr().out
    assert f"ended at {ended[:16]} UTC" in said and "a study of another name" in said


def test_a_block_without_the_file_is_counted_from_its_records(plan, tmp_path) -> None:
    block = plan.blocks[0]
    first, second, *_ = [entry.name for entry in block.runs]
    for number, reason in ((1, "timeout"), (2, "")):
        attempt = tmp_path / "runs" / first / f"attempt-{number}"
        attempt.mkdir(parents=True)
        RECORD.write_in(attempt, run_record_of(reason=reason))
    why = {"reason": "not-tested", "detail": ""}
    BLOCK.write_in(tmp_path, block_record_of(not_started={second: why}))
    counted = progress.read(block, tmp_path)
    assert (counted.ok, counted.failed, counted.not_started) == (1, {}, {"not-tested": 1})
    assert counted.seconds == 120


def test_nothing_is_estimated_before_a_block_of_each_node_count_is_done() -> None:
    waiting = _block("b3", 0, None)
    assert estimate([_block("b1", 30, 0, finished=False), waiting]) is None
    done_on_one = [_block("b1", 60, 0), waiting, _block("b4", 0, None, nodes=4)]
    assert estimate(done_on_one) is None
    assert rest(done_on_one).endswith("not known before a block on 4 nodes is done")
    assert rest([waiting]).endswith("not known before a block is done")
    assert rest([_block("b1", 60, 0)]) == "all blocks are done"


def test_a_limit_of_time_ends_it_before_the_planned_blocks_do() -> None:
    blocks = [_block("b1", 60, 0), *(_block(f"w{number}", 0, None) for number in range(90))]
    assert rest(blocks, minutes=9) == "about 8 min left of its 9 min"
    assert shown.one_line(blocks, minutes=9).startswith("1/91 blocks at most done; ")
    assert rest(blocks[:3], minutes=9) == "about 2 min left of its 9 min"


def test_blocks_one_after_the_other_take_the_sum() -> None:
    blocks = [_block("b1", 60, -100), _block("b2", 80, 0)]
    left = [_block("b3", 30, 30, finished=False), _block("b4", 0, None)]
    assert at_once([*blocks, *left]) == 1
    # b3 has 30 s of 60 or 80 behind it, b4 has all before it.
    assert estimate([*blocks, *left]) == (30 + 60, 50 + 80)
    assert rest([*blocks, *left]) == "about 2 min left"


def test_blocks_side_by_side_share_the_time_that_was_seen() -> None:
    blocks = [_block(f"b{i}", 100, 0) for i in range(4)]
    waiting = [_block(f"w{i}", 0, None) for i in range(8)]
    assert at_once([*blocks, *waiting]) == 4
    assert estimate([*blocks, *waiting]) == (200, 200)
    # The last one takes its own time however many there could be.
    assert estimate([*blocks, waiting[0]]) == (100, 100)
    # A pause between two calls is no time in use.
    assert at_once([_block("b1", 60, -86400), _block("b2", 60, 0)]) == 1


def test_the_whole_picture(plan) -> None:
    blocks = [
        _block("b1", 60, -60, ok=8, failed={"timeout": 1}, not_started={"not-tested": 1}),
        _block("b2", 12, -12, finished=False, ok=2),
        _block("b3", 12, -86400, finished=False, ok=3),
        _block("b4", 12, -30, finished=False, ok=3),
        _block("b5", 0, None),
    ]
    lines = shown.progress_lines(plan, blocks, NOW, stopped={"b4"})
    assert lines[0] == "torrez2019-smoke: 1 of 5 blocks done, 3 begun, 1 waiting"
    assert lines[1] == "  16 ok, 1 failed (1 timeout), 1 not started (1 not-tested) of 50 runs"
    assert lines[2] == "  about 3 min left"
    assert lines[3] == "  b2  2/10 runs, last sign of life 12 s ago"
    assert "no sign of life since 24.0 h ago: probably interrupted" in lines[4]
    assert lines[5] == "  b4  3/10 runs, stopped with an error 30 s ago"
    assert len(lines) == 6
    assert shown.one_line(blocks, {"b4"}).startswith("1/5 blocks done, 1 stopped; 16 ok, 1 failed")


def _campaign(plan: Plan, blocks: int, folder: Path) -> tuple[BlockLog, list[str], list[str]]:
    """The log of a campaign of so many blocks, their names, and what it will have said."""
    names = [f"b{number}" for number in range(blocks)]
    many = replace(plan, blocks=tuple(replace(plan.blocks[0], name=name) for name in names))
    said: list[str] = []
    write_plan(folder / "plan.json", many)
    log = BlockLog(folder / "plan.json", "run_batch", folder, folder / REPORT, said.append)
    return log, names, said


def _begin(log: BlockLog, job: int, block: str) -> None:
    facts = {"rule_name": "run_batch", "jobid": job, "wildcards": {"batch": block}}
    log.handle(logging.makeLogRecord({"event": "job_info", **facts}))


def _leave(plan: Plan, block: str, folder: Path) -> None:
    (folder / block).mkdir(exist_ok=True)
    progress.begin(replace(plan.blocks[0], name=block), folder / block)
    write_json(folder / block / "block.json", {})


def _measure(log: BlockLog, job: int, plan: Plan, block: str, folder: Path) -> None:
    """What Snakemake says of a block that is measured, and what the block leaves."""
    _begin(log, job, block)
    _leave(plan, block, folder)
    log.handle(logging.makeLogRecord({"event": "job_finished", "job_id": job}))


def test_the_handler_never_raises_and_says_once_that_it_is_broken(plan, tmp_path) -> None:
    log, _, said = _campaign(plan, 1, tmp_path)
    for _ in range(2):
        _begin(log, 1, "of no plan")
    assert len(said) == 1 and said[0].startswith("progress is not shown any more: KeyError")


def test_a_job_may_fail_while_another_ends(plan, tmp_path) -> None:
    told = {"blocks done": Event(), "went wrong": Event()}
    logger, terminal = logging.Logger("snakemake"), logging.StreamHandler(StringIO())

    def meet(record: logging.LogRecord) -> bool:
        """Let each of the two texts be at its terminal while the other is."""
        for words, here in told.items():
            if words in record.getMessage() and "event" not in vars(record):
                here.set()
                assert all(each.wait(60) for each in told.values())
        return True

    terminal.addFilter(meet)
    say = teller(logger, [terminal])
    _, names, _ = _campaign(plan, 2, tmp_path)
    aloud = partial(say, logging.INFO)
    log = BlockLog(tmp_path / "plan.json", "run_batch", tmp_path, tmp_path / REPORT, aloud)
    for handler in (terminal, Shown(say, True, "x.log", str), log):
        logger.addHandler(handler)
    for job, name in enumerate(names):
        _begin(log, job, name)
        _leave(plan, name, tmp_path)

    def happens(**facts: Any) -> Thread:
        thread = Thread(target=logger.handle, args=[logging.makeLogRecord(facts)], daemon=True)
        thread.start()
        return thread

    first = happens(levelno=logging.INFO, event=LogEvent.JOB_FINISHED, job_id=0)
    assert told["blocks done"].wait(60)
    wrong = {"levelno": logging.ERROR, "event": LogEvent.JOB_ERROR, "msg": "it went wrong"}
    second = happens(**wrong, jobid=1, log=[])
    for thread in (first, second):
        thread.join(20)
    assert not first.is_alive() and not second.is_alive()


def test_each_block_is_read_a_few_times_however_many_there_are(plan, tmp_path, monkeypatch) -> None:
    read = Mock(wraps=progress.read)
    monkeypatch.setattr(progress, "read", read)
    log, names, said = _campaign(plan, 40, tmp_path)
    for job, name in enumerate(names):
        _measure(log, job, plan, name, tmp_path)
    assert said[-1].startswith("40/40 blocks done")
    assert len(said) == 10 and read.call_count <= 2 * 40


def test_a_finished_block_that_is_measured_again_is_at_work_again(plan, tmp_path) -> None:
    log, names, _ = _campaign(plan, 3, tmp_path)
    for job, name in enumerate(names[:2]):
        _measure(log, job, plan, name, tmp_path)
    _begin(log, 2, names[0])
    (tmp_path / names[0] / "block.json").unlink()
    _measure(log, 3, plan, names[2], tmp_path)
    assert "2 of 3 blocks done, 1 begun, 0 waiting" in (tmp_path / REPORT).read_text()
    # Snakemake starts a job before it removes what the block left.
    _measure(log, 2, plan, names[0], tmp_path)
    _begin(log, 4, names[1])
    _measure(log, 5, plan, names[2], tmp_path)
    (tmp_path / names[1] / "block.json").unlink()
    _measure(log, 6, plan, names[2], tmp_path)
    assert "2 of 3 blocks done, 1 begun, 0 waiting" in (tmp_path / REPORT).read_text()


def test_an_estimate_looks_at_each_block_a_few_times() -> None:
    compared: list[float] = []

    class Counted(float):
        def __lt__(self, other: float) -> bool:
            compared.append(self)
            return float(self) < other

        def __gt__(self, other: float) -> bool:
            compared.append(self)
            return float(self) > other

    done = [_block(f"b{i}", Counted(60 + i % 7), i - 300) for i in range(300)]
    assert estimate([*done, *(_block(f"w{i}", 0, None) for i in range(300))]) is not None
    assert 2 * 299 <= len(compared) <= 10 * 300


SNAKEFILE = """
from parity.plan.plan import read_plan

PLAN, LIVE = read_plan(Path("plan.json")), "results/live/torrez2019-smoke"
include: "{rules}/terminal.smk"

rule all:
    input:
        expand("results/blocks/{{batch}}/block.json", batch=[block.name for block in PLAN.blocks])

rule run_batch:
    output:
        "results/blocks/{{batch}}/block.json"
    threads: workflow.cores
    shell:
        "{python} runner.py {{wildcards.batch}}"
"""

# Counts as the real runner does; the second block fails in its middle the first time.
RUNNER = """
import sys
from pathlib import Path
from parity.measure import progress
from parity.measure.documents import PROGRESS
from parity.core.files import write_json
from parity.plan.plan import read_plan

block = read_plan(Path("plan.json")).block(sys.argv[1])
folder = Path("results/blocks") / block.name
is_first = not PROGRESS.is_in(folder)
progress.begin(block, folder)
for number, run in enumerate(block.runs):
    if block.number == 2 and number == 36 and is_first:
        sys.exit("broken")
    progress.count(run.name, "timeout" if number == 5 else "", True, folder)
write_json(folder / "block.json", {})
"""


def test_snakemake_s_own_log_drives_it(plan, tmp_path) -> None:
    live = tmp_path / "results/live/torrez2019-smoke"
    live.mkdir(parents=True)
    for folder in (tmp_path, live):
        write_plan(folder / "plan.json", plan)
    (tmp_path / "runner.py").write_text(RUNNER)
    text = SNAKEFILE.format(rules=ROOT / "workflow/rules", python=sys.executable)
    (tmp_path / "Snakefile").write_text(text)
    report, snakemake = live / REPORT, Path(sys.executable).with_name("snakemake")

    def call(*words: str | Path) -> str:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
        options = {"cwd": tmp_path, "env": environment, "text": True}
        return subprocess.run(words, stdout=-1, stderr=subprocess.STDOUT, **options).stdout

    call(snakemake, "--cores=1", "--dry-run")
    assert not report.exists()
    said = call(snakemake, "--cores=1", "--keep-going")
    assert "2/3 blocks done, 1 stopped; 177 ok, 3 failed (3 timeout) of 216 runs; the other" in said
    assert "2 of 3 blocks done, 1 begun, 0 waiting" in report.read_text()
    assert "36/72 runs, stopped with an error" in report.read_text()
    said = call(snakemake, "--cores=1", "--keep-going")
    assert "3/3 blocks done; 213 ok, 3 failed (3 timeout) of 216 runs; all blocks are done" in said
    assert "progress is not shown" not in said
    for words in ([], ["--plan", "plan.json"]):
        said = call(sys.executable, "-m", "parity", "progress", *words)
        assert said.splitlines() == report.read_text().splitlines()
