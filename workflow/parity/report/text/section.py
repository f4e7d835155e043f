r"""A dataset as a section of another one's paper: figures with captions, and what they say.

Each dataset's folder holds its own, so that a paper can take what is archived beside it
without reading it. Files are named by the dataset: `<dataset>/<figure>.pdf`.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import listed
from parity.report.tables.sensitivity import changes
from parity.report.text import campaign, captions, formatting, questions, sentences
from parity.report.text.constants import constants, drawn
from parity.report.view import View

NAME = "section.tex"
_HEAD = r"\section{Other studies on this system}"


def of_dataset(view: View) -> str:
    """LaTeX: a subsection with the dataset's figures, and with their outcomes in sentences."""
    name = view.dataset.name.rpartition("/")[2]
    facts = view.origin.facts
    said = [
        f"Dataset {name}, measured {formatting.period(facts.began, facts.ended)}.",
        campaign.design(view),
        campaign.few_blocks(view),
        changes(view),
        constants(view),
        view.origin.note,
    ]
    parts = [
        rf"\subsection{{{formatting.latex(_title(view))}}}",
        formatting.latex(" ".join(filter(None, said))),
        *(_figure(view, spec, name) for spec in drawn(view)),
        questions.answers(view, f"{name}-"),
        *(_finding(spec, text, name) for spec, text in sentences.findings(view)),
    ]
    return "\n".join(parts) + "\n"


def _title(view: View) -> str:
    """The study's title and its campaign, since several of one study may stand together."""
    return f"{view.plan.title} ({view.plan.campaign})"


def _figure(view: View, spec: FigureSpec, name: str) -> str:
    caption = formatting.latex(captions.of_figure(view, spec))
    return (
        rf"\begin{{figure*}}\centering\includegraphics{{{name}/{spec.name}.pdf}}"
        rf"\caption{{{caption}}}\label{{fig:{name}-{spec.name}}}\end{{figure*}}"
    )


def _finding(spec: FigureSpec, text: str, name: str) -> str:
    head = rf"\point{{{formatting.latex(spec.title)} (Fig.~\ref{{fig:{name}-{spec.name}}}).}}"
    return f"{head}{formatting.latex(text)}"


def together(present: Sequence[str], absent: Sequence[str]) -> str:
    """LaTeX: the sections of other datasets, and a sentence on studies without one.

    Args:
        present: names of the datasets.
        absent: names of the studies; nothing is said if both are empty.
    """
    lines = [_HEAD] if present or absent else []
    if present:
        lines.append(
            "These were measured on the same system in campaigns of their own, with the same "
            "gates and decisions; each has margins of its own."
        )
    lines += [rf"\input{{{name}/{NAME.removesuffix('.tex')}}}" for name in present]
    if absent:
        names = formatting.latex(listed(absent))
        what = "The study" if len(absent) == 1 else "The studies"
        lines.append(
            rf"\point{{Not archived.}}{what} {names} of this system "
            rf"{'is' if len(absent) == 1 else 'are'} not in the archive."
        )
    return "\n".join(lines) + "\n"
