"""What a command provides: a module of this package exports it as `COMMAND`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command of `parity`.

    Attributes:
        summary: one line for the list of commands.
        arguments: adds what it takes to its parser.
        run: does it; raises UserError.
    """

    name: str
    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]
