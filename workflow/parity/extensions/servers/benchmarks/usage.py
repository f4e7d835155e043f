"""What the kernel counted of a run with servers, as metrics of it (extensions/servers).

Per GiB of the files, which are written once and read once; their check is not counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from parity.benchmarks import moved as words
from parity.benchmarks.description import FigureSpec, Form, Metric, Quantity, described
from parity.benchmarks.model import Counted
from parity.benchmarks.moved import BRIDGE, DISK, END, LOOPBACK, OTHERS, WAYS
from parity.extensions.servers.runtimes import docker_bridge

BEGIN = "usage_"
# The file system of the publication.
PUBLISHED = "orangefs"
GIB = 2**30


def _counted(
    metric: str, label: str, unit: str, better: str = "lower", is_cost: bool = True
) -> Quantity:
    return Quantity(metric, label, unit, better, clock="external", is_cost=is_cost)


# With what carries their bytes for the runtime, such as Docker's proxies.
SERVER_CPU = _counted("server_cpu_seconds", "CPU time of all servers", "s")
CLIENT_CPU = _counted("client_cpu_seconds", "CPU time of the client", "s")
CPU_PER_GIGABYTE = _counted("cpu_seconds_per_gigabyte", "servers' CPU time", "s/GiB")
REQUESTS = _counted("device_requests", "disk requests", "1")
# The publication's readings that are no cost: a sum counts a byte on each interface that it
# crosses; of requests, more at a time and for longer, the first is a rate, and as well a faster
# disk as more work for it.
REQUEST_RATE = _counted(
    "device_requests_per_second", "disk requests at a time", "1/s", "higher", is_cost=False
)
DEVICE_BYTES = _counted("device_bytes_per_byte", "bytes of the disk per byte of the file", "1")
NETWORK = _counted(
    "network_bytes_per_gigabyte", "bytes summed over interfaces", "B/GiB", is_cost=False
)
LINK = _counted("link_bytes_per_gigabyte", "bytes on the one link", "B/GiB")
MONITOR = _counted("monitor_cpu_seconds", "CPU time of the monitor", "s")
METRICS = (
    *(SERVER_CPU, CLIENT_CPU, CPU_PER_GIGABYTE, REQUESTS, REQUEST_RATE, DEVICE_BYTES),
    *(NETWORK, LINK, MONITOR),
)


def metrics_of(evidence: Mapping[str, str], parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics of a run by what its evidence says that it used.

    Args:
        evidence: `usage_*` as `measure.usage` writes them, among other things; what is no number
            is left out, and so are the metrics that need it.
        parameters: of the case, with the size of the file in GiB.
    """
    gigabytes = float(parameters.get("gigabytes", 0))
    told = dict(_numbers(evidence))
    if gigabytes <= 0 or not told:
        return ()
    ledger = interfaces(evidence)
    both_ways = {name: received + sent for name, (received, sent) in ledger.items()}
    serving = told.get("server_cpu_seconds")
    if serving is not None:
        serving += told.get("carrier_cpu_seconds", 0.0)
    disk = [told.get(f"disk_{way}_{what}") for what in ("requests", "bytes") for way in _WAYS]
    found: dict[Quantity, float | None] = {
        SERVER_CPU: serving,
        CLIENT_CPU: told.get("client_cpu_seconds"),
        MONITOR: told.get("monitor_cpu_seconds"),
        NETWORK: sum(both_ways.values()) / gigabytes if ledger else None,
        LINK: _per(both_ways.get(evidence.get(f"{BEGIN}link", "")), gigabytes),
        CPU_PER_GIGABYTE: _per(serving, gigabytes),
    }
    if None not in disk:
        requests, moved = sum(filter(None, disk[:2])), sum(filter(None, disk[2:]))
        found[REQUESTS] = requests
        found[DEVICE_BYTES] = moved / (gigabytes * GIB)
        found[REQUEST_RATE] = _per(requests, told.get("seconds", 0.0))
    values = {what: found.get(what) for what in METRICS}
    return tuple(what.measured(value) for what, value in values.items() if value is not None)


_WAYS = ("read", "written")


def figures_of(name: str, title: str, rates: Sequence[Quantity]) -> tuple[FigureSpec, ...]:
    """Figures 2 to 4 of Yildirim et al. 2021, and the benchmark's own `rates`."""
    system = "" if name == PUBLISHED else f", and {title} for their OrangeFS"
    surrogate = f"One host stands for their two nodes{system}."
    return tuple(
        replace(
            spec,
            name=f"{name}-{spec.name}",
            title=f"{title}: {spec.title}",
            caption=f"{spec.caption} {surrogate}",
            stands_for=surrogate if spec.form is Form.INTERFACES else "",
        )
        for spec in described(__file__, (*rates, *METRICS))["figures"]
    )


def interfaces(evidence: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """Bytes received and sent by each interface that evidence tells of, in the order of names."""
    told = dict(_numbers(evidence))
    names = sorted(
        {key.partition(".")[2] for key in told if key.startswith(("received.", "sent."))}
    )
    return {name: (told.get(f"received.{name}", 0.0), told.get(f"sent.{name}", 0.0))
            for name in names}  # fmt: skip


def _numbers(evidence: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for key, text in evidence.items():
        if key.startswith(BEGIN) and text.replace(".", "", 1).isdecimal():
            yield key.removeprefix(BEGIN), float(text)


def _per(value: float | None, amount: float) -> float | None:
    return None if value is None or amount <= 0 else value / amount


def part_of(interface: str, link: str) -> str:
    """The part of an interface in a byte's way: a container's end has a new name in each run."""
    if interface == link:
        return words.LINK
    known = {"lo": LOOPBACK, docker_bridge.NETWORK: BRIDGE}
    return END if interface.startswith("veth") else known.get(interface, OTHERS)


def moved(evidence: Mapping[str, str], parameters: Mapping[str, Any]) -> dict[str, float]:
    """What a run moved, per GiB of its files, as `Counted.moved` says it."""
    gigabytes = float(parameters.get("gigabytes", 0))
    if gigabytes <= 0:
        return {}
    amounts: dict[str, float] = {}
    for name, both in interfaces(evidence).items():
        part = part_of(name, evidence.get(f"{BEGIN}link", ""))
        for way, count in zip(WAYS, both, strict=True):
            amounts[f"{way} {part}"] = amounts.get(f"{way} {part}", 0.0) + count
    told = dict(_numbers(evidence))
    amounts |= {what: told[what] for what in DISK if what in told}
    return {what: amount / gigabytes for what, amount in amounts.items()}


COUNTED = Counted(metrics_of, mark=f'"{BEGIN}seconds"', moved=moved)
