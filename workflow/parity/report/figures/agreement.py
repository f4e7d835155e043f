"""The figure of a fresh dataset beside an archived one: a forest of cost ratios.

Only ratios are drawn, because seconds of two machines say nothing of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import outcomes, tables
from parity.analysis.agreement import NOT_COMPARED, Agreement
from parity.analysis.tables import AGREEMENT
from parity.core import wording
from parity.core.wording import span
from parity.plan.plan import Plan
from parity.report import formatting
from parity.report.agreement import held
from parity.report.figures import style
from parity.report.figures.compare import title_parts
from parity.report.figures.page import PAGE, Page
from parity.report.figures.rows import Forest
from parity.report.figures.specs import quantity

NAME = "agreement"
AROUND = 0.7  # inches above and below a panel
WORDS = {
    outcomes.EQUIVALENT: "same",
    outcomes.DIFFERENT: "differs",
    outcomes.INCONCLUSIVE: "open",
}


def panels(found: Agreement, plan: Plan) -> list[Forest]:
    """One panel for each case and metric that is compared, in the order of the fresh plan."""
    table = found.table[found.table["outcome"] != NOT_COMPARED]
    place_of = {arm: number for number, arm in enumerate(plan.arms)}
    compared: list[tuple[str, str, list[Any], bool]] = []
    for case in (case.name for case in plan.cases):
        of_case = table[table["case"] == case]
        for metric, group in of_case.groupby("metric", sort=True):
            rows = list(group.itertuples(index=False))
            rows.sort(key=lambda row: (not row.control, place_of[str(row.arm)]))
            compared.append((case, str(metric), rows, of_case["metric"].nunique() > 1))
    most = max((len(rows) for _, _, rows, _ in compared), default=0)
    wide = -(-len(compared) // 2) * (AROUND + style.ROW * most) + 1.1 <= PAGE
    return [_panel(plan, *each, wide) for each in compared]


def _panel(plan: Plan, case: str, metric: str, rows: Sequence[Any], several: bool,
           wide: bool) -> Forest:  # fmt: skip
    """Expectation, fresh ratio and its interval in every row, the A/A pair first."""
    margin = rows[0].margin
    label = quantity(case, metric, "", plan.definitions).label if several else ""
    mark = "*" if any(row.reason for row in rows) else ""
    both = zip(*((row.fresh_blocks, row.archive_blocks) for row in rows), strict=True)
    blocks = "/".join(span(each).replace(" to ", "–") for each in both)
    title = ", ".join(filter(None, title_parts(plan, case, label)))
    facts = f"margin {wording.margin(margin)}, n {blocks}"
    made = []
    for row in rows:
        said = f"{WORDS[row.outcome]}{style.CONFOUNDED if formatting.is_confounded(row) else ''}"
        three = [wording.number(v) for v in (row.ratio_of_ratios, row.low95, row.high95)]
        numbers = f"{three[0]} [{three[1]}, {three[2]}]   " if wide else ""
        made.append({
            "arm": row.arm, "label": formatting.arm_title(plan, row.arm),
            "estimate": row.fresh_ratio, "low95": row.fresh_low95, "high95": row.fresh_high95,
            "box_low": row.expected_low95, "box_high": row.expected_high95,
            "mark": row.archive_ratio, "note": f"{numbers}{said}",
        })  # fmt: skip
    return Forest(
        f"{title}{mark}\n{facts}", pd.DataFrame(made), style.arm_styles(plan),
        head="fresh/archived [95 %]" if wide else "",
        band=(1 / (1 + margin), 1 + margin) if np.isfinite(margin) else (), ends=_limits(rows),
        scale="linear",
    )  # fmt: skip


def draw(found: Agreement, plan: Plan, note: str = "") -> Figure:
    """The figure; if nothing can be compared, a line that says so.

    Args:
        plan: the fresh dataset's.
        note: what must be said of the systems.
    """
    made = panels(found, plan)
    if not made:
        figure = plt.figure(figsize=(style.TWO_COLUMNS, 0.8))
        figure.text(0.5, 0.5, "the datasets have no ratio in common", ha="center")
        return figure
    lines = [
        held(found.count),
        f"axis: cost ratio to {formatting.reference_title(plan)}, above 1 costs more; "
        "grey band: margin; n: blocks, fresh/archived",
        "box: where the fresh ratio is expected by the scatter of both (95 %); tick: archived "
        "ratio; marker and line: fresh ratio, 95 % interval",
        "same, differs, open: the ratio of both ratios and the margin; first rows: A/A pair; "
        "*  not all could be concluded; †  confounded",
        note,
    ]
    across = 2 if made[0].head else 4
    title = f"{found.fresh} beside {found.archive}"
    return Page(title, made, min(across, len(made)), lines, around=AROUND).figure()


def write(found: Agreement, plan: Plan, note: str, folder: Path) -> None:
    """Write `agreement.pdf` and `.png`, and the table as `.parquet` and `.csv`."""
    style.use()
    style.save(draw(found, plan, note), folder, NAME)
    tables.write(AGREEMENT, found.table, folder / f"{NAME}.parquet")
    plain = found.table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    (folder / f"{NAME}.csv").write_text(plain, encoding="utf-8")


def _limits(found: Sequence[Any]) -> tuple[float, float]:
    """Room for all expectations and ratios; very wide fresh intervals are cut and marked."""
    needed = [
        abs(value - 1)
        for row in found
        for value in (row.expected_low95, row.expected_high95, row.fresh_ratio)
    ]
    ends = [abs(value - 1) for row in found for value in (row.fresh_low95, row.fresh_high95)]
    margin = found[0].margin if np.isfinite(found[0].margin) else 0.0
    reach = max(*needed, 1.1 * margin)
    reach = 1.12 * max(reach, min(max(ends), 1.8 * reach)) or 1.0
    return 1 - reach, 1 + reach
