"""The OSU micro-benchmarks' text: each size of message is a case, each column a metric.

Written from what versions 5.3 and 7.4 print here, and others as people have shown it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from parity.core.errors import UserError
from parity.imports.rows import as_name, begins
from parity.imports.texts import LEAVE_OUT, Printed, TextConverter

_TITLE = re.compile(r"^# (OSU .+?)(?: v(\d[\w.]*))?$", re.MULTILINE)
# Columns stand apart by two spaces; a unit may stand beside its name without one.
_COLUMN = re.compile(r"(?:(?P<name>[A-Z][A-Za-z0-9 ]*?) ?\((?P<unit>[A-Za-z/]+)\)|(?P<rate>\w+/s))")
_NUMBER = r"(?:\d+\.?\d*(?:e[+-]?\d+)?)"
_ROW = re.compile(rf"^\s*{_NUMBER}(?:\s+{_NUMBER})*(?:\s+Pass)?\s*$")
_WRONG = re.compile(r"\sFail$|VALIDATION ERROR", re.MULTILINE)
# How often it was repeated is no result, and neither are the extremes: they are of single calls.
_LEFT_OUT = ("Min", "Max", "P50", "P90", "P99")
_RATES = {"MB/s": ("bandwidth", "MB/s"), "Messages/s": ("message_rate", "1/s")}


class _Column(NamedTuple):
    place: int
    metric: str
    unit: str


class Osu(TextConverter):
    """`osu_latency`, `osu_bw`, `osu_mbw_mr`, collective operations, and others of the same form."""

    name = "osu-text"
    title = "OSU micro-benchmarks"

    def takes(self, path: Path) -> bool:
        return bool(_TITLE.search(begins(path)))

    def printed(self, text: str, where: str) -> list[Printed]:
        titles = _TITLE.findall(text)
        if len(titles) != 1:
            raise UserError(
                f"{len(titles)} outputs of the OSU micro-benchmarks", where=where,
                allowed="one of one run",
            )  # fmt: skip
        after = text[text.index(titles[0][0]) :].splitlines()[1:]
        heads = [line.lstrip("# ") for line in after if line.startswith("#") and _columns(line)]
        lines = [line.split() for line in after if _ROW.match(line)]
        if problem := _problem(after, heads, lines, text):
            raise UserError(problem, where=where, action=LEAVE_OUT)
        has_size, columns = heads[0].startswith("Size"), _columns(heads[0])
        name = re.sub(r"\b(?:OSU|MPI|Test)\b", "", titles[0][0])
        found = []
        for line in lines:
            if len(line) <= columns[-1].place:
                raise UserError(f"a line of {len(line)} numbers", where=where, allowed=heads[0])
            case = as_name("osu", name.lower(), f"bytes={line[0]}" if has_size else "")
            for place, metric, unit in columns:
                found.append(Printed(case, metric, float(line[place]), unit, _better(unit)))
        return found


def _columns(head: str) -> list[_Column]:
    """The columns of numbers that are results, with their place in a line."""
    text = head.lstrip("# ")
    first = 1 if text.startswith("Size") else 0
    found = []
    for place, match in enumerate(_COLUMN.finditer(text.removeprefix("Size").strip()), first):
        name, unit = _RATES.get(match["rate"] or "", (match["name"], match["unit"]))
        if name and not name.startswith(_LEFT_OUT):
            metric = as_name(name.removeprefix("Avg ").lower()).replace("-", "_")
            found.append(_Column(place, metric, unit))
    return found


def _problem(after: list[str], heads: list[str], lines: list[list[str]], text: str) -> str:
    """Why this is not one whole run that ended well; empty if it is."""
    if len(heads) != 1:
        return f"{len(heads)} lines name columns, instead of one"
    if _WRONG.search("\n".join(after)):
        return "a message did not arrive as it was sent"
    odd = [line for line in after if line[:1].isdigit() and not _ROW.match(line)]
    if odd:
        return f"{odd[0]!r} is no line of numbers"
    if not lines:
        return "the output ends before its first number"
    return "" if text.endswith("\n") else "the last line has no end"


def _better(unit: str) -> str:
    return "higher" if unit.endswith("/s") else "lower"


CONVERTER = Osu()
