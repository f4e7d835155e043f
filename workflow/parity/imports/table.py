"""A table of one's own as CSV: one number in a row."""

from __future__ import annotations

from pathlib import Path

from parity.core.errors import UserError, shown
from parity.core.files import finite, read_rows, row_of
from parity.imports.rows import Converter, Options, Row

NEEDED = ("case", "arm", "metric", "value", "unit", "better")
OPTIONAL = ("block", "raw", "valid", "source")
# As many rows as are archived within minutes.
MOST_ROWS, LARGEST = 100_000, 16_000_000
_VALID = {"": True, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class Table(Converter):
    """CSV with the columns of `NEEDED`, and any of `OPTIONAL`, in any order."""

    name = "csv"
    title = "a table (CSV)"

    def takes(self, text: str) -> bool:
        head = text.lstrip().partition("\n")[0].replace('"', "")
        return len({name.strip() for name in head.split(",")} & {*NEEDED}) >= 2

    def rows(self, path: Path, options: Options) -> list[Row]:
        given = read_rows(path, NEEDED, OPTIONAL, LARGEST)
        if not 0 < len(given) <= MOST_ROWS:
            raise UserError(
                f"the table has {len(given) or 'no'} rows",
                where=str(path),
                allowed=f"1 to {MOST_ROWS}",
                action="import each benchmark as a study of its own",
            )
        return [_row(path, row, row_of(path, index)) for index, row in enumerate(given)]


def _row(path: Path, row: dict[str, str], where: str) -> Row:
    valid = row.get("valid", "").lower()
    if valid not in _VALID:
        raise UserError(
            f"valid is {shown(valid)}", where=where, allowed=", ".join(filter(None, _VALID))
        )
    raw = row.get("raw", "")
    file = _beside(path, raw, where) if raw else None
    # A lost run needs no number.
    value = finite(row["value"], "value", where) if _VALID[valid] or row["value"] else 0.0
    return Row(
        block=row.get("block", ""),
        case=row["case"],
        arm=row["arm"],
        metric=row["metric"],
        better=row["better"],
        unit=row["unit"] or "1",
        value=value,
        valid=_VALID[valid],
        source=row.get("source", ""),
        raw=str(file or ""),
        where=where,
    )


def _beside(path: Path, raw: str, where: str) -> Path:
    """The file that a cell names, below the table's folder and reached by no link.

    Raises:
        UserError: it lies elsewhere, or is no regular file.
    """
    folder = path.parent.resolve()
    file = folder / raw
    if not file.is_relative_to(folder) or file.resolve() != file:
        raise UserError(
            f"{shown(raw)} is not below the folder of the table",
            where=f"{where}: raw",
            allowed="a path from the table's folder on, without .. and links",
            action="copy the file beside the table",
        )
    if not file.is_file():
        raise UserError(f"there is no such file: {shown(raw)}", where=f"{where}: raw")
    return path.parent / raw


CONVERTER = Table()
