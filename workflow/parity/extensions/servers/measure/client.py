"""The client of servers: its link to them, the bridge that they may be behind, and its mount.

The client is in a network namespace of its own, by which all of this ends, however the runner
ends. Whoever waits for a file system in user space whose servers are silent cannot be killed, so
each question to the mount has a time limit: without its daemon all who wait get an error.
"""

import math
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.extensions import network_namespace as networks
from parity.extensions.network_namespace import Namespace, batch, told, without_ipv6
from parity.extensions.servers.benchmarks import service as beside
from parity.extensions.servers.benchmarks.service import Served, Service, server_address
from parity.extensions.servers.runtimes.docker_bridge import DockerBridge
from parity.measure.attempt import Attempt, NotStarted, Order
from parity.measure.documents import Gate
from parity.measure.places import WORK
from parity.measure.timed_process import kill_group, launch_environment, started

INTERFACE, CLIENT_INTERFACE = "parity-link", "eth0"
_SUBNET = f"{beside.CLIENT_ADDRESS.rpartition('.')[0]}.0/{beside.PREFIX_LENGTH}"
_SERVERS = tuple(f"{server_address(1 + number)}/32" for number in range(beside.MOST_SERVERS))
# Several of TCP's largest segments, sent whole; and what may wait, a few ms of the fastest link.
_BURST_BYTES, _LIMIT_BYTES = 1 << 18, 1 << 22


@contextmanager
def client_link(rate: int) -> Iterator[Namespace]:
    """The end of a link to servers, of so many Mbit/s (0: no limit); raises NotStarted."""
    delete = partial(answer_of, ["ip", "link", "delete", INTERFACE])

    def set_client() -> None:
        without_ipv6("all", "default")
        own = f"{beside.CLIENT_ADDRESS}/{beside.PREFIX_LENGTH} dev {CLIENT_INTERFACE}"
        batch([f"address add {own}", f"link set {CLIENT_INTERFACE} up"])
        _limit(CLIENT_INTERFACE, rate)

    with ExitStack() as stack:
        try:
            delete()  # one that a killed runner left, whose namespace the kernel still has
            if routes := told("ip", "-json", "route", "show", "exact", _SUBNET):
                by = routes[0]["dev"]
                raise UserError(f"the host has a route of its own to {_SUBNET}, by {by}")
            link = networks.held_namespace(stack)
            stack.callback(delete)
            own = (f"{beside.HOST_ADDRESS}/{beside.PREFIX_LENGTH}", *_SERVERS)
            pair = f"link add {INTERFACE} type veth peer name {CLIENT_INTERFACE} netns {link.path}"
            addresses = (f"address add {address} dev {INTERFACE}" for address in own)
            batch([pair, *addresses, f"link set {INTERFACE} up"])
            without_ipv6(INTERFACE)
            link.inside(set_client)
            _limit(INTERFACE, rate)
        except (OSError, UserError) as error:
            raise NotStarted(f"no link between servers and client: {error}") from error
        yield link


def _limit(interface: str, rate: int) -> None:
    if rate:
        bucket = ["rate", f"{rate}mbit", "burst", f"{_BURST_BYTES}", "limit", f"{_LIMIT_BYTES}"]
        output_of(["tc", "qdisc", "add", "dev", interface, "root", "tbf", *bucket])


def link_gate(link: Namespace, rate: int) -> Gate:
    """Whether both ends are there and have their rate."""
    problems, expected = [], rate * 125_000
    ends: dict[str, Callable[[], int]] = {"servers": partial(_rate_of, INTERFACE)}
    ends["client"] = partial(link.inside, partial(_rate_of, CLIENT_INTERFACE))
    for name, ask in ends.items():
        try:
            if (seen := ask()) != expected:
                problems.append(f"the rate of the {name} is {seen} bytes/s, not {expected}")
        except (OSError, UserError) as error:
            problems.append(f"the end of the {name} cannot be asked any more: {error}")
    return Gate("network", not problems, "; ".join(problems))


def _rate_of(interface: str) -> int:
    """Bytes per second of an interface's token bucket; 0 without one."""
    queues = told("tc", "-json", "qdisc", "show", "dev", interface)
    return sum(int(queue["options"]["rate"]) for queue in queues if queue["kind"] == "tbf")


SUBNET = "10.213.1.8/29"  # with the servers and a gateway, but neither the client nor the host


@contextmanager
def servers_bridge(
    order: Order, services: Sequence[Service], client: Namespace, interface: str
) -> Iterator[None]:
    """Give an arm's servers their addresses in its bridge, if it has one; raises NotStarted."""
    arm, image = order.arm, order.state.image
    if not isinstance(arm, DockerBridge) or not services or image is None:
        yield
        return
    ports: dict[str, list[int]] = {}
    for each in services:
        ports.setdefault(each.address, []).extend([each.port] if each.port else [])
    # The host's own addresses at which the ports of servers are published: ten further.
    at = {own: str(ip_address(own) + 10) for own in ports} if arm.published else {}
    here = [f"address delete {address} dev {interface}" for address in _SERVERS]
    here += [f"address add {address}/32 dev {interface}" for address in at.values()]
    there = [["ip", "route", "add", SUBNET, "via", beside.HOST_ADDRESS]]
    output = ["iptables", "-t", "nat", "-A", "OUTPUT", "-d"]
    there += [[*output, own, "-j", "DNAT", "--to-destination", to] for own, to in at.items()]
    try:
        try:
            batch(here)
            arm.begin_servers(image, SUBNET, ports, at)
            client.inside(lambda: [output_of(words) for words in there])
        except (OSError, UserError) as error:
            raise NotStarted(f"no bridge for the servers: {error}") from error
        yield
    finally:
        arm.end_servers()


MOUNT_SECONDS = 30.0
ANSWER_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
TABLE = Path("/proc/self/mountinfo")


@contextmanager
def client_mount(attempt: Attempt, served: Served, link: Namespace) -> Iterator[list[Gate]]:
    """Mount what the program works on; nothing for a program without a mount.

    The list that is yielded holds after the body a gate: whether the program wrote to it. What the
    commands say goes to `mount.log`. Raises NotStarted: it is not mounted in time, or has no room.
    """
    found: list[Gate] = []
    if not served.mount:
        yield found
        return
    point, log = WORK / served.mount_point, attempt.folder / "mount.log"
    answer = partial(_answer, link=link, log=log)
    point.mkdir(parents=True)
    try:
        deadline = time.monotonic() + MOUNT_SECONDS
        for words in filter(None, (served.mount, served.mounted)):
            while answer([*link.words, *words], deadline) is None:
                if time.monotonic() >= deadline:
                    said = log.read_text(errors="replace").strip()[-600:]
                    raise NotStarted(f"{words[0]} did not succeed in {MOUNT_SECONDS:.0f} s: {said}")
                time.sleep(_PAUSE_SECONDS)
        needed, deadline = attempt.order.program.least_free_bytes, time.monotonic() + MOUNT_SECONDS
        asked = ["stat", "--file-system", "--format=%a %S", served.mount_point]
        # Until servers have told each other how much they have.
        while (free := math.prod(map(int, (answer(asked, deadline) or "0 0").split()))) <= needed:
            if time.monotonic() >= deadline:
                has = f"the mounted file system has {free} bytes free"
                raise NotStarted(f"{has}, and the program needs {needed}")
            time.sleep(_PAUSE_SECONDS)
        yield found
        seen = answer(["ls", "-A", str(point)])
        found.append(Gate("mount", bool(seen), "" if seen else "nothing was written to the mount"))
    finally:
        if point in mounts_below(point):
            answer(["umount", str(point)])
        link.empty(0)  # its daemon has nothing left to do, and takes its time
        unmount_below(point)
        # Not empty where a container did not see the mount and wrote beside it.
        shutil.rmtree(point, ignore_errors=True)


def _answer(
    words: Sequence[str], deadline: float | None = None, *, link: Namespace, log: Path
) -> str | None:
    """What a command that touches the mount says; None if it fails, or has to be stopped."""
    left = max(0.1, deadline - time.monotonic()) if deadline else ANSWER_SECONDS
    answer = log.with_suffix(".answer")
    with log.open("ab") as said, answer.open("wb") as out:
        process = started(words, out, said, launch_environment(os.environ), WORK)
        try:
            status = process.wait(left)
        except subprocess.TimeoutExpired:
            said.write(f"stopped after {left:.1f} s: {' '.join(words)}\n".encode())
            link.empty(0)
            kill_group(process.pid)
            process.wait()
            status = -1
    text = answer.read_text(errors="replace")
    answer.unlink()
    return text if status == 0 else None


def unmount_below(folder: Path) -> None:
    """Unmount, lazily, all that is mounted at a folder or below, untouched; raises OSError."""
    for point in mounts_below(folder):
        networks.ask_kernel("umount2", os.fsencode(point), 2)  # <sys/mount.h>: MNT_DETACH


def mounts_below(folder: Path) -> list[Path]:
    """The mount points at or below a folder, the last mounted first."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    points = (Path(line.split()[4].encode().decode("unicode_escape")) for line in lines)
    return [point for point in points if point.is_relative_to(folder)][::-1]


def sweep() -> None:
    """Let nobody wait for the mount of a dead runner, and end its daemon."""
    unmount_below(WORK)
    networks.end_left_networks()


SWEEP = sweep
