"""Blocks parsed one after the other, or by several processes side by side if there are many."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parity.plan.plan import Plan
from parity.records import parts, schema
from parity.records.parse import parse_block

# With fewer attempts the processes take longer to start than they save.
WORTH_PROCESSES = 20_000

Row = dict[str, Any]
# A row of the BLOCKS table, and the block's rows of the RAW table.
Left = tuple[Row, list[Row]]


def left_by_blocks(records: Path) -> Iterator[Left]:
    """What each block left, in the order of their names; both tables have that order.

    Args:
        records: the folder of both.
    """
    raw = groupby(parts.read(schema.RAW, records / "raw.parquet"), key=itemgetter("block"))
    name, attempts = next(raw, ("", iter(())))
    for entry in parts.read(schema.BLOCKS, records / "blocks.parquet"):
        while name and name < entry["block"]:
            name, attempts = next(raw, ("", iter(())))
        yield entry, list(attempts) if name == entry["block"] else []


def parsed_blocks(plan: Plan, records: Path) -> Iterator[dict[str, pa.Table]]:
    """The parsed tables of each block by name, block by block in the order of their names.

    Raises:
        UserError: a record is broken; with the attempt and the key.
    """
    left = left_by_blocks(records)
    if pq.read_metadata(records / "raw.parquet").num_rows < WORTH_PROCESSES:
        yield from (_parsed(plan, each) for each in left)
        return
    # Started anew, because threads of Arrow's do not survive a fork.
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), start, _remember, (plan,)) as pool:
        yield from _in_order(pool, left)


def _in_order(pool: ProcessPoolExecutor, left: Iterable[Left]) -> Iterator[dict[str, pa.Table]]:
    """The same by a pool, with a few blocks waiting for each process."""
    waiting: deque[Future[dict[str, pa.Table]]] = deque()
    for each in left:
        waiting.append(pool.submit(_parsed_by_process, each))
        if len(waiting) > 4 * (os.cpu_count() or 1):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _parsed(plan: Plan, left: Left) -> dict[str, pa.Table]:
    tables = parse_block(plan, *left)
    return {name: schema.to_table(schema.TABLES[name], rows) for name, rows in tables.items()}


_PLANS: list[Plan] = []


def _remember(plan: Plan) -> None:
    """The plan of a process's own, which is large, and sent to it once."""
    _PLANS[:] = [plan]


def _parsed_by_process(left: Left) -> dict[str, pa.Table]:
    return _parsed(_PLANS[0], left)
