"""What Snakemake shows of a rule that failed: of a refusal its message alone, once.

Snakemake 9 shows of a script that ends with an error the exception, and then the rule with all of
its inputs and its log; where nothing is shown of jobs (steps.py), nobody would learn why.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parity.core.errors import REFUSAL, REFUSED
from parity.preview.steps import event_of

LAST_LINES = 40
# How an exception of Python's subprocess, alone in its record, says that a command ended. A record
# of a cluster's job may hold the same text among all that the job said.
_ENDED = re.compile(
    r"(?:RuleException:\s+)?CalledProcessError in file .*"
    r" (returned non-zero exit status \d+|died with [^\n]*?)\.?\s*",
    re.DOTALL,
)
_TRACEBACK = "Traceback (most recent call last)"
_REFUSED = f"returned non-zero exit status {REFUSED}"


class RuleErrors(logging.Handler):
    """Says why a rule failed, where Snakemake's own handlers say too much or nothing.

    Args:
        say: shows a text to the user.
        quiet: whether nothing else is shown of jobs.
    """

    def __init__(self, say: Callable[[str], None], quiet: bool) -> None:
        super().__init__(logging.ERROR)
        self._say, self._quiet = say, quiet

    def emit(self, record: logging.LogRecord) -> None:
        """Show the refusal of a rule; in quiet runs the end of any failed rule's log."""
        logs, ended = _logs(record), _ended(record)
        if self._quiet and ended not in ("", _REFUSED):
            self._say(f"A job {ended}")
        if text := refusal(logs):
            self._say("\n".join(filter(None, [_of_cluster(record) if self._quiet else "", text])))
        elif self._quiet and _is_job_error(record):
            # Last the rule's own, which is the first of them: a cluster's job says much before.
            ends = [f"{log}\n{_end(log)}".rstrip() for log in reversed(logs)]
            said = [record.getMessage(), _of_cluster(record), *ends]
            self._say("\n".join(filter(None, said)))

    def keeps(self, record: logging.LogRecord) -> bool:
        """The filter for Snakemake's own handlers: whether a record says more than we do."""
        ended = _ended(record)
        is_said = ended == _REFUSED or (self._quiet and ended)
        return not is_said and (bool(_of_cluster(record)) or not refusal(_logs(record)))


def _ended(record: logging.LogRecord) -> str:
    """How a job's command ended, of an exception that says so with all of its words; else empty."""
    found = _ENDED.fullmatch(str(record.msg))
    return found[1] if found else ""


def refusal(logs: list[Path]) -> str:
    """The message for the user with which a rule's own log ends, the first of them; else empty."""
    _, begin, message = f"\n{_text(logs[0]) if logs else ''}".rpartition(f"\n{REFUSAL}")
    return "" if not begin or _TRACEBACK in message else f"{REFUSAL}{message}".rstrip()


def _end(log: Path) -> str:
    return "\n".join(_text(log).splitlines()[-LAST_LINES:])


def _text(log: Path) -> str:
    return log.read_text("utf-8", "replace") if log.is_file() else ""


def _of_cluster(record: Any) -> str:
    """What the cluster says of a job's end, such as the state that Slurm gives it; else empty."""
    return str(getattr(record, "rule_msg", None) or "")


def _is_job_error(record: Any) -> bool:
    return event_of(record) == "job_error"


def _logs(record: Any) -> list[Path]:
    """The logs of the rule that a record says has failed; none for other records."""
    return [Path(log) for log in record.log] if _is_job_error(record) else []
