"""What runs wrote down one by one reaches a dataset with a file for each, and nothing else does."""

import filecmp
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmark_help import defaults
from traces import trace

from parity.benchmarks.selfish import BENCHMARK, TRACE
from parity.benchmarks.traces import ENTRY
from parity.core.files import as_text
from parity.records import events, schema

PARAMETERS = json.dumps(defaults(BENCHMARK, mode="detours", seconds=1.0))
PLAIN = {"record": "{}", "stdout": b"", "stderr": b"", "samples": ""}


def records(folder: Path, runs: list[dict]) -> Path:
    """The tables of attempts, each with its arm, block, stage and detours."""
    raw, parsed = [], []
    for run in sorted(runs, key=lambda run: (run["block"], run["arm"])):
        key = {"block": run["block"], "run": f"selfish-detours.{run['arm']}", "attempt": 1}
        left = {TRACE: as_text(trace(run["entries"]))} if run["entries"] else {}
        known = {"campaign": "c", "block_number": 1, "files": json.dumps(left)}
        raw.append(PLAIN | key | known)
        said = {"case": "selfish-detours", "benchmark": run.get("benchmark", "selfish")}
        stage = {"stage": run.get("stage", "valid"), "final": True, "parameters": PARAMETERS}
        parsed.append(key | said | stage | {"arm": run["arm"]})
    folder.mkdir()
    schema.write_rows(schema.RAW, raw, folder / "raw.parquet")
    pq.write_table(pa.Table.from_pylist(parsed), folder / "runs.parquet")
    return folder


def run(arm: str, block: str, *entries: tuple[int, int], **other: str) -> dict:
    return {"arm": arm, "block": block, "entries": list(entries), **other}


def test_each_valid_run_has_a_file_of_its_events(tmp_path: Path) -> None:
    runs = [
        run("native-a", "b1", (5, 400), (1_000, 7_000)),
        run("native-a", "b2", (9, 2**40)),
        run("native-a", "b3", (9, 500), stage="ran"),
        run("podman", "b1", (7, 600)),
        # Another benchmark writes nothing down.
        run("podman", "b2", benchmark="sysbench"),
    ]
    found, made = records(tmp_path / "records", runs), tmp_path / "events"
    assert events.write_events(found, made) == 4
    assert list(events.lengths(made, "selfish-detours", "native-a")) == [400, 7_000, 2**40]
    assert list(events.lengths(made, "selfish-detours", "podman")) == [600]
    part = made / "case=selfish-detours/arm=native-a/block=b1/events.parquet"
    table = schema.read(schema.EVENTS, part)
    assert table.to_pydict() == {"start": [5, 1_000], "length": [400, 7_000]}
    assert events.runs(made)[2] == {"case": "selfish-detours", "arm": "podman", "block": "b1"}
    assert events.write_noise_traces(made, tmp_path / "traces") == 3
    trace = tmp_path / "traces/selfish-detours.native-a.b1.txt"
    # A line end at the end would be one more detour.
    assert trace.read_text() == "5\t400\n1000\t7000"
    again = tmp_path / "again"
    events.write_events(found, again)
    for path in made.rglob("*.parquet"):
        assert filecmp.cmp(again / path.relative_to(made), path, shallow=False)


def test_without_any_valid_run_there_is_nothing(tmp_path: Path) -> None:
    found = records(tmp_path / "records", [run("native-a", "b", (5, 400), stage="ran")])
    assert events.write_events(found, tmp_path / "events") == 0
    assert not len(events.lengths(tmp_path / "events", "selfish-detours", "native-a"))


def test_a_part_is_one_piece_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_PART", 10)
    entries = [(1_000 * number, 400 + number) for number in range(35)]
    found = records(tmp_path / "records", [run("native-a", "b", *entries)])
    events.write_events(found, tmp_path / "events")
    (path,) = (tmp_path / "events").rglob("*.parquet")
    assert pq.ParquetFile(path).num_row_groups == 4
    lengths = events.lengths(tmp_path / "events", "selfish-detours", "native-a")
    assert list(lengths) == [length for _, length in entries]


_LARGEST = """
import sys
from pathlib import Path
from parity.records.events import write_events
print(write_events(Path(sys.argv[1]), Path(sys.argv[2])))
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) / 1000)
"""


def test_runs_of_the_most_entries_are_written_within_half_a_gigabyte(tmp_path: Path) -> None:
    most = BENCHMARK.parameters["capacity"]["maximum"]
    entries = np.zeros(most, ENTRY)
    entries["start"] = np.cumsum(np.random.default_rng(1).integers(1_000, 2_000_000, most))
    entries["length"] = 400
    found = records(tmp_path / "records", [run("native-a", f"b{number}") for number in range(3)])
    left = json.dumps({TRACE: as_text(trace(entries))})
    rows = [row | {"files": left} for row in schema.read_rows(schema.RAW, found / "raw.parquet")]
    schema.write_rows(schema.RAW, rows, found / "raw.parquet")
    words = [sys.executable, "-c", _LARGEST, found, tmp_path / "events"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    number, megabytes = done.stdout.split()
    assert int(number) == 3 * most
    assert float(megabytes) < 500
