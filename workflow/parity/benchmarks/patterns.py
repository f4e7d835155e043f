"""Patterns that users write, and the lines they look at; none can make a parser hang.

Python's `re` tries one way after the other. The number of ways grows exponentially only where a
repeat stands in a repeat or holds alternatives, and else with a power of the line's length that
is the number of unbounded repeats: so the first are refused, the others are few, lines are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from parity.core.errors import UserError

LONGEST_PATTERN, LONGEST_LINE, MOST_CHARACTERS = 500, 400, 1 << 20
MOST_REPEATS = 3
# More of one thing than this counts as any number.
_FEW = 9
_REPEATS = (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT)
_REFUSED = (opcodes.GROUPREF, opcodes.GROUPREF_EXISTS, opcodes.ASSERT, opcodes.ASSERT_NOT)
ALLOWED = (
    f"at most {LONGEST_PATTERN} characters and {MOST_REPEATS} unbounded repeats; none in another"
    " one, none of alternatives, and no look-around or back-reference"
)


def check_pattern(pattern: str, groups: int, where: str) -> None:
    """Refuse a pattern that is none, has another number of groups, or may take for ever.

    Raises:
        UserError: with what is allowed.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise UserError(f"a pattern of {len(pattern)} characters", where=where, allowed=ALLOWED)
    try:
        tree = parser.parse(pattern)
        found = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(
            f"{pattern!r} is no regular expression: {error}",
            where=where,
            allowed="one of Python's; in single quotes YAML takes a backslash as it is",
        ) from None
    if found != groups:
        raise UserError(
            f"{pattern!r} has {found} groups",
            where=where,
            allowed=f"{groups}: the number in parentheses, (?:…) around anything else"
            if groups
            else "none: write (?:…)",
        )
    repeats = list(_unbounded(tree, inside=False))
    if None in repeats or len(repeats) > MOST_REPEATS:
        raise UserError(f"{pattern!r} may take for ever", where=where, allowed=ALLOWED)


def _unbounded(tree: Any, inside: bool) -> Iterator[bool | None]:
    """True for each repeat without a bound; None for what is refused."""
    for operation, argument in tree:
        if operation in _REFUSED or (inside and operation in (*_REPEATS, opcodes.BRANCH)):
            yield None
        elif operation in _REPEATS:
            _, most, below = argument
            if most > _FEW:
                yield True
            # `(…)?` is there or not.
            yield from _unbounded(below, inside or most > 1)
        elif operation is opcodes.BRANCH:
            for below in argument[1]:
                yield from _unbounded(below, inside)
        elif operation in (opcodes.SUBPATTERN, opcodes.ATOMIC_GROUP):
            yield from _unbounded(argument[-1] if isinstance(argument, tuple) else argument, inside)


def matches(pattern: str, text: str) -> list[re.Match[str]]:
    """Where a pattern matches first in each line of a text; long lines are cut."""
    found = (re.search(pattern, line[:LONGEST_LINE]) for line in text.splitlines())
    return [match for match in found if match]
