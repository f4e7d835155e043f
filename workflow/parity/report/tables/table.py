"""The form of a table: the same rows in LaTeX and in CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.report.text import formatting


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        name: file name without its ending.
        alignment: LaTeX column types; the paper defines `L{width}` for ragged text.
        head: column heads.
        rows: cells as plain text.
        empty: what is said in place of rows if there are none.
        breaks: whether it may break over pages; if not, it fits into a float.
    """

    name: str
    alignment: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str = "none"
    breaks: bool = True


def to_latex(table: Table, note: str = "") -> str:
    """A booktabs table; where rows share their first cell, only the first of them shows it.

    Args:
        note: a sentence below its last row.
    """
    head = " & ".join(formatting.latex(cell) for cell in table.head) + r" \\"
    environment = "longtable" if table.breaks else "tabular"
    lines = [rf"\begin{{{environment}}}{{@{{}}{table.alignment}@{{}}}}", r"\toprule", head]
    end = [r"\bottomrule", *([_across(table, note)] if note else [])]
    lines += [r"\midrule", *([r"\endhead", *end, r"\endlastfoot"] if table.breaks else [])]
    previous = ""
    for row in table.rows:
        same = row[0] == previous
        if previous and not same and table.breaks:
            lines.append(r"\addlinespace[2pt]")
        lines.append(
            " & ".join(formatting.latex(c) for c in ("" if same else row[0], *row[1:])) + r" \\"
        )
        previous = row[0]
    if not table.rows:
        lines.append(_across(table, table.empty))
    lines += [] if table.breaks else end
    return "\n".join([*lines, rf"\end{{{environment}}}", ""])


def _across(table: Table, text: str) -> str:
    """A row of one cell."""
    return rf"\multicolumn{{{len(table.head)}}}{{@{{}}l@{{}}}}{{{formatting.latex(text)}}} \\"


def write(table: Table, folder: Path, note: str = "") -> None:
    """Write `<name>.tex` and `<name>.csv`; a note is the last column of the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{table.name}.tex").write_text(to_latex(table, note), encoding="utf-8")
    rows = [table.head, *table.rows]
    if note:
        rows = [(*table.head, "note"), *((*row, note) for row in table.rows)]
    with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
