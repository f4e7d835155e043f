"""From how many ranks on a limit, or a runtime alone, slows a program: one answer of the replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from parity.core.wording import counted, listed

MORE = 1.01  # time over work, or over the reference's, from which a program counts as slowed
OPEN = "is open"


def scale_answer(
    replay: pd.DataFrame, limited: Sequence[str], alone: Mapping[str, str], reference: str
) -> str:
    """The answer in words; empty without any row of ranks at random moments.

    A limit slows a program where the lower end of its interval is above 1.01. A runtime alone is
    held against the reference: it stays within 1 % as long as its upper end is below 1.01 times
    the reference's lower end, and exceeds it where its lower end is above 1.01 times the
    reference's upper end. Between the two, and where more is asked of the recorded time than it
    holds, nothing is said of runtimes; a lower bound above 1.01 still says that a limit slows.

    Args:
        replay: the table of this name, of one case.
        limited: arms under a CPU limit.
        alone: titles of arms without any, by arm; the reference and its double are none of them.
        reference: an arm.
    """
    rows = replay[replay["phases"] == "random"]
    if not len(rows):
        return ""
    steps = sorted(rows["step_seconds"].unique())
    by_arm = {
        (step, arm): rows[(rows["step_seconds"] == step) & (rows["arm"] == arm)]
        .set_index("ranks")
        .sort_index()
        for step in steps
        for arm in rows["arm"].unique()
    }
    said = [
        _of_limits({s: [_slowed(by_arm[s, a]) for a in limited if (s, a) in by_arm] for s in steps})
        if limited
        else "",
        *_of_runtimes(by_arm, steps, alone, reference),
    ]
    text = " ".join(filter(None, said))
    return f"In this replay each rank begins at a random moment of what was recorded. {text}"


def _slowed(of_arm: pd.DataFrame) -> int:
    """The fewest ranks that are slowed for sure; 0 if none are."""
    found = of_arm.index[of_arm["low"] > MORE]
    return int(found[0]) if len(found) else 0


def _of_limits(firsts: Mapping[float, Sequence[int]]) -> str:
    """From which ranks on limits slow a program, by the length of its steps."""

    def words(of_step: Sequence[int]) -> str:
        known = sorted(filter(None, of_step))
        if not known:
            return OPEN
        span = f"{known[0]:,}" if known[0] == known[-1] else f"{known[0]:,} to {known[-1]:,}"
        some = "" if len(known) == len(of_step) else f" with {len(known)} of {len(of_step)} limits"
        unit = "rank" if known[-1] == 1 else "ranks"
        return f"holds from {span} {unit} on{some}"

    count = max(map(len, firsts.values()))
    which = f"{counted(count, 'CPU limit')} {'slows' if count == 1 else 'slow'}"
    return f"That {which} a program by more than 1\u2009% {_by_steps(firsts, words)}."


def _of_runtimes(
    by_arm: Mapping[tuple[float, str], pd.DataFrame],
    steps: Sequence[float],
    alone: Mapping[str, str],
    reference: str,
) -> list[str]:
    """How far every runtime alone stays within 1 %, and which ones exceed it from where on."""
    within: dict[float, int] = {}
    beyond = []
    for step in steps:
        for arm, title in alone.items():
            if (step, arm) not in by_arm or (step, reference) not in by_arm:
                continue
            pair = by_arm[step, arm].join(by_arm[step, reference].add_suffix("_reference"))
            known = ~(pair["beyond"] | pair["beyond_reference"].astype(bool))
            stays = known & (pair["high"] <= MORE * pair["low_reference"])
            upto = int(max(stays.index[stays.cummin()], default=0))
            within[step] = min(upto, within.get(step, upto))
            exceeds = pair.index[known & (pair["low"] > MORE * pair["high_reference"])]
            if len(exceeds):
                beyond.append(f"{title} from {counted(exceeds[0], 'rank')} on at {_span([step])}")
    if not within:
        return []

    def words(upto: int) -> str:
        return f"holds up to {counted(upto, 'rank')}" if upto else OPEN

    said = "That every runtime alone stays within 1\u2009% of the reference "
    slower = f"More than 1\u2009% slower is {listed(beyond)}." if beyond else ""
    return [f"{said}{_by_steps(within, words)}.", slower]


def _by_steps(found: Mapping[float, Any], words: Callable[[Any], str]) -> str:
    """What holds at which steps; neighbours that are alike are said together."""
    groups = groupby(found, key=lambda step: words(found[step]))
    return listed([f"{text} at {_span(list(steps))}" for text, steps in groups])


def _span(steps: Sequence[float]) -> str:
    ends = [f"{1e3 * step:g}" for step in dict.fromkeys((steps[0], steps[-1]))]
    return f"steps of {' to '.join(ends)} ms"
