"""Files of the node's own disk on this machine, natively: several starts, and what checks them.

Needs: fio, and root, who alone may empty the page cache.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from trials import case_of, measured, trial

from parity.extensions.servers.benchmarks import local_files

pytestmark = pytest.mark.system
SMALL = {"gigabytes": "0.0625", "ranks": 2, "monitor_hz": 0}


def run(folder: Path) -> dict:
    if os.geteuid() or not local_files.BENCHMARK.probe().available:
        pytest.skip("needs root and fio")
    return measured(trial(case_of("local-files", SMALL)), folder)


def test_two_starts_are_timed_and_the_third_checks_them(tmp_path: Path) -> None:
    tables = run(tmp_path)
    assert [row["stage"] for row in tables["runs"]] == ["valid", "valid"]
    found = {(row["arm"], row["metric"]) for row in tables["metrics"]}
    assert {("native-a", name) for name in ("write", "read", "time")} <= found
    for row in tables["runs"]:
        record = json.loads((tmp_path / f"runs/{row['run']}/attempt-1/record.json").read_text())
        starts = record["starts_wall_seconds"]
        assert len(starts) == 2 and record["wall_seconds"] == sum(starts)
        names = [word for line in record["commands"] for word in line if "--name=" in word]
        assert names == ["--name=write", "--name=read", "--name=check"]


def test_a_check_that_fails_fails_the_run(tmp_path: Path, monkeypatch) -> None:
    """One wrong byte, on its way to the disk."""
    wrong = "printf '\\0\\0' | dd of=data.0 bs=1 seek=5000000 conv=notrunc status=none"
    usual = local_files.LocalFiles.program

    def program(self, parameters, node):
        made = usual(self, parameters, node)
        return replace(made, then=(*made.then, ("/bin/sh", "-c", wrong)))

    monkeypatch.setattr(local_files.LocalFiles, "program", program)
    tables = run(tmp_path)
    assert [row["reason"] for row in tables["runs"]] == ["exit-status"] * 2
    assert not tables["metrics"]
    for row in tables["runs"]:
        text = (tmp_path / f"runs/{row['run']}/attempt-1/stderr").read_text()
        assert "crc32c: verify failed at file ./data.0 offset 4194304" in text
