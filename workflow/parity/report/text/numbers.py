r"""Every value and sentence that the paper takes from the data, by key.

The paper writes `\parityvalue{key}`; a key that does not exist stops LaTeX with an
error, so a number can neither be typed nor go missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import listed
from parity.plan.system_kind import kind_of
from parity.report.figures.specs import LEDGER, OVERVIEW
from parity.report.tables.sensitivity import changes
from parity.report.tables.table import Table
from parity.report.text import campaign, captions, formatting, questions, sentences, storage
from parity.report.text.constants import constants, drawn
from parity.report.view import STAGES, View

HEAD = r"""% Made from the data; not to be edited.
\newcommand{\parityvalue}[1]{\ifcsname parity@#1\endcsname\csname parity@#1\endcsname
\else\errmessage{The data give no value for `#1'}\fi}
\newcommand{\paritydefine}[2]{\expandafter\def\csname parity@#1\endcsname{#2}}
"""


def values(view: View) -> dict[str, str]:
    """Plain text by key."""
    return {**_design(view), **_course(view), **_findings(view)}


def _design(view: View) -> dict[str, str]:
    """What the study planned."""
    plan = view.plan
    margins = sorted({case.margin for case in plan.cases if case.margin is not None})
    notes = {formatting.benchmark_title(plan, name): n for name, n in plan.benchmark_notes.items()}
    return {
        "title": plan.title,
        "campaign": plan.campaign,
        "seed": str(plan.seed),
        "blocks": str(view.blocks),
        "repetitions": str(view.repetitions),
        "design": campaign.design(view),
        "arms": str(len(plan.arms)),
        "arm-list": listed([formatting.arm_title(plan, arm) for arm in view.arms]),
        "reference": formatting.arm_title(plan, plan.reference),
        "control": formatting.arm_title(plan, plan.double) or "none",
        "margins": listed([formatting.margin(margin) for margin in margins]) or "none",
        "notes": " ".join(f"{title}: {note}" for title, note in notes.items() if note),
        "assay": campaign.positive_control(view),
        "declared": campaign.declared(view),
        "failed-controls": sentences.failed_controls(view),
        "stands-for": storage.stands_for(view),
    }


def _course(view: View) -> dict[str, str]:
    """What became of the plan."""
    ledger, facts = view.analysis.ledger, view.origin.facts
    kind = kind_of(view.origin.scale_labels)
    reference = formatting.arm_title(view.plan, view.plan.reference)
    return {
        "measured": formatting.period(facts.began, facts.ended),
        "systems": listed(view.origin.systems) or "unknown",
        "scale-note": view.origin.note,
        "scale-threat": kind.threat,
        "conduct": kind.conduct.format(reference=reference),
        "margin-held": kind.margin,
        "harness": campaign.harness(view.origin.noise_audit),
        "nodes": str(view.dataset.nodes["node"].nunique()),
        "excluded": campaign.excluded(int(view.analysis.exclusions["applied"].sum())),
        **{f"runs-{stage}": str(int(ledger[stage].sum())) for stage in STAGES},
    }


def _findings(view: View) -> dict[str, str]:
    """Sentences on the outcomes, and for each figure that shows anything its caption and text."""
    return {
        "few-blocks": campaign.few_blocks(view),
        "constants": constants(view),
        "sensitivity": changes(view),
        f"caption-{OVERVIEW}": captions.of_overview(view),
        f"caption-{LEDGER}": captions.of_ledger(view),
        **{f"caption-{spec.name}": captions.of_figure(view, spec) for spec in drawn(view)},
        **{f"text-{spec.name}": text for spec, text in sentences.findings(view)},
    }


def to_latex(known: dict[str, str], shown: Sequence[FigureSpec] = (), answers: str = "") -> str:
    r"""The definitions, one line each, and the commands that look them up and set the figures.

    Args:
        shown: the figures that show anything, in the order of the paper.
        answers: LaTeX of `parity.report.text.questions`.
    """
    lines = [rf"\paritydefine{{{key}}}{{{formatting.latex(text)}}}" for key, text in known.items()]
    figures = "".join(rf"\fullfigure{{{spec.name}}}" for spec in shown)
    findings = "".join(
        rf"\finding{{{formatting.latex(spec.finding or spec.title)}}}{{{spec.name}}}"
        for spec in shown
        if f"text-{spec.name}" in known
    )
    lines += [rf"\newcommand{{\parityfigures}}{{{figures}}}"]
    lines += [rf"\newcommand{{\parityfindings}}{{{findings}}}"]
    lines += [rf"\newcommand{{\parityanswers}}{{{answers}}}"]
    return HEAD + "\n".join(lines) + "\n"


def of_dataset(view: View, tables: Sequence[Table]) -> str:
    """LaTeX: numbers.tex of a dataset, which says of each of its tables whether it has any rows."""
    shows = {table.name: bool(table.rows) for table in tables}
    return to_latex(values(view), drawn(view), questions.answers(view)) + shown(shows)


def shown(tables: Mapping[str, bool]) -> str:
    """LaTeX: which tables have any rows, so that an empty one has no place in the paper."""
    return "".join(
        rf"\paritydefine{{shows-{name}}}{{{int(filled)}}}" + "\n" for name, filled in tables.items()
    )
