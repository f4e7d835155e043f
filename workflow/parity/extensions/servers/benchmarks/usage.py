"""What the kernel counted of a run with servers, as metrics of it (extensions/servers).

Per GiB of the files, which are written once and read once; their check is not counted.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from parity.benchmarks import model
from parity.benchmarks.description import FigureSpec, Form, Metric, Quantity
from parity.benchmarks.model import DISK, WAYS, Asked, Counted, described
from parity.extensions.servers.runtimes import docker_bridge

BEGIN = "usage_"
_DESCRIBED = described(__file__)
RATES: tuple[Quantity, ...] = _DESCRIBED["metrics"][:3]  # what the load tells
METRICS: tuple[Quantity, ...] = _DESCRIBED["metrics"][3:]  # what is counted of it


def metrics_of(evidence: Mapping[str, str], parameters: Asked) -> tuple[Metric, ...]:
    """The metrics of a run by its evidence; those that need what is no number are left out."""
    gigabytes, told = float(parameters.get("gigabytes", 0)), _numbers(evidence)
    if gigabytes <= 0 or not told:
        return ()
    both_ways = {name: sum(both) for name, both in interfaces(evidence).items()}
    found = {name: told.get(name) for name in ("client_cpu_seconds", "monitor_cpu_seconds")}
    if (serving := told.get("server_cpu_seconds")) is not None:
        serving += told.get("carrier_cpu_seconds", 0.0)
        found |= {"server_cpu_seconds": serving, "cpu_seconds_per_gigabyte": serving / gigabytes}
    if both_ways:
        found["network_bytes_per_gigabyte"] = sum(both_ways.values()) / gigabytes
    if (link := both_ways.get(evidence.get(f"{BEGIN}link", ""))) is not None:
        found["link_bytes_per_gigabyte"] = link / gigabytes
    if {*DISK} <= told.keys():
        requests = sum(told[name] for name in DISK if name.endswith("requests"))
        bytes_moved = sum(told[name] for name in DISK if name.endswith("bytes"))
        found["device_requests"] = requests
        found["device_bytes_per_byte"] = bytes_moved / (gigabytes * 2**30)
        if seconds := told.get("seconds"):
            found["device_requests_per_second"] = requests / seconds
    return tuple(q.measured(value) for q in METRICS if (value := found.get(q.metric)) is not None)


def figures_of(name: str, title: str) -> tuple[FigureSpec, ...]:
    """Figures 2 to 4 of Yildirim et al. 2021, and of `RATES`."""
    system = "" if name == "orangefs" else f", and {title} for their OrangeFS"
    surrogate = f"One host stands for their two nodes{system}."
    return tuple(
        replace(
            spec, name=f"{name}-{spec.name}", title=f"{title}: {spec.title}",
            caption=f"{spec.caption} {surrogate}",
            stands_for=surrogate if spec.form is Form.INTERFACES else "",
        )
        for spec in _DESCRIBED["figures"]
    )  # fmt: skip


def interfaces(evidence: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """Bytes received and sent by each interface that evidence tells of, in the order of names."""
    told = _numbers(evidence)
    names = {key.partition(".")[2] for key in told if key.startswith(("received.", "sent."))}
    return {n: (told.get(f"received.{n}", 0.0), told.get(f"sent.{n}", 0.0)) for n in sorted(names)}


def _numbers(evidence: Mapping[str, str]) -> dict[str, float]:
    own = {key.removeprefix(BEGIN): it for key, it in evidence.items() if key.startswith(BEGIN)}
    return {name: float(it) for name, it in own.items() if it.replace(".", "", 1).isdecimal()}


def part_of(interface: str, link: str) -> str:
    """The part of an interface in a byte's way: a container's end has a new name in each run."""
    if interface == link:
        return model.LINK
    known = {"lo": model.LOOPBACK, docker_bridge.NETWORK: model.BRIDGE}
    return model.END if interface.startswith("veth") else known.get(interface, model.OTHERS)


def moved(evidence: Mapping[str, str], parameters: Asked) -> dict[str, float]:
    """What a run moved, per GiB of its files, as `Counted.moved` says it."""
    if (gigabytes := float(parameters.get("gigabytes", 0))) <= 0:
        return {}
    amounts: dict[str, float] = {}
    for name, both in interfaces(evidence).items():
        part = part_of(name, evidence.get(f"{BEGIN}link", ""))
        for way, count in zip(WAYS, both, strict=True):
            amounts[f"{way} {part}"] = amounts.get(f"{way} {part}", 0.0) + count
    told = _numbers(evidence)
    amounts |= {what: told[what] for what in DISK if what in told}
    return {what: amount / gigabytes for what, amount in amounts.items()}


COUNTED = Counted(metrics_of, mark=f'"{BEGIN}seconds"', moved=moved)
