"""The network between the containers of a run: made before it, proven from inside, and counted.

A hub namespace joins one namespace for each container, by a bridge or as children of one
interface. Queues are at the hub's end of a link, as in a switch: there they drop what TCP takes for
lost, while a sender's own queue would hold it back. Nothing is in the host's own network.
"""

import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.extensions import network_namespace as spaces
from parity.extensions.networks.benchmarks.network import ERA_OF_RUIZ, Knobs
from parity.extensions.networks.runtimes.networked import Network, Networked
from parity.measure.attempt import NotStarted, Order
from parity.measure.documents import Gate

# What `ethtool -k` calls a feature, and `ethtool -K` sets; and what veth never has on by itself.
FEATURES = {
    "tx-checksumming": "tx", "scatter-gather": "sg", "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
}  # fmt: skip
NEVER = {"generic-receive-offload": "gro"}
_COUNTERS = {
    "tcp_retransmits": ("snmp", "Tcp", "RetransSegs"),
    "tcp_timeouts": ("netstat", "TcpExt", "TCPTimeouts"),
    "tcp_spurious_timeouts": ("netstat", "TcpExt", "TCPSpuriousRTOs"),
    "tcp_loss_probes": ("netstat", "TcpExt", "TCPLossProbes"),
}
SYSCTLS = Path("/proc/sys/net/ipv4")
_REACH_SECONDS = 5.0


@dataclass(frozen=True)
class Link:
    """A place's namespace, the name of the hub's end of its link, and its address."""

    namespace: spaces.Namespace
    port: str
    address: str


def settings(knobs: Knobs) -> dict[str, str]:
    """What TCP is told in each place, by the file below `SYSCTLS`."""
    is_old = knobs.era == ERA_OF_RUIZ
    return {
        "tcp_congestion_control": knobs.congestion_control, "tcp_sack": str(int(knobs.sack)),
        "tcp_recovery": "0" if is_old else "1", "tcp_early_retrans": "0" if is_old else "3",
    }  # fmt: skip


def features(kind: Network) -> dict[str, str]:
    """What each end of a link has to say of its offloads."""
    return dict.fromkeys(FEATURES, "on" if kind.offloads else "off") | dict.fromkeys(NEVER, "off")


def proof(
    hub: spaces.Namespace, links: Sequence[Link], kind: Network, knobs: Knobs
) -> tuple[dict[str, str], list[str]]:
    """What the first place reads of its network, and where any link is not as asked.

    Raises OSError, UserError: a place cannot be asked.
    """
    first: dict[str, str] = {}
    problems: list[str] = []
    rate, queue = f"{knobs.rate_mbit * 125_000}", f"{knobs.queue_packets}"
    queues = {"rate": rate, "queue": queue} if knobs.rate_mbit else {"rate": "", "queue": ""}
    for link in links:
        expected = expected_inside(link.address, kind, knobs)
        seen = link.namespace.inside(partial(read_inside, expected))
        problems += differences(link.address, expected, seen)
        first = first or {f"network.{name}": value for name, value in seen.items()}
    for link in links if kind.kind == "veth" else ():
        seen = hub.inside(partial(read_port, link.port))
        problems += differences(link.port, features(kind) | queues, seen)
    return first, problems + unreached(hub, links)


def expected_inside(address: str, kind: Network, knobs: Knobs) -> dict[str, str]:
    """What a place has to say, by name."""
    link = {"interfaces": "eth0 lo", "address": f"{address}/24", "mtu": "1500"}
    return {**link, "rto_min_ms": str(knobs.rto_min_ms), **settings(knobs), **features(kind)}


def read_inside(names: Mapping[str, str]) -> dict[str, str]:
    """What the place that we are in says."""
    shown = {each["ifname"]: each for each in spaces.told("ip", "-json", "address")}
    own = shown.get("eth0", {})
    addresses = [f"{each['local']}/{each['prefixlen']}" for each in own.get("addr_info", ())]
    routes = spaces.told("ip", "-json", "route")
    waits = [str(metric["rto_min"]) for each in routes for metric in each.get("metrics", ())]
    link = {"interfaces": " ".join(sorted(shown)), "address": " ".join(addresses)}
    link |= {"mtu": str(own.get("mtu", "")), "rto_min_ms": " ".join(waits)}
    files = {name: SYSCTLS / name for name in names if (SYSCTLS / name).exists()}
    texts = {name: path.read_text().strip() for name, path in files.items()}
    return link | _features_of("eth0") | texts


def read_port(port: str) -> dict[str, str]:
    """What the hub says of its end of a link."""
    queues = spaces.told("tc", "-json", "qdisc", "show", "dev", port)
    return _features_of(port) | {
        "rate": " ".join(str(q["options"]["rate"]) for q in queues if q["kind"] == "tbf"),
        "queue": " ".join(str(q["options"]["limit"]) for q in queues if q["kind"] == "pfifo"),
    }


def _features_of(interface: str) -> dict[str, str]:
    said = output_of(["ethtool", "-k", interface])
    known = dict(re.findall(r"^(\S+): (on|off)", said, re.MULTILINE))
    return {name: known.get(name, "") for name in (*FEATURES, *NEVER)}


def differences(where: str, expected: Mapping[str, str], seen: Mapping[str, str]) -> list[str]:
    """Where a link is not as it should be, in words."""
    return [
        f"{where}: {name} is {seen.get(name) or 'nothing'}, not {value or 'nothing'}"
        for name, value in expected.items()
        if seen.get(name, "") != value
    ]


def unreached(hub: spaces.Namespace, links: Sequence[Link]) -> list[str]:
    """Which places cannot be reached from the one before them, or from the hub."""
    problems = []
    for link, before in zip(links, (*links[-1:], *links[:-1]), strict=True):
        for name, origin in (("the hub", hub), (before.address, before.namespace)):
            try:
                _talk(origin, link)
            except OSError as error:
                problems.append(f"{link.address} cannot be reached from {name}: {error}")
    return problems


def _talk(origin: spaces.Namespace, link: Link) -> None:
    """Send a byte over TCP from one place to another; raises OSError."""
    with ExitStack() as opened:
        listening = link.namespace.inside(lambda: socket.create_server((link.address, 0)))
        opened.enter_context(listening)
        listening.settimeout(_REACH_SECONDS)
        port = listening.getsockname()[1]
        speaker = origin.inside(
            lambda: socket.create_connection((link.address, port), _REACH_SECONDS)
        )
        opened.enter_context(speaker)
        hearer = opened.enter_context(listening.accept()[0])
        speaker.sendall(b"1")
        hearer.settimeout(_REACH_SECONDS)
        if hearer.recv(1) != b"1":
            raise ConnectionError("nothing was heard")


def counted() -> dict[str, int]:
    """The kernel's counters of TCP in the place that we are in, so far."""
    folder = Path("/proc/thread-self/net")
    texts = {name: (folder / name).read_text(encoding="ascii") for name in ("snmp", "netstat")}
    return {
        metric: read_counter(texts[file], protocol, name)
        for metric, (file, protocol, name) in _COUNTERS.items()
    }


def read_counter(text: str, protocol: str, name: str) -> int:
    """A number of /proc/net/snmp or netstat: a line of names, then a line of numbers.

    Raises UserError: this kernel does not count it.
    """
    names, numbers = (
        line.split()[1:] for line in text.splitlines() if line.startswith(f"{protocol}: ")
    )
    counters = dict(zip(names, numbers, strict=True))
    if name not in counters:
        raise UserError(f"this kernel does not count {name}")
    return int(counters[name])


def dropped() -> int:
    """Packets that the queues of all links dropped so far; to be asked in the hub."""
    # What an inner queue drops is counted by the outer one, too.
    queues = spaces.told("tc", "-json", "-statistics", "qdisc", "show")
    return sum(each["drops"] for each in queues if each.get("root"))


# There is no way from these namespaces to any other network, so no address can collide.
_PREFIX, _HUB = "10.213.0", 254
# Two frames: larger ones of segmentation offload are cut before they wait in the queue.
_BURST_BYTES = 3100


@dataclass(frozen=True)
class Place:
    """Where a container is.

    `words`: what stands in front of a command to be there; nothing on the host's network.
    """

    name: str  # unique on the node
    address: str = ""  # IPv4; empty on the host's network
    words: tuple[str, ...] = ()


@dataclass
class NetworkState:
    """A network and what became of it.

    Attributes:
        gate: after the body: whether every link was and stayed as asked; None on the host's.
        counters: after the body, summed over all places.
        facts: what was read back from inside of the first place.
    """

    places: tuple[Place, ...]
    hub: tuple[str, ...] = ()  # words in front of a command that is to reach all places
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

    Raises NotStarted: the kernel does not give it; nothing is left of it.
    """
    if not isinstance(order.arm, Networked):
        yield NetworkState(tuple(Place(f"place-{number}") for number in range(count)))
        return
    kind, knobs = order.arm.network, Knobs.of(order.case.parameters)
    with ExitStack() as held:
        try:
            hub, *others = [spaces.held_namespace(held) for _ in range(1 + count)]
            links = [Link(own, f"port{n}", f"{_PREFIX}.{1 + n}") for n, own in enumerate(others)]
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


def _make(hub: spaces.Namespace, links: list[Link], kind: Network, knobs: Knobs) -> None:
    """Interfaces, addresses, and what is asked of TCP and of queues; raises as their makers do."""
    if kind.kind != "veth" and knobs.rate_mbit:
        raise UserError(f"a rate needs veth pairs, and {kind.kind} has none")
    if len(links) >= _HUB:
        raise UserError(f"there are addresses for {_HUB - 1} containers, not for {len(links)}")
    if knobs.queue_packets != Knobs.queue_packets and not knobs.rate_mbit:
        raise UserError("a queue without a rate (rate_mbit) holds nothing")
    for each in (hub, *(link.namespace for link in links)):
        each.inside(partial(spaces.without_ipv6, "all", "default"))
    hub.inside(lambda: spaces.batch(hub_commands(kind, links)))
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
    waits = f"route replace {subnet} rto_min {knobs.rto_min_ms}ms"
    spaces.batch([f"address add {link.address}/24 dev eth0", "link set eth0 up", waits])
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


def _counters(hub: spaces.Namespace, links: list[Link]) -> Counter[str]:
    """What the kernel counted so far in all places, and dropped at the hub."""
    total = Counter({"queue_drops": hub.inside(dropped)})
    for link in links:
        total.update(link.namespace.inside(counted))
    return total


SWEEP = spaces.end_left_networks
