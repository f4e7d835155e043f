"""Everything that one dataset is presented with, written in one go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parity.records.timed import CaseTime
from parity.report.figures import figures, forest, style
from parity.report.figures.specs import FIGURES, OVERVIEW
from parity.report.tables import (
    networks,
    noise,
    provenance_tables,
    published,
    result_tables,
    sensitivity,
    table,
)
from parity.report.tables.published import PublishedValue
from parity.report.text import contrasts, numbers, section
from parity.report.text.summary import summary
from parity.report.view import View

# The tables that need nothing but the dataset; `specs.TABLE_NAMES` has their names.
TABLES = (
    result_tables.results,
    result_tables.differences,
    contrasts.factorial,
    contrasts.steps,
    sensitivity.sensitivity,
    result_tables.dispersion,
    noise.quota_law,
    noise.return_levels,
    result_tables.ledger,
    result_tables.losses,
    result_tables.exclusions,
    result_tables.not_tested,
    provenance_tables.cases,
    provenance_tables.machine,
    provenance_tables.environment,
    provenance_tables.images,
)


def write(
    view: View,
    published_values: Sequence[PublishedValue],
    folder: Path,
    times: Sequence[CaseTime] = (),
    lasted: float = 0.0,
) -> None:
    """Write figures/, tables/, numbers.tex, section.tex and summary.txt into a dataset's folder.

    Args:
        times, lasted: where its time went, of cases and of all sessions in seconds.
    """
    style.use()
    for spec in FIGURES:
        style.save(figures.draw(view, spec), folder / "figures", spec.name)
    style.save(forest.overview(view), folder / "figures", OVERVIEW)
    for each in all_tables(view, published_values):
        table.write(each, folder / "tables", view.origin.note)
    for name, text in (
        ("numbers.tex", numbers.of_dataset(view)),
        (section.NAME, section.of_dataset(view)),
        ("summary.txt", summary(view, times, lasted)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def all_tables(view: View, published_values: Sequence[PublishedValue]) -> list[table.Table]:
    """Every table of `specs.TABLE_NAMES`."""
    made = [*(make(view) for make in TABLES), *networks.tables(view)]
    return [*made, published.table(view, published_values)]
