"""Networked arms: the same arm with a network of its own in each container.

What virtual interfaces cost (Ruiz et al. 2015) is measured between containers that have some. We
make the network (extensions/networks) and start the runtime inside of it, so any runtime that
leaves the network alone can have one, and so can the bare program: then it is the network alone
that costs. Names follow a grammar:

    <arm>-veth          a veth pair for each container, joined by a bridge
    <arm>-veth-plain    the same without offloads, as the kernels of 2012 had it
    <arm>-macvlan       a macvlan interface for each container
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from parity.core.commands import Availability, answer_of, is_installed
from parity.runtimes.derived import Derived, of_base
from parity.runtimes.model import KERNEL, Arm, absent


class Network(NamedTuple):
    """How containers reach each other."""

    kind: str  # `veth` (pairs that a bridge joins) or `macvlan` (children of one interface)
    offloads: bool = True  # whether segmentation and checksums are left to the interfaces


_ENDS = {  # the longest is looked for first
    "-veth-plain": (Network("veth", offloads=False), "veth without offloads"),
    "-veth": (Network("veth"), "veth"),
    "-macvlan": (Network("macvlan"), "macvlan"),
}
_PACKAGE_OF = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool"}
PACKAGES = {"networks of containers": tuple(sorted({*_PACKAGE_OF.values()}))}
_TRIED = {  # what `ip` has to be able to make, in a namespace that ends with it
    "veth": "link add bridge type bridge\nlink add port type veth peer name eth0\n",
    "macvlan": "link add parent type veth peer name peer\n"
    "link add eth0 link parent type macvlan mode bridge\n",
}


@dataclass(frozen=True)
class Networked(Derived):
    """An arm whose containers have a network of their own."""

    network: Network
    link_set = of_base("link_set")
    unlimited = of_base("unlimited")

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.base.isolates, "net")

    def probe(self) -> Availability:
        presence = self.base.probe()
        return (presence.available and self.in_the_way()) or presence

    def refusal(self, ranks: int, containers: int) -> str:
        apart = ranks and not containers
        return "ranks have networks of their own only in containers of a node" if apart else ""

    def in_the_way(self) -> Availability | None:
        if not self.base.inherits_network:
            why = "a daemon starts its containers, in the host's network"
            return absent(why, "measure it without -veth or -macvlan")
        if missing := [program for program in _PACKAGE_OF if not is_installed(program)]:
            packages = " ".join(sorted({_PACKAGE_OF[program] for program in missing}))
            return absent(f"{', '.join(missing)} not installed", f"apt-get install {packages}")
        if os.geteuid():
            return absent("networks of containers need root", "run the study as root")
        tried, kind = ["unshare", "--net", "ip", "-batch", "-"], self.network.kind
        made, answer = answer_of(tried, seconds=5, given=_TRIED[kind])
        remedy = f"a kernel with {kind} and bridge, and CAP_NET_ADMIN"
        return None if made else absent(f"no {kind}: {answer}", remedy)


def derived(name: str, arms: Mapping[str, Arm]) -> Arm | None:
    """The networked arm of a name, made of a listed one; None if it is none."""
    for end, (network, words) in _ENDS.items():
        arm = arms.get(name.removesuffix(end)) if name.endswith(end) else None
        # Programs of another kernel have its network, not that which it starts in.
        if arm and KERNEL not in arm.isolates:
            return Networked(arm, name, f"{arm.title}, {words}", network)
    return None
