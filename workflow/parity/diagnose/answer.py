"""The answer of a diagnosis: one line, then the ladder in a table no wider than a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.analysis import analyse
from parity.analysis.dataset import Dataset
from parity.analysis.decision import Decision
from parity.analysis.methods import holm
from parity.diagnose.steps import CONTAINER, Step
from parity.diagnose.study import NATIVE, PROGRAM, last_words, never_well, without_starts

ANSWER = "answer.txt"
WIDTH = 80
ALPHA = 0.05


@dataclass(frozen=True)
class Rung:
    """One step of the measured ladder.

    Attributes:
        ratio, increment: its cost over native's, and over that of the step before.
        p: that it costs neither more nor less than the step before, after Holm.
        fails: the last words of its runs where none ended well; empty otherwise.
    """

    title: str
    ratio: Decision
    increment: Decision
    p: float = 1.0
    fails: str = ""

    def costs(self, same_way_as: Rung) -> bool:
        """Whether it costs more than the step before and native, as the other one does."""
        upwards = same_way_as.ratio.estimate > 1
        return (
            not self.fails
            and self.p <= ALPHA
            and all(
                decision.outcome == outcomes.DIFFERENT and (decision.estimate > 1) == upwards
                for decision in (self.ratio, self.increment)
            )
        )


def concluded(dataset: Dataset, steps: Sequence[Step], margin: float, folder: Path) -> str:
    """The text of `answer.txt` by what was measured.

    Args:
        margin: 0.03 for ±3 %.
        folder: of the dataset.

    Raises:
        UserError: starting takes as long as the program.
    """
    plan, analysis = dataset.plan, analyse(without_starts(dataset))
    over_native, over_before = _decisions(analysis.comparisons), _decisions(analysis.rungs)
    arms = plan.arms[len(NATIVE) :]
    adjusted = holm([over_before[arm].p_nothing for arm in arms])
    fails = {arm: last_words(dataset, folder, arm) for arm in never_well(dataset)}
    rungs = [
        Rung(plan.arm_titles[arm], over_native[arm], over_before[arm], p, fails.get(arm, ""))
        for arm, p in zip(arms, adjusted, strict=True)
    ]
    return answer_of(rungs, over_native[NATIVE[1]], steps, margin)


def _decisions(table: pd.DataFrame) -> dict[str, Decision]:
    """What is decided of the program in each arm."""
    decided = table[(table["case"] == PROGRAM) & table["margin"].notna()]
    return {row["arm"]: Decision.of(row) for row in tables.rows(decided)}


def causes_of(rungs: Sequence[Rung]) -> list[str]:
    """The steps that bring the program to where the container has it, the first one first.

    Of a container in which it fails, the first in which it fails; a step of ours that fails
    although the container does not says nothing of it. What changes a cost the other way is no
    cause of it, nor the first while the cost over native is still none.
    """
    last = rungs[-1]
    if last.fails:
        return [next(rung.title for rung in rungs if rung.fails)]
    if last.ratio.outcome != outcomes.DIFFERENT:
        return []
    return [rung.title for rung in rungs if rung.costs(last)]


def answer_of(
    rungs: Sequence[Rung], control: Decision, steps: Sequence[Step], margin: float
) -> str:
    """The answer, the table, and what is not in it."""
    causes = [] if control.as_control == outcomes.DIFFERENT else causes_of(rungs)
    lines = textwrap.wrap(_first(rungs, causes, control, f"±{100 * margin:g} %"), WIDTH)
    lines += ["", *_table(rungs, causes, steps)]
    lines += ["", *_wrapped(f"A/A pair: native-b over native-a {_interval(control)}")]
    if left_out := [step for step in steps if step.obstacle]:
        lines += ["", "Differs as well, and was not made here, so it belongs to the last row:"]
        for title, native, container, _, obstacle, *_ in left_out:
            lines += _wrapped(f"- {title}: {native} → {container} ({obstacle})")
    return "\n".join(lines) + "\n"


def _first(rungs: Sequence[Rung], causes: list[str], control: Decision, percent: str) -> str:
    *steps, last = rungs
    ratio = _interval(last.ratio)
    if control.as_control == outcomes.DIFFERENT:
        return f"No answer: the native program differs from itself, {_interval(control)}."
    if not last.fails and last.ratio.outcome == outcomes.EQUIVALENT:
        return f"No difference within {percent}, so there is no cause: {ratio}."
    if not last.fails and last.ratio.outcome != outcomes.DIFFERENT:
        why = f", {last.ratio.reason}" if last.ratio.reason else ""
        return (
            f"Undecided at {percent}, so no cause is named: {ratio}{why}. Give it more --minutes."
        )
    cost = "It fails in the container" if last.fails else f"The container costs {ratio}"
    if not causes:
        return f"{cost}, and no single step changes it beyond {percent}."
    first, *others = causes
    text = f"Cause: {first}. {cost}"
    if last.fails:
        words = next(rung.fails for rung in rungs if rung.title == first)
        text += f"; from this step on: {words}"
    if others:
        text += f". Beside it: {', '.join(others)}"
    reached = [rung.ratio.estimate for rung in steps if not rung.fails]
    if first != CONTAINER and reached and not last.fails:
        share = math.log(reached[-1]) / math.log(last.ratio.estimate)
        text += f". The steps reach {100 * share:.0f} % of its logarithm"
    return f"{text}."


def _table(rungs: Sequence[Rung], causes: Sequence[str], steps: Sequence[Step]) -> Iterator[str]:
    """A row for each step: its ratio to native, and to the step before, with 95 % intervals."""
    sides = {step.title: (step.native, step.container) for step in steps}
    yield f"{'step':<24} {'over native':<20} {'over the step before':<21} {'n':>3}"
    for rung in rungs:
        ratio, increment = _interval(rung.ratio), _interval(rung.increment)
        if rung.fails:
            ratio, increment = "fails", ""
        mark, title = "  ←" if rung.title in causes else "", rung.title
        if len(title) > 24:
            yield from _wrapped(title)
            title = ""
        yield f"{title:<24} {ratio:<20} {increment:<21} {rung.ratio.blocks:>3}{mark}"
        if rung.fails:
            yield from _wrapped(rung.fails, "    ")
        if rung.title in sides:
            yield from _wrapped(" → ".join(sides[rung.title]), "    ")


def _interval(decision: Decision) -> str:
    value, low, high = (_number(value) for value in (decision.estimate, *decision.interval95))
    return f"{value} [{low}, {high}]"


def _number(value: float) -> str:
    """Five characters, as long as there are no more than three before the point."""
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
