"""The one link between servers on the host's network and a client in a namespace of its own.

All of it is on one host, so nothing but its rate is a network's. The host's end and its addresses
end with the client's namespace, however the runner ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.extensions.network_namespace import (
    Namespace,
    batch,
    held_namespace,
    without_ipv6,
)
from parity.extensions.servers.benchmarks.service import (
    CLIENT_ADDRESS,
    HOST_ADDRESS,
    MOST_SERVERS,
    PREFIX_LENGTH,
    server_address,
)
from parity.measure.companions import NotStarted
from parity.measure.documents import Gate

INTERFACE, CLIENT_INTERFACE = "parity-link", "eth0"
_SUBNET = f"{CLIENT_ADDRESS.rpartition('.')[0]}.0/{PREFIX_LENGTH}"
# Several of the largest segments that TCP leaves to an interface, which are sent whole; and what
# may wait, a few milliseconds of the fastest link.
_BURST_BYTES, _LIMIT_BYTES = 1 << 18, 1 << 22
_BYTES_OF_MBIT = 125_000


@dataclass
class ClientLink:
    """The link, and after the body whether it stayed as it was asked for."""

    namespace: Namespace
    gate: Gate | None = None


@contextmanager
def client_link(rate: int) -> Iterator[ClientLink]:
    """The link of a program that has servers.

    Args:
        rate: in Mbit/s; 0 for no limit.

    Raises:
        NotStarted: the kernel does not give it, or its addresses are somebody's.
    """
    with ExitStack() as stack:
        try:
            # One that a killed runner left, whose namespace the kernel has not forgotten yet.
            _delete()
            _refuse_taken_addresses()
            link = ClientLink(held_namespace(stack))
            stack.callback(_delete)
            batch(host_commands(link.namespace.path))
            without_ipv6(INTERFACE)
            link.namespace.inside(lambda: _set_client(rate))
            _limit(INTERFACE, rate)
        except (OSError, UserError) as error:
            raise NotStarted(f"no link between servers and client: {error}") from error
        yield link
        link.gate = _gate(link.namespace, rate)


def host_commands(namespace: str) -> list[str]:
    """What `ip` does on the host: the pair, and the addresses of the host's end."""
    servers = (f"{server_address(1 + number)}/32" for number in range(MOST_SERVERS))
    return [
        f"link add {INTERFACE} type veth peer name {CLIENT_INTERFACE} netns {namespace}",
        *(
            f"address add {address} dev {INTERFACE}"
            for address in (f"{HOST_ADDRESS}/{PREFIX_LENGTH}", *servers)
        ),
        f"link set {INTERFACE} up",
    ]


def _set_client(rate: int) -> None:
    """The client's end, from inside of its namespace."""
    without_ipv6("all", "default")
    at = f"dev {CLIENT_INTERFACE}"
    batch([f"address add {CLIENT_ADDRESS}/{PREFIX_LENGTH} {at}", f"link set {CLIENT_INTERFACE} up"])
    _limit(CLIENT_INTERFACE, rate)


def _limit(interface: str, rate: int) -> None:
    if rate:
        bucket = ["tbf", "rate", f"{rate}mbit", "burst", f"{_BURST_BYTES}"]
        output_of(
            ["tc", "qdisc", "add", "dev", interface, "root", *bucket, "limit", f"{_LIMIT_BYTES}"]
        )


def _refuse_taken_addresses() -> None:
    routes = json.loads(output_of(["ip", "-json", "route", "show", "exact", _SUBNET]))
    if routes:
        raise UserError(f"the host has a route of its own to {_SUBNET}, by {routes[0]['dev']}")


def _delete() -> None:
    answer_of(["ip", "link", "delete", INTERFACE])


def _gate(namespace: Namespace, rate: int) -> Gate:
    """Whether both ends are there and have their rate."""
    problems, expected = [], rate * _BYTES_OF_MBIT
    ends: dict[str, Callable[[], int]] = {
        "servers": partial(_rate_of, INTERFACE),
        "client": partial(namespace.inside, partial(_rate_of, CLIENT_INTERFACE)),
    }
    for name, ask in ends.items():
        try:
            seen = ask()
        except (OSError, UserError) as error:
            problems.append(f"the end of the {name} cannot be asked any more: {error}")
            continue
        if seen != expected:
            problems.append(f"the rate of the {name} is {seen} bytes/s, not {expected}")
    return Gate("network", not problems, "; ".join(problems))


def _rate_of(interface: str) -> int:
    """Bytes per second of an interface's token bucket; 0 without one."""
    queues = json.loads(output_of(["tc", "-json", "qdisc", "show", "dev", interface]))
    return sum(int(queue["options"]["rate"]) for queue in queues if queue["kind"] == "tbf")
