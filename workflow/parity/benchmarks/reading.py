"""What parsers share: reading numbers out of any text without ever raising on it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import wraps
from typing import Any

from parity.benchmarks.model import Outputs, Parsed


class Refused(Exception):
    """An output that is not accepted, with a reason code and one sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def never_raises(parse: Callable[[Any, Outputs], Parsed]) -> Callable[[Any, Outputs], Parsed]:
    """Make a parser answer to any text: a refusal becomes an invalid `Parsed` without metrics."""

    @wraps(parse)
    def parse_or_refuse(self: Any, outputs: Outputs) -> Parsed:
        try:
            return parse(self, outputs)
        except Refused as refusal:
            return Parsed(valid=False, reason=refusal.reason, detail=refusal.detail)

    return parse_or_refuse


def require_complete(text: str, begin: str, end: str) -> None:
    """Refuse a text that does not hold the line `begin`, or does not stop with `end`.

    Args:
        begin: literal text that every output of the program holds.
        end: regular expression of the very last thing it prints.
    """
    if begin not in text:
        raise Refused("unparsable", f"the output does not say {begin!r}")
    if not re.search(rf"(?:{end})\Z", text):
        raise Refused("truncated", "the output stops before its last line")


def collected(files: Mapping[str, str], pattern: str) -> str:
    """The text of the one collected file whose name matches a pattern with `*`."""
    texts = [text for name, text in files.items() if fnmatchcase(name, pattern)]
    if len(texts) != 1:
        raise Refused("unparsable", f"the run left {len(texts)} files {pattern} instead of one")
    return texts[0]


def finite(text: str, what: str) -> float:
    """A finite number, not below zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise Refused("unparsable", f"{what} is {text[:40]!r}, not a number")
    return value


def search_text(pattern: str, text: str, what: str) -> str:
    """The first group of `pattern`, whose ^ and $ are ends of lines, in `text`."""
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise Refused("unparsable", f"the output states no {what}")
    return match.group(1)


def positive(text: str, what: str) -> float:
    """A finite number above zero."""
    value = finite(text, what)
    if not value:
        raise Refused("unparsable", f"{what} is {text[:40]!r}, not a number above zero")
    return value


def require_equal(seen: str, asked: object, what: str) -> None:
    """Refuse a program that did something else than it was asked for."""
    if seen != str(asked):
        raise Refused("wrong-size", f"{what}: asked for {asked}, the output says {seen[:40]}")
