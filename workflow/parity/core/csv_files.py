"""CSV files that people write: every row with every column, and numbers that are numbers."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from parity.core.errors import CONTROL, UserError, shown
from parity.core.files import LARGEST_INPUT, read_input

# As people write numbers; Python takes nan, 1_000 and the digits of every script, too.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


def read_rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), most: int = LARGEST_INPUT
) -> list[dict[str, str]]:
    """The rows of a CSV file as text by column.

    Args:
        optional: columns that it may have, too; with any, all may come in any order.
        most: how many bytes the file may have.

    Raises:
        UserError: the file cannot be read as text, has other columns, or a row with more or
            fewer cells, with a control character or a quote that is not closed; with the row.
    """
    reader = csv.reader(io.StringIO(read_input(path, most), newline=""), strict=True)
    rows: list[dict[str, str]] = []
    try:
        given = next(reader, [])
        expected = [*columns, *(name for name in optional if name in given)]
        if (sorted(given) != sorted(expected)) if optional else (given != expected):
            missing = [name for name in columns if name not in given]
            lack = f"; missing columns: {', '.join(missing)}" if missing else ""
            raise UserError(
                f"the columns are not those of such a file: {shown(given, ', '.join)}{lack}",
                where=str(path),
                allowed=", ".join(columns)
                + (f"; or also {', '.join(optional)}" if optional else ""),
            )
        for row in reader:
            where = row_of(path, len(rows))
            if len(row) != len(given):
                raise UserError(f"{len(row)} cells instead of {len(given)}", where=where)
            if odd := next((cell for cell in row if CONTROL.search(cell)), None):
                raise UserError(f"a control character in {shown(odd)}", where=where)
            rows.append(dict(zip(given, map(sys.intern, row), strict=True)))
    except csv.Error as error:
        where = f"{path}: line {reader.line_num}"
        raise UserError(f"this is not CSV: {error}", where=where) from None
    return rows


def row_of(path: Path, index: int) -> str:
    """Where a row of `read_rows` stands: its line, if no cell before it has several."""
    return f"{path}: line {index + 2}"


def finite(text: str, name: str, where: str) -> float:
    """A number in a cell.

    Raises:
        UserError: it is none, or not finite.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise UserError(f"{name} is {shown(text)}, not a number", where=where)
    return value


def moment(text: str, name: str, where: str) -> datetime:
    """A time with its zone, ISO 8601.

    Raises:
        UserError: it is none, or does not say its zone.
    """
    with suppress(ValueError):
        value = datetime.fromisoformat(text)
        if value.tzinfo is not None:
            return value
    raise UserError(
        f"{name} is {shown(text)}, not a time with its zone",
        where=where,
        allowed="ISO 8601, such as 2026-11-21T05:15:20+00:00",
    )
