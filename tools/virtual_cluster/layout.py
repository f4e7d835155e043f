"""What the cluster consists of, and where each thing lies; nothing here touches the machine."""

from dataclasses import dataclass
from pathlib import Path

from jinja2 import StrictUndefined, Template

STATE = Path("/run/parity-cluster")
SYSTEM_CONFIGURATION = Path("/etc/slurm/slurm.conf")
SCRATCH = Path("/tmp/parity")

CONFIGURATION = STATE / "slurm.conf"
DATABASE_CONFIGURATION = STATE / "slurmdbd.conf"
DESCRIPTION = STATE / "cluster.json"
LOGS, CONTROLLER = STATE / "logs", STATE / "controller"
MUNGE, DATABASE = STATE / "munge", STATE / "database"
MUNGE_SOCKET, DATABASE_SOCKET = MUNGE / "socket", DATABASE / "socket"
# One path on every node, and another folder behind it on each: Slurm expands no node's
# name in TmpFS, and PMIx servers of two nodes collide in a folder that both see.
PRIVATE = STATE / "node"
# All nodes share the CPUs of one machine, so the machine's own lock lets one block measure at a
# time, on whichever node or on none.
MEASUREMENT_LOCK = SCRATCH / "lock"

NAME, DOMAIN, PARTITION = "parity-virtual", "virtual.example", "virtual"
SUBNET, PREFIX_LENGTH = "10.213.7.0/24", 24
_NETWORK = "10.213.7"
MOST_NODES, HOST_NUMBER = 64, 254
HOST_LINK = "parity-host"
# Docker sets FORWARD DROP on the host and sends bridged frames through it; a bridge in a
# namespace of its own is out of its reach.
SWITCH = "parity-switch"
# The source of each node's scratch file system, and thereby the mark of its processes.
MARK = "parity-cluster-"


def address(number: int) -> str:
    """The address of a node by its number, or of the host by HOST_NUMBER."""
    return f"{_NETWORK}.{number}"


class Node:
    """A node: its names, its address, and where its things are."""

    def __init__(self, number: int) -> None:
        self.number, self.name, self.address = number, f"n{number}", address(number)
        # What it calls itself: every second node by its domain, too, as many sites have it.
        self.host_name = self.name if number % 2 else f"{self.name}.{DOMAIN}"
        self.namespace, self.mark = f"parity-{self.name}", f"{MARK}{self.name}"
        self.folder = STATE / "nodes" / self.name  # what it has to itself, as the host sees it
        self.log = LOGS / f"slurmd-{self.name}.log"


@dataclass(frozen=True)
class Host:
    """The machine below; each node offers all of its CPUs and memory (MiB)."""

    name: str
    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class Cluster:
    host: Host
    node_count: int
    accounting: bool

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(Node(number) for number in range(1, self.node_count + 1))


def configured(name: str, cluster: Cluster) -> str:
    """The text of `slurm.conf`, or of `slurmdbd.conf`."""
    text = Path(__file__).with_name(f"{name}.jinja").read_text(encoding="utf-8")
    form = Template(text, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return form.render(cluster=cluster, layout=globals())


def hosts(cluster: Cluster) -> str:
    """A node's /etc/hosts; containers that run on the node are given the same."""
    lines = ["127.0.0.1 localhost", "::1 localhost", f"{address(HOST_NUMBER)} {cluster.host.name}"]
    for node in cluster.nodes:
        lines.append(" ".join(dict.fromkeys((node.address, node.host_name, node.name))))
    return "\n".join(lines) + "\n"
