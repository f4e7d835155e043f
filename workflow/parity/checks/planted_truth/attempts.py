"""The files that one attempt leaves, with a record that the real runner's own code writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from parity.checks.planted_truth.campaign import RECIPE, image_of
from parity.checks.planted_truth.outputs import NODE, Printer
from parity.core.documents import Document, canonical
from parity.measure import inner_command
from parity.measure.block_folder import RECORD, STARTED
from parity.measure.documents import Gate, Started
from parity.measure.record import Order, Seen, record
from parity.measure.timed_process import Finished
from parity.runtimes import arms
from parity.runtimes.model import NAMESPACES, SCRATCH, Arm, Launch

# How an attempt can end; of the failing ones the reason code of the real runner.
GOOD, INTERRUPTED = "good", "interrupted"
TRUNCATED, OTHER_WORK = "truncated", "wrong-size"
FAILING = ("not-started", "exit-status", "signal", "timeout", "gate-where", "gate-steal")
_CUT_OFF = (TRUNCATED, INTERRUPTED, "exit-status", "signal", "timeout")
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
MAX_STEAL = 0.1
HOST = "planted"
# The runner's own namespaces, and those of a container.
_HOST = {name: str(4_026_531_835 + number) for number, name in enumerate(NAMESPACES)}
_INSIDE = {name: str(4_026_532_177 + number) for number, name in enumerate(NAMESPACES)}


@dataclass(frozen=True)
class Attempt:
    """One attempt: where it stands in the study, how it ended, and what it cost.

    Attributes:
        number: from 1.
        session: of the runner in the block, from 1.
        minutes: since the study began.
    """

    case: str
    arm: str
    number: int
    session: int
    ending: str
    log_cost: float
    minutes: float


@dataclass(frozen=True)
class Writer:
    """Writes what attempts leave.

    Attributes:
        golden: folder of the golden outputs.
        parameters: of each case.
    """

    printer: Printer
    golden: Path
    parameters: Mapping[str, Mapping[str, Any]]

    def write(self, attempt: Attempt, run: Path) -> None:
        """Write an attempt's folder below its run's folder."""
        folder = run / f"attempt-{attempt.number}"
        state = folder / "state"
        state.mkdir(parents=True)
        started = at(attempt.minutes)
        order = self._order(attempt)
        name = f"parity-1-1-{attempt.number}"
        write(folder / STARTED.file, Started(name=name, arm=attempt.arm, ranks=0, started=started))
        stdout, stderr = self._said(order, attempt)
        (folder / "stdout").write_text(stdout, encoding="utf-8")
        (folder / "stderr").write_text(stderr, encoding="utf-8")
        if attempt.ending == INTERRUPTED:
            return
        launch = Launch(name, order.image, SCRATCH, state, host=HOST)
        command = order.arm.command(launch, inner_command.witnessed(order.program))
        steal = 0.5 if attempt.ending == "gate-steal" else 0.001
        seen = self._seen(order, attempt, command)
        write(folder / RECORD.file, record(order, seen, stderr, steal, 0.1, started))

    def _order(self, attempt: Attempt) -> Order:
        parameters = self.parameters[attempt.case]
        image = image_of(attempt.arm)
        return Order(
            run=f"{attempt.case}.{attempt.arm}",
            case=attempt.case,
            arm=arms()[attempt.arm],
            image=image,
            recipe=RECIPE if image else "",
            program=self.printer.benchmark.program(parameters, NODE),
            parameters=parameters,
            timeout_seconds=600,
            namespaces={HOST: _HOST},
            hosts=(HOST,),
            launcher=None,
            block_gates=(Gate("quiet", True), Gate("image", True)),
            max_steal_fraction=MAX_STEAL,
            session=attempt.session,
        )

    def _said(self, order: Order, attempt: Attempt) -> tuple[str, str]:
        """Standard output and standard error."""
        if attempt.ending == "not-started":
            return "", ""
        parameters = dict(order.parameters)
        if attempt.ending == OTHER_WORK:
            parameters[self.printer.counter] += 1
        text = self.printer.text(self.golden, parameters, attempt.log_cost)
        if attempt.ending in _CUT_OFF:
            text = text[: len(text) * 9 // 10]
        return text, _witness(order.arm, order.program.cpus, attempt.ending == "gate-where")

    def _seen(self, order: Order, attempt: Attempt, command: list[str]) -> Seen:
        """What the runner saw of the program: how it ended, and the outer clock."""
        if attempt.ending == "not-started":
            return Seen([], [], error=f"cannot start {command[0]}: planted")
        seconds = self.printer.seconds(order.parameters, attempt.log_cost)
        finished = Finished(
            exit_code={"exit-status": 1, "signal": -9, "timeout": -9}.get(attempt.ending, 0),
            wall_seconds=seconds + 0.05,
            user_seconds=seconds,
            system_seconds=0.01,
            timed_out=attempt.ending == "timeout",
        )
        return Seen([command], [finished])


def _witness(arm: Arm, cpus: tuple[int, ...], elsewhere: bool) -> str:
    """What the witness says; `elsewhere` if the process is not where its arm says."""
    contained = arm.image_format is not None
    inodes = {name: (_INSIDE if name in arm.isolates else _HOST)[name] for name in NAMESPACES}
    filesystem = arm.root_filesystem or "ext4"
    marker = RECIPE if contained != elsewhere else ""
    lines = [
        f"marker={marker}",
        "hostname=planted",
        *(f"namespace./proc/self/ns/{name}={inode}" for name, inode in inodes.items()),
        "NoNewPrivs:=0",
        "Seccomp:=0",
        f"Cpus_allowed_list:={','.join(map(str, cpus))}",
        f"root={filesystem},rw,relatime",
    ]
    return "".join(f"{inner_command.EVIDENCE}{line}\n" for line in lines)


def at(minutes: float) -> str:
    """The time so many minutes after the study began, UTC, ISO 8601."""
    return (BEGINNING + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


def write(path: Path, document: Document) -> None:
    """JSON with the runner's content, without its line breaks and without waiting for the disk."""
    path.write_text(canonical(document), encoding="utf-8")
