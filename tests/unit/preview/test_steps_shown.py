"""Of Snakemake's own words a person sees how far it is, and whatever is no news of its jobs."""

import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from parity.preview import steps


def _record(text: str, event: LogEvent | None = None, **more: int) -> logging.LogRecord:
    record = logging.LogRecord("x", logging.INFO, "", 0, text, (), None)
    record.__dict__.update(more, **({"event": event} if event else {}))
    return record


def test_its_events_are_still_called_so() -> None:
    assert {*map(str, LogEvent)} - steps.OF_JOBS == {
        *("workflow_started", "shellcmd", "debug_dag", "rulegraph", "error", "group_error")
    }


@pytest.mark.parametrize(
    ("text", "event", "needed"),
    [
        ("Building DAG of jobs...", None, False),
        ("Select jobs to execute...", None, False),
        ("Execute 3 jobs...", None, False),
        ("", LogEvent.JOB_FINISHED, False),
        ("", LogEvent.PROGRESS, False),
        ("", LogEvent.ERROR, True),
        ("Nothing to be done (all requested files are present and up to date).", None, True),
        ("Job 3 has been submitted with SLURM jobid 7", None, True),
    ],
)
def test_only_news_of_jobs_is_dropped(text: str, event: LogEvent | None, needed: bool) -> None:
    assert steps.is_needed(_record(text, event)) is needed


def test_a_warning_is_shown_whatever_it_begins_with() -> None:
    record = _record("Execute nothing: the disk is full")
    record.levelno = logging.WARNING
    assert steps.is_needed(record)


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (3, []),
        (5, ["1 of 5 steps; see x.log", *(f"{done} of 5 steps" for done in (2, 3, 4))]),
        (
            100,
            [
                "10 of 100 steps; see x.log",
                *(f"{done} of 100 steps" for done in range(20, 100, 10)),
            ],
        ),
    ],
)
def test_ten_times_at_most_it_says_how_far_it_is(total: int, said: list[str]) -> None:
    shown = list[str]()
    handler = steps.Steps(shown.append, "x.log")
    for done in range(1, total + 1):
        handler.handle(_record("", LogEvent.PROGRESS, done=done, total=total))
    handler.handle(_record("Execute 3 jobs..."))
    assert shown == said
