"""Servers beside a program: in the arm under test, or natively, from before it until after it.

Each carries the witness, is a process group of its own, and works in its own folder. Nothing of
ours runs while the program does: that a server ends is told by the kernel's signal.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import psutil

from parity.benchmarks.model import Program
from parity.extensions.network_namespace import Namespace
from parity.extensions.noise.measure.neighbour import NotStarted
from parity.extensions.servers.benchmarks.service import FOLDER, Service, server_cpus
from parity.extensions.servers.measure.bridge import servers_bridge
from parity.extensions.servers.measure.client_link import INTERFACE, ClientLink
from parity.extensions.servers.measure.client_mount import client_mount, let_go
from parity.measure import gates, inner_command
from parity.measure.documents import Gate
from parity.measure.record import Order
from parity.measure.storage import end_processes_in
from parity.measure.timed_process import kill_group, launch_environment
from parity.runtimes.model import Launch

SERVERS = inner_command.WORK / FOLDER
START_SECONDS = 60.0
# What a server has is thrown away, so it need not end in good order.
STOP_SECONDS = 1.0


@dataclass
class Server:
    """A service that was started.

    Attributes:
        process: of the arm's command line.
        own: the process of its executable.
    """

    service: Service
    command: list[str]
    launch: Launch
    log: Path
    process: subprocess.Popen[bytes]
    own: psutil.Process | None = None

    @property
    def is_alive(self) -> bool:
        """Whether both its command and its own process are there."""
        with suppress(psutil.NoSuchProcess):
            own = self.own is None or self.own.status() != psutil.STATUS_ZOMBIE
            return own and self.process.poll() is None
        return False

    @property
    def said(self) -> str:
        """The end of its log, without the evidence."""
        text = inner_command.without_evidence(self.log.read_bytes()).decode(errors="replace")
        return text.strip()[-600:] or "it said nothing"


@dataclass
class Services:
    """The servers of an attempt, and after the body the gates of them and of their mount."""

    link: ClientLink | None = None
    servers: list[Server] = field(default_factory=list)
    gates: tuple[Gate, ...] = ()

    def let_go(self) -> None:
        """End what a program may wait for that cannot be killed."""
        if self.link:
            let_go(self.link)


@contextmanager
def services(
    order: Order, launch: Launch, link: ClientLink | None, folder: Path
) -> Iterator[Services]:
    """Run the services of a program, and mount what they serve, while the body runs it.

    Args:
        launch: of the program.
        folder: of the attempt; what each says goes to its `service-<name>.log`.

    Raises:
        NotStarted: a server or the mount is not to be had; the program must not be started.
    """
    found = Services(link)
    if link is None:
        yield found
        return
    with ExitStack() as held:
        held.callback(shutil.rmtree, SERVERS, ignore_errors=True)
        held.callback(end_processes_in, SERVERS)
        inside = order.program.services if order.service_arm is order.arm else ()
        held.enter_context(servers_bridge(order, inside, link.namespace, INTERFACE))
        for service in order.program.services:
            server = _started(order, service, launch, folder)
            held.callback(_stop, order, server)
            found.servers.append(server)
            _wait_until_ready(server, None if order.service_arm.bridge else link.namespace)
        with client_mount(order.program, link, folder) as mount, _told_of_ends(found):
            yield found
        judged = [service_gate(order, server) for server in found.servers]
        found.gates = (*judged, *mount)
        for server in found.servers:
            _ask_to_end(server)


def _started(order: Order, service: Service, launch: Launch, folder: Path) -> Server:
    if order.service_arm.bridge is None:
        _refuse_taken_port(service)
    own, cpus = SERVERS / service.name, server_cpus(order.session.node.cpus)
    if order.service_arm.image_format is None:
        service = service.below(own)
    is_below = (own / service.data).is_relative_to(own)
    for place in (own, own / service.data) if is_below else (own,):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in service.files.items():
        (own / name).write_text(text, encoding="utf-8")
    its = service_launch(launch, service.name)
    its.state.mkdir()
    image = launch.image if order.service_arm.image_format else None
    its = replace(its, cpus=cpus, image=image, address=service.address)
    command = service_command(order, service, its)
    log = folder / f"service-{service.name}.log"
    try:
        with log.open("wb") as said:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=launch_environment(os.environ),
                cwd=own,
                start_new_session=True,
            )
    except OSError as error:
        raise NotStarted(f"cannot start {command[0]}: {error.strerror}") from error
    return Server(service, command, its, log, process)


def service_command(order: Order, service: Service, its: Launch) -> list[str]:
    """The command line of a service in its arm, with the witness, in its folder.

    A folder of data that is not below its own is made inside of its arm.
    """
    own_tree = Path(service.data).is_absolute()
    made = ("/bin/sh", "-c", 'mkdir -p "$0" && exec "$@"', service.data) if own_tree else ()
    program = Program((*made, *service.argv), its.cpus, service.environment)
    return order.service_arm.command(its, inner_command.witnessed(program, SERVERS / service.name))


def service_launch(launch: Launch, name: str) -> Launch:
    """The name and the private directory of a service's container, by those of its program's."""
    return replace(launch, name=f"{launch.name}-{name}", state=launch.state / name)


def _refuse_taken_port(service: Service) -> None:
    """Say who has the port of a service before it fails for it."""
    if not service.port:
        return
    try:
        with socket.create_server((service.address, service.port)):
            return
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            # An address that is not the host's is the runtime's to give.
            return
    holders = {
        psutil.Process(each.pid).name()
        for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == service.port and each.pid
    }
    where = f"port {service.port} of {service.address}, which {service.name} needs"
    raise NotStarted(f"{where}, is in use by {', '.join(sorted(holders)) or 'another process'}")


def _wait_until_ready(server: Server, client: Namespace | None) -> None:
    """Until its executable is there and its port answers the client.

    Behind a bridge the host is asked instead: a proxy answers a client before the server does.
    """
    deadline = time.monotonic() + START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        server.own = server.own or _own_process(server.service)
        if server.own and _answers(server.service, client):
            return
        time.sleep(0.02)
    raise NotStarted(f"service {server.service.name} did not start: {server.said}")


def _answers(service: Service, client: Namespace | None) -> bool:
    if not service.port:
        return True
    with suppress(OSError):
        at = (service.address, service.port)
        connect = partial(socket.create_connection, at, 1.0)
        (client.inside(connect) if client else connect()).close()
        return True
    return False


def _own_process(service: Service) -> psutil.Process | None:
    """The process of the service's executable, which works in its folder in whatever arm."""
    folder = (SERVERS / service.name).stat()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            there = Path(f"/proc/{process.pid}/cwd").stat()
            if os.path.samestat(there, folder) and process.cmdline() == [*service.argv]:
                return process
    return None


@contextmanager
def _told_of_ends(found: Services) -> Iterator[None]:
    """Let go of the mount as soon as a server ends: the program then fails, and does not wait."""

    def look(*_: object) -> None:
        if any(server.process.poll() is not None for server in found.servers):
            found.let_go()

    before = signal.signal(signal.SIGCHLD, look)
    try:
        look()
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


def service_gate(order: Order, server: Server) -> Gate:
    """Whether a server ran to the end, where its arm says, on its CPUs, as the audited program."""
    name = server.service.name
    if not server.is_alive:
        return Gate("service", False, f"{name} ended before the program did: {server.said}")
    evidence = inner_command.evidence(server.log.read_text(errors="replace"))
    judged = (
        order.where(order.hosts[0], evidence, order.service_arm.as_server),
        gates.binding_gate(server.launch.cpus, evidence),
        _identity(order, server),
    )
    problems = [gate.detail for gate in judged if not gate.passed]
    return Gate("service", not problems, "; ".join(f"{name}: {each}" for each in problems))


def _identity(order: Order, server: Server) -> Gate:
    """Whether the executable that runs is the one that was audited in its arm."""
    assert server.own
    service, arm = server.service, order.service_arm.name
    path = service.executable or service.argv[0]
    audited = {
        row.sha256
        for answer in order.session.answers[:1]
        for row in answer.state.binaries
        if (row.arm, row.path) == (arm, path)
    }
    seen = hashlib.sha256(Path(f"/proc/{server.own.pid}/exe").read_bytes()).hexdigest()
    expected = ", ".join(audited) or "nothing audited"
    return Gate("binary", {seen} == audited, f"{path}: expected {expected}, runs {seen}")


def _ask_to_end(server: Server) -> None:
    if server.process.poll() is None:
        os.killpg(server.process.pid, signal.SIGTERM)


def _stop(order: Order, server: Server) -> None:
    """Ask it to end, then make it end; its arm removes what is left."""
    _ask_to_end(server)
    try:
        server.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        kill_group(server.process.pid)
        server.process.wait()
    if server.is_alive or server.process.returncode:
        order.service_arm.cleanup(server.launch)
