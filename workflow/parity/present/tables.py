"""Tables in LaTeX and CSV: the same rows twice; the numbers behind them are in analysis/."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.present import words
from parity.present.specs import MACHINE_FACTS
from parity.present.view import View


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


def to_latex(table: Table) -> str:
    """A booktabs table; where rows share their first cell, only the first of them shows it."""
    head = " & ".join(words.latex(cell) for cell in table.head) + r" \\"
    environment = "longtable" if table.breaks else "tabular"
    lines = [rf"\begin{{{environment}}}{{@{{}}{table.alignment}@{{}}}}", r"\toprule", head]
    lines += [r"\midrule", *([r"\endhead", r"\bottomrule", r"\endlastfoot"] * table.breaks)]
    previous = ""
    for row in table.rows:
        same = row[0] == previous
        if previous and not same and table.breaks:
            lines.append(r"\addlinespace[2pt]")
        lines.append(
            " & ".join(words.latex(c) for c in ("" if same else row[0], *row[1:])) + r" \\"
        )
        previous = row[0]
    if not table.rows:
        empty = words.latex(table.empty)
        lines.append(rf"\multicolumn{{{len(table.head)}}}{{@{{}}l@{{}}}}{{{empty}}} \\")
    lines += [] if table.breaks else [r"\bottomrule"]
    return "\n".join([*lines, rf"\end{{{environment}}}", ""])


def write(table: Table, folder: Path) -> None:
    """Write `<name>.tex` and `<name>.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{table.name}.tex").write_text(to_latex(table), encoding="utf-8")
    with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([table.head, *table.rows])


def all_tables(view: View) -> list[Table]:
    """Every table of `specs.TABLE_NAMES` that needs the dataset alone."""
    return [
        results(view),
        differences(view),
        ledger(view),
        losses(view),
        exclusions(view),
        images(view),
        machine(view),
        not_tested(view),
        dispersion(view),
    ]


def results(view: View) -> Table:
    """Every cost ratio with its interval, margin and outcome."""
    rows = [
        (
            _what(view, case, metric),
            words.arm_title(view.plan, arm),
            str(row.blocks),
            words.estimate(row),
            words.margin(row.margin),
            "; ".join(filter(None, (words.outcome(row), words.identity_note(row)))),
        )
        for case, metric, arm, row in _compared(view, "ratio")
    ]
    head = ("case", "arm", "n", "ratio [95 % interval]", "margin", "outcome")
    return Table("results", r"L{4.6cm}lrllL{4.6cm}", head, rows)


def differences(view: View) -> Table:
    """Comparisons without a margin, as differences in the quantity's unit."""
    rows = [
        (
            _what(view, case, metric),
            words.arm_title(view.plan, arm),
            str(row.blocks),
            words.estimate(row),
            words.unit_of(row),
            words.identity_note(row) or (words.outcome(row) if row.reason else ""),
        )
        for case, metric, arm, row in _compared(view, "difference")
    ]
    head = ("case", "arm", "n", "difference [95 % interval]", "unit", "note")
    return Table("differences", r"L{5.6cm}lrllL{3.2cm}", head, rows)


def _compared(view: View, kind: str) -> list[tuple]:
    """The planned comparisons of one kind, in the plan's order of cases and arms."""
    found = view.analysis.comparisons
    shown = found[(found["kind"] == kind) & found["planned"]]
    cases = {case["case"]: number for number, case in enumerate(view.plan["cases"])}
    arms = {arm: number for number, arm in enumerate(view.plan["arms"])}
    rows = sorted(
        shown.itertuples(index=False),
        key=lambda row: (cases[row.case], row.metric, arms.get(row.arm, len(arms)), row.arm),
    )
    return [(row.case, row.metric, row.arm, row) for row in rows]


def _what(view: View, case: str, metric: str) -> str:
    """Case and quantity of a comparison."""
    label = words.quantity(metric, "").label
    return f"{words.case_title(view.plan, case)}, {label}"


def ledger(view: View) -> Table:
    """How many planned runs came how far."""
    rows = [
        (
            words.case_title(view.plan, row.case),
            words.arm_title(view.plan, row.arm),
            *(str(getattr(row, key)) for key in ("planned", "ran", "parsed", "valid", "analysed")),
            str(row.attempts),
        )
        for row in _in_order(view, view.analysis.ledger)
    ]
    head = ("case", "arm", "planned", "ran", "parsed", "valid", "analysed", "attempts")
    return Table("ledger", "llrrrrrr", head, rows)


def losses(view: View) -> Table:
    """Why planned runs were not analysed."""
    lost = view.analysis.losses
    rows = [
        (
            words.case_title(view.plan, row.case),
            words.arm_title(view.plan, row.arm),
            row.stage,
            str(row.runs),
            row.reason,
        )
        for row in _in_order(view, lost[lost["runs"] > 0])
    ]
    head = ("case", "arm", "reached", "runs", "reason")
    return Table("losses", r"lllrL{5cm}", head, rows, "every planned run was analysed")


def _in_order(view: View, frame: pd.DataFrame) -> list:
    """Rows of a table in the plan's order of cases and arms."""
    cases = {case["case"]: number for number, case in enumerate(view.plan["cases"])}
    arms = {arm: number for number, arm in enumerate(view.plan["arms"])}
    rows = frame.itertuples(index=False)
    return sorted(rows, key=lambda row: (cases[row.case], arms.get(row.arm, len(arms)), row.arm))


def exclusions(view: View) -> Table:
    """Exclusions that a person made."""
    rows = [
        (row.block, row.run, row.reason, row.who, row.date, "yes" if row.applied else "no")
        for row in view.analysis.exclusions.itertuples(index=False)
    ]
    head = ("block", "run", "reason", "who", "date", "applied")
    return Table("exclusions", r"llL{4cm}lll", head, rows, "no run was excluded by hand")


def images(view: View) -> Table:
    """The digest chain from the base to each format; digests cut to sixteen digits."""
    rows = [
        (
            row.format,
            _digest(row.digest),
            row.parent,
            _digest(row.parent_digest),
            "–" if pd.isna(row.bytes) else words.number(row.bytes / 2**20, 1),
            "–" if pd.isna(row.seconds) else words.number(row.seconds, 1),
            row.reason or row.tool,
        )
        for row in view.dataset.images.itertuples(index=False)
    ]
    head = ("format", "digest", "made from", "its digest", "MiB", "s", "made by, or why not")
    return Table("images", r"llllrrL{3.4cm}", head, rows, "no image was used")


def _digest(digest: str) -> str:
    return digest.removeprefix("sha256:")[:16] or "–"


def machine(view: View) -> Table:
    """The facts of the node that bear on timings; a fact that changed between blocks says so."""
    nodes = view.dataset.nodes
    before = nodes[nodes["phase"] == "before"]
    rows = [
        (label, _fact(before.loc[before["fact"] == fact, "value"]))
        for fact, label in MACHINE_FACTS.items()
    ]
    return Table("machine", r"lL{5.4cm}", ("fact", "value"), rows, breaks=False)


def _fact(values: pd.Series) -> str:
    distinct = sorted({value for value in values if value})
    if not distinct:
        return "not recorded"
    return distinct[0] if len(distinct) == 1 else f"varied: {', '.join(distinct[:4])}"


def not_tested(view: View) -> Table:
    """What the study declares or the machine could not do, with the reason."""
    declared = [
        (
            entry.get("benchmark", "every benchmark"),
            words.arm_title(view.plan, entry["arm"]) if "arm" in entry else "every arm",
            entry["reason"],
        )
        for entry in view.plan["not_tested"]
    ]
    lost = view.analysis.losses
    absent = lost[lost["reason"].str.startswith("not-tested") & (lost["runs"] > 0)]
    found = [
        (
            words.case_title(view.plan, row.case),
            words.arm_title(view.plan, row.arm),
            row.reason.split(": ", 1)[-1],
        )
        for row in _in_order(view, absent)
    ]
    head = ("what", "arm", "reason")
    return Table("not-tested", r"llL{6cm}", head, declared + found, "everything planned was tested")


def dispersion(view: View) -> Table:
    """Median, extremes and coefficient of variation of the planned comparisons' values."""
    planned = set(view.planned())
    rows = [
        (
            _what(view, row.case, row.metric),
            words.arm_title(view.plan, row.arm),
            str(row.runs),
            *(
                words.significant(words.quantity(row.metric, row.unit).factor * value, 4)
                for value in (row.median, row.minimum, row.maximum)
            ),
            words.quantity(row.metric, row.unit).unit,
            words.percent(row.cv),
        )
        for row in _in_order(view, view.analysis.dispersion)
        if (row.case, row.metric) in planned
    ]
    head = ("case", "arm", "n", "median", "min", "max", "unit", "CV")
    return Table("dispersion", r"L{4.6cm}lrrrrlr", head, rows)
