"""What parsers share: reading numbers out of any text without ever raising on it.

A `Layout` says what a program prints; what was read is `Said`, texts by names, each stated once.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
# No program prints longer ones, and reading them would take gigabytes.
LONGEST_LINE = 1_000_000


class Refused(Exception):
    """An output that is not accepted, with a reason code and one sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


_FILE = Path(__file__).with_name("deaths.yaml")
_DEATHS = msgspec.yaml.decode(_FILE.read_bytes(), type=dict[str, tuple[str, ...]])


@cache
def _any_word() -> Any:
    """What looks for all of their words at once."""
    import re2  # whoever measures reads nothing

    return re2.compile("|".join(re2.escape(word) for words in _DEATHS.values() for word in words))


def death_in(text: str) -> str:
    """The first line by which a launcher or system says that a program died; empty for none."""
    if not _any_word().search(text):
        return ""
    told = [line for line, words in _DEATHS.items() if any(word in text for word in words)]
    found = told and re.search(rf"^(?:{'|'.join(told)}).*", text, re.MULTILINE)
    return found[0].strip() if found else ""


def with_a_point(text: str, what: str) -> str:
    """A printed number with a decimal point, whichever sign its country has for it.

    Raises Refused: one comma before three digits may be either sign, as in 1,234.
    """
    if "," not in text:
        return text
    if text.count(",") == 1 and "." not in text:
        whole, _, part = text.partition(",")
        if len(part) == 3 and 1 <= len(whole.lstrip("+-")) <= 3 and whole.lstrip("+-0"):
            raise Refused("unparsable", f"{what} is {text[:40]!r}: a decimal comma, or thousands?")
        return f"{whole}.{part}"
    for thousands, decimal in (",.", ".,"):
        pattern = rf"[+-]?\d{{1,3}}(?:[{thousands}]\d{{3}})+(?:[{decimal}][^.,]*)?"
        if re.fullmatch(pattern, text):
            return text.replace(thousands, "").replace(decimal, ".")
    raise Refused("unparsable", f"{what} is {text[:40]!r}, not a number")


def require_short_lines(text: str) -> None:
    """Refuse a text with a line that is longer than any program's."""
    if len(text) > LONGEST_LINE and max(map(len, text.split("\n"))) > LONGEST_LINE:
        raise Refused("unparsable", f"a line of more than {LONGEST_LINE} characters")


def require_complete(text: str, begin: str, end: str) -> None:
    """Refuse a text that is not one whole run: one header, one end, nothing but blanks after it.

    Raises Refused: `unparsable` without a header, `truncated` without an end, `several-runs`.
    `begin`: literal text that every run of the program prints once. `end`: regular expression of
    the very last thing it prints, without blanks at its end.
    """
    require_short_lines(text)
    if begin not in text:
        raise Refused("unparsable", f"the output does not say {begin!r}")
    if not re.search(rf"(?:{end})\s*\Z", text):
        raise Refused("truncated", "the output stops before its last line")
    if text.count(begin) > 1 or len(re.findall(end, text)) > 1:
        raise Refused("several-runs", "the output is that of more than one run")


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
    if not 0 <= value < math.inf:
        raise Refused("unparsable", f"{what} is {text[:40]!r}, not a number")
    return value


def positive(text: str, what: str) -> float:
    """A finite number above zero."""
    if not (value := finite(text, what)):
        raise Refused("unparsable", f"{what} is {text[:40]!r}, not a number above zero")
    return value


def require_equal(seen: str, asked: object, what: str) -> None:
    """Refuse a program that did something else than it was asked for."""
    if seen != str(asked):
        raise Refused("wrong-size", f"{what}: asked for {asked}, the output says {seen[:40]}")


def stated_once(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """What is stated once, by its key; what comes twice is left out, as if it were not there."""
    stated = list(pairs)
    times = Counter(key for key, _ in stated)
    return {key: value for key, value in stated if times[key] == 1}


class Said(dict[str, str]):
    """What an output states, by names; what it does not state once is refused (`unparsable`)."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        super().__init__(stated_once(pairs))

    def __missing__(self, key: str) -> str:
        raise Refused("unparsable", f"{key}: not stated once in the output")

    def finite(self, key: str) -> float:
        return finite(self[key], key)

    def positive(self, key: str) -> float:
        return positive(self[key], key)

    def printed(self, key: str) -> "Printed":
        return printed(self[key], key)

    def require(self, asked: Mapping[str, object]) -> None:
        """Refuse what is not what was asked for, by names."""
        for key, value in asked.items():
            require_equal(self[key], value, key)


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every whole run of a program prints; `begin` and `end` as of `require_complete`."""

    begin: str = ""
    end: str = ""
    lines: Mapping[str, str] = {}  # by names patterns of one group each; ^ and $ are ends of lines

    def read(self, text: str) -> Said:
        """What one whole run states; raises `Refused` as `require_complete` does."""
        require_complete(text, self.begin, self.end)
        return said_by(self.lines, text)


def said_by(lines: Mapping[str, str], text: str) -> Said:
    """What lines of a text state, by the names of their patterns (`Layout.lines`)."""
    return Said((name, at) for name, line in lines.items() for at in found_by(line, text))


def found_by(line: str, text: str) -> list[str]:
    """What a line's pattern finds in a text: after a line break, six times as fast as by ^."""
    return re.findall(re.sub(r"^\^", r"\\n", line), f"\n{text}", re.MULTILINE)


def said_in_json(text: str) -> Said:
    """All values of a JSON text by their paths, such as `tests.0.Options.tasks`.

    Of a list its path states the length; keys that come twice are left out. Refused: `truncated`.
    """
    try:
        content = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=stated_once)
    except (ValueError, RecursionError):
        raise Refused("truncated", "the results are not whole") from None
    return said_in(content)


def said_in(content: Any) -> Said:
    """The same of what JSON holds, which is read already."""
    return Said(_paths("", content))


def _paths(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield path, str(len(value) if isinstance(value, list) else value)
        value = dict(enumerate(value)) if isinstance(value, list) else {}
    for key, part in value.items():
        yield from _paths(f"{path}.{key}" if path else str(key), part)


@dataclass(frozen=True)
class Printed:
    """A rounded number: the truth lies up to `error` beside it; sums and products carry it on."""

    value: float
    error: float = 0.0

    def __add__(self, other: "Printed") -> "Printed":
        return Printed(self.value + other.value, self.error + other.error)

    def __mul__(self, other: "Printed") -> "Printed":
        errors = (self.value * other.error, other.value * self.error, self.error * other.error)
        return Printed(self.value * other.value, sum(errors))


def printed(text: str, what: str) -> Printed:
    """A finite number not below zero, rounded to the last digit that is printed of it.

    `%g` leaves zeros at the end out, so a number may be known better than it looks here.
    """
    value = finite(text, what)
    return Printed(value, 0.5 * 10.0 ** min(int(Decimal(text).as_tuple().exponent), 300))


def require_agreement(one: Printed, other: Printed, what: str) -> None:
    """Refuse (`contradictory`) what is told in two ways, further apart than their digits allow."""
    require_at_most(one, other, what)
    require_at_most(other, one, what)


def require_at_most(one: Printed, other: Printed, what: str) -> None:
    """Refuse an output whose part is more than the whole, by more than its digits allow."""
    slack = one.error + other.error + 1e-9 * max(one.value, other.value)
    if not one.value - other.value <= slack < math.inf:
        numbers = f"{one.value:.9g} and {other.value:.9g}"
        raise Refused("contradictory", f"{what} contradict each other: {numbers}")
