"""Patterns of users: one group, and never so many ways that a parser hangs."""

import time

import pytest

from parity.benchmarks import benchmark_of
from parity.benchmarks.own_program import LONGEST_LINE, check_pattern, compiled, matches
from parity.core.errors import UserError


@pytest.mark.parametrize("pattern", [
    r"Loop time of ([\d.]+) on \d+ procs", r"^(?:a|b): (\d+)", r"(\d{1,3})?x", r"(x|y)",
    "(?i)T (.)", r"(a+)+", r"((?:a|ab)*)", r".*.*.*.*(x)",
])  # fmt: skip
def test_what_people_write_is_taken(pattern: str) -> None:
    check_pattern(pattern, 1, "here")


REFUSED = {
    r"(a)\1": "no regular expression", r"(?=a+)(a)": "no regular expression",
    r"(?>a+(b)*)+": "no regular expression", r"(?:(a*)b){2000}": "no regular expression",
    r"time": "has 0 groups", r"(a) (b)": "has 2 groups",
    r"(a": "no regular expression",
    r"[z-a]": "no regular expression",
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "said"), REFUSED.items())
def test_what_is_no_pattern_of_a_number_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        check_pattern(pattern, 1, "here")
    assert "allowed:" in str(error.value) and "where:" in str(error.value)


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_of_a_plan_that_others_wrote_is_looked_at_too(pattern: str) -> None:
    metric = {"name": "time", "pattern": pattern, "unit": "s", "better": "lower"}
    command = {"title": "T", "program": ["/t"], "binaries": ["/t"], "metrics": [metric]}
    with pytest.raises(UserError, match=r"groups|regular expression"):
        benchmark_of("solver", {"command": command})


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(UserError, match="502 characters"):
        check_pattern("(" + "a" * 500 + ")", 1, "here")


@pytest.mark.parametrize(("pattern", "line"), [
    (r"\s*\s*\s*(\d)x", " "), (r"a*a*a*(b)", "a"), (r"(a+)+$", "a"), (r"((?:a|aa)+)b", "a"),
    (r"(?:.*,)*.*,(\d)", ","),
])  # fmt: skip
def test_no_pattern_hangs(pattern: str, line: str) -> None:
    began = time.process_time()
    assert compiled(pattern, 1, "here").search(line * 1_000_000 + "!") is None
    assert time.process_time() - began < 30  # each takes hours of tries one after the other


def test_each_line_is_looked_at_by_itself_and_to_its_limit() -> None:
    found = matches(compiled(r"^t=(\d)", 1, ""), "t=1\nx t=2\nt=3 t=4\r\nt=5")
    assert [match[1] for match in found] == ["1", "3", "5"]
    assert matches(compiled("(z)", 1, ""), " " * LONGEST_LINE + "z") == []
