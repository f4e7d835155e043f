"""What runs wrote down one by one, such as detours: a Parquet dataset with a file for each run.

It follows from the raw table, so it is made when it is wanted and no part of a dataset, the same
bytes each time. Only one run is in memory while it is written, and one part while it is read.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from parity.benchmarks import benchmarks
from parity.benchmarks import description as known
from parity.benchmarks.model import Outputs
from parity.records import schema

# Which run a file is of stands in the names of its folders (case=…/arm=…/block=…), after Hive.
RUN = ("case", "arm", "block")
# Numbers of such runs: how long they looked, and the CPU limit that they were under.
LOOKED, QUOTA, PERIOD = (q.metric for q in (known.LOOKED, known.CPU_QUOTA, known.CPU_PERIOD))
_FILE = "events.parquet"
Column = np.ndarray[tuple[int], np.dtype[np.int64]]  # one number of each event, ns
_PART = 1 << 20  # rows: 16 MB


def write_events(records: Path, destination: Path) -> int:
    """Write the events of valid runs into a new or empty folder, and return how many there are."""
    destination.mkdir(parents=True, exist_ok=True)
    names = [name for name, each in benchmarks().items() if each.has_events]
    wanted = (ds.field("stage") == "valid") & ds.field("final") & ds.field("benchmark").isin(names)
    columns = [*RUN, "run", "attempt", "benchmark", "parameters"]
    valid = pq.read_table(records / "runs.parquet", columns=columns, filters=wanted).to_pylist()
    if not valid:
        return 0
    runs = {(row["block"], row["run"], row["attempt"]): row for row in valid}
    written, columns = 0, ["block", "run", "attempt", "files"]
    # One by one: what a run left may be as large as a part of the table.
    for batch in pq.ParquetFile(records / "raw.parquet").iter_batches(1, columns=columns):
        (raw,) = batch.to_pylist()
        if (run := runs.get((raw["block"], raw["run"], raw["attempt"]))) is None:
            continue
        files, parameters = json.loads(raw["files"]), json.loads(run["parameters"])
        left = Outputs(files=files, parameters=parameters)
        events: Any = benchmarks()[run["benchmark"]].events(left)
        place = destination.joinpath(*(f"{name}={run[name]}" for name in RUN))
        place.mkdir(parents=True)
        numbers = [np.ascontiguousarray(events[name], np.int64) for name in ("start", "length")]
        table = pa.table(numbers, schema=schema.EVENTS.arrow)
        pq.write_table(table, place / _FILE, row_group_size=_PART, **schema.FORM)
        written += len(events)
    return written


def runs(events: Path) -> list[dict[str, str]]:
    """Case, arm and block of each run in a folder that `write_events` wrote."""
    return [
        dict(part.split("=", 1) for part in path.parts[-4:-1])
        for path in sorted(events.glob(f"case=*/arm=*/block=*/{_FILE}"))
    ]


def of_run(events: Path, case: str, arm: str, block: str) -> tuple[Column, Column]:
    """Starts and lengths in ns of a run's events; FileNotFoundError: it is invalid, or has none."""
    path = events / f"case={case}/arm={arm}/block={block}" / _FILE
    # A path that looks like a part of a dataset would give its columns, too.
    found = pq.ParquetFile(path).read()
    return found["start"].to_numpy(), found["length"].to_numpy()


def write_noise_traces(events: Path, destination: Path) -> int:
    r"""Write the noise trace of LogGOPSim of each run: start and length in ns, a tab in between.

    Its reader (Noise.hpp, Hoefler et al., LSAP 2010) takes a line end at the end of the file for
    one more event, so there is none. `events`: the folder that `write_events` wrote. `destination`:
    a folder that is not there yet, of files `<case>.<arm>.<block>.txt`. Returns how many there are.
    """
    destination.mkdir(parents=True)
    for run in (found := runs(events)):
        pairs = zip(*(numbers.tolist() for numbers in of_run(events, **run)), strict=True)
        text = "\n".join(f"{start}\t{length}" for start, length in pairs)
        name = ".".join(run[part] for part in RUN)
        (destination / f"{name}.txt").write_text(text, encoding="ascii")
    return len(found)


def lengths(events: Path, case: str, arm: str) -> Column:
    """How long each event of a case in an arm lasted, in ns; those of a run in order of time."""
    files = sorted((events / f"case={case}" / f"arm={arm}").glob(f"block=*/{_FILE}"))
    found = ds.dataset([str(path) for path in files], schema=schema.EVENTS.arrow)
    taken, place = np.empty(found.count_rows(), np.int64), 0
    for batch in found.to_batches(columns=["length"]):
        taken[place : place + batch.num_rows] = batch.column(0).to_numpy()
        place += batch.num_rows
    return taken
