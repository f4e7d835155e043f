"""Up, down and status of the whole cluster."""

import os
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.core.files import read_json, write_json
from parity.measure.places import make_places, only_one
from virtual_cluster import daemons, layout, network, nodes, processes
from virtual_cluster.layout import Cluster, Host, Node

LONGEST_WAIT_SECONDS = 60
_LONGEST_CANCEL_SECONDS = 15


def up(node_count: int, accounting: bool) -> None:
    """Start a cluster and wait until all of its nodes are idle.

    UserError: this machine belongs to a cluster, a daemon does not start, and so on; what was
    started up to then is left for its logs, and `down` ends it.
    """
    name, memory = socket.gethostname().partition(".")[0], psutil.virtual_memory().total >> 20
    asked = Cluster(Host(name, os.cpu_count() or 1, memory), node_count, accounting)
    _refuse_another_cluster()
    if layout.STATE.exists():
        _refuse_unless_up(asked)
        print(f"the virtual cluster is up already\n{status()}")
        return
    if asked.host.name in {node.name for node in asked.nodes}:
        raise UserError(f"this machine is itself called {asked.host.name}, like a virtual node")
    daemons.install(accounting)
    network.refuse_if_subnet_is_used()
    _write_state(asked)
    network.build(asked)
    daemons.start_munged()
    if accounting:
        daemons.start_accounting()
    daemons.start_controller()
    for node in asked.nodes:
        nodes.open_node(node)
        nodes.start_slurmd(node)
    wait_until_idle(asked.nodes)
    print(status())
    print("sbatch, srun, squeue work here now; to end it: make cluster-down")


def _is_our_link(path: Path) -> bool:
    return path.is_symlink() and path.readlink() == layout.CONFIGURATION


def _refuse_another_cluster() -> None:
    paths = layout.SYSTEM_CONFIGURATION, Path("/run/slurm/conf/slurm.conf")
    named = os.environ.get("SLURM_CONF", str(layout.CONFIGURATION))
    theirs = [str(path) for path in paths if os.path.lexists(path) and not _is_our_link(path)]
    if theirs or named != str(layout.CONFIGURATION):
        problem = "this machine already belongs to a Slurm cluster"
        action = "use that cluster, or a machine without one"
        raise UserError(problem, where=(theirs or [f"SLURM_CONF={named}"])[0], action=action)


def _refuse_unless_up(asked: Cluster) -> None:
    there = read_cluster() if layout.DESCRIPTION.exists() else None
    if not there or not processes.daemons("slurmctld"):
        what = "a virtual cluster was started here and is not whole"
    elif (there.node_count, there.accounting) != (asked.node_count, asked.accounting):
        kind = "with" if there.accounting else "without"
        what = f"a virtual cluster of {there.node_count} nodes {kind} accounting is up"
    else:
        return
    raise UserError(what, where=str(layout.STATE), action="make cluster-down, then cluster-up")


def _write_state(cluster: Cluster) -> None:
    """Make the state folder, the configuration in it, and the link to it."""
    layout.STATE.mkdir(mode=0o755)
    layout.STATE.chmod(0o755)
    before = {"scratch": layout.SCRATCH.exists(), "namespaces": network.folder_state()}
    write_json(layout.DESCRIPTION, msgspec.to_builtins(cluster) | {"before": before})
    for folder in (layout.LOGS, layout.CONTROLLER, layout.PRIVATE):
        folder.mkdir()
    make_places(layout.SCRATCH)
    # What is being measured is not disturbed, and the lock is there for the nodes.
    with only_one(layout.SCRATCH, "a measurement on this machine"):
        pass
    (layout.STATE / "plugstack.conf").touch()
    (layout.STATE / "hosts").write_text(layout.hosts(cluster))
    layout.CONFIGURATION.write_text(layout.configured("slurm.conf", cluster))
    if cluster.accounting:
        layout.DATABASE_CONFIGURATION.touch(mode=0o600)
        layout.DATABASE_CONFIGURATION.write_text(layout.configured("slurmdbd.conf", cluster))
    layout.SYSTEM_CONFIGURATION.parent.mkdir(exist_ok=True)
    layout.SYSTEM_CONFIGURATION.symlink_to(layout.CONFIGURATION)


def read_cluster() -> Cluster:
    """The cluster that is up, or half up; or UserError."""
    try:
        return msgspec.json.decode(layout.DESCRIPTION.read_bytes(), type=Cluster)
    except FileNotFoundError as error:
        raise UserError("no virtual cluster is up", action="make cluster-up") from error


def node_named(name: str) -> Node:
    """The node of that name; or UserError."""
    there = {node.name: node for node in read_cluster().nodes}
    if name not in there:
        raise UserError(f"there is no virtual node {name}", allowed=", ".join(there))
    return there[name]


def states() -> dict[str, str]:
    """What Slurm says of each node, such as ``idle``; empty where no controller answers."""
    if not answer_of(["scontrol", "ping"])[0]:
        return {}
    lines = output_of(["sinfo", "--noheader", "--Node", "--format=%N %T"]).splitlines()
    return dict(line.split() for line in lines)


def wait_until_idle(wanted: tuple[Node, ...]) -> None:
    """Wait until nodes are idle; what keeps one from it stands in its log."""
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while late := [node for node in wanted if states().get(node.name) != "idle"]:
        if time.monotonic() > deadline:
            state = states().get(late[0].name, "unknown to the controller")
            raise UserError(
                f"node {late[0].name} did not become idle in {LONGEST_WAIT_SECONDS} s: {state}",
                where=f"{late[0].log} and {layout.LOGS}/slurmctld.log",
                action="read them, then make cluster-down",
            )
        time.sleep(0.2)


def status() -> str:
    said = states()
    return "\n".join(
        f"{node.name}  {node.address:<12} {said.get(node.name, 'no answer from slurmctld')}"
        for node in read_cluster().nodes
    )


def down() -> None:
    """End all that `up` started, jobs included, however far it came; nothing to do is fine."""
    if layout.DESCRIPTION.exists() and processes.daemons("slurmctld"):
        _cancel_jobs()
    processes.end_all(processes.on_nodes)
    # What the daemons would save at a polite end is deleted next.
    processes.end_all(processes.daemons)
    network.remove()
    _remove_state()


def _cancel_jobs() -> None:
    """Let jobs end by themselves first: a runner then removes what it told other daemons to."""
    deadline = time.monotonic() + _LONGEST_CANCEL_SECONDS
    with suppress(UserError):
        while jobs := output_of(["squeue", "--noheader", "--format=%A"]).split():
            if time.monotonic() > deadline:
                return
            output_of(["scancel", "--quiet", *jobs])
            time.sleep(0.5)


def _remove_state() -> None:
    if _is_our_link(layout.SYSTEM_CONFIGURATION):
        layout.SYSTEM_CONFIGURATION.unlink()
    if not layout.STATE.exists():
        return
    if not layout.DESCRIPTION.exists():  # Killed before it did anything else.
        shutil.rmtree(layout.STATE)
        return
    before = read_json(layout.DESCRIPTION)["before"]
    network.restore_folder(before["namespaces"])
    # What Open MPI leaves in shared folders when its ranks are killed; it names the node.
    for node in read_cluster().nodes:
        for segment in Path("/dev/shm").glob(f"vader_segment.{node.name}.*"):
            segment.unlink(missing_ok=True)
        for session in Path("/tmp").glob(f"ompi.{node.name}.*"):
            shutil.rmtree(session, ignore_errors=True)
    # What we made of the scratch folder goes, unless somebody measured here meanwhile.
    scratch, own = layout.SCRATCH, layout.SCRATCH / f"{os.geteuid()}"
    if not before["scratch"] and not {each.name for each in scratch.iterdir()} - {own.name, "lock"}:
        with suppress(OSError):
            (own / "node").unlink(missing_ok=True)
            own.rmdir()
            layout.MEASUREMENT_LOCK.unlink(missing_ok=True)
            scratch.rmdir()
    shutil.rmtree(layout.STATE)
