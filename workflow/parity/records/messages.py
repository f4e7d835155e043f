"""How long messages of each size took, from what runs left, where benchmarks send them in turn."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark, Outputs

COLUMNS = ("case", "arm", "block", "size", "seconds")
_KEY = ["block", "run", "attempt"]


def message_times(records: Path | None) -> pd.DataFrame:
    """Seconds of each message of all valid runs: a row for each size, with `COLUMNS`.

    Args:
        records: the folder of a dataset's tables; None for none.
    """
    nothing = pd.DataFrame(columns=[*COLUMNS])
    if records is None or not (records / "raw.parquet").exists():
        return nothing
    sending = [
        name
        for name, each in benchmarks().items()
        if type(each).message_times is not Benchmark.message_times
    ]
    is_wanted = (ds.field("stage") == "valid") & ds.field("final")
    columns = [*_KEY, "case", "arm", "benchmark", "parameters"]
    wanted = is_wanted & ds.field("benchmark").isin(sending)
    runs = pq.read_table(records / "runs.parquet", columns=columns, filters=wanted).to_pylist()
    if not runs:
        return nothing
    names = ds.field("run").isin(sorted({run["run"] for run in runs}))
    raw = pq.read_table(records / "raw.parquet", columns=[*_KEY, "files"], filters=names)
    left = {tuple(row[key] for key in _KEY): row["files"] for row in raw.to_pylist()}
    rows = []
    for run in runs:
        files = json.loads(left.get(tuple(run[key] for key in _KEY), "{}"))
        outputs = Outputs(files=files, parameters=json.loads(run["parameters"]))
        times = benchmarks()[run["benchmark"]].message_times(outputs) if files else ()
        rows += [(run["case"], run["arm"], run["block"], size, time) for size, time in times]
    return pd.DataFrame(rows, columns=[*COLUMNS])
