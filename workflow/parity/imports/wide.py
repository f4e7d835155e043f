"""A table with a run in each row (CSV), as `jube result` writes it: units stand in the head.

A column `name[unit]` is a number, as is one whose direction is given; `block` or JUBE's
`jube_wp_iteration` is the block, and every other column a level of the case.
"""

import csv
import io
import re
from pathlib import Path

from parity.core.errors import UserError
from parity.core.files import finite, row_of
from parity.imports.rows import Converter, Options, Row, as_metric, as_name, text_of

BLOCKS = ("block", "jube_wp_iteration")
IGNORED = ("jube_wp_id", "jube_wp_abspath", "jube_wp_relpath", "jube_benchmark_start")
_HEAD = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]+)\])?")
# How it begins: with a head that has a unit, or a column of JUBE.
_BEGINS = re.compile(r"\s*+[^{\n]*(?:\w ?\[[^\]\n]+\](?:,|$)|\bjube_)", re.MULTILINE)


def rows(path: Path, options: Options) -> list[Row]:
    """`jube result --style csv`, or a table of one's own."""
    try:
        heads, *lines = csv.reader(io.StringIO(text_of(path)), strict=True)
    except (csv.Error, ValueError) as error:
        raise UserError(f"this is not CSV: {error}", where=str(path)) from None
    matched = [_HEAD.fullmatch(head.strip()) for head in heads]
    names = [m["name"] if m else head for m, head in zip(matched, heads, strict=True)]
    units = {m["name"]: m["unit"] or "1" for m in matched
             if m and (m["unit"] or m["name"] in options.better)}  # fmt: skip
    if not units or len({*names}) < len(names):
        problem = "no column is a number" if not units else "two columns have one name"
        action = "give a column its unit, name[unit], or its direction by --better"
        raise UserError(problem, where=str(path), allowed=", ".join(names), action=action)
    made = []
    for index, cells in enumerate(lines):
        where = row_of(path, index)
        if len(cells) != len(names):
            raise UserError(f"{len(cells)} cells instead of {len(names)}", where=where)
        made += _rows(dict(zip(names, cells, strict=True)), units, options, where)
    return made


def _rows(cells: dict[str, str], units: dict[str, str], options: Options, where: str) -> list[Row]:
    levels = {name: cell for name, cell in cells.items() if name not in (*units, *IGNORED)}
    arm = options.arm_in(levels, "the table", where)
    block = next((levels[name] for name in BLOCKS if name in levels), "")
    told = [f"{name}={cell}" for name, cell in levels.items() if name not in (*BLOCKS, options.arm)]
    lost = Row(block, as_name(*told) or "table", as_name(arm), valid=False, where=where,
               told=(" ".join(told), arm))  # fmt: skip
    made = []
    for name, unit in units.items():
        # JUBE leaves a cell empty where a pattern found nothing.
        if text := cells[name].strip():
            number = lost._replace(metric=as_metric(name), value=finite(text, name, where))
            way = options.direction(name, unit if unit != "1" else "")
            made.append(number._replace(unit=unit, better=way, valid=True))
    return made or [lost]


CONVERTER = Converter(
    "wide", "a table with a run in each row (CSV)", _BEGINS.match, rows, may_lack=True
)
