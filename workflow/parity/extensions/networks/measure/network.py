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

# What `ethtool -k` calls a feature, and `ethtool -K` sets; veth never has the last on by itself.
FEATURES = {"tx-checksumming": "tx", "scatter-gather": "sg", "tcp-segmentation-offload": "tso"}
FEATURES |= {"generic-segmentation-offload": "gso", "generic-receive-offload": "gro"}
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
    asked = dict.fromkeys(FEATURES, "on" if kind.offloads else "off")
    return asked | {"generic-receive-offload": "off"}


def proof(
    hub: spaces.Namespace, links: Sequence[Link], kind: Network, knobs: Knobs
) -> tuple[dict[str, str], list[str]]:
    """What the first place reads, and where any link is not as asked; raises OSError, UserError."""
    first, problems = dict[str, str](), list[str]()
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
    texts = {n: file.read_text().strip() for n in names if (file := SYSCTLS / n).exists()}
    return link | _features_of("eth0") | texts


def read_port(port: str) -> dict[str, str]:
    """What the hub says of its end of a link."""
    queues = spaces.told("tc", "-json", "qdisc", "show", "dev", port)
    return _features_of(port) | {
        "rate": " ".join(str(q["options"]["rate"]) for q in queues if q["kind"] == "tbf"),
        "queue": " ".join(str(q["options"]["limit"]) for q in queues if q["kind"] == "pfifo"),
    }


def _features_of(interface: str) -> dict[str, str]:
    known = dict(re.findall(r"(?m)^(\S+): (on|off)", output_of(["ethtool", "-k", interface])))
    return {name: known.get(name, "") for name in FEATURES}


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
    with link.namespace.inside(lambda: socket.create_server((link.address, 0))) as listening:
        listening.settimeout(_REACH_SECONDS)
        to = listening.getsockname()
        speaker = origin.inside(lambda: socket.create_connection(to, _REACH_SECONDS))
        with speaker, listening.accept()[0] as hearer:
            speaker.sendall(b"1")
            hearer.settimeout(_REACH_SECONDS)
            if hearer.recv(1) != b"1":
                raise ConnectionError("nothing was heard")


def counted() -> dict[str, int]:
    """The kernel's counters of TCP in the place that we are in, so far."""
    folder = Path("/proc/thread-self/net")
    texts = {name: (folder / name).read_text(encoding="ascii") for name in ("snmp", "netstat")}
    return {metric: read_counter(texts[file], *at) for metric, (file, *at) in _COUNTERS.items()}


def read_counter(text: str, protocol: str, name: str) -> int:
    """A number of /proc/net/snmp or netstat, names above numbers; UserError: it is not there."""
    names, numbers = (row.split() for row in text.splitlines() if row.startswith(f"{protocol}: "))
    counters = dict(zip(names, numbers, strict=True))
    if name not in counters:
        raise UserError(f"this kernel does not count {name}")
    return int(counters[name])


def dropped() -> int:
    """Packets that the queues of all links dropped so far; to be asked in the hub."""
    # What an inner queue drops is counted by the outer one, too.
    queues = spaces.told("tc", "-json", "-statistics", "qdisc", "show")
    return sum(each["drops"] for each in queues if each.get("root"))


_PREFIX, _HUB = "10.213.0", 254  # no way leads to any other network, so no address can collide
_BURST_BYTES = 3100  # two frames: larger ones of segmentation offload are cut before they wait


@dataclass(frozen=True)
class Place:
    """Where a container is; on the host's network it has neither address nor words."""

    name: str  # unique on the node
    address: str = ""  # IPv4
    words: tuple[str, ...] = ()  # in front of a command that is to be there


@dataclass
class NetworkState:
    """A network and, after the body, what became of it: gate and counters."""

    places: tuple[Place, ...]
    hub: tuple[str, ...] = ()  # words in front of a command that is to reach all places
    gate: Gate | None = None  # whether every link was and stayed as asked; None on the host's
    counters: Mapping[str, int] = field(default_factory=dict)  # summed over all places
    facts: Mapping[str, str] = field(default_factory=dict)  # as the first place has them, inside


@contextmanager
def network(order: Order, count: int) -> Iterator[NetworkState]:
    """An arm's network with so many places, or the host's; NotStarted: the kernel gives none."""
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
        places = (Place(f"place-{n}", it.address, it.namespace.words) for n, it in enumerate(links))
        yield (state := NetworkState(tuple(places), hub.words, facts=facts))
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
    pairs = zip(FEATURES.values(), features(kind).values(), strict=True)
    output_of(["ethtool", "-K", interface, *(word for pair in pairs for word in pair)])


def _set_hub(links: list[Link], kind: Network, knobs: Knobs) -> None:
    for link in links if kind.kind == "veth" else ():
        _set_offloads(link.port, kind)
        if knobs.rate_mbit:
            at = ["tc", "qdisc", "add", "dev", link.port]
            rate = ["rate", f"{knobs.rate_mbit}mbit", "burst", f"{_BURST_BYTES}"]
            output_of([*at, "root", "handle", "1:", "tbf", *rate, "limit", f"{_BURST_BYTES}"])
            output_of([*at, "parent", "1:1", "pfifo", "limit", f"{knobs.queue_packets}"])


def _counters(hub: spaces.Namespace, links: list[Link]) -> Counter[str]:
    total = Counter({"queue_drops": hub.inside(dropped)})
    for link in links:
        total.update(link.namespace.inside(counted))
    return total


SWEEP = spaces.end_left_networks
