"""What the published studies could have proven with their own number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.analysis.statistics import power
from parity.core.csv_files import finite, read_rows, row_of
from parity.core.errors import UserError
from parity.preview.terminal import aligned, folded, percent

COLUMNS = ("study", "experiment", "runs", "cv_percent", "cv_source", "margin_percent", "place")
POWER = 0.9
ASSUMED = "assumed"


@dataclass(frozen=True)
class Design:
    """One experiment of a paper: config/published/designs.csv; None for what it does not say.

    Attributes:
        runs: of each arm, those that were measured and then dropped included.
        cv: coefficient of variation between runs, a fraction; of all runs, none dropped.
        cv_source: where the CV is from: the paper, or an assumption.
        margin: of the ratio, within which its statement is taken to have the arms.
        place: where the paper describes it.
    """

    study: str
    experiment: str
    runs: int | None
    cv: float | None
    cv_source: str
    margin: float | None
    place: str

    @property
    def provable(self) -> float | None:
        """Smallest margin that equal arms would have proven with 90 % power: a fraction.

        Two independent samples of `runs` each, as these papers measured, normal logs and
        the test that Parity uses. None if runs or CV are not known, or of a single run.
        """
        if self.runs is None or self.runs < 2 or self.cv is None:
            return None
        deviation = power.deviation_of_cv(self.cv)
        return power.provable_margin(deviation, self.runs, POWER, power.two_sample_tost_power)

    @property
    def could(self) -> bool | None:
        """Whether its statement could have been proven; None if that cannot be said."""
        if self.margin is None:
            return None
        if self.runs == 1:
            return False
        return None if self.provable is None else self.provable <= self.margin


def load(path: Path) -> list[Design]:
    """The designs in a CSV file.

    Raises:
        UserError: there is no such CSV file, or it holds something that is no number.
    """
    return [_design(row, row_of(path, i)) for i, row in enumerate(read_rows(path, COLUMNS))]


def _design(row: dict[str, str], where: str) -> Design:
    runs, cv, margin = (
        finite(row[name], name, where) if row[name] else None
        for name in ("runs", "cv_percent", "margin_percent")
    )
    if runs is not None and runs != int(runs):
        raise UserError(f"runs is {runs}, not a whole number", where=where)
    if any(value is not None and value <= 0 for value in (runs, cv, margin)):
        raise UserError("a number is not above zero", where=where)
    return Design(
        study=row["study"],
        experiment=row["experiment"],
        runs=None if runs is None else int(runs),
        cv=None if cv is None else cv / 100,
        cv_source=row["cv_source"],
        margin=None if margin is None else margin / 100,
        place=row["place"],
    )


def paper_lines(designs: Sequence[Design]) -> list[str]:
    """The smallest margin that each published experiment could have proven.

    Where a CV comes from stands below the table, unless it is assumed.
    """
    rows = [
        (
            design.study,
            design.experiment,
            "?" if design.runs is None else str(design.runs),
            _cv(design),
            _provable(design),
            "–" if design.margin is None else f"±{percent(design.margin)} %",
            {True: "yes", False: "no", None: "–"}[design.could],
        )
        for design in designs
    ]
    head = ("study", "experiment", "n", "CV", "provable", "margin", "reach")
    title = "What the papers could have proven with their n (two samples, 90 % power)"
    notes = [
        line
        for design in designs
        if design.cv is not None and design.cv_source != ASSUMED
        for line in folded(f"{design.study}, {design.experiment}: {design.cv_source}")
    ]
    return [title, *(f"  {line}" for line in aligned([head, *rows])), "  ~: assumed", *notes]


def _cv(design: Design) -> str:
    if design.cv is None:
        return "?"
    return f"{'~' if design.cv_source == ASSUMED else ''}{percent(design.cv)} %"


def _provable(design: Design) -> str:
    if design.provable is not None:
        return f"±{percent(design.provable)} %"
    return "one run" if design.runs == 1 else "?"
