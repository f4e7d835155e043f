"""A diagnosis as a study of one node: every step is an arm that is a command line.

It is measured by the runner of all studies, in the order of all studies, and its folder holds what
any dataset does: plan.json, blocks and records.
"""

import dataclasses
import math
import re
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from parity.analysis import tables
from parity.analysis.dataset import Dataset, load
from parity.analysis.estimate import ALPHA
from parity.benchmarks.own_program import WALL, read_by
from parity.core.errors import UserError
from parity.diagnose.setting import TRUE
from parity.measure.block import is_time_over, run_block
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, write_plan
from parity.plan.study import load_study
from parity.plan.system import System
from parity.records.dataset import gather_records, parse_dataset
from parity.software.images import IMAGES, write_images

# The cases: the program, and one that ends at once, started by the same words.
PROGRAM, START = "program", "start"
NATIVE = ("native-a", "native-b")
_SCALE, _BLOCKS, MOST_BLOCKS = "here", "blocks", 200
# A share of all CPU time. Others who take more are not refused, because here nobody can be sent
# away, but the user is told.
_BUSY = 0.10
_HERE = System(
    name=_SCALE, scale_label="workstation", base_image="bootstrap", max_busy_fraction=1.0,
    settle_seconds=0.0, max_steal_fraction=1.0,
)  # fmt: skip


class Line(NamedTuple):
    """A command line to measure."""

    title: str
    words: Sequence[str]
    start: Sequence[str]  # starts as it does, and ends at once


def study_of(
    program: str, lines: Sequence[Line], margin: float, minutes: float, pattern: str = "",
    better: str = "lower",
) -> dict[str, Any]:  # fmt: skip
    """The content of the study's file, for an absolute path and a margin in percent.

    `lines` are of the program itself, then of each step, the container last. `pattern` reads the
    value from the output; without one the wall clock counts.
    """
    arms = [*NATIVE, *(f"step-{number}" for number in range(1, len(lines)))]
    of_arms = dict(zip(arms, (lines[0], *lines), strict=True))
    own = {arm: {"title": line.title[:60], "words": [*line.words]} for arm, line in of_arms.items()}
    commands, margins = {PROGRAM: _command(program, own)}, {PROGRAM: margin, START: None}
    if pattern:
        commands[PROGRAM]["metrics"] = [read_by(pattern, better)]
    else:
        starts = {arm: own[arm] | {"words": [*line.start]} for arm, line in of_arms.items()}
        commands[START] = _command(TRUE, starts)
    return {
        "study": "diagnosis", "title": "At which difference of its surroundings a cost appears",
        "reproduces": "none", "seed": zlib.crc32("\0".join(lines[0].words).encode()),
        "reference": NATIVE[0], "aa_pair": list(NATIVE), "arms": arms,
        "benchmarks": {
            case: {"margin_percent": margins[case], "timeout_seconds": 86_400, "command": command}
            for case, command in commands.items()
        },
        "scales": {_SCALE: {"blocks": MOST_BLOCKS, "attempts": 1, "minutes": minutes}},
    }  # fmt: skip


def _command(program: str, lines: Mapping[str, Any]) -> dict[str, Any]:
    # Braces would be places that parameters fill.
    escaped = program.replace("{", "{{").replace("}", "}}")
    named = {"title": Path(program).name[:60], "program": [escaped], "binaries": [program]}
    return {**named, "as_given": lines}


def fewest_blocks(steps: int) -> int:
    """The fewest in which one of so many steps can be shown to cost something, after Holm.

    Of n blocks no two-sided signed-rank test has a p below 2 / 2^n.
    """
    return math.ceil(math.log2(2 * steps / ALPHA))


def measure(study: Mapping[str, Any], folder: Path) -> Dataset:
    """Measure the study in a folder for as long as it says, and in `fewest_blocks` at least.

    Raises UserError: the program itself fails, or another measurement goes on here.
    """
    (folder / "records").mkdir(parents=True)
    # The container's own words may hold a secret.
    folder.chmod(0o700)
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(dict(study), sort_keys=False), encoding="utf-8")
    write_plan(folder / PLAN, plan := make_plan(load_study(path, _SCALE)))
    write_images(folder / IMAGES, {})
    fewest = fewest_blocks(len(plan.arms) - len(NATIVE))
    session, measured, busy, began = None, list[Path](), list[float](), time.monotonic()
    for block in plan.blocks:
        if len(measured) >= fewest and is_time_over(plan, folder / _BLOCKS, block.name):
            break
        place, log = folder / _BLOCKS / block.name, folder / "log"
        # What it waits for is told beside the answer, and each run in the log.
        with log.open("a") as of_runs, redirect_stdout(sys.stderr), redirect_stderr(of_runs):
            session = run_block(plan, block.name, {}, {}, _HERE, place, checked=session)
        measured.append(place)
        busy += [answer.state.busy_fraction for answer in session.answers] if session else []
        spent = (time.monotonic() - began) / 60
        told = f"block {block.number}: {len(block.runs)} runs, {spent:.1f} of {plan.minutes:g} min"
        print(told, file=sys.stderr, flush=True)
        if len(measured) == 1:
            first = _gathered(folder, measured)
            if why := next(filter(None, (last_words(first, folder, arm) for arm in NATIVE)), ""):
                raise UserError(f"the program itself fails: {why}", where=str(folder))
    dataset = _gathered(folder, measured)
    for arm in never_well(dataset, START):
        title = plan.arm_titles[arm]
        print(f"{title} has no {TRUE}: its start counts as its cost", file=sys.stderr)
    if max(busy) > _BUSY:
        said = f"others took up to {100 * max(busy):.0f} % of all CPU time"
        print(f"{said}: what slows down both sides may hide a cost", file=sys.stderr)
    return dataset


def _gathered(folder: Path, blocks: Sequence[Path]) -> Dataset:
    gather_records(blocks, _HERE.name, folder / "records")
    parse_dataset(folder, folder / "records")
    return load(folder)


def last_words(dataset: Dataset, folder: Path, arm: str) -> str:
    """What the first failed run of the program in an arm said last; empty if none failed."""
    runs = dataset.final_runs
    failed = runs[(runs["case"] == PROGRAM) & (runs["arm"] == arm) & (runs["reason"] != "")]
    for run in tables.rows(failed):
        place = folder / _BLOCKS / run["block"] / "runs" / run["run"]
        files = (place / f"attempt-{run['attempt']}" / name for name in ("stdout", "stderr"))
        texts = [path.read_text(errors="replace") for path in files if path.exists()]
        lines = [line.strip() for line in "\n".join(texts).splitlines() if line.strip()]
        # Of a run that ended well it is not its output that says what is wrong.
        ended_well = run["exit_code"] == 0 or not lines
        return f"{run['reason']}: {run['detail']}" if ended_well else lines[-1][:200]
    return ""


def never_well(dataset: Dataset, case: str = PROGRAM) -> list[str]:
    """The arms in which no run of a case ended well."""
    runs = dataset.final_runs
    well = set(runs.loc[(runs["case"] == case) & (runs["stage"] == "valid"), "arm"])
    return [arm for arm in dataset.arms_of(case) if arm not in well]


def without_starts(dataset: Dataset) -> Dataset:
    """The dataset with the median start of each arm taken off its wall clock.

    What cannot be started without the program keeps its start as a part of its cost. Raises
    UserError: starting takes as long as the program.
    """
    metrics = dataset.metrics
    timed = metrics[(metrics["metric"] == WALL.metric) & metrics["valid"]]
    starts = timed[timed["case"] == START].groupby("arm")["value"].median().to_dict()
    program = timed[timed["case"] == PROGRAM]
    seconds = program["value"] - program["arm"].map(lambda arm: starts.get(arm, 0.0)).astype(float)
    if (seconds <= 0).any():
        arm = str(program["arm"][seconds <= 0].iloc[0])
        problem = f"the program takes no longer than its start, {starts[arm]:.2f} s"
        action = "let it compute longer, or tell its own time by --pattern"
        raise UserError(problem, where=dataset.plan.arm_titles[arm], action=action)
    changed = metrics.copy()
    changed.loc[program.index, "value"] = seconds
    return dataclasses.replace(dataset, metrics=changed)


def table_of(dataset: Dataset) -> str:
    """Every run of the program as `parity import` takes it: as it was timed or read, or lost."""
    metric = dataset.plan.case(PROGRAM).definition.metrics[0]
    values = dataset.metrics[dataset.metrics["metric"] == metric.metric]
    value_of = {(row["block"], row["run"]): row["value"] for row in tables.rows(values)}
    lines = ["block,case,arm,metric,value,unit,better,valid"]
    for run in tables.rows(dataset.final_runs):
        if run["case"] == PROGRAM:
            title = "" if run["arm"] in NATIVE else dataset.plan.arm_titles[run["arm"]]
            arm = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or run["arm"]
            is_valid = run["stage"] == "valid"
            value = value_of[run["block"], run["run"]] if is_valid else ""
            own = (dataset.number_of[run["block"]], PROGRAM, arm, metric.metric, value)
            fields = (*own, metric.unit, metric.better, "yes" if is_valid else "no")
            lines.append(",".join(map(str, fields)))
    return "\n".join(lines) + "\n"
