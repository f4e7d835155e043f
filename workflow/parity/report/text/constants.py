"""What is the same in all runs: a sentence, where a figure would show one line."""

from __future__ import annotations

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import counted
from parity.report.text import formatting
from parity.report.view import View


def drawn(view: View) -> list[FigureSpec]:
    """The figures that show anything, in the order of the paper."""
    return [spec for spec in view.figures if view.shown(spec) and not constant(view, spec)]


def constants(view: View) -> str:
    """A sentence for each figure that would show one number; empty if there is none."""
    return " ".join(filter(None, (constant(view, s) for s in view.figures if view.shown(s))))


def constant(view: View, spec: FigureSpec) -> str:
    """A sentence on a figure's only quantity if it is the same in all runs; else empty."""
    if view.form(spec) is not Form.PANELS or len(spec.quantities) > 1:
        return ""
    shown = spec.quantities[0]
    of_arms = [of for case in view.shown(spec) for of in view.values(case, shown.metric).values()]
    values = [value for of_arm in of_arms for value in of_arm]
    if len(set(values)) != 1:
        return ""
    value = f"{formatting.significant(shown.factor * values[0], 6)} {shown.unit}"
    runs = f"{counted(len(values), 'run')} of {counted(len(of_arms), 'arm')}"
    return f"{spec.title}: {shown.label} is {value} in all {runs}."
