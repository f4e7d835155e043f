"""Finds the commands, reads the command line and runs the one that it names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import parity.command_line
from parity.command_line.model import Command
from parity.core.errors import shown_to_the_user
from parity.core.registry import modules_with


def main(words: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user's is a message and status 1."""
    parser = argparse.ArgumentParser(
        "parity", description="What does a container cost a program, and is it anything?"
    )
    commands: list[Command] = modules_with(parity.command_line, "COMMAND")
    parsers = parser.add_subparsers(metavar="command", required=True)
    for command in commands:
        own = parsers.add_parser(command.name, help=command.summary, description=command.summary)
        command.arguments(own)
        own.set_defaults(run=command.run)
    given = parser.parse_args(words)
    with shown_to_the_user():
        given.run(given)
