"""One dataset with its analysis, and the few questions that figures, tables and texts ask of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import analysis, dataset, descriptive, outcomes
from parity.analysis.methods import cv_bound
from parity.benchmarks import benchmarks
from parity.benchmarks.description import CPU_SECONDS, WORK, Bars, FigureSpec, Form
from parity.benchmarks.model import LINK, both_ways
from parity.claims.published import FIGURES, published_tables
from parity.core import wording
from parity.plan.looks import is_stopped
from parity.plan.plan import Case
from parity.plan.system import kind_of
from parity.records import events
from parity.records.dataset import Provenance, block_records, provenance
from parity.records.noise_audit import NoiseAudit, read_noise_audit
from parity.report.figures.specs import figures_of, spelt
from parity.runtimes import every_arm

STAGES = (*descriptive.STAGES, "attempts")  # columns of the ledger that are counts
EVENTS, OF_EVENTS = "events", ("quantiles", "return_levels", "quota_law", "replay")
ALONE = ""
POOR = 0.05  # p of a fit below which it is called bad
CV_NEEDS = 5  # values, for an interval of a coefficient of variation
ONCE = 1.005  # times a byte of the link is counted at most where no other interface counts it
NODES, RANKS, CONTAINERS = "nodes", "ranks", "containers_per_node"
ON_EACH, IN_EACH = "ranks on each node", "ranks in each container"
ComparedRow = Any  # a row of the table of comparisons


@dataclass(frozen=True)
class Origin:
    """Where a dataset comes from: when, with which program, on what kind of system."""

    facts: Provenance
    systems: tuple[str, ...]  # name and kind of each that measured it, such as `machine (vm)`
    scale_labels: tuple[str, ...]  # the kinds of these systems
    noise_audit: NoiseAudit | None  # what the harness itself costs there, if anybody measured it

    @property
    def note(self) -> str:
        """What every figure and table must say of these systems; often nothing."""
        return kind_of(self.scale_labels).note


def origin_of(folder: Path) -> Origin:
    """The origin of the dataset in `folder`; an archive brings most of it along in a file."""
    starts = [session.start for block in block_records(folder) for session in block.sessions]
    systems = {f"{start.system} ({start.scale_label})" for start in starts}
    labels = {start.scale_label for start in starts}
    audit = read_noise_audit(folder)
    return Origin(provenance(folder), tuple(sorted(systems)), tuple(sorted(labels)), audit)


@dataclass(frozen=True)
class Series:
    """Cases that differ in one parameter alone, ascending: by level, with what they share."""

    title: str
    cases: dict[int, str]


@dataclass(frozen=True)
class View(analysis.Analysed):
    """What is presented: a dataset with its analysis, its origin, and tables of publications."""

    origin: Origin
    folder: Path
    published: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def arms(self) -> list[str]:
        """The arms that the plan holds, in its order."""
        return list(self.plan.arms)

    def arms_of(self, cases: Iterable[str]) -> list[str]:
        """The arms that the plan runs any of these cases in, in its order."""
        held = {arm for case in cases for arm in self.dataset.arms_of(case)}
        return [arm for arm in self.arms if arm in held]

    def cases(self, benchmark: str) -> list[str]:
        """The benchmark's cases, in the order of the plan."""
        return [case.name for case in self.plan.cases if case.benchmark == benchmark]

    # Which figures there are, and what belongs into them.

    @cached_property
    def figures(self) -> tuple[FigureSpec, ...]:
        """All figures that there are: of every module, and of the study's own programs."""
        known = benchmarks() | self.plan.definitions
        lengths = {run.case.benchmark for run in self.plan.shorter}
        pairs = {self.plan.case(case).benchmark for case in self.plan.pairs}
        return figures_of(known.values(), self.plan.is_paired, lengths, pairs)

    def shown(self, spec: FigureSpec) -> list[str]:
        """The cases that belong into a figure, in the order of the plan."""
        if spec.runtime and spec.runtime not in self.plan.arm_runtimes.values():
            return []
        if spec.factor and not len(self.crossed(spec)):
            return []
        if spec.along:
            return [case for of_title in self.series(spec) for case in of_title.cases.values()]
        if not (cases := [case.name for case in self._placed(spec)]):
            return []
        if spec.form is Form.TIMEOUTS:
            held = {row.case for row in self.waits(cases)}
        elif spec.form is Form.INTERFACES:
            held = {*self.moved["case"]}
        elif spec.form is Form.SIZES:
            held = {*self.message_times["case"]}
        else:
            beside = (s for s in self.figures if s.benchmark == spec.benchmark and s.along)
            held = {*cases} - {case for other in beside for case in self.shown(other)}
        if spec.table:
            of_table = self.of_events[spec.table]
            if spec.form is Form.KINDS:
                of_table = of_table[~of_table["arm"].isin(self.kinds[ALONE])]
            held &= {*of_table["case"]}
        return [case for case in cases if case in held]

    def _placed(self, spec: FigureSpec) -> list[Case]:
        """The cases that give what a figure is of: in turn, side by side, at two lengths."""
        told, plan = {quantity.metric for quantity in spec.quantities}, self.plan
        cases = [case for case in plan.cases if spec.shows(case.benchmark, case.is_placed)]
        if WORK.metric in told:
            return [case for case in cases if case.name in plan.shorter_of]
        of_time = CPU_SECONDS.metric in told
        in_turn = plan.is_paired or not of_time
        return [case for case in cases if (of_time if case.name in plan.pairs else in_turn)]

    def is_constant(self, spec: FigureSpec) -> bool:
        """Whether a figure would show one number, nothing new, or no law that fits."""
        if spec.form is Form.TAILS:
            mine = (each for each in self.figures if each.benchmark == spec.benchmark)
            is_again = any(each.form is Form.KINDS and self.shown(each) for each in mine)
            return is_again and len(self.shown(spec)) == 1
        if spec.form is Form.LEVELS:
            laws = _where(self.of_events[spec.table], case=self.shown(spec)[0])
            return not (laws.loc[laws["arm"].isin(self.arms), "fit"] >= POOR).any()
        if spec.form is Form.INTERFACES:
            moved = [both_ways(self.moved_by(case, arm))
                     for case in self.shown(spec) for arm in self.arms_of([case])]  # fmt: skip
            times = [sum(of.values()) / of[LINK] for of in moved if of.get(LINK)]
            return bool(times) and max(times) < ONCE
        if self.form(spec) is not Form.PANELS or len(spec.quantities) > 1:
            return False
        values = _where(self.analysis.values, metric=spec.quantities[0].metric)
        return values.loc[values["case"].isin(self.shown(spec)), "value"].nunique() == 1

    def form(self, spec: FigureSpec) -> Form:
        """The form that a figure takes: against nodes only where there are several counts."""
        is_one_count = len({case.nodes for case in self._placed(spec)}) == 1
        return Form.PANELS if spec.form is Form.NODES and is_one_count else spec.form

    def series(self, spec: FigureSpec) -> list[Series]:
        """The cases of a figure along a parameter, where they differ in nothing else."""
        return series(spec, self._placed(spec)) if spec.along else []

    # What was measured and concluded.

    def values(self, case: str, metric: str) -> dict[str, list[float]]:
        """The values that count, by arm, in the order of blocks; arms without any are left out."""
        values = _where(self.analysis.values, case=case, metric=metric)
        return {str(arm): list(of_arm["value"]) for arm, of_arm in values.groupby("arm")}

    def median(self, case: str, metric: str, arm: str) -> float | None:
        """Median of the values that count; None without any."""
        values = self.values(case, metric).get(arm)
        return float(pd.Series(values).median()) if values else None

    def parts(self, case: str, *metrics: str) -> pd.DataFrame:
        """The values that count in columns, by arm and block, where a block holds all of them."""
        values = _where(self.analysis.values, case=case)
        mine = values[values["metric"].isin(metrics)]
        wide = mine.pivot(index=["arm", "block"], columns="metric", values="value")
        return wide.reindex(columns=list(metrics)).dropna()

    @cached_property
    def message_times(self) -> pd.DataFrame:
        """Seconds of each message by case, arm, block and size, of runs that sent them in turn."""
        known = {case.name: case.definition.message_sizes for case in self.plan.cases}
        sizes = [(case, *size) for case, of_case in known.items() for size in of_case.items()]
        columns = pd.DataFrame(sizes, columns=["case", "metric", "size"])
        times = self.analysis.values.merge(columns, on=["case", "metric"])
        return times.rename(columns={"value": "seconds"})

    @cached_property
    def moved(self) -> pd.DataFrame:
        """What runs moved: case, arm, what, value (median over blocks), and blocks `n`."""
        by_what = self.dataset.moved.groupby(["case", "arm", "what"])["value"]
        return by_what.agg(value="median", n="count").reset_index()

    def moved_by(self, case: str, arm: str) -> dict[str, float]:
        """What the runs of a case moved in an arm, by what it is."""
        rows = _where(self.moved, case=case, arm=arm)
        return dict(zip(rows["what"], rows["value"], strict=True))

    @cached_property
    def of_events(self) -> dict[str, pd.DataFrame]:
        """The tables of the analysis of events by name, and as `events` the file of each run."""
        runs = events.runs(self.folder / EVENTS)
        tables = {EVENTS: pd.DataFrame(runs, columns=[*events.RUN])}
        for name in OF_EVENTS:
            path = self.folder / "analysis" / f"{name}.parquet"
            tables[name] = pd.read_parquet(path) if path.exists() else tables[EVENTS].iloc[:0]
        return tables

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """The plan's arms that stand alone, then those under a limit by what it is of.

        The name of a limited arm goes on from a listed one. Quotas are parted by the period
        that was recorded, others by the next word.
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

    def waits(self, cases: Iterable[str]) -> list[Any]:
        """The lines of time against timeouts that are known, in these cases."""
        lines = self.analysis.timeouts
        return rows_of(lines[lines["case"].isin(list(cases)) & lines["slope"].notna()])

    def crossed(self, spec: FigureSpec) -> pd.DataFrame:
        """The effects of a figure's factor and of the arms that it is crossed with."""
        what = {"benchmark": spec.benchmark, "factor": spec.factor}
        return _where(self.analysis.factorial, metric=spec.quantities[0].metric, **what)

    def steps(self, case: str, metric: str) -> dict[str, Any]:
        """The steps of a ladder by arm."""
        steps = _where(self.analysis.rungs, case=case, metric=metric)
        return {row.arm: row for row in rows_of(steps)}

    def comparisons(self, case: str, metric: str) -> dict[str, ComparedRow]:
        """The comparisons of a case and metric by arm."""
        return self._compared.get((case, metric), {})

    @cached_property
    def _compared(self) -> dict[tuple[str, str], dict[str, ComparedRow]]:
        by_metric: dict[tuple[str, str], dict[str, ComparedRow]] = {}
        for row in rows_of(self.analysis.comparisons):
            by_metric.setdefault((row.case, row.metric), {})[row.arm] = row
        return by_metric

    def of_arms(self, rows: Iterable[ComparedRow]) -> list[ComparedRow]:
        """The rows of the arms that are asked about: those of no control, of either kind."""
        return [row for row in rows if not row.control and row.arm != self.plan.positive_arm]

    def planned(self) -> list[tuple[str, str]]:
        """Case and metric of all planned comparisons, in the order of the plan."""
        return list(dict.fromkeys((row.case, row.metric) for row in self.plan.comparisons))

    def absence(self, case: str, arm: str) -> str:
        """Why an arm has no value in a case, for a row of text in its place."""
        if arm not in (*self.dataset.arms_of(case), *self.dataset.not_tested(case)):
            return "not planned"
        losses = _where(self.analysis.losses, case=case, arm=arm)
        if not len(losses):
            return "no value"
        # Why those failed that were made, rather than why there are no more.
        made = losses[~losses["reason"].map(is_stopped).astype(bool)]
        told = made if len(made) else losses
        reason = str(told.sort_values("runs", ascending=False, kind="stable")["reason"].iloc[0])
        if reason.startswith(outcomes.NOT_TESTED):
            return reason.replace(outcomes.NOT_TESTED, "not tested", 1)
        is_alone = reason == descriptive.NO_PAIR
        return "in no block with the reference" if is_alone else f"no valid run: {reason}"

    # Along a parameter.

    def curves(self, spec: FigureSpec, of_series: Series) -> pd.DataFrame:
        """The cost ratios of each arm but the reference, or the scatter of every arm, by level.

        Returns arm, level, value (a ratio, or the coefficient of variation in %), its 95 % interval
        low and high (not numbers without one), and the blocks that it rests on.
        """
        rows, metric = [], spec.quantities[0].metric
        for level, case in of_series.cases.items():
            for arm, values in self.values(case, metric).items() if spec.scatter else ():
                if len(values) > 1:
                    is_known = len(values) >= CV_NEEDS and min(values) > 0
                    ends = [cv_bound(values, p) if is_known else np.nan for p in (0.025, 0.975)]
                    cv = float(np.std(values, ddof=1) / np.mean(values))
                    rows.append((arm, level, 100 * cv, 100 * ends[0], 100 * ends[1], len(values)))
            for row in () if spec.scatter else self.comparisons(case, metric).values():
                if row.kind == "ratio" and row.blocks:
                    rows.append((row.arm, level, row.estimate, row.low95, row.high95, row.blocks))
        return pd.DataFrame(rows, columns=["arm", "level", "value", "low", "high", "blocks"])

    def published_ratios(self, spec: FigureSpec, of_series: Series) -> dict[str, dict[int, float]]:
        """Published cost ratios of the program of a series, by what they are of and by level."""
        if FIGURES not in self.published or spec.scatter:
            return {}
        table, case = self.published[FIGURES], next(iter(of_series.cases.values()))
        levels = {name: str(level) for name, level in self.plan.case(case).parameters.items()}
        own = (bars for bars in spec.bars if bars.cases.items() <= levels.items())
        return {f"{bars.code}, {bars.label} ({bars.place})": ratios(table, bars) for bars in own}


def load(folder: Path, published: Path | None = None) -> View:
    """The view of a dataset that is analysed already, with what of config/published is drawn."""
    analysed = analysis.read(folder / "analysis")
    beside = published_tables(published) if published else {}
    return View(dataset.load(folder), analysed, origin_of(folder), folder, beside)


def rows_of(table: pd.DataFrame) -> list[Any]:
    """The rows of a table as named tuples; their fields are the columns of its schema."""
    return list(table.itertuples(index=False))


def _where(table: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    for column, text in wanted.items():
        table = table[table[column] == text]
    return table


def series(spec: FigureSpec, cases: Sequence[Case]) -> list[Series]:
    """The series of a figure along a parameter, each of two levels at least.

    Along ranks there are also those of as many ranks on each node, or in each container, which
    grow together in publications.
    """
    known: dict[tuple[str, ...], tuple[dict[str, Any], dict[int, str]]] = {}
    placed = [case for case in cases if spec.along in case.parameters]
    for sharing in ("", ON_EACH, IN_EACH) if spec.along == RANKS else ("",):
        groups: dict[str, tuple[dict[str, Any], dict[int, str]]] = {}
        for case in placed:
            common = dict(case.parameters)
            level = common.pop(spec.along)
            # What its cases share: all other parameters, or how ranks lie in place of how many.
            if sharing == ON_EACH:
                common[ON_EACH] = level / common.pop(NODES, 1)
            elif sharing == IN_EACH:
                common[IN_EACH] = level / (common.get(NODES, 1) * common.pop(CONTAINERS, 1))
            groups.setdefault(str(sorted(common.items())), (common, {}))[1][level] = case.name
        for common, of_level in groups.values():
            levels = dict(sorted(of_level.items(), key=lambda of: float(of[0])))
            if len(levels) > 1:
                known.setdefault(tuple(levels.values()), (common, levels))
    every = [common for common, _ in known.values()]
    return [Series(_title(spec, common, every), levels) for common, levels in known.values()]


def _title(spec: FigureSpec, common: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> str:
    """Where a series was placed, and in what it differs from others of its figure."""
    always = (*benchmarks()[spec.benchmark].factors, ON_EACH, IN_EACH)
    words, places = [], {NODES: "node", RANKS: "rank", CONTAINERS: "container"}
    for name, level in common.items():
        differs = len({str(others.get(name)) for others in every}) > 1
        if name in places or not (name in always or differs):
            continue
        if name in (ON_EACH, IN_EACH):
            words.append(wording.counted(round(level), "rank") + name.removeprefix("ranks"))
        else:
            # A word by itself, or a number with what it is of.
            known = (str(level), f"{name}_{level}".lower())
            told = (word for text in known if (word := spelt(spec.benchmark, text)) != text)
            words.append(next(told, f"{name} {level}"))
    placed = [wording.counted(common[p], word) for p, word in places.items() if p in common]
    return ", ".join([*words, *placed])


def ratios(table: pd.DataFrame, bars: Bars) -> dict[int, float]:
    """Cost ratios by level of bars in a table in s, with rows place, code and x, columns series."""
    of_code = table.xs((bars.place, bars.code))
    if bars.x:
        row = of_code.xs(bars.x).dropna()
        counts = {name: name.removesuffix("/node") for name in row.index if "/node" in name}
        return {int(count): float(row[name] / row[bars.over]) for name, count in counts.items()}
    divided = (of_code[bars.series] / of_code[bars.over]).dropna()
    return dict(sorted((int(str(x)), float(ratio)) for x, ratio in divided.items()))
