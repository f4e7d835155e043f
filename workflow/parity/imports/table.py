"""A table of one's own as CSV: one number in a row."""

from pathlib import Path
from typing import Any

from parity.core.errors import UserError, shown
from parity.core.files import finite, read_rows, row_of
from parity.imports.rows import Converter, Options, Row

NEEDED = ("case", "arm", "metric", "value", "unit", "better")
OPTIONAL = ("block", "raw", "valid", "source")
# As many rows as are archived within minutes.
MOST_ROWS, LARGEST = 100_000, 16_000_000
_VALID = {"": True, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def takes(text: str) -> bool:
    """Whether the head has two of the columns."""
    head = text.lstrip().partition("\n")[0].replace('"', "")
    # A unit in the head is of a wide table.
    is_long = len({name.strip() for name in head.split(",")} & {*NEEDED}) >= 2
    return is_long and "[" not in head


def rows(path: Path, options: Options) -> list[Row]:
    """CSV with the columns of `NEEDED`, and any of `OPTIONAL`, in any order."""
    given = read_rows(path, NEEDED, OPTIONAL, LARGEST)
    if not 0 < len(given) <= MOST_ROWS:
        problem = f"the table has {len(given) or 'no'} rows"
        action = "import each benchmark as a study of its own" if given else "add a row a run"
        raise UserError(problem, where=str(path), allowed=f"1 to {MOST_ROWS}", action=action)
    rows = []
    for index, cells in enumerate(given):
        where = row_of(path, index)
        raw, valid = cells.get("raw", ""), cells.get("valid", "").lower()
        if valid not in _VALID:
            known = ", ".join(filter(None, _VALID))
            raise UserError(f"valid is {shown(valid)}", where=where, allowed=known)
        if raw:
            _refuse_elsewhere(path.parent.resolve(), raw, f"{where}: raw")
        # A lost run needs no number.
        needs_value = _VALID[valid] or cells["value"]
        parsed: dict[str, Any] = {
            "value": finite(cells["value"], "value", where) if needs_value else 0.0,
            "unit": cells["unit"] or "1", "valid": _VALID[valid],
            "raw": str(path.parent / raw) if raw else "", "where": where,
        }  # fmt: skip
        rows.append(Row(**{"block": "", **cells, **parsed}))
    return rows


def _refuse_elsewhere(folder: Path, raw: str, where: str) -> None:
    """Refuse a file that is not below the table's folder, or reached by a link."""
    file = folder / raw
    if not file.is_relative_to(folder) or file.resolve() != file:
        problem = f"{shown(raw)} is not below the folder of the table"
        action = "copy the file beside the table"
        allowed = "a path from the table's folder on, without .. and links"
        raise UserError(problem, where=where, allowed=allowed, action=action)
    if not file.is_file():
        raise UserError(f"there is no such file: {shown(raw)}", where=where)


CONVERTER = Converter("csv", "a table (CSV)", takes, rows)
