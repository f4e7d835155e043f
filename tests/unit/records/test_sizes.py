"""The size of a case's work that the node decided, from the command lines in the records."""

import json
from pathlib import Path

import pandas as pd

from parity.records.timed import recorded_sizes

ROOT = Path(__file__).parents[3]


def _sizes(*rows: tuple[str, str, list[str]], stage: str = "valid") -> dict[str, str]:
    made = [(benchmark, case, json.dumps(words), True, stage) for benchmark, case, words in rows]
    columns = ["benchmark", "case", "command", "final", "stage"]
    return recorded_sizes(pd.DataFrame(made, columns=columns))


def test_benchmarks_that_size_themselves_tell_how_large_their_work_was() -> None:
    likwid = ["docker", "run", "-w", "/tmp", "likwid-bench", "-t", "copy", "-w", "N:134208kB:1"]
    stream = ["/opt/parity/debian12/view/stream-160000000/bin/stream_c.exe"]
    rows = (("likwid", "likwid-copy", likwid), ("stream", "stream", stream))
    assert _sizes(*rows, ("sysbench", "sysbench", [])) == {
        "likwid-copy": "working set of 134.208 MB", "stream": "160,000,000 elements",
        "sysbench": "",
    }  # fmt: skip


def test_nodes_that_differ_have_several_sizes_and_failed_runs_none() -> None:
    commands = [["likwid-bench", "-w", f"N:{size}kB:1"] for size in (96, 48)]
    runs = [("likwid", "likwid-copy", command) for command in commands]
    assert _sizes(*runs) == {"likwid-copy": "working set of 0.048 MB and working set of 0.096 MB"}
    assert _sizes(*runs, stage="ran") == {}
    assert _sizes(("likwid", "likwid-copy", ["likwid-bench"])) == {"likwid-copy": ""}


def test_the_archive_tells_its_sizes() -> None:
    records = ROOT / "results/archive/machine-2026-11-20/records/runs.parquet"
    found = recorded_sizes(pd.read_parquet(records))
    assert found["likwid-copy"] == found["memory"] == "working set of 1090.51 MB"
    assert found["hpcc"] == found["startup-cold"] == ""
