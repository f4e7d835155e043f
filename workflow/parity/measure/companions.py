"""What extensions have around the timed section of a run: found by being there.

A companion is a context manager around all starts of an attempt. Before them it makes what is to
be there for the program: it may give the command line that starts it (`Attempt.line`). After them
it adds its gates and evidence. It raises `NotStarted` where that is not to be had: then the
program is not started either, which would be another measurement. Nothing of it runs beside the
program but what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import parity.measure
from parity.core.registry import extensions_with
from parity.measure.mpi_launcher import HOST, RANK, launched
from parity.measure.record import Order, Seen
from parity.runtimes.model import SCRATCH, Launch

Line = Callable[[Sequence[str]], list[str]]


class NotStarted(Exception):
    """What the program needs beside it is not to be had; the message says what is missing."""


@dataclass
class Attempt:
    """An attempt on its way to its record.

    Attributes:
        launch: the facts of the program's command line; with ranks, what each fills in.
        folder: what it leaves goes there.
        line: the command line that starts some words where the order says.
        seen: what is gathered for the record.
        on_stop: end what a program may wait for that cannot be killed.
        before_check: called before a program's check, which is not what is measured.
    """

    order: Order
    launch: Launch
    folder: Path
    line: Line = field(init=False)
    seen: Seen = field(default_factory=lambda: Seen([], []))
    on_stop: list[Callable[[], None]] = field(default_factory=list)
    before_check: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = self._started_alone

    def _started_alone(self, words: Sequence[str]) -> list[str]:
        """Without ranks, or with a container for each of them."""
        order, system = self.order, self.order.session.system
        command = order.program_arm.command(self.launch, words)
        if order.program.containers:
            raise NotStarted("no extension is here that puts several ranks into a container")
        if not order.program.ranks:
            return command
        assert system.launcher
        return launched(system.launcher, order.program, command)


def attempt_of(order: Order, name: str, folder: Path) -> Attempt:
    """The attempt of an order in its folder, whose container has a name."""
    state, cpus = (folder / "state").resolve(), order.program.cpus
    launch = Launch(name, order.state.image, SCRATCH, state, cpus=cpus)
    if order.program.ranks:
        launch = replace(launch, name=f"{name}-{RANK}", host=HOST)
    return Attempt(order, launch, folder)


Companion = Callable[[Attempt], AbstractContextManager[None]]


@cache
def companions() -> tuple[Companion, ...]:
    """Those of all extensions, by the names of their modules: the first is the outermost."""
    return tuple(extensions_with(parity.measure, "COMPANION"))
