"""On what kind of system a dataset was measured."""

from __future__ import annotations

import json
from pathlib import Path

from parity.records import schema


def label(dataset: Path) -> str:
    """The `scale_label` of the systems that measured a dataset, such as vm.

    Several are joined by ` + `, which is then no cluster.
    """
    blocks = schema.read(schema.BLOCKS, dataset / "records/blocks.parquet").to_pylist()
    starts = [s["start"] for block in blocks for s in json.loads(block["record"])["sessions"]]
    return " + ".join(sorted({start["scale_label"] for start in starts}))
