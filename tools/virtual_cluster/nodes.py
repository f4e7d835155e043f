"""One virtual node: its namespaces, what it has to itself, and its slurmd."""

import time
from pathlib import Path

import psutil

from parity.core.commands import output_of
from parity.core.errors import UserError
from virtual_cluster import layout, network, processes
from virtual_cluster.layout import Node

# Containers of the host: a node that kept their mounts would keep the host from removing them.
_HOSTS_CONTAINERS = ("/run/docker/", "/run/netns", "/var/lib/docker/", "/var/lib/containers/")
_HOLDER = ["sleep", "infinity"]
_LONGEST_START_SECONDS = 10


def open_node(node: Node) -> None:
    """Make a node's namespaces, kept open by a process that sleeps, and mount what is its own.

    `ip netns exec` would hide /sys/fs/cgroup, without which slurmd refuses to start: so nsenter.
    """
    for name in ("spool", "tmp"):
        (node.folder / name).mkdir(parents=True)
    (node.folder / "tmp").chmod(0o1777)
    enter = ["nsenter", f"--net={network.NAMESPACES / node.namespace}"]
    unshare = ["unshare", "--uts", "--mount", "--propagation", "slave"]
    holder = processes.start([*enter, *unshare, *_HOLDER], node.log)
    (node.folder / "holder.pid").write_text(f"{holder.pid}\n")
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while psutil.Process(holder.pid).name() != _HOLDER[0]:
        if holder.poll() is not None or time.monotonic() > deadline:
            what = f"the namespaces of node {node.name} cannot be made"
            raise UserError(what, where=str(node.log))
        time.sleep(0.01)
    _inside(node, "hostname", node.host_name)
    lines = Path(f"/proc/{holder.pid}/mountinfo").read_text().splitlines()
    for point in reversed([line.split()[4] for line in lines]):
        if point.startswith(_HOSTS_CONTAINERS):
            _inside(node, "umount", "--lazy", point)
    _inside(node, "mount", "--bind", node.folder, layout.PRIVATE)
    _inside(node, "mount", "--bind", layout.STATE / "hosts", "/etc/hosts")
    # The machine's lock is about to be hidden by the node's own file system, and is put into it.
    lock, kept = layout.MEASUREMENT_LOCK, layout.PRIVATE / "lock"
    (node.folder / kept.name).touch()
    _inside(node, "mount", "--bind", lock, kept)
    tmpfs = ["mount", "--types", "tmpfs", "--options", "mode=1777", node.mark]
    _inside(node, *tmpfs, layout.SCRATCH)
    _inside(node, "touch", lock)
    _inside(node, "mount", "--bind", kept, lock)


def _inside(node: Node, *words: str | Path) -> str:
    return output_of([*_entering(node), *words])


def _entering(node: Node) -> list[str]:
    try:
        holder = (node.folder / "holder.pid").read_text().strip()
    except FileNotFoundError as error:
        raise UserError(
            f"there is no virtual node {node.name}",
            allowed="the nodes that `python tools/virtual_cluster status` shows",
            action="make cluster-up",
        ) from error
    return ["nsenter", f"--target={holder}", "--net", "--uts", "--mount"]


def start_slurmd(node: Node) -> None:
    """Start the node's slurmd; its configuration and its folders are the node's own."""
    environment = {"SLURM_CONF": f"{layout.CONFIGURATION}", "TMPDIR": f"{layout.PRIVATE}/tmp"}
    argv = [*_entering(node), "slurmd", "-N", node.name]
    if processes.start(argv, node.log, **environment).wait():
        raise UserError(f"slurmd of node {node.name} did not start", where=str(node.log))


def slurmds(node: Node) -> list[psutil.Process]:
    """The node's slurmd, if it runs; slurmstepd, which keeps a job's step, is another."""
    return [each for each in processes.on_nodes(node) if each.name() == "slurmd"]


def kill(node: Node, everything: bool) -> None:
    """Kill slurmd as a crash would, or every step, too, as a power cut would.

    After a crash steps go on, and the controller is not told; namespaces stay for a new start.
    """
    if not everything:
        processes.end(slurmds(node))
        return
    holder = int((node.folder / "holder.pid").read_text())
    processes.end_all(lambda: [each for each in processes.on_nodes(node) if each.pid != holder])
