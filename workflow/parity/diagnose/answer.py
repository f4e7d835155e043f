"""The answer of a diagnosis: one line, then the ladder in a table no wider than a terminal."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.analysis import analyse
from parity.analysis.dataset import Dataset
from parity.analysis.decision import Decision
from parity.analysis.estimate import ALPHA
from parity.analysis.methods import holm
from parity.diagnose.steps import CONTAINER, Step
from parity.diagnose.study import NATIVE, PROGRAM, last_words, never_well, without_starts
from parity.preview.terminal import LETTERS, rendered

ANSWER = "answer.txt"


@dataclass(frozen=True)
class Rung:
    """One step of the measured ladder."""

    title: str
    ratio: Decision  # its cost over native's
    increment: Decision  # and over that of the step before
    p: float = 1.0  # that it costs neither more nor less than the step before, after Holm
    fails: str = ""  # the last words of its runs where none ended well; empty otherwise

    def costs(self, same_way_as: "Rung") -> bool:
        """Whether it costs more than the step before and native, as the other one does."""
        upwards, both = same_way_as.ratio.estimate > 1, (self.ratio, self.increment)
        differ = all(decision.outcome == outcomes.DIFFERENT for decision in both)
        alike = all((decision.estimate > 1) == upwards for decision in both)
        return not self.fails and self.p <= ALPHA and differ and alike


def concluded(dataset: Dataset, steps: Sequence[Step], margin: float, folder: Path) -> str:
    """The text of `answer.txt` by what was measured in a folder; `margin` is 0.03 for ±3 %.

    Raises UserError: starting takes as long as the program.
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
    if (last := rungs[-1]).fails:
        return [next(rung.title for rung in rungs if rung.fails)]
    if last.ratio.outcome != outcomes.DIFFERENT:
        return []
    return [rung.title for rung in rungs if rung.costs(last)]


def answer_of(
    rungs: Sequence[Rung], control: Decision, steps: Sequence[Step], margin: float
) -> str:
    """The answer, the table, and what is not in it."""
    differs, last = control.as_control == outcomes.DIFFERENT, rungs[-1]
    causes, share = [] if differs else causes_of(rungs), None
    reached = [rung.ratio.estimate for rung in rungs[:-1] if not rung.fails]
    if causes and causes[0] != CONTAINER and reached and not last.fails:
        share = math.log(reached[-1]) / math.log(last.ratio.estimate)
    return rendered(
        Path(__file__).with_name("answer.txt.j2"), interval=_interval, wrapped=_wrapped,
        rungs=rungs, causes=causes, control=control, differs=differs, steps=steps, share=share,
        percent=f"±{100 * margin:g} %", fails={rung.title: rung.fails for rung in rungs},
    )  # fmt: skip


def _interval(decision: Decision) -> str:
    # Five characters each, as long as there are no more than three before the point.
    three = (decision.estimate, *decision.interval95)
    value, low, high = (f"{it:.{3 if it < 10 else 2 if it < 100 else 1}f}" for it in three)
    return f"{value} [{low}, {high}]"


def _wrapped(text: str, indent: str = "", further: str = "  ") -> str:
    return textwrap.fill(text, LETTERS, initial_indent=indent, subsequent_indent=indent + further)
