"""Namespaces and links: a switch that every node and the host are plugged into."""

import json
import os
import re
from ipaddress import ip_interface, ip_network
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError
from virtual_cluster import layout
from virtual_cluster.layout import Cluster

NAMESPACES = Path("/run/netns")
_OURS = re.compile(rf"{layout.SWITCH}|parity-n\d+")


def _ip(*words: str, within: str | None = None) -> str:
    return output_of(["ip", *(["-netns", within] if within else []), *words])


def refuse_if_subnet_is_used() -> None:
    """Refuse (UserError) a machine that has an address or route in the cluster's subnet."""
    ours = ip_network(layout.SUBNET)
    for route in json.loads(_ip("-json", "-4", "route", "show", "table", "all")):
        destination = route["dst"]
        if destination != "default" and ip_interface(destination).network.overlaps(ours):
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


def _plug_in(namespace: str | None, link: str, number: int) -> None:
    """Join a namespace, or the host (None), to the switch by a pair of links."""
    port, switch = f"port{number}", layout.SWITCH
    _ip("link", "add", port, "type", "veth", "peer", "name", "peer", within=switch)
    target = namespace or str(os.getpid())
    _ip("link", "set", "peer", "netns", target, "name", link, within=switch)
    _ip("link", "set", port, "master", "bridge", "up", within=switch)
    mask = f"{layout.address(number)}/{layout.PREFIX_LENGTH}"
    _ip("address", "add", mask, "dev", link, within=namespace)
    _ip("link", "set", link, "up", within=namespace)


def build(cluster: Cluster) -> None:
    """Make the switch and the nodes' namespaces, and join them and the host."""
    for name in (layout.SWITCH, *(node.namespace for node in cluster.nodes)):
        _ip("netns", "add", name)
        _ip("link", "set", "lo", "up", within=name)
    _ip("link", "add", "bridge", "type", "bridge", within=layout.SWITCH)
    _ip("link", "set", "bridge", "up", within=layout.SWITCH)
    _plug_in(None, layout.HOST_LINK, layout.HOST_NUMBER)
    for node in cluster.nodes:
        _plug_in(node.namespace, "eth0", node.number)


def remove() -> None:
    """Unplug and delete every namespace of the cluster; the rest of the network stays."""
    if Path("/sys/class/net", layout.HOST_LINK).exists():
        _ip("link", "delete", layout.HOST_LINK)
    for path in namespaces():
        # Links go first: a namespace lives on while any process on the machine holds it.
        # One after the other: both ends of a pair may lie here, and the second goes with the first.
        while links := _links(path.name):
            try:
                _ip("link", "delete", links[0], within=path.name)
            except UserError:
                # The last command of a killed `up` may have taken it away already.
                if links[0] in _links(path.name):
                    raise
        try:
            _ip("netns", "delete", path.name)
        except UserError:
            # Another `down` beside this one took it away.
            if path.exists():
                raise


def _links(namespace: str) -> list[str]:
    try:
        told = _ip("-json", "link", "show", within=namespace)
    except UserError:
        return []  # Only its file is there: `ip netns add` was killed half-way.
    return [link["ifname"] for link in json.loads(told) if link["ifname"] != "lo"]


def folder_state() -> str:
    """What `ip netns` keeps its namespaces in: "absent", a "folder", or a "mount"."""
    if not NAMESPACES.exists():
        return "absent"
    # `Path.is_mount` does not see a bind mount.
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return "mount" if str(NAMESPACES) in {line.split()[4] for line in lines} else "folder"


def restore_folder(state: str) -> None:
    """Undo what the first `ip netns add` on a machine does to its folder, if still unused."""
    if not NAMESPACES.exists() or any(NAMESPACES.iterdir()):
        return
    if state != "mount" and folder_state() == "mount":
        output_of(["umount", NAMESPACES])
    if state == "absent":
        NAMESPACES.rmdir()
