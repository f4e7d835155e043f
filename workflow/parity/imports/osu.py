"""The OSU micro-benchmarks' text: each size of message is a case, each column a metric.

Written from what versions 5.3 and 7.4 print here, and others as people have shown it.
"""

import re
from functools import partial

from parity.core.errors import UserError
from parity.imports.rows import LEAVE_OUT, Converter, Printed, as_metric, as_name

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


def printed(text: str, where: str) -> tuple[list[Printed], dict[str, str]]:
    """`osu_latency`, `osu_bw`, `osu_mbw_mr`, collective operations, and others of the same form.

    UserError: the text is not that of one run that ended well.
    """
    titles = _TITLE.findall(text)
    if len(titles) != 1:
        problem = f"{len(titles)} outputs of the OSU micro-benchmarks"
        raise UserError(problem, where=where, allowed="one of one run")
    title, version = titles[0]
    after = text[text.index(title) :].splitlines()[1:]
    comments = [line.lstrip("# ").strip() for line in after if line.startswith("#")]
    heads = [line for line in comments if _is_head(line)]
    columns = _columns(heads[0]) if heads else []
    lines = [line.split() for line in after if _ROW.match(line)]
    odd = [line for line in after if line[:1].isdigit() and not _ROW.match(line)]
    refusal = partial(UserError, where=where, action=LEAVE_OUT)
    if len(heads) != 1:
        raise refusal(f"{len(heads)} lines name columns, instead of one")
    if not columns:
        raise refusal(f"no column of {heads[0]!r} is a result that is known here")
    if _WRONG.search("\n".join(after)):
        raise refusal("a message did not arrive as it was sent")
    if odd:
        raise refusal(f"{odd[0]!r} is no line of numbers")
    if not lines:
        raise refusal("the output ends before its first number")
    if not text.endswith("\n"):
        raise refusal("the last line has no end")
    name = re.sub(r"\b(?:OSU|MPI|Test)\b", "", title).lower()
    numbers = []
    for line in lines:
        if len(line) <= columns[-1][0]:
            raise UserError(f"a line of {len(line)} numbers", where=where, allowed=heads[0])
        case = as_name("osu", name, f"bytes={line[0]}" if heads[0].startswith("Size") else "")
        for place, metric, unit in columns:
            better = "higher" if unit.endswith(("/s", "%")) else "lower"
            numbers.append(Printed(case, metric, float(line[place]), unit, better))
    settings = {"version": version} if version else {}
    return numbers, settings | _settings(comments[: comments.index(heads[0])])


def _is_head(line: str) -> bool:
    names = re.split(r" {2,}", line)
    results = [name for name in names if _COLUMN.fullmatch(name)]
    return bool(results) and all(name in results or _OTHERS.fullmatch(name) for name in names)


def _columns(head: str) -> list[tuple[int, str, str]]:
    columns = []
    for place, text in enumerate(re.split(r" {2,}", head)):
        if match := _COLUMN.fullmatch(text):
            name, unit = _RATES.get(match["rate"] or "", (match["name"], match["unit"]))
            if name and not name.startswith(_LEFT_OUT):
                columns.append((place, as_metric(name.removeprefix("Avg ").lower()), unit))
    return columns


def _settings(comments: list[str]) -> dict[str, str]:
    """What the lines before the columns say of how it ran; where memory lies is no setting."""
    settings: dict[str, str] = {}
    for line in comments:
        name, colon, value = line.partition(": ")
        if not _PLACE.search(line):
            alone = [(name, value) if colon else ("buffers", line)]
            settings |= dict(_BRACKETED.findall(line) or alone)
    return settings


CONVERTER = Converter.of_text("osu-text", "OSU micro-benchmarks", _TITLE, printed)
