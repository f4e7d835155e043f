"""What a cluster could leave behind, seen without the cluster's own book-keeping."""

import os
from pathlib import Path

import psutil

from parity.core.commands import output_of
from virtual_cluster import layout

# What holds a node's namespaces, and what the tests' jobs start; others may sleep as they like.
SLEEPERS = (["sleep", "infinity"], ["sleep", "600"])
DAEMONS = ("munged", "slurmctld", "slurmd", "slurmdbd", "slurmstepd", "mariadbd")


def traces() -> dict[str, object]:
    """Daemons, namespaces, links, routes, mounts and files of a cluster, whoever made them."""
    seen = [each.info for each in psutil.process_iter(["name", "cmdline"])]
    names = [each["name"] for each in seen]
    return {
        "daemons": sorted(name for name in names if name in DAEMONS),
        "sleepers": sum(each["cmdline"] in SLEEPERS for each in seen),
        "namespaces": output_of(["ip", "netns"]), "links": _names("/sys/class/net"),
        "routes": output_of(["ip", "route"]), "mounts": Path("/proc/mounts").read_text(),
        "folders": {name: os.path.lexists(name) for name in ("/run/netns", "/tmp/parity")},
        "state": layout.STATE.exists(), "shared memory": _names("/dev/shm"),
        "configuration": _names("/etc/slurm"),
    }  # fmt: skip


def _names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).glob("*"))
