"""What a hundred times the runs cost: an archive's blocks again and again, parsed and analysed.

`python tools/bench_scale.py [times]` prints seconds and the largest memory of each step, each in
a process of its own; `make bench` does with 20 times the archive.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from parity.analysis import analysis
from parity.analysis.dataset import load
from parity.core.errors import shown_to_the_user
from parity.plan.plan import PLAN, Plan, read_plan, write_plan
from parity.records import parts, schema
from parity.records.dataset import parse_dataset
from parity.records.parsing import left_by_blocks
from parity.software.images import IMAGES

ARCHIVE = Path(__file__).parents[1] / "results/archive/machine-2026-11-20"
TIMES = 20

Row = dict[str, Any]


def _plan(times: int) -> Plan:
    """The archive's plan with so many times its blocks."""
    plan = read_plan(ARCHIVE / PLAN)
    blocks = tuple(
        replace(block, name=_name(block.name, number, plan), number=number)
        for again in range(times)
        for number, block in enumerate(plan.blocks, start=again * len(plan.blocks) + 1)
    )
    return replace(plan, blocks=blocks)


def _name(name: str, number: int, plan: Plan) -> str:
    return f"{plan.campaign}-b{number:06d}-{name.rpartition('-')[2]}"


def multiply(times: int, folder: Path) -> None:
    """Write a dataset of so many times the archive's blocks, not parsed yet."""
    records, plan = folder / "records", _plan(times)
    records.mkdir(parents=True)
    write_plan(folder / PLAN, plan)
    shutil.copyfile(ARCHIVE / IMAGES, folder / IMAGES)
    of_blocks = {entry["block"]: (entry, raw) for entry, raw in left_by_blocks(ARCHIVE / "records")}
    sources = [of_blocks[block.name] for block in read_plan(ARCHIVE / PLAN).blocks]

    def blocks() -> Iterator[Row]:
        for position, block in enumerate(plan.blocks):
            said = json.loads(sources[position % len(sources)][0]["record"])
            said |= {"block": block.name, "number": block.number}
            yield _key(plan, block) | {"record": json.dumps(said)}

    def raw() -> Iterator[Row]:
        for position, block in enumerate(plan.blocks):
            for row in sources[position % len(sources)][1]:
                yield row | _key(plan, block)

    parts.write(schema.BLOCKS, blocks(), records / "blocks.parquet")
    parts.write(schema.RAW, raw(), records / "raw.parquet")


def _key(plan: Plan, block: Any) -> Row:
    return {"campaign": plan.campaign, "block": block.name, "block_number": block.number}


def _parse(folder: Path) -> None:
    parse_dataset(folder, folder / "records")


def _analyse(folder: Path) -> None:
    analysis.write(analysis.analyse(load(folder, whole=False)), folder / "analysis")


def _measured(step: Callable[[Path], None], folder: Path) -> tuple[float, float]:
    """Seconds and the largest memory in MB of a step, with that of its largest process."""
    began = time.monotonic()
    step(folder)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    largest = sum(resource.getrusage(who).ru_maxrss for who in whose)
    return time.monotonic() - began, largest / 1000


def lines(times: int) -> Iterator[str]:
    """A line for each step."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "live" / "multiplied"
        multiply(times, folder)
        runs = sum(len(block.runs) for block in read_plan(folder / PLAN).blocks)
        for name, step in (("parse", _parse), ("analyse", _analyse)):
            # Not a daemon, because it starts processes itself.
            queue = get_context("spawn").Queue()
            child = get_context("spawn").Process(target=_report, args=(queue, step, folder))
            child.start()
            seconds, memory = queue.get()
            child.join()
            yield (
                f"{name:<9} {runs:>9,} runs  {seconds:8.1f} s  {runs / seconds:8,.0f} runs/s  "
                f"{memory:7,.0f} MB"
            )


def _report(queue: Any, step: Callable[[Path], None], folder: Path) -> None:
    queue.put(_measured(step, folder))


def main() -> None:
    """Print them."""
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else TIMES):
        print(line, flush=True)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
