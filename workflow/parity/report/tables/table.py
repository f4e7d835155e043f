"""The form of a table: the same rows in LaTeX and in CSV; one without rows is not written."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from parity.report.templating import Latex, render

_TABLES: Mapping[str, Any] = msgspec.yaml.decode(
    Path(__file__).with_name("columns.yaml").read_bytes())  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of plain text, whose columns `columns.yaml` has."""

    name: str
    rows: Sequence[Sequence[str]]
    more: Mapping[str, str] = field(default_factory=dict)  # further columns: LaTeX types by heads

    @property
    def columns(self) -> dict[str, str]:
        """LaTeX column types by heads."""
        return {**_TABLES["columns"][self.name], **self.more}


def to_latex(table: Table, note: str = "") -> Latex:
    """A booktabs table; where rows share their first cell, only the first of them shows it."""
    breaks = table.name not in _TABLES["floats"]
    facts = {"columns": table.columns, "rows": table.rows, "breaks": breaks, "note": note}
    return Latex(render("table.tex", **facts))


def write_all(tables: Iterable[Table], folder: Path, note: str = "") -> None:
    """Write `<name>.tex` and `.csv` of each that has rows; a note stands below, or as a column."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in (table for table in tables if table.rows):
        (folder / f"{table.name}.tex").write_text(to_latex(table, note), encoding="utf-8")
        rows = [tuple(table.columns), *table.rows]
        if note:
            rows = [(*row, note if place else "note") for place, row in enumerate(rows)]
        with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
