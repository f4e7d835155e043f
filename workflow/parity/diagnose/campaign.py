"""Runs every step in every block, in random order, and keeps what was run and what it said."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from parity.benchmarks.patterns import matches
from parity.core.errors import UserError

FEWEST_BLOCKS, MOST_BLOCKS = 6, 200
RUNS = "runs.jsonl"


@dataclass(frozen=True)
class Arm:
    """One command line of a block, and one that starts the same and does nothing.

    Attributes:
        start: empty where nothing can be started that ends at once.
    """

    name: str
    words: tuple[str, ...]
    start: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One run of an arm.

    Attributes:
        seconds: from its start to its end.
        of_start: of the same arm's start, with a program that does nothing; 0 where unknown.
        status: as `subprocess` tells it.
        value: what counts: the seconds, or what the program said; None if it failed.
        said: its last line.
    """

    block: int
    arm: str
    seconds: float
    of_start: float
    status: int
    value: float | None
    said: str


def measure(
    arms: Sequence[Arm], minutes: float, folder: Path, seed: int, pattern: str = ""
) -> list[Run]:
    """All runs of the blocks that fit into the time; the first, which warms up, is not among them.

    Args:
        folder: of the raw outputs and `runs.jsonl`, one line for each run.
        pattern: reads the value from the output; the wall clock if empty.

    Raises:
        UserError: the native program fails.
    """
    order, began = random.Random(seed), time.monotonic()
    warm = list(_block(0, arms, folder, pattern))
    for run in warm:
        if run.arm.startswith("native") and run.value is None:
            raise UserError(f"the program itself fails: {run.said}", where=" ".join(arms[0].words))
    of_block = time.monotonic() - began
    blocks = min(MOST_BLOCKS, max(FEWEST_BLOCKS, int(minutes * 60 / of_block) - 1))
    print(f"{blocks} blocks of {len(arms)} arms, {of_block:.1f} s each", file=sys.stderr)
    found: list[Run] = []
    for number in range(1, blocks + 1):
        found += _block(number, order.sample(list(arms), len(arms)), folder, pattern)
        left = (blocks - number) * of_block / 60
        print(f"block {number} of {blocks}, {left:.1f} min left", file=sys.stderr)
    return found


def _block(number: int, arms: Sequence[Arm], folder: Path, pattern: str) -> Iterator[Run]:
    for arm in arms:
        of_start, ended = _timed(arm.start, folder / "start") if arm.start else (0.0, 0)
        of_start = of_start if ended == 0 else 0.0
        output = folder / f"{number:04d}-{arm.name.replace(' ', '-').replace('/', '')}"
        seconds, status = _timed(arm.words, output)
        run = _told(number, arm.name, seconds, of_start, status, output, pattern)
        with (folder / RUNS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(run)) + "\n")
        yield run


def _timed(words: Sequence[str], output: Path) -> tuple[float, int]:
    with (
        output.with_suffix(".stdout").open("wb") as out,
        output.with_suffix(".stderr").open("wb") as err,
    ):
        began = time.perf_counter()
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False)
        return time.perf_counter() - began, done.returncode


def _told(
    number: int, arm: str, seconds: float, of_start: float, status: int, output: Path, pattern: str
) -> Run:
    texts = [
        output.with_suffix(f".{which}").read_text(errors="replace")
        for which in ("stdout", "stderr")
    ]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    said, value = (lines[-1].strip()[:200] if lines else ""), None
    if status == 0 and pattern:
        found = matches(pattern, "\n".join(texts))
        with suppress(ValueError):
            value = float(found[0][1]) if len(found) == 1 else None
        said = said if value is not None else f"{len(found)} lines match, one has to tell a number"
    elif status == 0:
        value = seconds
    return Run(number, arm, seconds, of_start, status, value, said)


def costs(
    runs: Sequence[Run], *, is_clock: bool, better: str = "lower"
) -> dict[str, dict[int, float]]:
    """What each run cost by arm and block; an arm's start, its median, is no part of a clock's.

    Raises:
        UserError: starting takes as long as the program.
    """
    by_arm: dict[str, dict[int, float]] = {}
    starts = _starts(runs) if is_clock else {}
    for run in runs:
        if run.value is None:
            by_arm.setdefault(run.arm, {})
            continue
        value = run.value - starts.get(run.arm, 0.0)
        if value <= 0:
            raise UserError(
                f"the program takes no longer than its start, {starts.get(run.arm, 0.0):.2f} s",
                where=run.arm,
                action="let it compute longer, or tell its own time by --pattern",
            )
        by_arm.setdefault(run.arm, {})[run.block] = value if better == "lower" else 1 / value
    return by_arm


def _starts(runs: Sequence[Run]) -> Mapping[str, float]:
    arms = {run.arm for run in runs}
    return {arm: median(run.of_start for run in runs if run.arm == arm) for arm in arms}
