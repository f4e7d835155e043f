"""What runs used of interfaces and disks: medians over blocks, per GiB of the files.

Interfaces are put together by their part in a byte's way, since the name of a container's end is
another one in each run; a record keeps each by its own name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from parity.extensions.servers.benchmarks import usage
from parity.extensions.servers.runtimes.docker_bridge import NETWORK
from parity.report.view import View, rows_of

LINK, BRIDGE, END, LOOPBACK, OTHERS = PARTS = (
    "link", "bridge", "container's end", "loopback", "others",
)  # fmt: skip
_BRIDGES = frozenset({NETWORK})
RECEIVED, SENT = WAYS = ("received", "sent")
REQUESTS_READ, REQUESTS_WRITTEN = "disk_read_requests", "disk_written_requests"
BYTES_READ, BYTES_WRITTEN = "disk_read_bytes", "disk_written_bytes"
DISK = (REQUESTS_READ, REQUESTS_WRITTEN, BYTES_READ, BYTES_WRITTEN)
_COLUMNS = ["case", "arm", "block", "what", "value"]


def part_of(interface: str, link: str) -> str:
    """The part of an interface in a byte's way between servers and client."""
    if interface == link:
        return LINK
    if interface == "lo":
        return LOOPBACK
    if interface.startswith("veth"):
        return END
    return BRIDGE if interface in _BRIDGES else OTHERS


def ledger(view: View) -> pd.DataFrame:
    """Medians over the blocks that count, of runs whose usage was counted.

    Returns:
        Rows of case, arm, what (`received` or `sent` and a part, or a name of `DISK`), value per
        GiB of the files, and the number of blocks `n`; in no order.
    """
    rows = [
        (run.case, run.arm, run.block, what, value)
        for run in rows_of(view.counted)
        for what, value in _of_run(json.loads(run.evidence), json.loads(run.parameters))
    ]
    long = pd.DataFrame(rows, columns=_COLUMNS)
    grouped = long.groupby(["case", "arm", "what"])["value"]
    return grouped.agg(value="median", n="count").reset_index()


def _of_run(
    evidence: Mapping[str, str], parameters: Mapping[str, Any]
) -> Iterator[tuple[str, float]]:
    size = float(parameters.get("gigabytes", 0))
    if size <= 0:
        return
    link = evidence.get(f"{usage.BEGIN}link", "")
    bytes_of: dict[str, float] = {}
    for name, both in usage.interfaces(evidence).items():
        for way, count in zip(WAYS, both, strict=True):
            key = f"{way} {part_of(name, link)}"
            bytes_of[key] = bytes_of.get(key, 0.0) + count
    yield from ((what, count / size) for what, count in bytes_of.items())
    for what in DISK:
        if (text := evidence.get(f"{usage.BEGIN}{what}", "")).isdecimal():
            yield what, int(text) / size


def of_arm(found: pd.DataFrame, case: str, arm: str) -> dict[str, float]:
    """A case and arm's values of a ledger, by what they are of."""
    rows = found[(found["case"] == case) & (found["arm"] == arm)]
    return dict(zip(rows["what"], rows["value"], strict=True))


def of_way(values: Mapping[str, float], way: str) -> dict[str, float]:
    """Bytes of one of `WAYS` by part; parts without any interface are left out."""
    return {part: values[f"{way} {part}"] for part in PARTS if f"{way} {part}" in values}


def both_ways(values: Mapping[str, float]) -> dict[str, float]:
    """Bytes received and sent together, by part."""
    received, sent = (of_way(values, way) for way in WAYS)
    return {part: received[part] + sent[part] for part in received}
