"""A rule that refuses is shown by its message alone, one that fails by its log, and few steps."""

import logging
from pathlib import Path
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from parity.core.errors import REFUSED
from parity.preview.snakemake_log import OF_JOBS, Shown


def _told(quiet: bool, *records: logging.LogRecord) -> list[str]:
    """What people are told of some records."""
    told = list[str]()
    does = {"convert_image": "Convert it (x), and more; at once.", "look": None}.get
    handler = Shown(lambda _, text: told.append(text), quiet, "x.log", does)
    for record in records:
        handler.handle(record)
    return told


def _keeps(quiet: bool, record: logging.LogRecord) -> bool:
    return Shown(lambda *_: None, quiet, "x.log", str).keeps(record)


def _said(text: str, event: LogEvent | None = None, **more: Any) -> logging.LogRecord:
    record = logging.LogRecord("x", logging.INFO, "", 0, text, (), None)
    record.__dict__.update(more, **({"event": event} if event else {}))
    return record


def _failed(*logs: Path, **of_cluster: str) -> logging.LogRecord:
    facts = {"levelno": logging.ERROR, "log": [*map(str, logs)], **of_cluster}
    return _said("Error in rule compare", LogEvent.JOB_ERROR, **facts)


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("before", ["", "b0001  1/40  sysbench.native-a  0.42 s\n"])
def test_a_refusal_stands_alone_and_once(tmp_path: Path, quiet: bool, before: str) -> None:
    log, other = tmp_path / "compare.log", tmp_path / "judge.log"
    for each in (log, other):
        each.write_text(f"{before}parity: there is no such dataset\n  to do:   measure one\n")
    told = _told(quiet, _failed(log), _failed(other))
    assert told == ["parity: there is no such dataset\n  to do:   measure one"]
    assert not _keeps(quiet, _failed(log))


def test_what_a_cluster_says_of_a_job_stands_beside_its_refusal(tmp_path: Path) -> None:
    refusal = "parity: the allocation is no longer whole"
    (log := tmp_path / "batch.log").write_text(f"{refusal}\n")
    record = _failed(log, rule_msg="SLURM-job '2' failed, SLURM status is: 'NODE_FAIL'.")
    assert _keeps(False, record) and not _keeps(True, record)
    assert _told(False, record) == [refusal]
    assert _told(True, record) == [f"{record.rule_msg}\n{refusal}"]


def test_the_rule_s_own_log_comes_last_and_whole_whatever_a_cluster_s_says(tmp_path: Path) -> None:
    (own := tmp_path / "batch.log").write_text("what went wrong\n")
    (of_job := tmp_path / "7.log").write_text("words\n" * 200)
    (told,) = _told(True, _failed(own, of_job))
    assert told.endswith(f"words\n{own}\nwhat went wrong") and told.count("words") == 40


def test_another_failure_is_snakemake_s_to_tell_but_where_that_is_quiet(tmp_path: Path) -> None:
    log, traced, absent = (tmp_path / f"{name}.log" for name in ("build", "traced", "absent"))
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    trace = "Traceback (most recent call last):\nKeyError: 'a'\n"
    traced.write_text(f"parity: a line of it\n{trace}")
    assert _told(False, _failed(log)) == [] and _keeps(False, _failed(log))
    of_cluster = "SLURM-job '4' failed, SLURM status is: 'NODE_FAIL'."
    failed = _failed(log), _failed(absent), _failed(absent, rule_msg=of_cluster), _failed(traced)
    told = _told(True, *failed)
    assert told[0].startswith(f"Error in rule compare\n{log}\nline 60\n")
    assert told[1] == f"Error in rule compare\n{absent}"
    assert told[2].splitlines()[1] == of_cluster
    assert told[3].startswith("Error in rule compare\n")


@pytest.mark.parametrize(("ended", "kept"), [
    (f"returned non-zero exit status {REFUSED}", False),
    ("returned non-zero exit status 1", True), ("died with <Signals.SIGKILL: 9>", True),
])  # fmt: skip
def test_the_exception_of_a_command_is_told_in_a_line_or_not_at_all(ended: str, kept: bool) -> None:
    text = "RuleException:\nCalledProcessError in file x, line 7:\nCommand 'sh -c \"a. b\"'"
    record = _said(f"{text} {ended}.", levelno=logging.ERROR)
    assert (_keeps(False, record), _keeps(True, record)) == (kept, False)
    assert _told(False, record) == []
    assert _told(True, record) == ([f"A job {ended}"] if kept else [])


def test_what_a_cluster_says_with_all_that_its_job_said_is_kept() -> None:
    job = "CalledProcessError in file x, line 7:\nCommand 'a' died with <Signals.SIGTERM: 15>.\nEnd"
    text = f"Error in rule run_batch: SLURM-job '1' failed, SLURM status is: 'CANCELLED'.\n{job}"
    record = _said(text, levelno=logging.ERROR)
    assert _keeps(True, record) and _told(True, record) == []


def test_its_events_are_still_called_so() -> None:
    assert {*map(str, LogEvent)} - OF_JOBS == {
        *("workflow_started", "shellcmd", "debug_dag", "rulegraph", "error", "group_error")
    }


@pytest.mark.parametrize(("text", "event", "needed"), [
    ("Building DAG of jobs...", None, False), ("Select jobs to execute...", None, False),
    ("Execute 3 jobs...", None, False), ("", LogEvent.JOB_FINISHED, False),
    ("", LogEvent.PROGRESS, False), ("", LogEvent.ERROR, True),
    ("Nothing to be done (all requested files are present and up to date).", None, True),
    ("Job 3 has been submitted with SLURM jobid 7", None, True),
])  # fmt: skip
def test_only_news_of_jobs_is_dropped(text: str, event: LogEvent | None, needed: bool) -> None:
    assert _keeps(True, _said(text, event)) is needed
    # A warning is shown whatever it begins with.
    assert _keeps(True, _said("Execute: the disk is full", levelno=logging.WARNING))


def _begins(rule: str, form: str = "", output: tuple[str, ...] = ("a",)) -> logging.LogRecord:
    facts = {"rule_name": rule, "wildcards": {"format": form} if form else {}, "output": output}
    return _said("", LogEvent.JOB_INFO, **facts)


def test_a_step_is_said_by_its_name_once_for_each_format() -> None:
    jobs = [("convert_image", "sif"), ("convert_image", "oci"), ("look",), ("look",)]
    records = [_begins(*job) for job in [*jobs, jobs[0]]]
    # What prints alone is no step that anybody waits for.
    told = _told(True, *records, _begins("all", output=()))
    assert told == ["Convert it: sif; see x.log", "Convert it: oci", "look"]


@pytest.mark.parametrize(("total", "steps"), [(40, ()), (100, tuple(range(10, 100, 10)))])
def test_ten_times_at_most_it_says_how_far_it_is(total: int, steps: tuple[int, ...]) -> None:
    done = [_said("", LogEvent.PROGRESS, done=done, total=total) for done in range(1, total + 1)]
    told = _told(True, _begins("look"), *done, _said("Execute 3 jobs..."))
    assert told == ["look; see x.log", *(f"look: {done} of {total} steps done" for done in steps)]
