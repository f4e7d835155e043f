"""For notebooks: an archive as data frames, and numbers of one's own compared by the same rules."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from parity.analysis import analysis, dataset, tables
from parity.core.errors import UserError, refuse_unknown
from parity.core.wording import number
from parity.imports.dataset import IMPORTED, import_rows
from parity.imports.rows import DIRECTIONS, Row, checked
from parity.records import schema
from parity.report import formatting
from parity.report.view import View, origin_of

NATIVE, AGAIN, CONTAINER = "native", "again", "container"
COMPARED = "compared"


@dataclass(frozen=True)
class Archive:
    """A dataset: a campaign that was archived, or one in results/live/.

    Attributes:
        path: its folder.
        exclusions: a file as config/exclusions.yaml, whose runs are left out; None for none.
    """

    path: Path
    exclusions: Path | None = None

    @cached_property
    def view(self) -> View:
        """The dataset with its analysis, from which everything is drawn and told."""
        held = dataset.load(self.path)
        entries = dataset.load_exclusions(self.exclusions) if self.exclusions else []
        return View(held, analysis.analyse(held, entries), origin_of(self.path), self.path)

    @property
    def runs(self) -> pd.DataFrame:
        """Every attempt of every run, a row each; units of columns in `attrs["units"]`."""
        return _with_units(self.view.dataset.runs, schema.RUNS)

    @property
    def metrics(self) -> pd.DataFrame:
        """Every number of every run, a row each; its own unit is in the column `unit`."""
        return _with_units(self.view.dataset.metrics, schema.METRICS)

    def conclusions(self) -> pd.DataFrame:
        """What is known of each arm in each case, a row each, and in words in the column `says`.

        Ratios are costs: above 1 the arm costs more than the reference. Differences are in the
        column `unit`.
        """
        rows = self.view.analysis.comparisons
        told = [formatting.of(self.view.plan, row).outcome for row in rows.itertuples(index=False)]
        return _with_units(rows.assign(says=told), tables.CONCLUSIONS)


def open_archive(path: str | Path, exclusions: str | Path | None = None) -> Archive:
    """The archive in a folder, checked against its checksums and analysed.

    Raises:
        UserError: there is none, or a file was changed.
    """
    archive = Archive(Path(path), Path(exclusions) if exclusions else None)
    _ = archive.view  # what is wrong with it is said here, and not where it is first used
    return archive


def _with_units(frame: pd.DataFrame, table: schema.TableSchema) -> pd.DataFrame:
    known = {field.name: field.metadata or {} for field in table.columns if field.name in frame}
    made = frame.copy()
    made.attrs["units"] = {n: of[b"unit"].decode() for n, of in known.items() if b"unit" in of}
    return made


@dataclass(frozen=True)
class Comparison:
    """What a container costs.

    Attributes:
        blocks: how many pairs it rests on.
        ratio: the typical cost: 1.01 for 1 % more time, or 1 % less of a rate.
        interval95: of the ratio.
        bound: upper 95 % bound of the ratio, one-sided.
        margin: as given.
        same: whether both are the same within the margin.
        answer: costs, saves, at-most, cannot-tell, or why there is none.
        says: the answer in words, with what stands against it.
    """

    blocks: int
    ratio: float
    interval95: tuple[float, float]
    bound: float
    margin: float | None
    same: bool
    answer: str
    says: str

    def __str__(self) -> str:
        low, high = map(number, self.interval95)
        return f"{number(self.ratio)} [{low}, {high}], n = {self.blocks}: {self.says}"


def compare(native: Sequence[float] | np.ndarray | pd.DataFrame,
            container: Sequence[float] | np.ndarray | None = None, margin: float = 0.02,
            again: Sequence[float] | np.ndarray | None = None,
            better: str = "lower") -> Comparison:  # fmt: skip
    """Compare numbers that were measured in pairs, as `parity import` would.

    Args:
        native: one number for each block, which is what was measured together; shape (blocks,).
            Or a frame with a row for each block and the columns `native`, `container`, `again`.
            NaN is a run that failed, which counts as lost.
        container: of the same blocks.
        margin: what is called the same; 0.02 for 2 %.
        again: the native program once more in each block: the control, without which nothing is
            concluded and the numbers are only told.
        better: `lower`, as of times, or `higher`, as of rates.

    Raises:
        UserError: lists of several lengths, a column that is not known, a number that is none.
    """
    refuse_unknown([better], DIRECTIONS, "better", "direction")
    if not 0 < margin < 1:
        raise UserError(f"a margin of {margin}", where="margin", allowed="0 to 1, 0.02 for 2 %")
    frame = native if isinstance(native, pd.DataFrame) else _frame(native, container, again)
    refuse_unknown(frame.columns, (NATIVE, CONTAINER, AGAIN), "columns", "column")
    rows = [Row(block=str(place), case=COMPARED, arm=arm, metric="value", unit="1", better=better,
                value=None if math.isnan(value) else float(value), valid=not math.isnan(value),
                where=f"{arm}, block {place}", told=(COMPARED, arm))
            for place, of_block in enumerate(frame.to_dict("records"), start=1)
            for arm, value in ((str(name), of_block[name]) for name in of_block)]  # fmt: skip
    pair = NATIVE, AGAIN if AGAIN in frame else NATIVE
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, f"{COMPARED}.csv")
        frame.to_csv(table)
        root, now = Path(folder), datetime.now(UTC)
        made = import_rows(checked(rows), [table], COMPARED, COMPARED, pair, margin, root, now)
        view = Archive(made).view
    row = view.comparisons(f"{IMPORTED}-{COMPARED}", "value")[CONTAINER]
    # What ran is whoever measured it to know.
    says = formatting.of(view.plan, row._replace(identity=dataset.SAME)).outcome
    return Comparison(row.blocks, row.estimate, (row.low95, row.high95), row.high90, margin,
                      formatting.is_same(row), row.answer, says)  # fmt: skip


def _frame(native: object, container: object, again: object) -> pd.DataFrame:
    given = {NATIVE: native, CONTAINER: container, AGAIN: again}
    held = {arm: np.asarray(numbers, dtype=float) for arm, numbers in given.items()
            if numbers is not None}  # fmt: skip
    if len({numbers.shape for numbers in held.values()}) > 1 or held[NATIVE].ndim != 1:
        shapes = ", ".join(f"{arm} {numbers.shape}" for arm, numbers in held.items())
        action = "give one number for each block, NaN for a run that failed"
        raise UserError(f"these are no pairs: {shapes}", where="compare", action=action)
    return pd.DataFrame(held)
