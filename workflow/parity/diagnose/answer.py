"""The answer of a diagnosis: one line, then the ladder in a table no wider than a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping

from parity.analysis import outcomes
from parity.analysis.decision import Decision
from parity.diagnose.steps import CONTAINER, Ladder
from parity.diagnose.verdict import Rung, Verdict, explained

ANSWER = "answer.txt"
WIDTH = 80


def answer_of(verdict: Verdict, ladder: Ladder, said: Mapping[str, str], margin: float) -> str:
    """The text of `answer.txt`.

    Args:
        said: the last line of a failed run of each step that has one.
        margin: 0.03 for ±3 %.
    """
    lines = textwrap.wrap(_first(verdict, margin, said), WIDTH)
    lines += ["", *_table(verdict, ladder, said)]
    lines += ["", *_wrapped(f"A/A pair: native-b over native-a {_interval(verdict.control)}")]
    if ladder.left_out:
        lines += ["", "Differs as well, and was not made here, so it belongs to the last row:"]
        lines += [line for each in ladder.left_out for line in _wrapped(f"- {each}")]
    return "\n".join(lines) + "\n"


def _first(verdict: Verdict, margin: float, said: Mapping[str, str]) -> str:
    *_, last = verdict.rungs
    percent, ratio = f"±{100 * margin:g} %", _interval(last.ratio)
    if verdict.outcome == "control-failed":
        return f"No answer: the native program differs from itself, {_interval(verdict.control)}."
    if verdict.outcome == outcomes.EQUIVALENT:
        return f"No difference within {percent}, so there is no cause: {ratio}."
    if verdict.outcome != outcomes.DIFFERENT:
        return f"Undecided at {percent}, so no cause is named: {ratio}. Give it more --minutes."
    cost = "It fails in the container" if last.fails else f"The container costs {ratio}"
    if not verdict.causes:
        return f"{cost}, and no single step changes it beyond {percent}."
    first, *others = verdict.causes
    text = f"Cause: {first}. {cost}"
    if last.fails:
        text += f"; from this step on: {said.get(first) or 'it says nothing'}"
    if others:
        text += f". Beside it: {', '.join(others)}"
    share = explained(verdict)
    if first != CONTAINER and math.isfinite(share):
        text += f". The steps reach {100 * share:.0f} % of its logarithm"
    return f"{text}."


def _table(verdict: Verdict, ladder: Ladder, said: Mapping[str, str]) -> list[str]:
    """A row for each step: its ratio to native, and to the step before, with 95 % intervals."""
    head = f"{'step':<24} {'over native':<20} {'over the step before':<21} {'n':>3}"
    lines, about = [head], {step.title: step for step in ladder.steps}
    for rung in verdict.rungs:
        ratio, increment = _cells(rung)
        mark = "  ←" if rung.name in verdict.causes else ""
        lines.append(f"{rung.name:<24} {ratio:<20} {increment:<21} {rung.ratio.blocks:>3}{mark}")
        if rung.fails and rung.name in said:
            lines += _wrapped(said[rung.name], "    ")
        if step := about.get(rung.name):
            lines += _wrapped(f"{_short(step.native)} → {_short(step.container)}", "    ")
    return lines


def _cells(rung: Rung) -> tuple[str, str]:
    if rung.fails:
        return "fails", ""
    return _interval(rung.ratio), _interval(rung.increment)


def _interval(found: Decision) -> str:
    value, low, high = (_number(each) for each in (found.estimate, *found.interval95))
    return f"{value} [{low}, {high}]"


def _number(value: float) -> str:
    """Five characters, as long as there are no more than three before the point."""
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def _short(text: str) -> str:
    return text if len(text) <= 150 else f"{text[:147]}…"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
