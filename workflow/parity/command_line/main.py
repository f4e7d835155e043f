"""Finds the command that a command line names, reads its words and runs it."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

from parity.core.errors import REFUSED, shown_to_the_user


@dataclass(frozen=True)
class Command:
    """A command of people's: a module of this package exports it as `COMMAND`.

    Attributes:
        summary: one line for the list of commands.
        arguments: adds what it takes to its parser.
        run: does it; raises UserError.
    """

    name: str
    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


# The commands of each module here; only that of the command that is called is imported. What rules
# call lies in the module of the highest package that it uses, from which the digest of its code
# follows (`core.package`).
COMMANDS = {
    "measure": ("measure",),
    "diagnose": ("diagnose",),
    "import_results": ("import",),
    "software": (
        *("install", "probe", "bootstrap-base", "take-image", "build-image", "unpack-image"),
        *("convert-image", "images", "lock", "image-sources", "native"),
    ),
    "plan": ("write-plan",),
    "runner": ("pilot", "run-batch", "check-node", "clean-up"),
    "records": ("gather", "parse", "reparse", "archive", "crates", "noise-traces"),
    "analysis": ("look", "analyse"),
    "claims": ("judge", "expect", "register"),
    "report": (
        "draw",
        "figures",
        "compare",
        "claims",
        "dashboard",
        "tell",
        "build-paper",
        "publish",
    ),
    "preview": ("plan", "chances", "promise", "progress"),
    "checks": ("parity",),
}
MODULES = {command: module for module, commands in COMMANDS.items() for command in commands}


def main(words: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user's is a message and a status of its own."""
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(
        "parity", description="What does a container cost a program, and is it anything?"
    )
    parsers = parser.add_subparsers(metavar="command", required=True)
    if words and words[0] in MODULES:
        command = _command(words[0])
        own = parsers.add_parser(command.name, help=command.summary, description=command.summary)
        command.arguments(own)
        own.set_defaults(run=command.run)
    else:
        for name in MODULES:
            parsers.add_parser(name, help=_summary(name))
    given = parser.parse_args(words)
    with shown_to_the_user(REFUSED):
        given.run(given)


def _command(name: str) -> Command:
    module = import_module(f"parity.command_line.{MODULES[name]}")
    if hasattr(module, "COMMAND"):
        command: Command = module.COMMAND
        return command
    return _of_function(name, getattr(module, name.replace("-", "_")))


def _summary(name: str) -> str:
    """What a command says of itself in the list of all; its module, and all it needs, stays out."""
    text = Path(__file__).with_name(f"{MODULES[name]}.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name.replace("-", "_"):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMAND":
            assert isinstance(node.value, ast.Call)
            summary = str(ast.literal_eval(node.value.args[1]))
    return summary


def _of_function(name: str, function: Callable[..., None]) -> Command:
    """A command whose options are the parameters of a function."""
    parameters = inspect.signature(function, eval_str=True).parameters

    def add_options(parser: argparse.ArgumentParser) -> None:
        for parameter in parameters.values():
            _add_option(parser, parameter)

    def run(given: argparse.Namespace) -> None:
        function(**{parameter: getattr(given, parameter) for parameter in parameters})

    return Command(name, (function.__doc__ or "").partition("\n")[0], add_options, run)


def _add_option(parser: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    """An option: a list takes any number of words, what may be None at most one, bool none."""
    kind, word = parameter.annotation, f"--{parameter.name.replace('_', '-')}"
    has_default = parameter.default is not parameter.empty
    default = parameter.default if has_default else None
    if kind is bool:
        parser.add_argument(word, action="store_true")
    elif get_origin(kind) is list:
        parser.add_argument(word, type=get_args(kind)[0], nargs="*", default=[])
    elif get_origin(kind) is Mapping:
        parser.add_argument(word, type=_json_object, required=True, metavar="JSON")
    else:
        one = kind if isinstance(kind, type) else get_args(kind)[0]
        nargs = None if one is kind else "?"
        parser.add_argument(word, type=one, nargs=nargs, required=not has_default, default=default)


def _json_object(text: str) -> dict[str, Any]:
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError
    return content
