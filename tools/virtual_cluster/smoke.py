"""`make cluster-test`: the smoke study on a virtual cluster of four nodes, and nothing left of it.

Says for each node count which arms gave valid runs, and compares the machine before and after. It
waits for a quiet machine first; with --trial (`make cluster-test TRIAL=1`) nothing waits, and what
was measured stands in a campaign of its own, since it says nothing of costs.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from parity.core.errors import UserError
from parity.measure.node import wait_until_idle
from parity.plan.plan import PLAN, read_plan
from parity.plan.system import load_system
from virtual_cluster import cluster, daemons, layout, processes

NODES = 4
STUDY, SYSTEM = Path("config/studies/scaling.yaml"), Path("config/systems/slurm.yaml")
COMMAND = ("snakemake", "--profile", "slurm", "all")
# Where the files of a trial are, which go on from one to the next.
TRIAL = Path(".cache/cluster-trial")
NEVER_WAIT = {"max_busy_fraction": 1, "settle_seconds": 0, "max_steal_fraction": 1}


def test(is_trial: bool) -> None:
    """Run it all; UserError if a run is not valid or anything is left."""
    if layout.STATE.exists():
        raise UserError("a virtual cluster is up already", action="make cluster-down")
    _on_request(_end)
    command = [*COMMAND, *(trial(STUDY, SYSTEM, TRIAL) if is_trial else ())]
    dataset = Path("results/live", "trial-smoke" if is_trial else "scaling-smoke")
    if not is_trial:
        wait_for_quiet(SYSTEM)
    daemons.install(accounting=False)
    before = processes.traces()
    try:
        cluster.up(NODES, accounting=False)
        status = status_of(command)
    finally:
        _on_request(signal.SIG_IGN)
        cluster.down()
    if status:
        raise UserError(f"this command failed with status {status}: {' '.join(command)}")
    table = valid_runs(dataset)
    print(f"valid runs of all planned ones\n{table.to_string()}")
    left = [name for name, now in processes.traces().items() if now != before[name]]
    if left:
        raise UserError(f"something of the cluster is left on this machine: {', '.join(left)}")
    print("the cluster is down: no daemon, namespace, link, mount or file of it is left")
    if any(str(cell).startswith("0/") for cell in table.to_numpy().ravel()):
        raise UserError("a runtime gave no valid run", where=f"{dataset}/summary.txt")


def valid_runs(dataset: Path) -> pd.DataFrame:
    """Valid and planned runs by node count and runtime, as `valid/planned`."""
    nodes = {case.name: case.nodes for case in read_plan(dataset / PLAN).cases}
    runs = pd.read_parquet(dataset / "records/runs.parquet").query("final")
    groups = runs.groupby([runs["case"].map(nodes).rename("nodes"), "runtime"])["stage"]
    shown = groups.agg(lambda stages: f"{(stages == 'valid').sum()}/{len(stages)}")
    return shown.unstack()


def wait_for_quiet(system: Path) -> None:
    """Wait once, before anything is started, as long as each block would; UserError: still busy."""
    asked = load_system(system)
    limit, patience = asked.max_busy_fraction, asked.settle_seconds
    idleness = wait_until_idle(limit, patience)
    if idleness.busy_fraction > limit:
        raise UserError(
            f"this machine is busy, after {patience:g} s of waiting: no block would be measured",
            where=idleness.taken_by,
            action="end that, or wait; `make cluster-test TRIAL=1` tries everything all the same",
        )


def trial(study: Path, system: Path, folder: Path) -> list[str]:
    """Write both files so that no block waits or fails for noise; Snakemake's words for them."""
    changes = {"study": (study, {"study": "trial"}), "system": (system, {"quiet_node": NEVER_WAIT})}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (path, change) in changes.items():
        content = yaml.safe_load(path.read_text(encoding="utf-8")) | change
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return ["--config", *(f"{name}={folder / name}.yaml" for name in changes)]


def status_of(command: Sequence[str]) -> int:
    """The exit status of Snakemake, which is asked to end once if we are, and waited for.

    In a session of its own it hears of Ctrl-C from us alone. Killed, as `subprocess.run` would,
    it leaves its lock and its jobs.
    """
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait()
    except BaseException:
        print("parity: interrupted; Snakemake ends its jobs, and then the cluster", flush=True)
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def _end(number: int, _frame: object) -> None:
    """End as a shell expects it of that signal; once is enough, while everything is being ended."""
    _on_request(signal.SIG_IGN)
    sys.exit(128 + number)


def _on_request(handler: Any) -> None:
    """What to do when asked to end, by Ctrl-C or otherwise."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, handler)
