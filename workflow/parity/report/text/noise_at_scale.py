"""From how many ranks on a CPU limit slows programs, and whether a runtime alone does, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from parity.analysis.noise.replay import RANDOM
from parity.core.wording import counted, interval, listed, number, percent
from parity.plan.plan import Plan
from parity.report.text.formatting import arm_title
from parity.report.view import rows_of

# Of the time of a step that counts.
SMALLEST = 0.01
SLOW = f"slow a program by more than {percent(SMALLEST)}"
TOO_SHORT = "What was recorded is too short to say how programs on many ranks are slowed."


def answer(
    plan: Plan, replay: pd.DataFrame, quotas: Collection[str], runtimes: Collection[str]
) -> str:
    """Sentences on programs whose ranks meet events of their own; empty without events.

    A slowdown is one beyond that of the reference: the interval of an arm over that of the
    reference, end against end, which is wider than one of their ratio.

    Args:
        replay: the table of this name.
        quotas: arms under a CPU quota.
        runtimes: arms without any limit; all others share CPUs or are told which.
    """
    against = rows_of(_beside(plan, replay))
    if not against:
        return TOO_SHORT if len(replay) else ""
    known = {*quotas, *runtimes, plan.double}
    limited = [row for row in against if row.arm in quotas]
    placed = _slowed([row for row in against if row.arm not in known])
    alone = [row for row in against if row.arm in {*runtimes} - {*quotas, plan.double}]
    parts = [_limited(plan, limited)] if limited else []
    parts += [f"Shares or a choice of CPUs {SLOW}, first {_of(plan, placed[0])}."] if placed else []
    return " ".join([*parts, *([_alone(plan, alone)] if alone else [])])


def _beside(plan: Plan, replay: pd.DataFrame) -> pd.DataFrame:
    """The slowdowns of the first case that has some, over those of the reference.

    Where the reference has only a lower bound, or one of both no interval, nothing is known.
    """
    there = replay[(replay["phases"] == RANDOM) & replay["low"].notna()]
    cases = [case.name for case in plan.cases if case.name in there["case"].array]
    there = there[there["case"].isin(cases[:1])]
    base = there[(there["arm"] == plan.reference) & ~there["beyond"].astype(bool)]
    at = ["ranks", "step_seconds"]
    both = there[there["arm"] != plan.reference].merge(base, on=at, suffixes=("", "_of_reference"))
    for name, other in (("slowdown", "slowdown"), ("low", "high"), ("high", "low")):
        both[f"{name}_ratio"] = both[name] / both[f"{other}_of_reference"]
    return both.sort_values([*at, "arm"], ignore_index=True)


def _limited(plan: Plan, limited: Sequence[Any]) -> str:
    slowed = _slowed(limited)
    if not slowed:
        return f"No CPU quota is shown to {SLOW}."
    # The rows have the fewest ranks first.
    first = {row.step_seconds: row.ranks for row in reversed(slowed)}
    said = [
        f"{counted(ranks, 'rank')} at steps of "
        + listed(step_words(step) for step in sorted(first) if first[step] == ranks)
        for ranks in dict.fromkeys(first[step] for step in sorted(first))
    ]
    most = max(slowed, key=lambda row: float(row.low_ratio))
    return (
        f"A CPU quota slows a program by more than {percent(SMALLEST)} beyond "
        f"{arm_title(plan, plan.reference)} from {listed(said)} on, and most {_of(plan, most)}."
    )


def _alone(plan: Plan, alone: Sequence[Any]) -> str:
    if slowed := _slowed(alone):
        return f"A runtime alone can {SLOW}, first {_of(plan, slowed[0])}."
    told = [row for row in alone if not row.beyond]
    if not told:
        return TOO_SHORT
    most = max(told, key=lambda row: float(row.high_ratio))
    return (
        f"No runtime alone is shown to {SLOW}, on up to "
        f"{counted(max(r.ranks for r in told), 'rank')}; "
        f"what can be excluded least is {_of(plan, most)}."
    )


def _slowed(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row.low_ratio > 1 + SMALLEST]


def _of(plan: Plan, row: Any) -> str:
    return (
        f"under {arm_title(plan, row.arm)} on {counted(row.ranks, 'rank')} at steps of "
        f"{step_words(row.step_seconds)}: {number(row.slowdown_ratio)} "
        f"{interval(row.low_ratio, row.high_ratio)}"
    )


def step_words(seconds: float) -> str:
    """The work of a step: `10 ms`, `1 s`."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1e3 * seconds:g} ms"
