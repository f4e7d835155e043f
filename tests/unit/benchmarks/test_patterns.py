"""Patterns of users: one group, and never so many ways that a parser hangs."""

import time

import pytest

from parity.benchmarks.own_program import LONGEST_LINE, check_pattern, matches
from parity.core.errors import UserError


@pytest.mark.parametrize(
    "pattern",
    [
        r"Loop time of ([\d.]+) on \d+ procs",
        r"^(?:a|b): (\d+)",
        r"(\d{1,3})?x",
        r"(x|y)",
        "(?i)T (.)",
    ],
)
def test_what_people_write_is_taken(pattern: str) -> None:
    check_pattern(pattern, 1, "here")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(a+)+", "take for ever"),
        (r"((?:a|ab)*)", "take for ever"),
        (r"((?:\d+,){2,})", "take for ever"),
        (r"(?:(a*)b){20}", "take for ever"),
        (r".*.*.*.*(x)", "take for ever"),
        (r"(a)\1", "take for ever"),
        (r"(?=a+)(a)", "take for ever"),
        (r"(?>a+(b)*)+", "take for ever"),
        ("(" + "a" * 500 + ")", "502 characters"),
        (r"time", "has 0 groups"),
        (r"(a) (b)", "has 2 groups"),
        (r"(a", "no regular expression"),
        (r"[z-a]", "no regular expression"),
    ],
)
def test_what_could_hang_or_says_nothing_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        check_pattern(pattern, 1, "here")
    assert "allowed:" in str(error.value) and "where:" in str(error.value)


def test_the_slowest_pattern_that_is_taken_ends() -> None:
    check_pattern(r"a*a*a*(b)", 1, "here")
    began = time.process_time()
    assert matches(r"a*a*a*(b)", "a" * 1_000_000) == []
    assert time.process_time() - began < 30


def test_each_line_is_looked_at_by_itself_and_to_its_limit() -> None:
    found = matches(r"^t=(\d)", "t=1\nx t=2\nt=3 t=4\r\nt=5")
    assert [match[1] for match in found] == ["1", "3", "5"]
    assert matches("(z)", " " * LONGEST_LINE + "z") == []
