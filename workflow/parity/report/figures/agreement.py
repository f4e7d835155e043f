"""The figure of a fresh dataset beside an archived one: cost ratios alone, as machines differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import outcomes, tables
from parity.analysis.agreement import NOT_COMPARED, Agreement
from parity.core import wording
from parity.plan.plan import Plan
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.compare import title_parts
from parity.report.figures.page import FOOT, PAGE, band_of, page
from parity.report.figures.rows import Forest
from parity.report.figures.specs import quantity
from parity.report.view import rows_of

NAME = "agreement"
AROUND = 0.7  # inches above and below a panel
WORDS = {outcomes.EQUIVALENT: "same", outcomes.DIFFERENT: "differs", outcomes.INCONCLUSIVE: "open"}


def panels(found: Agreement, plan: Plan) -> list[Forest]:
    """One panel for each case and metric that is compared, in the order of the fresh plan."""
    table = found.table[found.table["outcome"] != NOT_COMPARED]
    cases, arms = [case.name for case in plan.cases], [*plan.arms]
    # The A/A pair is the first row of each panel.
    at, arm_at = table["case"].map(cases.index), table["arm"].map(arms.index)
    ordered = table.assign(at=at, arm_at=arm_at, other=~table["control"].astype(bool))
    ordered = ordered.sort_values(["at", "metric", "other", "arm_at"], kind="stable")
    groups = [rows_of(rows) for _, rows in ordered.groupby(["at", "metric"])]
    most = max(map(len, groups), default=0)
    wide = -(-len(groups) // 2) * (AROUND + style.ROW * most) + 1.1 <= PAGE
    several = table.groupby("case")["metric"].nunique() > 1
    return [_panel(plan, rows, bool(several[rows[0].case]), wide) for rows in groups]


def _panel(plan: Plan, rows: Sequence[Any], several: bool, wide: bool) -> Forest:
    """Expectation, fresh ratio and its interval in every row."""
    case, metric, margin = rows[0].case, rows[0].metric, rows[0].margin
    label = quantity(case, metric, "", plan.definitions).label if several else ""
    title = ", ".join(filter(None, title_parts(plan, case, label)))
    both = zip(*((row.fresh_blocks, row.archive_blocks) for row in rows), strict=True)
    blocks = "/".join(wording.span(each).replace(" to ", "–") for each in both)
    title += "*" if any(row.reason for row in rows) else ""
    table = []
    for row in rows:
        ratio, low, high = map(wording.number, (row.ratio_of_ratios, row.low95, row.high95))
        ended = WORDS[row.outcome] + style.CONFOUNDED * formatting.is_confounded(row)
        table.append({
            "arm": row.arm, "label": formatting.arm_title(plan, row.arm),
            "estimate": row.fresh_ratio, "low95": row.fresh_low95, "high95": row.fresh_high95,
            "box_low": row.expected_low95, "box_high": row.expected_high95,
            "mark": row.archive_ratio, "note": f"{ratio} [{low}, {high}]   " * wide + ended,
        })  # fmt: skip
    made = pd.DataFrame(table)
    # Room for all expectations and ratios; very wide fresh intervals are cut and marked.
    needed = (made[["box_low", "box_high", "estimate"]] - 1).abs().to_numpy().max()
    needed = max(needed, 1.1 * np.nan_to_num(margin))
    widest = (made[["low95", "high95"]] - 1).abs().to_numpy().max()
    reach = 1.12 * max(needed, min(widest, 1.8 * needed)) or 1.0
    return Forest(
        f"{title}\nmargin {wording.margin(margin)}, n {blocks}", made, style.arm_styles(plan),
        head="fresh/archived [95 %]" * wide, band=band_of(margin), scale="linear",
        ends=(1 - reach, 1 + reach))  # fmt: skip


def draw(found: Agreement, plan: Plan, note: str = "") -> Figure:
    """The figure, with a note on the systems; if nothing can be compared, a line that says so."""
    made = panels(found, plan)
    if not made:
        figure = plt.figure(figsize=(style.TWO_COLUMNS, 0.8))
        figure.text(0.5, 0.5, "the datasets have no ratio in common", ha="center")
        return figure
    held, reference = formatting.held(found.count), formatting.reference_title(plan)
    foot = [FOOT[NAME].format(held=held, reference=reference), note]
    across = min(2 if made[0].head else 4, len(made))
    return page(f"{found.fresh} beside {found.archive}", made, across, foot, around=AROUND)


def write(found: Agreement, plan: Plan, note: str, folder: Path) -> None:
    """Write `agreement.pdf` and `.png`, and the table as `.parquet` and `.csv`."""
    style.use()
    style.save(draw(found, plan, note), folder, NAME)
    tables.write(tables.AGREEMENT, found.table, folder / f"{NAME}.parquet")
    plain = found.table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    (folder / f"{NAME}.csv").write_text(plain, encoding="utf-8")
