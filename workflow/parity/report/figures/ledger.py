"""The ledger as a figure: how many runs came how far, and why the others did not."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import ledger
from parity.report.figures import page_layout, style
from parity.report.view import View, rows_of

STAGES = ledger.STAGES
COLUMN = 3.45  # inches
LEFT, RIGHT, BAR, LETTERS, MOST = 0.62, 0.05, 0.24, 62, 3


def draw(view: View) -> Figure:
    """A bar of runs for each stage, and the reasons for which runs ended there."""
    counts = {stage: int(view.analysis.ledger[stage].sum()) for stage in STAGES}
    lost = lost_after(view.analysis.losses)
    height = 0.06 + sum(BAR + 0.1 * len(lost.get(stage, ())) for stage in STAGES)
    figure = page_layout.new_figure(height)
    figure.set_size_inches(COLUMN, height)
    axes = page_layout.place(figure, LEFT, 0.03, COLUMN - LEFT - RIGHT, height - 0.06)
    axes.set_xlim(0, max(counts.values()) or 1)
    axes.set_ylim(height - 0.06, 0)
    axes.axis("off")
    top = 0.0
    for stage, count in counts.items():
        middle = top + BAR / 2 - 0.01
        axes.barh(middle, count, height=0.17, color=style.BAND)
        axes.text(0, middle, f" {count}", va="center", fontsize=7)
        axes.annotate(
            stage, (0, middle), (-3, 0), textcoords="offset points", ha="right", va="center",
            fontsize=7,
        )  # fmt: skip
        top += BAR
        for line in lost.get(stage, ()):
            axes.text(0, top + 0.03, f"  {line}", va="center", fontsize=5.5, color=style.GREY)
            top += 0.1
    return figure


def lost_after(losses: pd.DataFrame) -> Mapping[str, list[str]]:
    """The commonest reasons by the last stage that runs reached, each with its number of runs."""
    lost = losses[losses["runs"] > 0]
    by_reason = lost.groupby(["stage", "reason"])["runs"].sum().reset_index()
    found: dict[str, list[str]] = {}
    for row in rows_of(by_reason.sort_values("runs", ascending=False, kind="stable")):
        said = textwrap.shorten(f"{row.runs}: {row.reason}", LETTERS, placeholder=" …")
        found.setdefault(row.stage, []).append(said)
    return {
        stage: lines if len(lines) <= MOST else [*lines[:MOST], f"and {len(lines) - MOST} more"]
        for stage, lines in found.items()
    }
