"""The figures: each is a query of the view, drawn in one of six forms; those of sums are here."""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import descriptive
from parity.benchmarks.description import FigureSpec, Form
from parity.benchmarks.model import LINK, PARTS, both_ways
from parity.core.wording import span
from parity.report import formatting
from parity.report.figures import along, compare, noise, style
from parity.report.figures.page import foot_of, page, planned
from parity.report.figures.rows import Stack
from parity.report.view import View, rows_of

# Of Okabe and Ito's colours, from dark to light, so that a grey print keeps them apart.
FACES = ("#0072B2", "#E69F00", "#F0E442")
CASES = 4  # of bytes by interface; what is beyond stands in the table alone
GIB = 2**30
VISIBLE = 0.005  # GiB of a part that can be seen in a bar, and so is in the key
# From the one link outwards; of one hue, since all are the same bytes again.
BLUES = ("#08519c", "#6baed6", "#c6dbef", "#bdbdbd", "#f0f0f0")
COLUMN, LETTERS, MOST = 3.45, 62, 3  # inches, letters and reasons of the ledger


def parts(view: View, spec: FigureSpec) -> Figure:
    """Parts of one time, as Table 1 of Ruiz et al. (VHPC 2015): means, smallest and largest sum."""
    cases, made, counts = view.shown(spec), [], []
    labels = {arm: formatting.arm_title(view.plan, arm) for arm in view.arms_of(cases)}
    names = {each.metric: each.label for each in spec.quantities}
    faces = dict(zip(names.values(), FACES, strict=False))
    for case in cases:
        wide = view.parts(case, *names).rename(columns=names)
        means = wide.groupby("arm").mean().reindex(list(labels)).rename(index=labels)
        sums = wide.sum(axis="columns").groupby("arm").agg(["min", "max"]).reindex(list(labels))
        counts += wide.groupby("arm").size().to_list()
        title = formatting.case_levels(view.plan, case)
        made.append(Stack(title, means, faces, sums.to_numpy(), label="time (s)"))
    said = f"bars: means over n = {span(counts or [0])} blocks of {planned(view, cases)}     "
    foot = foot_of(view, cases, f"{said}line: smallest to largest sum of a block")
    return page(spec.title, made, min(3, len(made)), foot, around=0.45)


def interfaces(view: View, spec: FigureSpec) -> Figure:
    """Bytes of a run by interface: what a sum over interfaces is made of."""
    cases, made = view.shown(spec)[:CASES], []
    labels = {arm: formatting.arm_title(view.plan, arm) for arm in view.arms_of(cases)}
    for case in cases:
        moved = [both_ways(view.moved_by(case, arm)) for arm in labels]
        table = pd.DataFrame(moved, index=list(labels.values()))
        table = table.reindex(columns=list(PARTS)).fillna(0) / GIB
        sums = zip(table.sum(axis="columns"), table[LINK], strict=True)
        notes = [f"{all_ / link:.2f} times" if link else "not counted" for all_, link in sums]
        made.append(Stack(
            formatting.case_levels(view.plan, case), table, dict(zip(PARTS, BLUES, strict=True)),
            notes=notes, visible=VISIBLE, label="GiB on interfaces, per GiB of the files",
        ))  # fmt: skip
    blocks = view.moved.loc[view.moved["case"].isin(cases), "n"]
    said = "times: the sum of all interfaces over the one link     medians over "
    said += f"n = {span(blocks)} blocks of {planned(view, cases)}"
    return page(spec.title, made, 1, foot_of(view, cases, said), around=0.5)


def of_ledger(view: View) -> Figure:
    """A bar of runs for each stage, and the reasons for which runs ended there."""
    lost, rows = lost_after(view.analysis.losses), []
    for stage in descriptive.STAGES:
        count = int(view.analysis.ledger[stage].sum())
        rows.append((stage, count, str(count)))
        rows += [("", 0, f"  {line}") for line in lost.get(stage, ())]
    labels, counts, notes = zip(*rows, strict=True)
    table = pd.DataFrame({"runs": np.array(counts, float)}, index=labels)
    panel = Stack("", table, {"runs": style.BAND}, notes=notes, is_bare=True)
    return page("", [panel], around=0.0, width=COLUMN)


def lost_after(losses: pd.DataFrame) -> Mapping[str, list[str]]:
    """The commonest reasons by the last stage that runs reached, each with its number of runs."""
    lost = losses[losses["runs"] > 0].groupby(["stage", "reason"])["runs"].sum().reset_index()
    lines: dict[str, list[str]] = {}
    for row in rows_of(lost.sort_values("runs", ascending=False, kind="stable")):
        line = textwrap.shorten(f"{row.runs}: {row.reason}", LETTERS, placeholder=" …")
        lines.setdefault(row.stage, []).append(line)
    more = {stage: [f"and {len(of) - MOST} more"] for stage, of in lines.items() if len(of) > MOST}
    return {stage: of[:MOST] + more.get(stage, []) for stage, of in lines.items()}


QUERIES = {
    Form.PANELS: compare.panels, Form.TOGETHER: compare.together, Form.CROSSED: compare.crossed,
    Form.LADDER: compare.of_ladder, Form.NODES: along.over_nodes, Form.ALONG: along.along,
    Form.SIZES: along.sizes, Form.TIMEOUTS: along.timeouts, Form.PARTS: parts,
    Form.INTERFACES: interfaces, Form.TIMELINES: noise.timelines, Form.TAILS: noise.tails,
    Form.KINDS: noise.kinds, Form.QUANTILES: noise.quantiles, Form.QUOTA: noise.quota,
    Form.LEVELS: noise.return_levels, Form.REPLAY: noise.replay}  # fmt: skip


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure, of which the study has a case."""
    return QUERIES[view.form(spec)](view, spec)


def missing(view: View, spec: FigureSpec) -> str:
    """What a study lacks for a figure."""
    for declared in view.plan.not_tested:
        if declared.benchmark == spec.benchmark:
            return declared.reason
    if spec.runtime and view.cases(spec.benchmark):
        return f"the study has no arm of the {spec.runtime}"
    if spec.table and view.cases(spec.benchmark):
        return "no run of the study left what this is made of"
    return f"the study has no such case of {spec.benchmark}"
