"""One dataset with its analysis, and the few questions that figures and tables ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from parity.analysis import analysis, dataset, descriptive, outcomes
from parity.analysis.analysis import Analysed
from parity.benchmarks import benchmarks
from parity.benchmarks.description import FigureSpec, Form
from parity.claims.published import published_tables
from parity.extensions.servers.benchmarks import usage
from parity.plan.plan import Plan, cases_of
from parity.records import events
from parity.report import origin
from parity.report.figures.specs import figures_of
from parity.report.formatting import DecidedRow
from parity.report.origin import Origin
from parity.report.series import Series, series
from parity.runtimes import every_arm

STAGES = (*descriptive.STAGES, "attempts")  # columns of the ledger that are counts
EVENTS, OF_EVENTS = "events", ("quantiles", "return_levels", "quota_law", "replay")
ALONE = ""


class ComparedRow(DecidedRow, Protocol):
    """A row of the table of comparisons.

    Attributes:
        better: lower, higher or neither.
        control: whether it is the A/A pair's.
        planned: whether the study compares by it.
    """

    reference: str
    better: str
    control: bool
    planned: bool


@dataclass(frozen=True)
class View(Analysed):
    """What is presented: a dataset with its analysis and its origin, and where it lies.

    Attributes:
        published: tables and bars of publications to draw beside it (`published_tables`).
    """

    origin: Origin
    folder: Path | None = None
    published: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        """The campaign's plan."""
        return self.dataset.plan

    @property
    def blocks(self) -> int:
        """Number of planned blocks."""
        return len(self.plan.blocks)

    @cached_property
    def blocks_of(self) -> dict[str, int]:
        """Number of planned blocks by case: those of its number of nodes."""
        return Counter(case for block in self.plan.blocks for case in cases_of(block.runs))

    @property
    def repetitions(self) -> int:
        """In how many blocks the rarest case is planned."""
        return min(self.blocks_of.values(), default=0)

    def cases(self, benchmark: str) -> list[str]:
        """The benchmark's cases, in the order of the plan."""
        return [case.name for case in self.plan.cases if case.benchmark == benchmark]

    @cached_property
    def figures(self) -> tuple[FigureSpec, ...]:
        """All figures that there are: of every module, and of the study's own programs."""
        return figures_of((benchmarks() | self.plan.definitions).values())

    def shown(self, spec: FigureSpec) -> list[str]:
        """The cases that belong into a figure, in the order of the plan."""
        if spec.runtime and spec.runtime not in self.plan.arm_runtimes.values():
            return []
        if spec.factor and not len(self.crossed(spec)):
            return []
        cases = [c.name for c in self.plan.cases if spec.shows(c.benchmark, c.is_placed)]
        if spec.along:
            return [case for each in self.series(spec) for case in each.cases.values()]
        if spec.form is Form.TIMEOUTS:
            waited = {row.case for row in self.waits(cases)}
            return [case for case in cases if case in waited]
        if spec.form is Form.INTERFACES:
            return [case for case in cases if case in set(self.counted["case"])]
        if spec.form is Form.SIZES:
            cases = [case for case in cases if case in set(self.message_times["case"])]
        else:
            along = (
                each for each in self.figures if each.benchmark == spec.benchmark and each.along
            )
            elsewhere = {case for each in along for case in self.shown(each)}
            cases = [case for case in cases if case not in elsewhere]
        if spec.table:
            held = self.of_events[spec.table]
            if spec.form is Form.KINDS:
                held = held[~held["arm"].isin(self.kinds[ALONE])]
            cases = [case for case in cases if case in set(held["case"])]
        return cases

    @cached_property
    def drawn(self) -> list[FigureSpec]:
        """The figures that show anything that is not the same in all runs, as in the paper."""
        return [spec for spec in self.figures if self.shown(spec) and not self.is_constant(spec)]

    def is_constant(self, spec: FigureSpec) -> bool:
        """Whether a figure would show one number, which all runs have."""
        if self.form(spec) is not Form.PANELS or len(spec.quantities) > 1:
            return False
        of_arms = (self.values(case, spec.quantities[0].metric) for case in self.shown(spec))
        return len({v for of_case in of_arms for of_arm in of_case.values() for v in of_arm}) == 1

    @cached_property
    def counted(self) -> pd.DataFrame:
        """The runs that count of which it was counted what they used of their node."""
        runs = self.dataset.runs[self.dataset.runs["final"]]
        has = runs["evidence"].str.contains(f'"{usage.BEGIN}seconds"', regex=False)
        return _where(runs[has], stage="valid")

    def series(self, spec: FigureSpec) -> list[Series]:
        """The cases of a figure along a parameter, where they differ in nothing else."""
        cases = [c for c in self.plan.cases if spec.shows(c.benchmark, c.is_placed)]
        return series(spec, cases) if spec.along else []

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """The plan's arms that stand alone, then those under a limit by what it is of.

        A limited arm is none that is listed, and its name goes on from one that is. Quotas are
        parted by the period that was recorded, others by the next word of their names.
        """
        listed, law = [*every_arm()], self.of_events["quota_law"]
        periods = dict(zip(law["arm"], law.get("period_us", ()), strict=True))
        known: dict[str, list[str]] = {ALONE: []}
        for arm in self.arms:
            bases = [name for name in listed if arm.startswith(f"{name}-")]
            word = arm.removeprefix(max(bases, key=len, default="")).strip("-").partition("-")[0]
            title = ALONE if arm in listed or not bases else word
            title = f"quota of {periods[arm] / 1000:g} ms" if arm in periods else title
            known.setdefault(title, []).append(arm)
        kinds = {title: arms for title, arms in known.items() if len(arms) > 1 or title == ALONE}
        others = [arm for arm in self.arms if not any(arm in arms for arms in kinds.values())]
        return kinds | ({"other limits": others} if others else {})

    @cached_property
    def of_events(self) -> dict[str, pd.DataFrame]:
        """The tables of the analysis of events by name, and as `events` the file of each run."""
        folder = self.folder or Path()
        found = {EVENTS: pd.DataFrame(events.runs(folder / EVENTS), columns=[*events.RUN])}
        for name in OF_EVENTS:
            path = folder / "analysis" / f"{name}.parquet"
            found[name] = pd.read_parquet(path) if path.exists() else found[EVENTS].iloc[:0]
        return found

    @cached_property
    def message_times(self) -> pd.DataFrame:
        """Seconds of each message by case, arm, block and size, of runs that sent them in turn."""
        sizes = [
            (case.name, metric, size)
            for case in self.plan.cases
            for metric, size in case.definition.message_sizes.items()
        ]
        columns = pd.DataFrame(sizes, columns=["case", "metric", "size"])
        times = self.analysis.values.merge(columns, on=["case", "metric"])
        return times.rename(columns={"value": "seconds"})

    def form(self, spec: FigureSpec) -> Form:
        """The form that a figure takes: against nodes only where there are several counts."""
        shown = (c for c in self.plan.cases if spec.shows(c.benchmark, c.is_placed))
        counts = {case.nodes for case in shown}
        return Form.PANELS if spec.form is Form.NODES and len(counts) == 1 else spec.form

    @property
    def arms(self) -> list[str]:
        """The arms that the plan holds, in its order."""
        return list(self.plan.arms)

    def arms_of(self, cases: Iterable[str]) -> list[str]:
        """The arms that the plan runs any of these cases in, in its order."""
        held = {arm for case in cases for arm in self.dataset.arms_of(case)}
        return [arm for arm in self.arms if arm in held]

    def crossed(self, spec: FigureSpec) -> pd.DataFrame:
        """The effects of a figure's factor and of the arms that it is crossed with."""
        effects = self.analysis.factorial
        metric = spec.quantities[0].metric
        of_spec = _where(effects, benchmark=spec.benchmark, factor=spec.factor, metric=metric)
        return of_spec.assign(kind="ratio")

    def steps(self, case: str, metric: str) -> dict[str, DecidedRow]:
        """The steps of a ladder by arm."""
        steps = _where(self.analysis.rungs, case=case, metric=metric).assign(kind="ratio")
        return {row.arm: row for row in rows_of(steps)}

    def waits(self, cases: Iterable[str]) -> list[Any]:
        """The lines of time against timeouts of the arms that had any, in these cases."""
        lines = self.analysis.timeouts
        return rows_of(lines[lines["case"].isin(list(cases)) & (lines["timeouts"] > 0)])

    def declared(self, cases: Iterable[str]) -> list[str]:
        """Arms that the study declares as not tested in any of the cases, and does not plan."""
        arms = [arm for case in cases for arm in self.dataset.not_tested(case)]
        return [arm for arm in dict.fromkeys(arms) if arm not in self.arms]

    def values(self, case: str, metric: str) -> dict[str, list[float]]:
        """The values that count, by arm, in the order of blocks; arms without any are left out."""
        values = _where(self.analysis.values, case=case, metric=metric)
        return {str(arm): list(of_arm["value"]) for arm, of_arm in values.groupby("arm")}

    def median(self, case: str, metric: str, arm: str) -> float | None:
        """Median of the values that count; None without any."""
        values = self.values(case, metric).get(arm)
        return float(pd.Series(values).median()) if values else None

    def parts(self, spec: FigureSpec, case: str) -> pd.DataFrame:
        """The quantities of a figure in columns, by arm and block, where a block holds them all."""
        names = [each.metric for each in spec.quantities]
        values = _where(self.analysis.values, case=case)
        mine = values[values["metric"].isin(names)]
        wide = mine.pivot(index=["arm", "block"], columns="metric", values="value")
        return wide.reindex(columns=names).dropna()

    def comparisons(self, case: str, metric: str) -> dict[str, ComparedRow]:
        """The comparisons of a case and metric by arm."""
        return self._compared.get((case, metric), {})

    @cached_property
    def _compared(self) -> dict[tuple[str, str], dict[str, ComparedRow]]:
        """The comparisons by case and metric, which figures and texts ask for again and again."""
        found: dict[tuple[str, str], dict[str, ComparedRow]] = {}
        for row in rows_of(self.analysis.comparisons):
            found.setdefault((row.case, row.metric), {})[row.arm] = row
        return found

    def of_arms(self, rows: Iterable[ComparedRow]) -> list[ComparedRow]:
        """The rows of the arms that are asked about: those of no control, of either kind."""
        return [row for row in rows if not row.control and row.arm != self.plan.positive_arm]

    def planned(self) -> list[tuple[str, str]]:
        """Case and metric of all planned comparisons, in the order of the plan."""
        return list(dict.fromkeys((each.case, each.metric) for each in self.plan.comparisons))

    def absence(self, case: str, arm: str) -> str:
        """Why an arm has no value in a case, for a row of text in its place."""
        declared = self.dataset.not_tested(case)
        if arm not in self.dataset.arms_of(case) and arm not in declared:
            return "not planned"
        losses = _where(self.analysis.losses, case=case, arm=arm)
        if not len(losses):
            return "no value"
        reason = str(losses.sort_values("runs", ascending=False, kind="stable")["reason"].iloc[0])
        if reason.startswith(outcomes.NOT_TESTED):
            return reason.replace(outcomes.NOT_TESTED, "not tested", 1)
        if reason == descriptive.NO_PAIR:
            return "in no block with the reference"
        return f"no valid run: {reason}"


def rows_of(table: pd.DataFrame) -> list[Any]:
    """The rows of a table as named tuples; their fields are the columns of its schema."""
    return list(table.itertuples(index=False))


def _where(table: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    """The rows of a table that have these texts in these columns."""
    for column, text in wanted.items():
        table = table[table[column] == text]
    return table


def load(folder: Path, published: Path | None = None) -> View:
    """The view of a dataset that is analysed already.

    Args:
        published: config/published, if anything of it is to be drawn.
    """
    analysed = analysis.read(folder / "analysis")
    beside = published_tables(published) if published else {}
    return View(dataset.load(folder), analysed, origin.load(folder), folder, beside)
