"""A small study from end to end through Snakemake, its runner killed in the middle.

Needs: the runtimes, the images (built if they are not there), sysbench and LaTeX, all of
which `make setup` installs as root. An arm that cannot run here is a row with its reason.
"""

import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import yaml
from clones import SNAKEMAKE, borrow_images, never_wait_for_quiet, own_package, succeeded

from parity.plan.plan import read_plan
from parity.runtimes import arms

pytestmark = pytest.mark.system
STUDY = {
    "study": "tiny", "title": "A tiny study", "reproduces": "none", "seed": 7,
    "reference": "native-a", "aa_pair": ["native-a", "native-b"],
    # A control that does more work belongs to a study that says how much, and ranks that are spread
    # or unbound to one that has some.
    "arms": [n for n, arm in arms().items() if not (arm.does_more or arm.placement)],
    "benchmarks": {
        "sysbench": {"margin_percent": 5, "parameters": {"events": 600}},
        "startup": {"margin_percent": None, "factors": {"cache": ["warm"]},
                    "parameters": {"repetitions": 2}},
    },
    "not_tested": [{"benchmark": "hpcg", "reason": "not part of a tiny study"}],
    "scales": {"tiny": {"blocks": 2}},
}  # fmt: skip
WORDS = ["all", "--config", "study=config/studies/tiny.yaml", "scale=tiny"]


@pytest.fixture(scope="module")
def study(clone: Path, images: dict) -> Path:
    """A clone with the tiny study and the records of the images that are there."""
    (clone / "config/studies/tiny.yaml").write_text(yaml.safe_dump(STUDY))
    never_wait_for_quiet(clone, "machine")
    borrow_images(clone, images, *WORDS[2:])
    return clone


def _runner(folder: Path) -> psutil.Process | None:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        runs = "run-batch" in words and Path(words[0]).name.startswith("python")
        if runs and process.cwd() == str(folder):
            return process
    return None


def _kill_in_the_middle_of_a_run(folder: Path, workflow: subprocess.Popen) -> None:
    """Kill the runner while the attempt that it makes has no record yet.

    Some runs take a hundredth of a second: it is stopped before anybody looks at what it does.
    """
    deadline = time.monotonic() + 120
    while True:
        assert time.monotonic() < deadline and workflow.poll() is None
        time.sleep(0.02)
        if not (runner := _runner(folder)):
            continue
        runner.suspend()
        begun = {path.parent for path in folder.glob("results/blocks/*/runs/*/*/stdout")}
        if any(not (attempt / "record.json").exists() for attempt in begun):
            runner.kill()
            return
        runner.resume()


def test_a_killed_study_is_completed_with_every_run_counted_once(study: Path) -> None:
    first = subprocess.Popen([SNAKEMAKE, *WORDS], cwd=study, env=own_package())
    _kill_in_the_middle_of_a_run(study, first)
    assert first.wait(timeout=300) != 0

    succeeded(study, *WORDS, timeout=600)
    dataset = study / "results/live/tiny-tiny"
    plan = read_plan(dataset / "plan.json")
    assert "all blocks are done" in (dataset / "progress.txt").read_text()
    runs = pq.read_table(dataset / "records/runs.parquet").to_pylist()
    planned = Counter((block.name, run.name) for block in plan.blocks for run in block.runs)
    assert Counter((row["block"], row["run"]) for row in runs if row["final"]) == planned
    assert any(row["reason"] == "interrupted" and not row["final"] for row in runs)

    usable = {name for name in STUDY["arms"] if arms()[name].probe().available}
    for row in runs:
        if row["final"]:
            expected = ("valid", "") if row["arm"] in usable else ("planned", "not-tested")
            assert (row["stage"], row["reason"]) == expected, row
    assert (study / "paper/paper.pdf").read_bytes().startswith(b"%PDF")
    print(f"really run through Snakemake: {', '.join(sorted(usable))}")
