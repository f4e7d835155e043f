"""Everything that one dataset is presented with, written in one go."""

from collections.abc import Sequence
from pathlib import Path

from parity.analysis.descriptive import STAGES
from parity.benchmarks.description import Form
from parity.records.timed import CaseTime
from parity.report import texts
from parity.report.figures import compare, figures, style
from parity.report.figures.specs import LEDGER, OVERVIEW
from parity.report.tables import measured, published, results
from parity.report.tables.table import Table, write_all
from parity.report.view import View

# Why a figure that has data would show nothing.
NOTHING = {Form.LEVELS: "no law fits", Form.INTERFACES: "no interface counts a byte again",
           Form.TAILS: "tails under limits show the same"}  # fmt: skip
# Each makes a table of a dataset.
TABLES = (
    results.answers, results.results, results.differences, results.factorial, results.steps,
    results.beside, results.sensitivity, results.dispersion, measured.quantiles, measured.quota_law,
    measured.return_levels, measured.replay, measured.timeouts, measured.time_in_mpi,
    measured.message_sizes, measured.placement, measured.byte_ledger, measured.request_ledger,
    measured.cases, results.ledger, results.losses, results.exclusions, measured.machine,
    measured.environment, measured.images, results.not_tested)  # fmt: skip


def write(view: View, published_values: Sequence[published.PublishedValue], folder: Path,
          times: Sequence[CaseTime] = (), lasted: float = 0.0) -> None:  # fmt: skip
    """Write figures, tables, texts and what is not drawn into a dataset's folder."""
    absent = draw(view, folder / "figures")
    write_all(all_tables(view, published_values), folder / "tables", view.origin.note)
    told = {"numbers.tex": texts.numbers(view), "summary.txt": texts.summary(view, times, lasted)}
    for name, text in (told | {"not-drawn.txt": "".join(f"{of}\n" for of in absent)}).items():
        (folder / name).write_text(text, encoding="utf-8")


def draw(view: View, folder: Path) -> list[str]:
    """Draw every figure that shows anything of a dataset; the others with what is missing."""
    style.use()
    absent = []
    if view.analysis.ledger[[*STAGES]].sum().nunique() > 1:
        style.save(figures.of_ledger(view), folder, LEDGER)
    else:
        absent.append(f"{LEDGER}: every planned run was analysed")
    for spec in view.figures:
        if not view.shown(spec):
            absent.append(f"{spec.name}: {figures.missing(view, spec)}")
        elif view.is_constant(spec):
            absent.append(f"{spec.name}: {NOTHING.get(spec.form, 'the same in all runs')}")
        else:
            style.save(figures.draw(view, spec), folder, spec.name)
    if every_ratio := compare.overview(view):
        style.save(every_ratio, folder, OVERVIEW)
    else:
        absent.append(f"{OVERVIEW}: no comparison of this study has a margin")
    return absent


def all_tables(view: View, published_values: Sequence[published.PublishedValue]) -> list[Table]:
    """Every table; some have no rows."""
    return [*(make(view) for make in TABLES), published.table(view, published_values)]
