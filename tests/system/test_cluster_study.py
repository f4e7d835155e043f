"""`make cluster-test` in a clone with the images that are there: Slurm from end to end.

Needs: root, no other Slurm cluster on this machine, and Debian's packages for Slurm, which
`make cluster-test` installs; Charliecloud, Apptainer, HPCC, NetPIPE and LaTeX of `make setup`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from clones import borrow_images, never_wait_for_quiet, rows_of
from cluster import of_a_cluster_of_their_own

from parity.plan.plan import read_plan

pytestmark = [pytest.mark.system, pytest.mark.long, *of_a_cluster_of_their_own()]
BLOCKS = 2


@pytest.fixture(scope="module")
def finished(clone: Path, images: dict) -> Path:
    """The dataset of the smoke study, run on a cluster that is gone again."""
    borrow_images(clone, images, "study=config/studies/scaling.yaml", "scale=smoke")
    # Nine blocks that each wait a minute for a quiet machine would wait in vain on a busy one.
    never_wait_for_quiet(clone, "slurm")
    # Two blocks of each size are as many as a difference needs; the third takes as long again.
    study = clone / "config/studies/scaling.yaml"
    content = yaml.safe_load(study.read_text())
    content["scales"]["smoke"]["blocks"] = BLOCKS
    study.write_text(yaml.safe_dump(content))
    words = [sys.executable, "tools/virtual_cluster", "test"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        words, cwd=clone, env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "no daemon, namespace, link, mount or file of it is left" in done.stdout
    return clone / "results/live/scaling-smoke"


def test_native_and_containers_ran_over_mpi_on_1_2_and_4_nodes(finished: Path) -> None:
    rows = [row for row in rows_of(finished, "runs") if row["final"]]
    valid = {(row["runtime"], row["case"]) for row in rows if row["stage"] == "valid"}
    for runtime in ("native", "charliecloud", "apptainer"):
        for case in ("hpcc-1x1", "hpcc-1x2", "hpcc-2x2", "hpcc-4x4"):
            assert (runtime, case) in valid
        assert {(runtime, "netpipe-2x2-tcp"), (runtime, "netpipe-2x2-mpi")} <= valid
    assert {row["reason"] for row in rows} == {""}


def test_every_block_tells_its_job_its_nodes_and_its_allocation(finished: Path) -> None:
    facts: dict[str, dict[str, str]] = {}
    for row in rows_of(finished, "nodes"):
        if row["fact"].startswith("allocation."):
            of_block = facts.setdefault(row["block"], {})
            of_block[row["fact"].removeprefix("allocation.")] = row["value"]
    blocks = read_plan(finished / "plan.json").blocks
    assert len(blocks) == 3 * BLOCKS and set(facts) == {block.name for block in blocks}
    for block in blocks:
        said = facts[block.name]
        assert said["JobId"].isdigit() and said["OverSubscribe"] == "NO"
        assert int(said["NumNodes"]) == block.nodes == len(said["hosts"].split(","))
        assert said["squeue"].startswith(f"{said['JobId']}|virtual|RUNNING|{block.nodes}|")
    assert len({said["JobId"] for said in facts.values()}) == len(blocks)


def test_results_are_labelled_as_one_host_and_end_in_a_paper(finished: Path) -> None:
    assert "on one host" in (finished / "summary.txt").read_text()
    assert (finished / "paper/paper.pdf").read_bytes().startswith(b"%PDF")
