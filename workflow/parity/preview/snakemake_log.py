"""What is shown while Snakemake works: how far it is, and of a rule that failed why.

All that it says of jobs, with all of their files, stands in its own log, which the first line
names. Of a refusal its message is shown alone, once; of another failure the end of the rule's log.
"""

import logging
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from parity.core.errors import REFUSAL, REFUSED
from parity.plan.looks import Batch, batches_of
from parity.plan.plan import Plan, read_plan
from parity.preview.progress import KnownStates, one_line, progress_lines
from parity.preview.terminal import folded

# Of Snakemake's log events (snakemake_interface_logger_plugins.common), by their values.
OF_JOBS = {
    "run_info", "job_info", "job_started", "job_finished", "job_error", "group_info", "progress",
    "resources_info",
}  # fmt: skip
# What it says of itself beside them, in messages that have no event.
OF_ITSELF = re.compile(
    "Building DAG of jobs|Using shell:|Provided |Rules claiming more threads"
    "|Conda environments: ignored|Select jobs to execute|Execute |Complete log|Elapsed time"
)
MANY = 40  # Steps, of which their names do not tell how far it is.
_UP_TO_A_STOP = re.compile(r"[^;:.(]+(?<! )")  # What a docstring says first.
LAST_LINES = 40
# How an exception of Python's subprocess, alone in its record, says that a command ended. A record
# of a cluster's job may hold the same text among all that the job said.
_ENDED = re.compile(
    r"(?:RuleException:\s+)?CalledProcessError in file .*"
    r" (returned non-zero exit status \d+|died with [^\n]*?)\.?\s*",
    re.DOTALL,
)
_REFUSED = f"returned non-zero exit status {REFUSED}"


class Shown(logging.Handler):
    """Shows of Snakemake's events what people need, and says what its own handlers may show.

    `say`: shows a text to the user, at a level. `is_quiet`: whether nothing else is shown of jobs.
    `log`: the file that Snakemake writes. `does`: what a rule does, by its name: its docstring.
    """

    def __init__(
        self, say: Callable[[int, str], None], is_quiet: bool, log: str, does: Callable[[str], str]
    ) -> None:
        super().__init__(logging.INFO)
        self._say, self._is_quiet, self._does, self._tenth = say, is_quiet, does, 0
        self._named, self._log, self._doing = set[tuple[str, str]](), f"; see {log}", ""
        self._refused = set[str]()

    def emit(self, record: Any) -> None:
        """Say what begins, a rule once for each format; ten times how far it is; why one failed."""
        event = _event(record) if self._is_quiet else ""
        if event == "job_info" and record.output:
            step = record.rule_name, (record.wildcards or {}).get("format", "")
            does = _UP_TO_A_STOP.match(self._does(step[0]) or step[0])
            self._doing = ": ".join(filter(None, (does[0] if does else "", step[1])))
            if step not in self._named:
                self._named.add(step)
                self._tell(self._doing)
        elif event == "progress":
            tenth = 10 * record.done // record.total
            if record.total > MANY and self._tenth < tenth < 10:
                self._tenth = tenth
                done = f"{record.done} of {record.total} steps done"
                self._tell(": ".join(filter(None, (self._doing, done))))
        elif record.levelno >= logging.ERROR and (text := self._why(record)):
            # Two jobs that read one file refuse it in the same words.
            if text not in self._refused:
                self._say(logging.ERROR, text)
            if text.startswith(REFUSAL):
                self._refused.add(text)

    def _tell(self, text: str) -> None:
        self._say(logging.INFO, f"{text}{self._log}")
        self._log = ""

    def keeps(self, record: logging.LogRecord) -> bool:
        """The filter for Snakemake's own handlers: whether a record says more than we do."""
        ended, event = _ended(record), _event(record)
        if ended == _REFUSED:
            return False
        facts: Any = record
        if event == "job_error" and refusal(facts.log) and not getattr(facts, "rule_msg", None):
            return False
        if not self._is_quiet:
            return True
        is_of_itself = record.levelno <= logging.INFO and OF_ITSELF.match(str(record.msg))
        return not (ended or event in OF_JOBS or is_of_itself)

    def _why(self, record: Any) -> str:
        """The refusal of a rule; in quiet runs how another one ended, and the end of its log."""
        if self._is_quiet and (ended := _ended(record)) not in ("", _REFUSED):
            return f"A job {ended}"
        if _event(record) != "job_error":
            return ""
        # What the cluster says of a job's end, such as the state that Slurm gives it.
        texts = [str(getattr(record, "rule_msg", None) or "")] if self._is_quiet else []
        if text := refusal(record.log):
            texts.append(text)
        elif self._is_quiet:
            texts = [record.getMessage(), *texts]
            # Last the rule's own, which is the first of them: a cluster's job says much before.
            for log in reversed(record.log):
                last = "\n".join(_text(log).splitlines()[-LAST_LINES:])
                texts.append(f"{log}\n{last}".rstrip())
        return "\n".join(filter(None, texts)) if text or self._is_quiet else ""


class BlockLog(logging.Handler):
    """Follows what Snakemake logs of its jobs: no polling, no thread of its own.

    After each tenth of the blocks, and where one stops, it says one line; after each block it
    leaves the whole picture in a file. Whatever goes wrong here is said once and never reaches the
    jobs. `plan`: the campaign's file, which is there when the first job starts. `rule`: name of the
    rule whose jobs are batches of blocks. `report`: the file. `say`: shows a line to the user.
    """

    def __init__(
        self, plan: Path, rule: str, blocks: Path, report: Path, say: Callable[[str], None]
    ) -> None:
        super().__init__(logging.INFO)
        self._file, self._rule, self._blocks = plan, rule, blocks
        self._report, self._say, self._said, self._is_broken = report, say, (0, 0), False
        self._jobs, self._at_work, self._stopped = dict[int, list[str]](), set[str](), set[str]()

    @cached_property
    def _campaign(self) -> tuple[Plan, dict[str, Batch], KnownStates]:
        plan = read_plan(self._file)
        return plan, batches_of(plan), KnownStates(plan, self._blocks)

    def emit(self, record: logging.LogRecord) -> None:
        """Take part of a job's start, end or error; ignore everything else."""
        if self._is_broken:
            return
        try:
            self._follow(record)
        except Exception as error:
            self._is_broken = True
            self._say(f"progress is not shown any more: {type(error).__name__}: {error}")

    def _follow(self, record: logging.LogRecord) -> None:
        facts, is_first = vars(record), not self._jobs
        event = str(facts.get("event", ""))
        # Snakemake names a job `jobid` when it starts or fails, and `job_id` when it ends.
        if event == "job_info" and facts["rule_name"] == self._rule:
            _, batches, _ = self._campaign
            names = [block.name for block in batches[facts["wildcards"]["batch"]].blocks]
            self._jobs[facts["jobid"]] = names
            self._at_work.update(names)
            self._stopped.difference_update(names)
            if is_first:
                self._show(aloud=False)
        elif event == "job_error" and facts["jobid"] in self._jobs:
            self._stopped.update(self._jobs[facts["jobid"]])
            self._show()
        elif event == "job_finished" and facts["job_id"] in self._jobs:
            self._at_work.difference_update(self._jobs[facts["job_id"]])
            self._show()

    def _show(self, aloud: bool = True) -> None:
        plan, _, known = self._campaign
        states = known.look(self._at_work)
        lines = progress_lines(plan, states, datetime.now(UTC), self._stopped)
        self._report.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._report.with_name(f".{self._report.name}")
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")
        temporary.replace(self._report)
        said = 10 * sum(state.finished for state in states) // len(states), len(self._stopped)
        if aloud and self._said != said:
            self._said = said
            self._say("\n".join(folded(one_line(states, self._stopped, plan.minutes), "")))


def teller(logger: logging.Logger, own: Sequence[logging.Handler]) -> Callable[[int, str], None]:
    """Says a text, at a level, by Snakemake's own handlers alone: what ours say with.

    A handler is at work under a lock. Through the logger, one of ours that speaks would ask for the
    other's; when a job fails while another ends, each in a thread, both would wait for ever.
    """

    def say(level: int, text: str) -> None:
        record = logger.makeRecord(logger.name, level, "", 0, text, (), None)
        for handler in own if logger.isEnabledFor(level) else ():
            if level >= handler.level:
                handler.handle(record)

    return say


def refusal(logs: Sequence[str]) -> str:
    """The message for the user with which a rule's own log ends, the first of them; else empty."""
    _, begin, message = f"\n{_text(logs[0]) if logs else ''}".rpartition(f"\n{REFUSAL}")
    is_traceback = "Traceback (most recent call last)" in message
    return "" if not begin or is_traceback else f"{REFUSAL}{message}".rstrip()


def _event(record: Any) -> str:
    """The kind of a record of Snakemake's; empty for a plain message."""
    return str(getattr(getattr(record, "event", None), "value", ""))


def _ended(record: logging.LogRecord) -> str:
    """How a job's command ended, of an exception that says so with all of its words; else empty."""
    return found[1] if (found := _ENDED.fullmatch(str(record.msg))) else ""


def _text(log: str) -> str:
    return Path(log).read_text("utf-8", "replace") if Path(log).is_file() else ""
