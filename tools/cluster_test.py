"""`make cluster-test`: the smoke study on a virtual cluster of four nodes, and nothing left of it.

Starts the cluster, runs the literal `snakemake --profile slurm all`, says for each node count
which arms gave valid runs, ends the cluster, and compares the machine before and after.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT / "tools"), str(ROOT / "workflow")]

from virtual_cluster import cluster, install, layout  # noqa: E402
from virtual_cluster.traces import traces  # noqa: E402

from parity.core.errors import UserError, shown_to_the_user  # noqa: E402
from parity.plan.plan import PLAN, read_plan  # noqa: E402

NODES = 4
DATASET = Path("results/live/scaling-smoke")
COMMAND = ("snakemake", "--profile", "slurm", "all")


def valid_runs(dataset: Path) -> pd.DataFrame:
    """Valid and planned runs by node count and runtime, as `valid/planned`."""
    nodes = {case.name: case.nodes for case in read_plan(dataset / PLAN).cases}
    runs = pd.read_parquet(dataset / "records/runs.parquet").query("final")
    groups = runs.groupby([runs["case"].map(nodes).rename("nodes"), "runtime"])["stage"]
    shown = groups.agg(lambda stages: f"{(stages == 'valid').sum()}/{len(stages)}")
    return shown.unstack()


def main() -> None:
    """Run it all; the exit status is not 0 if a run is not valid or anything is left."""
    if os.geteuid() != 0:
        raise UserError("the virtual cluster needs root: it makes namespaces, links and mounts")
    if layout.STATE.exists():
        raise UserError("a virtual cluster is up already", action="make cluster-down")
    install.install(accounting=False)
    before = traces()
    try:
        cluster.up(NODES, accounting=False)
        status = subprocess.run(COMMAND, check=False).returncode
    finally:
        cluster.down()
    if status:
        raise UserError(f"this command failed with status {status}: {' '.join(COMMAND)}")
    table = valid_runs(DATASET)
    print(f"valid runs of all planned ones\n{table.to_string()}")
    left = [name for name, now in traces().items() if now != before[name]]
    if left:
        raise UserError(f"something of the cluster is left on this machine: {', '.join(left)}")
    print("the cluster is down: no daemon, namespace, link, mount or file of it is left")
    if any(str(cell).startswith("0/") for cell in table.to_numpy().ravel()):
        raise UserError("a runtime gave no valid run", where=f"{DATASET}/summary.txt")


if __name__ == "__main__":
    with shown_to_the_user():
        main()
