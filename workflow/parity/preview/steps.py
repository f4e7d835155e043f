"""What is shown while Snakemake works: how far it is, and not several lines for every job.

What it says of jobs, with all of their files, stands in its own log, which the first line names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

# Of Snakemake's log events (snakemake_interface_logger_plugins.common), by their values.
OF_JOBS = frozenset(
    (
        *("run_info", "job_info", "job_started", "job_finished", "job_error"),
        *("group_info", "progress", "resources_info"),
    )
)
# What it says of itself beside them.
OF_ITSELF = (
    "Building DAG of jobs",
    "Using shell:",
    "Provided ",
    "Rules claiming more threads",
    "Conda environments: ignored",
    "Select jobs to execute",
    "Execute ",
    "Complete log",
    "Elapsed time",
)
FEW = 3  # Steps that nobody waits for.


def event_of(record: Any) -> str:
    """The kind of a record of Snakemake's; empty for a plain message."""
    return str(getattr(getattr(record, "event", None), "value", ""))


def is_needed(record: logging.LogRecord) -> bool:
    """The filter for what Snakemake itself shows: what is no news of its jobs."""
    if event_of(record) in OF_JOBS:
        return False
    return record.levelno > logging.INFO or not str(record.msg).startswith(OF_ITSELF)


class Steps(logging.Handler):
    """Says ten times how many steps are done, and first where all is written down.

    Args:
        say: shows a line to the user.
        log: the file that Snakemake writes.
    """

    def __init__(self, say: Callable[[str], None], log: str) -> None:
        super().__init__(logging.INFO)
        self._say, self._log, self._tenth = say, log, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line where another tenth of the steps is done."""
        if event_of(record) != "progress":
            return
        done, total = int(vars(record)["done"]), int(vars(record)["total"])
        tenth = 10 * done // total
        if total > FEW and self._tenth < tenth < 10:
            more = f"; see {self._log}" if self._tenth == 0 else ""
            self._tenth = tenth
            self._say(f"{done} of {total} steps{more}")
