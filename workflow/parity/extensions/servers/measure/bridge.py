"""Servers behind a bridge of their runtime's, while their client stays where it is in every arm.

They keep their addresses, which then are no longer the host's: the client is routed to them, or,
where their ports are published, has them translated to those of the host at which they are. The
client's namespace holds its routes and translations, so they end with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.extensions.network_namespace import Namespace
from parity.extensions.servers.benchmarks.service import (
    HOST_ADDRESS,
    MOST_SERVERS,
    Service,
    server_address,
)
from parity.extensions.servers.runtimes.docker_bridge import DockerBridge
from parity.measure.companions import NotStarted
from parity.measure.record import Order

# It holds the servers' addresses and a gateway, and neither the client's nor the host's own.
SUBNET = "10.213.1.8/29"


@contextmanager
def servers_bridge(
    order: Order, services: Sequence[Service], client: Namespace, interface: str
) -> Iterator[None]:
    """Give the servers of an arm with a bridge their addresses in it; nothing for other arms.

    Args:
        services: those that will run in the arm.
        client: where the client is.
        interface: the host's end of the link to it.

    Raises:
        NotStarted: the runtime or the kernel refuses.
    """
    arm, image = order.arm, order.state.image
    if not isinstance(arm, DockerBridge) or not services or image is None:
        yield
        return
    ports: dict[str, list[int]] = {}
    for each in services:
        ports.setdefault(each.address, []).extend([each.port] if each.port else [])
    at = {address: published_address(address) for address in ports} if arm.published else {}
    try:
        try:
            output_of(["ip", "-batch", "-"], given="\n".join(bridge_commands(interface, at)))
            arm.begin_servers(image, SUBNET, ports, at)
            client.inside(lambda: _route_client(at))
        except (OSError, UserError) as error:
            raise NotStarted(f"no bridge for the servers: {error}") from error
        yield
    finally:
        arm.end_servers()


def published_address(address: str) -> str:
    """The host's own address at which the ports of a server are published: ten further."""
    network, _, last = address.rpartition(".")
    return f"{network}.{int(last) + 10}"


def bridge_commands(interface: str, at: Mapping[str, str]) -> list[str]:
    """What `ip` does on the host: the servers' addresses go, those of published ports come."""
    own = [server_address(1 + number) for number in range(MOST_SERVERS)]
    return [
        *(f"address delete {address}/32 dev {interface}" for address in own),
        *(f"address add {address}/32 dev {interface}" for address in at.values()),
    ]


def client_commands(at: Mapping[str, str]) -> list[list[str]]:
    """What makes the client find them."""
    return [
        ["ip", "route", "add", SUBNET, "via", HOST_ADDRESS],
        *(
            ["iptables", "-t", "nat", "-A", "OUTPUT", "-d", address, "-j", "DNAT",
             "--to-destination", published]
            for address, published in at.items()
        ),
    ]  # fmt: skip


def _route_client(at: Mapping[str, str]) -> None:
    for words in client_commands(at):
        output_of(words)
