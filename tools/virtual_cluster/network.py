"""Namespaces and links: a switch that every node and the host are plugged into."""

from __future__ import annotations

import json
import os
import re
from ipaddress import ip_interface, ip_network
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError
from virtual_cluster import layout
from virtual_cluster.layout import Cluster, Node

NAMESPACES = Path("/run/netns")
_OURS = re.compile(rf"{layout.SWITCH}|parity-n\d+")


def refuse_if_subnet_is_used() -> None:
    """Stop before two networks share their addresses.

    Raises:
        UserError: an address or route of this machine lies in the cluster's subnet.
    """
    routes = json.loads(output_of(["ip", "-json", "-4", "route", "show", "table", "all"]))
    used = [route["dst"] for route in routes if route["dst"] != "default"]
    ours = ip_network(layout.SUBNET)
    for destination in used:
        if ip_interface(destination).network.overlaps(ours):
            raise UserError(
                f"this machine already has a route to {destination}",
                where=f"the virtual cluster's subnet, {layout.SUBNET}",
                action="leave that network, or change SUBNET in tools/virtual_cluster/layout.py",
            )


def namespaces() -> list[Path]:
    """The network namespaces of the cluster that exist, complete or not."""
    if not NAMESPACES.is_dir():
        return []
    return sorted(path for path in NAMESPACES.iterdir() if _OURS.fullmatch(path.name))


def _ip(*words: str) -> None:
    output_of(["ip", *words])


def _plug_in(namespace: str | None, link: str, number: int) -> None:
    """Join a namespace, or the host (None), to the switch by a pair of links."""
    port = f"port{number}"
    within = ["-netns", namespace] if namespace else []
    _ip("-netns", layout.SWITCH, "link", "add", port, "type", "veth", "peer", "name", "peer")
    target = namespace or str(os.getpid())
    _ip("-netns", layout.SWITCH, "link", "set", "peer", "netns", target, "name", link)
    _ip("-netns", layout.SWITCH, "link", "set", port, "master", "bridge", "up")
    mask = f"{layout.address(number)}/{layout.PREFIX_LENGTH}"
    _ip(*within, "address", "add", mask, "dev", link)
    _ip(*within, "link", "set", link, "up")


def _add_namespace(name: str) -> None:
    _ip("netns", "add", name)
    _ip("-netns", name, "link", "set", "lo", "up")


def build(cluster: Cluster) -> None:
    """Make the switch and the nodes' namespaces, and join them and the host."""
    _add_namespace(layout.SWITCH)
    _ip("-netns", layout.SWITCH, "link", "add", "bridge", "type", "bridge")
    _ip("-netns", layout.SWITCH, "link", "set", "bridge", "up")
    _plug_in(None, layout.HOST_LINK, layout.HOST_NUMBER)
    for node in cluster.nodes:
        _add_namespace(node.namespace)
        _plug_in(node.namespace, "eth0", node.number)


def namespace_of(node: Node) -> Path:
    """The file by which a node's network namespace is entered."""
    return NAMESPACES / node.namespace


def remove() -> None:
    """Unplug and delete every namespace of the cluster; the rest of the network stays."""
    if Path("/sys/class/net", layout.HOST_LINK).exists():
        _ip("link", "delete", layout.HOST_LINK)
    for path in namespaces():
        # Links go first: a namespace lives on while any process on the machine holds it.
        # One after the other: both ends of a pair may lie here, and the second goes with the first.
        while links := _links(path.name):
            _delete_link(path.name, links[0])
        _ip("netns", "delete", path.name)


def _delete_link(namespace: str, link: str) -> None:
    """Delete a link; the last command of a killed `up` may have taken it away already."""
    try:
        _ip("-netns", namespace, "link", "delete", link)
    except UserError:
        if link in _links(namespace):
            raise


def _links(namespace: str) -> list[str]:
    try:
        said = output_of(["ip", "-netns", namespace, "-json", "link", "show"])
    except UserError:
        return []  # Only its file is there: `ip netns add` was killed half-way.
    return [link["ifname"] for link in json.loads(said) if link["ifname"] != "lo"]


def folder_state() -> str:
    """What `ip netns` keeps its namespaces in: "absent", a "folder", or a "mount"."""
    if not NAMESPACES.exists():
        return "absent"
    return "mount" if is_mount_point(NAMESPACES) else "folder"


def restore_folder(state: str) -> None:
    """Undo what the first `ip netns add` on a machine does to its folder, if still unused."""
    if not NAMESPACES.exists() or any(NAMESPACES.iterdir()):
        return
    if state != "mount" and is_mount_point(NAMESPACES):
        output_of(["umount", NAMESPACES])
    if state == "absent":
        NAMESPACES.rmdir()


def is_mount_point(path: Path) -> bool:
    """Whether something is mounted there; `Path.is_mount` does not see a bind mount."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return str(path) in {line.split()[4] for line in lines}
