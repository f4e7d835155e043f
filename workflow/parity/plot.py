"""Pictures of an archive for notebooks: axes of Matplotlib, drawn as the report draws them."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from parity.core import wording
from parity.core.errors import refuse_unknown
from parity.library import Archive
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.compare import symbol
from parity.report.figures.page import looks_of
from parity.report.figures.rows import Forest, Values
from parity.report.figures.specs import quantity
from parity.report.view import rows_of

INCHES = 0.24  # of a row


def forest(archive: Archive, benchmark: str = "", axes: Axes | None = None) -> Axes:
    """What each arm costs over the reference in each planned case: ratios with both intervals.

    Args:
        benchmark: whose cases; of all without one.
        axes: to draw on; new ones without.

    Raises:
        UserError: the archive has no such benchmark.
    """
    plan, known = archive.view.plan, _benchmarks(archive)
    asked = [benchmark] if benchmark else known
    refuse_unknown(asked, known, "benchmark", "benchmark")
    table = archive.view.analysis.comparisons
    table = table[(table["kind"] == "ratio") & table["planned"] & (table["blocks"] > 0)]
    table = table[[plan.case(case).benchmark in asked for case in table["case"]]]
    rows, looks = rows_of(table), looks_of(archive.view)
    # A row each: an arm has several.
    names = [f"{row.case}/{row.metric}/{row.arm}" for row in rows]
    table = table[["estimate", "low95", "high95", "low90", "high90"]].assign(
        arm=names, symbol=[symbol(row) for row in rows],
        label=[": ".join((formatting.subject_of(plan, row), formatting.arm_title(plan, row.arm)))
               for row in rows],
        note=[f"{row.blocks}   {formatting.estimate(row)}" for row in rows])  # fmt: skip
    of_rows = {name: looks[row.arm] for name, row in zip(names, rows, strict=True)}
    label = f"cost relative to {formatting.reference_title(plan)} (ratio, log)"
    return _drawn(Forest("", table, of_rows, label=label, head="n   ratio [95 % interval]"), axes)


def runs(archive: Archive, benchmark: str, metric: str = "", axes: Axes | None = None) -> Axes:
    """The values of every run that counts, by arm, and by case where there are several.

    Args:
        metric: of the benchmark; the first that its comparisons are planned for without one.
        axes: to draw on; new ones without.

    Raises:
        UserError: the archive has no such benchmark or metric.
    """
    refuse_unknown([benchmark], _benchmarks(archive), "benchmark", "benchmark")
    view, cases = archive.view, archive.view.cases(benchmark)
    values = view.analysis.values
    values = values[values["case"].isin(cases)]
    planned = [name for case, name in view.planned() if case in cases]
    metric = metric or next(iter([*planned, *values["metric"]]), "")
    refuse_unknown([metric], dict.fromkeys(values["metric"]), "metric", "metric")
    values = values[values["metric"] == metric]
    shown = quantity(benchmark, metric, values["unit"].iloc[0], view.plan.definitions)
    table = values.assign(value=values["value"] * shown.factor)[["arm", "value", "case"]]
    table = table if len(cases) > 1 else table.drop(columns="case")
    arms = {arm: formatting.arm_title(view.plan, arm) for arm in view.arms_of(cases)}
    label = f"{wording.capital(shown.label)} ({shown.unit})"
    title = formatting.benchmark_title(view.plan, benchmark)
    return _drawn(Values(title, table, arms, looks_of(view), label=label), axes)


def _benchmarks(archive: Archive) -> list[str]:
    return list(dict.fromkeys(case.benchmark for case in archive.view.plan.cases))


def _drawn(panel: Forest | Values, axes: Axes | None) -> Axes:
    if axes is None:
        size = style.TWO_COLUMNS, 1 + INCHES * panel.rows
        axes = plt.subplots(figsize=size, layout="constrained")[1]
    key = panel.draw(axes, True, True)
    # In one line, since beside a notebook's cells there is room.
    names = [tick.get_text().replace("\n", " ") for tick in axes.get_yticklabels()]
    axes.set_yticks(axes.get_yticks(), names, fontsize=7)
    axes.set_title(panel.title)
    if key:
        axes.legend(key.values(), key.keys(), fontsize=6.5)
    return axes
