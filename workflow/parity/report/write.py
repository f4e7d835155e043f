"""Everything that one dataset is presented with, written in one go."""

from __future__ import annotations

from pathlib import Path

from parity.report.figures import figures, style
from parity.report.figures.specs import FIGURES, OVERVIEW
from parity.report.tables import provenance_tables, published, table, tables
from parity.report.text import numbers, section
from parity.report.text.summary import summary
from parity.report.view import View


def write(view: View, published_values: list[dict[str, str]], folder: Path) -> None:
    """Write figures/, tables/, numbers.tex, section.tex and summary.txt into a dataset's folder.

    Args:
        published_values: rows of `published.load`.
    """
    style.use()
    figures.draw_all(view, FIGURES, folder / "figures")
    style.save(figures.overview(view), folder / "figures", OVERVIEW)
    for each in all_tables(view, published_values):
        table.write(each, folder / "tables", view.origin.note)
    numbers.write(view, folder / "numbers.tex")
    section.write(view, folder / section.NAME)
    (folder / "summary.txt").write_text(summary(view), encoding="utf-8")


def all_tables(view: View, published_values: list[dict[str, str]]) -> list[table.Table]:
    """Every table of `specs.TABLE_NAMES`."""
    beside = published.table(view, published_values)
    return [*tables.of_results(view), *provenance_tables.of_setting(view), beside]
