"""Finds the command that a command line names, reads its options and runs it.

A command is a public function of a module here that returns nothing. Its options are its
parameters, and what they mean is in its docstring.
"""

import argparse
import ast
import gc
import inspect
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from parity.core.errors import REFUSED, UserError, shown, shown_to_the_user

# In the order in which they are listed, people's first. What rules call lies in the module of the
# highest package that it uses, from which the digest of its code follows (`core.package`).
MODULES = (
    *("measure", "diagnose", "import_results", "workflow", "software", "plan", "runner"),
    *("records", "analysis", "claims", "report", "preview", "checks"),
)
_PARSING = threading.Lock()  # Python 3.11 counts the depth of parsing for all threads together


class Command(NamedTuple):
    """Where a command is defined, and what it says of itself; the module itself is not loaded."""

    module: str
    function: str
    summary: str

    @property
    def code(self) -> Callable[..., None]:
        """The function, whose module is loaded now."""
        module = import_module(f"parity.command_line.{self.module}")
        found: Callable[..., None] = getattr(module, self.function)
        return found


def commands() -> dict[str, Command]:
    """Every command by its name; a name that is a word of Python's has an underscore behind it."""
    known = {}
    for module in MODULES:
        text = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        with _PARSING:
            nodes = ast.parse(text).body
        for node in (each for each in nodes if isinstance(each, ast.FunctionDef)):
            is_public = not node.name.startswith("_")
            if is_public and node.returns and ast.unparse(node.returns) == "None":
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                name = node.name.rstrip("_").replace("_", "-")
                known[name] = Command(module, node.name, summary)
    return known


def main(words: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user's is a message and a status of its own."""
    # What a command loads and reads it keeps: it is seldom looked through for what could go.
    gc.set_threshold(100_000)
    # Ctrl-C may come while the command is loaded.
    with shown_to_the_user(REFUSED):
        _run(sys.argv[1:] if words is None else words)


def _run(words: Sequence[str]) -> None:
    asks = "What does a container cost a program, and is it anything?"
    parser = argparse.ArgumentParser("parity", description=asks)
    parsers = parser.add_subparsers(metavar="command", required=True)
    known = commands()
    for name, command in known.items():
        own = parsers.add_parser(name, help=command.summary, description=command.summary)
        if words and words[0] == name:
            add_options(own, command.code)
    given = vars(parser.parse_args(words))
    code = known[words[0]].code
    parameters = inspect.signature(code).parameters.values()
    together = [given.pop(p.name) for p in parameters if p.kind is p.VAR_POSITIONAL]
    code(*(value for values in together for value in values), **given)


def add_options(parser: argparse.ArgumentParser, code: Callable[..., None]) -> None:
    """Add the parameters of a function as options, which its docstring describes.

    A list takes any number of words, a tuple the words of every time it is given, what may be
    None at most one, bool none. A variable number of arguments is what stands behind the options.
    """
    text = inspect.getdoc(code) or ""
    described = dict(re.findall(r"^    (\w+): ((?:.|\n {8})+)", text, re.MULTILINE))
    for parameter in inspect.signature(code).parameters.values():
        kind, name = parameter.annotation, parameter.name
        word = f"--{name.replace('_', '-')}"
        has_default = parameter.default is not parameter.empty
        default = parameter.default if has_default else None
        told = re.sub(r"\s+", " ", described.get(name, "")).replace("%", "%%")
        help = f"{told} ({default})" if isinstance(default, int | float) and told else told
        if parameter.kind is parameter.VAR_POSITIONAL:
            parser.add_argument(name, type=kind, nargs="+", help=help)
        elif kind is bool:
            parser.add_argument(word, action="store_true", help=told)
        elif get_origin(kind) is list:
            parser.add_argument(word, type=get_args(kind)[0], nargs="*", default=[], help=help)
        elif get_origin(kind) is tuple:
            parser.add_argument(word, action="append", default=[], metavar="WORD", help=help)
        elif get_origin(kind) is Literal:
            parser.add_argument(word, choices=get_args(kind), default=default, help=help)
        elif get_origin(kind) is Mapping:
            parser.add_argument(word, type=_json_object, required=True, metavar="JSON", help=help)
        else:
            one = kind if isinstance(kind, type) else get_args(kind)[0]
            at_most: Any = {"nargs": None if one is kind else "?", "required": not has_default}
            parser.add_argument(word, type=one, default=default, help=help, **at_most)


def _json_object(text: str) -> dict[str, Any]:
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError
    return content


def words_of(text: str, where: str) -> list[str]:
    """The words of an option, parted as a shell does; UserError: a quote is open."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{shown(text)}: {error}", where=where) from None


def refuse_out_of_range(**most: tuple[float | None, float]) -> None:
    """Refuse (UserError) options by value, if given, and limit: more than it, or not above 0."""
    for name, (value, limit) in most.items():
        if value is not None and not 0 < value <= limit:
            allowed = f"more than 0, up to {limit:g}"
            raise UserError(f"{value:g} is out of range", where=f"--{name}", allowed=allowed)
