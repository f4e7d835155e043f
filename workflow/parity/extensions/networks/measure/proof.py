"""What a network between containers says of itself, read from inside of each place."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.extensions.network_namespace import Namespace
from parity.extensions.networks.benchmarks.network import ERA_OF_RUIZ, Knobs
from parity.extensions.networks.runtimes.networked import Network

# What `ethtool -k` calls a feature, and `ethtool -K` sets; and what veth never has on by itself.
FEATURES = {
    "tx-checksumming": "tx",
    "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
}
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

    namespace: Namespace
    port: str
    address: str


def settings(knobs: Knobs) -> dict[str, str]:
    """What TCP is told in each place, by the file below `SYSCTLS`."""
    is_old = knobs.era == ERA_OF_RUIZ
    return {
        "tcp_congestion_control": knobs.congestion_control,
        "tcp_sack": str(int(knobs.sack)),
        "tcp_recovery": "0" if is_old else "1",
        "tcp_early_retrans": "0" if is_old else "3",
    }


def features(kind: Network) -> dict[str, str]:
    """What each end of a link has to say of its offloads."""
    return dict.fromkeys(FEATURES, "on" if kind.offloads else "off") | dict.fromkeys(NEVER, "off")


def proof(
    hub: Namespace, links: Sequence[Link], kind: Network, knobs: Knobs
) -> tuple[dict[str, str], list[str]]:
    """What the first place reads of its network, and where any link is not as asked.

    Raises:
        OSError, UserError: a place cannot be asked.
    """
    told: dict[str, str] = {}
    problems: list[str] = []
    for link in links:
        expected = expected_inside(link.address, kind, knobs)
        seen = link.namespace.inside(partial(read_inside, expected))
        problems += differences(link.address, expected, seen)
        told = told or {f"network.{name}": value for name, value in seen.items()}
    if kind.kind == "veth":
        for link in links:
            expected = features(kind) | _queues(knobs)
            seen = hub.inside(partial(read_port, link.port))
            problems += differences(link.port, expected, seen)
    return told, problems + unreached(hub, links)


def expected_inside(address: str, kind: Network, knobs: Knobs) -> dict[str, str]:
    """What a place has to say, by name."""
    link = {"interfaces": "eth0 lo", "address": f"{address}/24", "mtu": "1500"}
    return {**link, "rto_min_ms": str(knobs.rto_min_ms), **settings(knobs), **features(kind)}


def read_inside(names: Mapping[str, str]) -> dict[str, str]:
    """What the place that we are in says."""
    shown = {each["ifname"]: each for each in json.loads(output_of(["ip", "-json", "address"]))}
    own = shown.get("eth0", {})
    addresses = [f"{each['local']}/{each['prefixlen']}" for each in own.get("addr_info", ())]
    routes = json.loads(output_of(["ip", "-json", "route"]))
    waits = [metric["rto_min"] for each in routes for metric in each.get("metrics", ())]
    told = {
        "interfaces": " ".join(sorted(shown)),
        "address": " ".join(addresses),
        "mtu": str(own.get("mtu", "")),
        "rto_min_ms": " ".join(map(str, waits)),
        **_features_of("eth0"),
    }
    files = {name: SYSCTLS / name for name in names if (SYSCTLS / name).exists()}
    return told | {name: path.read_text().strip() for name, path in files.items()}


def read_port(port: str) -> dict[str, str]:
    """What the hub says of its end of a link."""
    queues = json.loads(output_of(["tc", "-json", "qdisc", "show", "dev", port]))
    return _features_of(port) | {
        "rate": " ".join(str(q["options"]["rate"]) for q in queues if q["kind"] == "tbf"),
        "queue": " ".join(str(q["options"]["limit"]) for q in queues if q["kind"] == "pfifo"),
    }


def _queues(knobs: Knobs) -> dict[str, str]:
    if not knobs.rate_mbit:
        return {"rate": "", "queue": ""}
    return {"rate": str(knobs.rate_mbit * 125_000), "queue": str(knobs.queue_packets)}


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


def unreached(hub: Namespace, links: Sequence[Link]) -> list[str]:
    """Which places cannot be reached from the one before them, or from the hub."""
    problems = []
    for number, link in enumerate(links):
        for name, origin in (("the hub", hub), (links[number - 1].address, links[number - 1])):
            there = origin if isinstance(origin, Namespace) else origin.namespace
            try:
                _talk(there, link)
            except OSError as error:
                problems.append(f"{link.address} cannot be reached from {name}: {error}")
    return problems


def _talk(origin: Namespace, link: Link) -> None:
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

    Raises:
        UserError: this kernel does not count it.
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
    queues = json.loads(output_of(["tc", "-json", "-statistics", "qdisc", "show"]))
    return sum(each["drops"] for each in queues if each.get("root"))
