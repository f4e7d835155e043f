"""A small study from end to end through Snakemake, its runner killed in the middle.

Needs: the runtimes, the images (built if they are not there), sysbench and LaTeX, all of
which `make setup` installs as root. An arm that cannot run here is a row with its reason.
"""

import subprocess
from collections import Counter
from pathlib import Path

import psutil
import pytest
from benchmark_help import running, wait_for
from clones import SNAKEMAKE, USUAL, give_study, own_package, rows_of, succeeded

from parity.plan.plan import read_plan
from parity.runtimes import arms

# Alone, because every run is to be valid: beside others on two CPUs SysBench was once held up by
# more than its time and its rate may differ, and refused.
pytestmark = [pytest.mark.system, pytest.mark.alone]
STUDY = USUAL | {
    "study": "tiny", "title": "A tiny study",
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


def _runner(folder: Path) -> psutil.Process | None:
    found = running(lambda words: "run-batch" in words and Path(words[0]).name.startswith("python"))
    return next((each for each in found if each.cwd() == str(folder)), None)


def _is_killed(folder: Path, workflow: subprocess.Popen) -> bool:
    """Kill the runner if the attempt that it makes has no record yet.

    Some runs take a hundredth of a second: it is stopped before anybody looks at what it does.
    """
    assert workflow.poll() is None
    if runner := _runner(folder):
        runner.suspend()
        begun = {path.parent for path in folder.glob("results/blocks/*/runs/*/*/stdout")}
        if any(not (attempt / "record.json").exists() for attempt in begun):
            runner.kill()
            return True
        runner.resume()
    return False


def test_a_killed_study_is_completed_with_every_run_counted_once(clone, images) -> None:
    words = ["all", "--config", *give_study(clone, STUDY, images)]
    first = subprocess.Popen([SNAKEMAKE, *words], cwd=clone, env=own_package())
    wait_for(lambda: _is_killed(clone, first), seconds=120)
    assert first.wait(timeout=300) != 0

    succeeded(clone, *words, timeout=600)
    dataset = clone / "results/live/tiny-tiny"
    plan = read_plan(dataset / "plan.json")
    assert "all blocks are done" in (dataset / "progress.txt").read_text()
    runs = rows_of(dataset, "runs")
    planned = Counter((block.name, run.name) for block in plan.blocks for run in block.runs)
    assert Counter((row["block"], row["run"]) for row in runs if row["final"]) == planned
    assert any(row["reason"] == "interrupted" and not row["final"] for row in runs)

    usable = {name for name in STUDY["arms"] if arms()[name].probe().available}
    for row in runs:
        if row["final"]:
            expected = ("valid", "") if row["arm"] in usable else ("planned", "not-tested")
            said = (row["run"], row["detail"])
            assert (row["stage"], row["reason"]) == expected, said
    assert (clone / "paper/paper.pdf").read_bytes().startswith(b"%PDF")
    print(f"really run through Snakemake: {', '.join(sorted(usable))}")
