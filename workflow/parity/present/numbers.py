r"""Every value and sentence that the paper takes from the data, by key.

The paper writes `\parityvalue{key}`; a key that does not exist stops LaTeX with an
error, so a number can neither be typed nor go missing.
"""

from __future__ import annotations

from pathlib import Path

from parity.present import sentences, words
from parity.present.specs import FIGURES
from parity.present.view import View

HEAD = r"""% Made from the data; not to be edited.
\newcommand{\parityvalue}[1]{\ifcsname parity@#1\endcsname\csname parity@#1\endcsname
\else\errmessage{The data give no value for `#1'}\fi}
\newcommand{\paritydefine}[2]{\expandafter\def\csname parity@#1\endcsname{#2}}
"""


def values(view: View) -> dict[str, str]:
    """Plain text by key."""
    plan, ledger = view.plan, view.analysis.ledger
    margins = sorted({case["margin"] for case in plan["cases"] if case["margin"] is not None})
    hosts = view.dataset.nodes["node"].nunique()
    known = {
        "title": plan["title"],
        "campaign": plan["campaign"],
        "seed": str(plan["seed"]),
        "blocks": str(view.blocks),
        "cases": str(len(plan["cases"])),
        "arms": str(len(plan["arms"])),
        "arm-list": sentences.listed([words.arm_title(plan, arm) for arm in plan["arms"]]),
        "reference": words.arm_title(plan, plan["reference"]),
        "control": words.arm_title(plan, plan["aa_pair"][1]),
        "margins": sentences.listed([words.margin(m) for m in margins]) or "none",
        "nodes": str(hosts),
        "abstract": sentences.abstract(view),
        "excluded": str(int(view.analysis.exclusions["applied"].sum())),
    }
    for stage in ("planned", "ran", "parsed", "valid", "analysed", "attempts"):
        known[f"runs-{stage}"] = str(int(ledger[stage].sum()))
    for spec in FIGURES:
        note = plan["benchmark_notes"].get(spec.benchmark, "")
        known[f"caption-{spec.name}"] = f"{spec.caption} {note}".strip()
        known[f"text-{spec.name}"] = sentences.of_figure(view, spec)
    return known


def to_latex(known: dict[str, str]) -> str:
    r"""The definitions, one line each, and the command that looks them up."""
    lines = [rf"\paritydefine{{{key}}}{{{words.latex(text)}}}" for key, text in known.items()]
    return HEAD + "\n".join(lines) + "\n"


def write(view: View, path: Path) -> None:
    """Write numbers.tex."""
    path.write_text(to_latex(values(view)), encoding="utf-8")
