"""Servers beside a program: in the arm under test, or natively, from before it until after it.

Each carries the witness, is a process group of its own, and works in its own folder. Nothing of
ours runs while the program does: that a server ends is told by the kernel's signal.
"""

import errno
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import psutil

from parity.benchmarks.model import Program
from parity.core.files import sha256
from parity.extensions.network_namespace import Namespace
from parity.extensions.servers.benchmarks.service import Served, Service, server_cpus
from parity.extensions.servers.measure import client
from parity.extensions.servers.measure.usage import SERVERS, usage
from parity.extensions.servers.runtimes.docker_bridge import DockerBridge
from parity.measure import gates, inner_command, places
from parity.measure.attempt import Attempt, NotStarted, Order, end_of_log, started_beside
from parity.measure.documents import Gate
from parity.measure.timed_process import kill_group
from parity.runtimes.model import Arm, Launch

START_SECONDS = 60.0
STOP_SECONDS = 1.0  # what a server has is thrown away, so it need not end in good order


@dataclass
class Server:
    """A service that was started."""

    service: Service
    command: list[str]
    launch: Launch
    log: Path
    process: subprocess.Popen[bytes]  # of the arm's command line
    own: psutil.Process | None = None  # the process of its executable

    @property
    def is_alive(self) -> bool:
        """Whether both its command and its own process are there."""
        with suppress(psutil.NoSuchProcess):
            own = self.own is None or self.own.status() != psutil.STATUS_ZOMBIE
            return own and self.process.poll() is None
        return False


def service_arm(order: Order) -> Arm:
    """Where its services run: natively if the program is in the arm as their client."""
    return order.native if order.program.beside.is_in_arm(order.case.parameters) else order.arm


@contextmanager
def services(attempt: Attempt) -> Iterator[None]:
    """Run a program's services, mount what they serve, count what all uses; raises NotStarted."""
    order, served = attempt.order, attempt.order.program.beside
    if not isinstance(served, Served):
        yield
    elif not served.services:
        with usage(attempt, served):
            yield
    else:
        with client.client_link(rate := int(order.case.parameters.get("rate_mbit", 0))) as link:
            with _servers(attempt, served, link) as judged, usage(attempt, served):
                yield
            judged.insert(0, client.link_gate(link, rate))
        attempt.beside += judged


@contextmanager
def _servers(attempt: Attempt, served: Served, link: Namespace) -> Iterator[list[Gate]]:
    """The servers and their mount; the list that is yielded holds their gates after the body."""
    order, servers, judged = attempt.order, list[Server](), list[Gate]()
    end_mount = partial(link.empty, 0)  # whoever waits for the mount gets an error
    with ExitStack() as held:
        held.callback(shutil.rmtree, SERVERS, ignore_errors=True)
        held.callback(places.end_processes_in, SERVERS)
        inside = served.services if service_arm(order) is order.arm else ()
        held.enter_context(client.servers_bridge(order, inside, link, client.INTERFACE))
        is_bridged = isinstance(service_arm(order), DockerBridge)
        for service in served.services:
            server = _started(order, service, attempt.launch, attempt.folder)
            held.callback(_stop, order, server)
            servers.append(server)
            # Behind a bridge a proxy answers the client before the server does.
            _wait_until_ready(server, None if is_bridged else link)
        with client.client_mount(attempt, served, link) as mount, _told_of_ends(servers, end_mount):
            attempt.on_stop.append(end_mount)
            attempt.commands[:0] = [server.command for server in servers]
            yield judged
        judged += [*(service_gate(order, server) for server in servers), *mount]
        for server in servers:
            _ask_to_end(server)


def _started(order: Order, service: Service, launch: Launch, folder: Path) -> Server:
    arm = service_arm(order)
    if service.port and not isinstance(arm, DockerBridge):
        _refuse_taken_port(service)
    own, cpus = SERVERS / service.name, server_cpus(order.session.node.cpus)
    service = service.below(own) if arm.image_format is None else service
    is_below = (own / service.data).is_relative_to(own)
    for place in (own, own / service.data) if is_below else (own,):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in service.files.items():
        (own / name).write_text(text, encoding="utf-8")
    image = launch.image if arm.image_format else None
    its = replace(launch.beside(service.name), cpus=cpus, image=image, address=service.address)
    its.state.mkdir()
    command, log = service_command(order, service, its), folder / f"service-{service.name}.log"
    return Server(service, command, its, log, started_beside(command, log, own))


def service_command(order: Order, service: Service, its: Launch) -> list[str]:
    """The command line of a service in its arm, with the witness, in its folder."""
    # A folder of data that is not below its own is made inside of its arm.
    own_tree = Path(service.data).is_absolute()
    made = ("/bin/sh", "-c", 'mkdir -p "$0" && exec "$@"', service.data) if own_tree else ()
    program = Program((*made, *service.argv), its.cpus, service.environment)
    return service_arm(order).command(its, inner_command.witnessed(program, SERVERS / service.name))


def _refuse_taken_port(service: Service) -> None:
    """Say who has the port of a service before it fails for it."""
    try:
        with socket.create_server((service.address, service.port)):
            return
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return  # an address that is not the host's is the runtime's to give
    holders = {
        psutil.Process(each.pid).name()
        for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == service.port and each.pid
    }
    where = f"port {service.port} of {service.address}, which {service.name} needs"
    raise NotStarted(f"{where}, is in use by {', '.join(sorted(holders)) or 'another process'}")


def _wait_until_ready(server: Server, asks: Namespace | None) -> None:
    """Until its executable is there and its port answers who asks: the host if nobody else."""
    deadline = time.monotonic() + START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        if _own_process(server.service) and _answers(server.service, asks):
            server.own = _own_process(server.service)  # before, it may be what prepares it
            return
        time.sleep(0.02)
    raise NotStarted(f"service {server.service.name} did not start: {end_of_log(server.log)}")


def _answers(service: Service, asks: Namespace | None) -> bool:
    connect = partial(socket.create_connection, (service.address, service.port), 1.0)
    with suppress(OSError):
        if service.port:
            (asks.inside(connect) if asks else connect()).close()
        return True
    return False


def _own_process(service: Service) -> psutil.Process | None:
    """The process of the service's executable, which works in its folder in whatever arm."""
    folder = (SERVERS / service.name).stat()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            there = Path(f"/proc/{process.pid}/cwd").stat()
            if os.path.samestat(there, folder) and process.cmdline() == [*service.argv]:
                if not service.executable:
                    return process
                begin = [service.executable]
                started = (each for each in process.children() if each.cmdline()[:1] == begin)
                return next(started, None)
    return None


@contextmanager
def _told_of_ends(servers: Sequence[Server], end_mount: Callable[[], None]) -> Iterator[None]:
    """Let go of the mount as soon as a server ends: the program then fails, and does not wait."""

    def look(*_: object) -> None:
        if any(server.process.poll() is not None for server in servers):
            end_mount()

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
        return Gate(
            "service", False, f"{name} ended before the program did: {end_of_log(server.log)}"
        )
    evidence = inner_command.evidence(server.log.read_text(errors="replace"))
    arm = service_arm(order)
    there = arm.as_server if isinstance(arm, DockerBridge) else arm
    bound = gates.binding_gate(server.launch.cpus, evidence)
    judged = (order.where(order.hosts[0], evidence, there), bound, _identity(order, server))
    problems = [gate.detail for gate in judged if not gate.passed]
    return Gate("service", not problems, "; ".join(f"{name}: {each}" for each in problems))


def _identity(order: Order, server: Server) -> Gate:
    """Whether the executable that runs is the one that was audited in its arm."""
    assert server.own
    service, arm = server.service, service_arm(order).name
    path = service.executable or service.argv[0]
    rows = (row for answer in order.session.answers[:1] for row in answer.state.binaries)
    audited = {row.sha256 for row in rows if (row.arm, row.path) == (arm, path)}
    seen = sha256(Path(f"/proc/{server.own.pid}/exe"))
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
        service_arm(order).cleanup(server.launch)


COMPANION = services
