"""The network between the containers of a run: made before it, proven from inside, and counted.

A hub namespace joins one namespace for each container, by a bridge or as children of one
interface. Queues are at the hub's end of a link, as in a switch: there they drop what TCP takes for
lost, while a sender's own queue would hold it back. Nothing is in the host's own network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.extensions.network_namespace import (
    Namespace,
    batch,
    end_left_networks,
    held_namespace,
    without_ipv6,
)
from parity.extensions.networks.benchmarks.network import Knobs
from parity.extensions.networks.measure.proof import (
    FEATURES,
    NEVER,
    SYSCTLS,
    Link,
    counted,
    dropped,
    features,
    proof,
    settings,
)
from parity.extensions.networks.runtimes.networked import Network, Networked
from parity.measure.companions import NotStarted
from parity.measure.documents import Gate
from parity.measure.record import Order

# There is no way from these namespaces to any other network, so no address can collide.
_PREFIX, _HUB = "10.213.0", 254
# Two frames: larger ones of segmentation offload are cut before they wait in the queue.
_BURST_BYTES = 3100


@dataclass(frozen=True)
class Place:
    """Where a container is.

    Attributes:
        name: unique on the node.
        address: IPv4; empty on the host's network.
        words: what stands in front of a command to be there; nothing on the host's network.
    """

    name: str
    address: str = ""
    words: tuple[str, ...] = ()


@dataclass
class NetworkState:
    """A network and what became of it.

    Attributes:
        hub: words in front of a command that is to reach all places.
        gate: after the body: whether every link was and stayed as asked; None on the host's.
        counters: after the body, summed over all places.
        facts: what was read back from inside of the first place.
    """

    places: tuple[Place, ...]
    hub: tuple[str, ...] = ()
    gate: Gate | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> dict[str, str]:
        """Facts and counters as a record keeps them."""
        return {**self.facts, **{name: str(count) for name, count in self.counters.items()}}


@contextmanager
def network(order: Order, count: int) -> Iterator[NetworkState]:
    """The network of an arm with so many places; on the host's for an arm without one.

    Yields:
        Its state, of which gate and counters come after the body.

    Raises:
        NotStarted: the kernel does not give it; nothing is left of it.
    """
    if not isinstance(order.arm, Networked):
        yield NetworkState(tuple(Place(f"place-{number}") for number in range(count)))
        return
    kind, knobs = order.arm.network, Knobs.of(order.case.parameters)
    with ExitStack() as held:
        try:
            hub, *others = [held_namespace(held) for _ in range(1 + count)]
            links = [
                Link(there, f"port{number}", f"{_PREFIX}.{1 + number}")
                for number, there in enumerate(others)
            ]
            _make(hub, links, kind, knobs)
            facts, problems = proof(hub, links, kind, knobs)
            before = _counters(hub, links)
        except (OSError, UserError) as error:
            raise NotStarted(f"no network of containers: {error}") from error
        if problems:
            raise NotStarted("; ".join(problems))
        places = [
            Place(f"place-{n}", link.address, link.namespace.words) for n, link in enumerate(links)
        ]
        state = NetworkState(tuple(places), hub.words, facts=facts)
        yield state
        try:
            after = _counters(hub, links)
            state.counters = {name: after[name] - before[name] for name in before}
            _, problems = proof(hub, links, kind, knobs)
        except (OSError, UserError) as error:
            problems = [f"the network cannot be asked any more: {error}"]
        state.gate = Gate("network", not problems, "; ".join(problems))


def _make(hub: Namespace, links: list[Link], kind: Network, knobs: Knobs) -> None:
    """Interfaces, addresses, and what is asked of TCP and of queues; raises as their makers do."""
    if kind.kind != "veth" and knobs.rate_mbit:
        raise UserError(f"a rate needs veth pairs, and {kind.kind} has none")
    if len(links) >= _HUB:
        raise UserError(f"there are addresses for {_HUB - 1} containers, not for {len(links)}")
    if knobs.queue_packets != Knobs.queue_packets and not knobs.rate_mbit:
        raise UserError("a queue without a rate (rate_mbit) holds nothing")
    for each in (hub, *(link.namespace for link in links)):
        each.inside(partial(without_ipv6, "all", "default"))
    hub.inside(lambda: batch(hub_commands(kind, links)))
    for link in links:
        link.namespace.inside(partial(_set_place, link, kind, knobs))
    hub.inside(lambda: _set_hub(links, kind, knobs))


def hub_commands(kind: Network, links: list[Link]) -> list[str]:
    """What `ip` does in the hub: all interfaces, each place's end as its `eth0`."""
    if kind.kind == "veth":
        lines, own = ["link add bridge type bridge"], "bridge"
        for link in links:
            at = f"netns {link.namespace.path}"
            lines.append(f"link add {link.port} type veth peer name eth0 {at}")
            lines.append(f"link set {link.port} master bridge up")
    else:
        child, own = "type macvlan mode bridge", "hub"
        lines = ["link add parent type veth peer name peer"]
        lines += ["link set parent up", "link set peer up", f"link add hub link parent {child}"]
        for link in links:
            lines.append(f"link add {link.port} link parent {child}")
            lines.append(f"link set {link.port} netns {link.namespace.path} name eth0")
    return [*lines, f"address add {_PREFIX}.{_HUB}/24 dev {own}", f"link set {own} up"]


def _set_place(link: Link, kind: Network, knobs: Knobs) -> None:
    """Address, waiting time of TCP, offloads and TCP's settings of a place, inside of it."""
    for name, value in settings(knobs).items():
        try:
            (SYSCTLS / name).write_text(value, encoding="ascii")
        except OSError as error:
            raise UserError(f"this kernel refuses {name}={value}: {error.strerror}") from error
    subnet = f"{_PREFIX}.0/24 dev eth0 proto kernel scope link src {link.address}"
    batch(
        [
            f"address add {link.address}/24 dev eth0",
            "link set eth0 up",
            f"route replace {subnet} rto_min {knobs.rto_min_ms}ms",
        ]
    )
    # Those of macvlan are its parent's, and fixed.
    if kind.kind == "veth":
        _set_offloads("eth0", kind)


def _set_offloads(interface: str, kind: Network) -> None:
    names = FEATURES | NEVER
    words = [word for name, state in features(kind).items() for word in (names[name], state)]
    output_of(["ethtool", "-K", interface, *words])


def _set_hub(links: list[Link], kind: Network, knobs: Knobs) -> None:
    """The hub's ends of the links."""
    for link in links if kind.kind == "veth" else ():
        _set_offloads(link.port, kind)
        if not knobs.rate_mbit:
            continue
        at = ["tc", "qdisc", "add", "dev", link.port]
        rate = ["rate", f"{knobs.rate_mbit}mbit", "burst", f"{_BURST_BYTES}"]
        output_of([*at, "root", "handle", "1:", "tbf", *rate, "limit", f"{_BURST_BYTES}"])
        output_of([*at, "parent", "1:1", "pfifo", "limit", f"{knobs.queue_packets}"])


def _counters(hub: Namespace, links: list[Link]) -> Counter[str]:
    """What the kernel counted so far in all places, and dropped at the hub."""
    total = Counter({"queue_drops": hub.inside(dropped)})
    for link in links:
        total.update(link.namespace.inside(counted))
    return total


SWEEP = end_left_networks
