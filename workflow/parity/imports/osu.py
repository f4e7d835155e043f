"""The OSU micro-benchmarks' text: each size of message is a case, each column a metric.

Written from what versions 5.3 and 7.4 print here, and others as people have shown it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from parity.core.errors import UserError
from parity.imports.rows import LEAVE_OUT, Output, Printed, TextConverter, as_metric, as_name

_TITLE = re.compile(r"^(?: *\d+: ?)?# (OSU .+?)(?: v(\d[\w.]*))?$", re.MULTILINE)
# A column by its name and unit, which may stand beside it without a blank, or by its rate alone.
_COLUMN = re.compile(r"(?P<name>[A-Z][\w. ]*?) ?\((?P<unit>us|ms|s|[KMG]B/s|%)\)|(?P<rate>\w+/s)")
_OTHERS = re.compile(r"Size|Iterations|Validation")
_NUMBER = r"(?:\d+\.?\d*(?:e[+-]?\d+)?)"
_ROW = re.compile(rf"^\s*{_NUMBER}(?:\s+{_NUMBER})*(?:\s+Pass)?\s*$")
_WRONG = re.compile(r"\sFail$|VALIDATION ERROR", re.MULTILINE)
# How often it was repeated is no result, and neither are the extremes: they are of single calls.
_LEFT_OUT = ("Min", "Max", "P50", "P90", "P99")
_RATES = {"MB/s": ("bandwidth", "MB/s"), "Messages/s": ("message_rate", "1/s")}
# `[ pairs: 8 ] [ window size: 64 ]`, `Synchronization: MPI_Win_flush`, `Send Buffer on HOST (H)`.
_BRACKETED = re.compile(r"\[ *([^\]:]+): *([^\]]+?) *\]")
_PLACE = re.compile(r"0x[0-9a-f]+")


class _Column(NamedTuple):
    place: int
    metric: str
    unit: str


class Osu(TextConverter):
    """`osu_latency`, `osu_bw`, `osu_mbw_mr`, collective operations, and others of the same form."""

    name = "osu-text"
    title = "OSU micro-benchmarks"

    def takes(self, text: str) -> bool:
        return bool(_TITLE.search(text))

    def printed(self, text: str, where: str) -> Output:
        titles = _TITLE.findall(text)
        if len(titles) != 1:
            raise UserError(
                f"{len(titles)} outputs of the OSU micro-benchmarks", where=where,
                allowed="one of one run",
            )  # fmt: skip
        title, version = titles[0]
        after = text[text.index(title) :].splitlines()[1:]
        comments = [line.lstrip("# ").strip() for line in after if line.startswith("#")]
        heads = [line for line in comments if _is_head(line)]
        lines = [line.split() for line in after if _ROW.match(line)]
        if problem := _problem(after, heads, lines, text):
            raise UserError(problem, where=where, action=LEAVE_OUT)
        columns = _columns(heads[0])
        name = re.sub(r"\b(?:OSU|MPI|Test)\b", "", title)
        numbers = []
        for line in lines:
            if len(line) <= columns[-1].place:
                raise UserError(f"a line of {len(line)} numbers", where=where, allowed=heads[0])
            size = f"bytes={line[0]}" if heads[0].startswith("Size") else ""
            case = as_name("osu", name.lower(), size)
            for place, metric, unit in columns:
                numbers.append(Printed(case, metric, float(line[place]), unit, _better(unit)))
        settings = {"version": version} if version else {}
        return Output(numbers, settings | _settings(comments, heads[0]))


def _is_head(line: str) -> bool:
    """Whether a line names columns and nothing else; at least one of them is a result."""
    names = re.split(r" {2,}", line)
    known = [bool(_COLUMN.fullmatch(name)) for name in names]
    others = [bool(_OTHERS.fullmatch(name)) for name in names]
    return any(known) and all(a or b for a, b in zip(known, others, strict=True))


def _columns(head: str) -> list[_Column]:
    """The columns of numbers that are results, with their place in a line."""
    columns = []
    for place, text in enumerate(re.split(r" {2,}", head)):
        match = _COLUMN.fullmatch(text)
        if match:
            name, unit = _RATES.get(match["rate"] or "", (match["name"], match["unit"]))
            if name and not name.startswith(_LEFT_OUT):
                columns.append(_Column(place, as_metric(name.removeprefix("Avg ").lower()), unit))
    return columns


def _settings(comments: list[str], head: str) -> dict[str, str]:
    """What the lines before the columns say of how it ran; where memory lies is no setting."""
    settings: dict[str, str] = {}
    for line in comments[: comments.index(head)]:
        if _PLACE.search(line):
            continue
        bracketed = _BRACKETED.findall(line)
        name, colon, value = line.partition(": ")
        settings |= dict(bracketed or [(name, value) if colon else ("buffers", line)])
    return settings


def _problem(after: list[str], heads: list[str], lines: list[list[str]], text: str) -> str:
    """Why this is not one whole run that ended well; empty if it is."""
    if len(heads) != 1:
        return f"{len(heads)} lines name columns, instead of one"
    if not _columns(heads[0]):
        return f"no column of {heads[0]!r} is a result that is known here"
    if _WRONG.search("\n".join(after)):
        return "a message did not arrive as it was sent"
    odd = [line for line in after if line[:1].isdigit() and not _ROW.match(line)]
    if odd:
        return f"{odd[0]!r} is no line of numbers"
    if not lines:
        return "the output ends before its first number"
    return "" if text.endswith("\n") else "the last line has no end"


def _better(unit: str) -> str:
    return "higher" if unit.endswith(("/s", "%")) else "lower"


CONVERTER = Osu()
