"""Everything that one dataset is presented with, written in one go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parity.records.timed import CaseTime
from parity.report.figures import compare, figures, style, sums
from parity.report.figures.specs import LEDGER, OVERVIEW
from parity.report.tables import (
    networks,
    noise,
    provenance_tables,
    published,
    result_tables,
    sensitivity,
    table,
    usage,
)
from parity.report.tables.published import PublishedValue
from parity.report.text import contrasts, numbers, questions, section
from parity.report.text.constants import constant
from parity.report.text.summary import summary
from parity.report.view import View

NOT_DRAWN = "not-drawn.txt"
# The tables that need nothing but the dataset; `specs.TABLE_NAMES` has their names.
TABLES = (
    questions.table,
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
    """Write figures/, tables/, the texts and the list of what is not drawn into a dataset's folder.

    Args:
        times, lasted: where its time went, of cases and of all sessions in seconds.
    """
    absent = draw(view, folder / "figures")
    made = all_tables(view, published_values)
    for each in made:
        table.write(each, folder / "tables", view.origin.note)
    for name, text in (
        ("numbers.tex", numbers.of_dataset(view, made)),
        (section.NAME, section.of_dataset(view)),
        ("summary.txt", summary(view, times, lasted)),
        (NOT_DRAWN, "".join(f"{line}\n" for line in absent)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def draw(view: View, folder: Path) -> list[str]:
    """Draw every figure that shows anything of a dataset; the others with what is missing."""
    style.use()
    style.save(sums.of_ledger(view), folder, LEDGER)
    absent = []
    for spec in view.figures:
        if not view.shown(spec):
            absent.append(f"{spec.name}: {figures.missing(view, spec)}")
        elif said := constant(view, spec):
            absent.append(f"{spec.name}: {said}")
        else:
            style.save(figures.draw(view, spec), folder, spec.name)
    if every_ratio := compare.overview(view):
        style.save(every_ratio, folder, OVERVIEW)
    else:
        absent.append(f"{OVERVIEW}: no comparison of this study has a margin")
    return absent


def all_tables(view: View, published_values: Sequence[PublishedValue]) -> list[table.Table]:
    """Every table of `specs.TABLE_NAMES`."""
    made = [make(view) for make in TABLES]
    made += [*networks.tables(view), *usage.tables(view)]
    return [*made, published.table(view, published_values)]
