"""Servers beside a program: who is in the arm, what is started behind what, which gates fail."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from parity.benchmarks.model import NOTHING, Program
from parity.extensions.servers.benchmarks.service import Served, Service
from parity.extensions.servers.measure import client
from parity.extensions.servers.measure.client import SUBNET
from parity.extensions.servers.measure.services import (
    Server,
    service_arm,
    service_command,
    service_gate,
)
from parity.extensions.servers.measure.usage import SERVERS
from parity.extensions.servers.runtimes import docker_bridge
from parity.measure import inner_command, places
from parity.measure.attempt import Attempt, Order, record
from parity.measure.documents import Gate
from parity.measure.timed_process import Finished
from parity.runtimes import arms
from parity.runtimes.model import SCRATCH, Image, Launch

SERVICE = Service("chunks-1", ("/usr/sbin/served", "-f"), {"a.cfg": "b\n"}, {"A": "1"}, 9422)
IMAGE = Image("docker", "sha256:feed", "sha256:feed")
LAUNCH = Launch("parity-1-1-1", IMAGE, SCRATCH, Path("/state"), "here", cpus=(1,))
HOST = {"kernel": "0", "mnt": "1", "pid": "2", "user": "3", "net": "4", "ipc": "5", "uts": "6"}


def order_of(name: str = "docker", inside: str = "servers", binaries=(), **program) -> Order:
    session = SimpleNamespace(
        number=1, states={"native-a": None, "native-b": None, name: None},
        namespaces={"here": HOST}, allocation=SimpleNamespace(hosts=("here",)),
        answers=(SimpleNamespace(state=SimpleNamespace(binaries=binaries)),), block_gates=(),
        system=SimpleNamespace(max_steal_fraction=1.0), node=SimpleNamespace(cpus=(0, 1)),
    )  # fmt: skip
    state = SimpleNamespace(recipe="sha256:beef", image_digest="", gate=Gate("image", True))
    case = SimpleNamespace(name="moosefs", parameters={"inside": inside})
    program = Program(("/usr/bin/fio",), (0,), **{"beside": Served((SERVICE,))} | program)
    return Order(f"moosefs.{name}", case, arms()[name], state, program, session)


@pytest.mark.parametrize(("name", "inside", "program", "services"), [
    ("docker", "servers", "native-a", "docker"), ("docker", "client", "docker", "native-a"),
    ("native-b", "servers", "native-b", "native-b"),
    ("native-b", "client", "native-b", "native-b"),
])  # fmt: skip
def test_one_side_is_in_the_arm_and_the_other_native(name, inside, program, services):
    order = order_of(name, inside)
    assert (order.program_arm.name, service_arm(order).name) == (program, services)
    # A program without services is in its arm.
    assert order_of(name, inside, beside=NOTHING).program_arm.name == name


def test_a_server_s_command_line_has_the_witness_its_folder_and_its_cpus():
    its, work = LAUNCH.beside(SERVICE.name), places.WORK
    assert (its.name, its.state) == ("parity-1-1-1-chunks-1", Path("/state/chunks-1"))
    assert service_command(order_of(), SERVICE, its) == [
        *("docker", "run", "--rm", "--name=parity-1-1-1-chunks-1", "--pull=never"),
        *("--log-driver=none", "--network=host", "--read-only"),
        f"--user={os.getuid()}:{os.getgid()}", "--volume=/dev/shm:/dev/shm",
        f"--volume={SCRATCH}:{SCRATCH}", "sha256:feed", *("/usr/bin/taskset", "-c", "1"),
        *("/bin/sh", "-c", inner_command.WITNESS, "parity-evidence"),
        *("/usr/bin/env", "-i", f"--chdir={work}/servers/chunks-1"),
        *("A=1", f"HOME={work}/servers/chunks-1", "LC_ALL=C"),
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        *(f"TMPDIR={work}/servers/chunks-1", "TZ=UTC"), *("/usr/sbin/served", "-f"),
    ]  # fmt: skip
    assert work / "servers/chunks-1" == SERVERS / "chunks-1"


def test_data_in_the_tree_of_a_container_has_its_folder_made_inside():
    made = ["/bin/sh", "-c", 'mkdir -p "$0" && exec "$@"', "/var/tmp/data"]
    words = service_command(order_of(), replace(SERVICE, data="/var/tmp/data"), LAUNCH)
    assert words[-6:] == [*made, *SERVICE.argv]


def evidence(marker: str, cpus: str, **namespaces: str) -> str:
    inside = HOST | namespaces
    lines = [f"marker={marker}", f"Cpus_allowed_list:={cpus}", "root=overlay,ro"]
    lines += [f"namespace./proc/self/ns/{name}={inode}" for name, inode in inside.items()]
    return "".join(f"{inner_command.EVIDENCE}{line}\n" for line in lines)


@pytest.fixture
def sleeping():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


ISOLATED = dict.fromkeys(("ipc", "mnt", "pid", "uts"), "99")
RIGHT = evidence("sha256:beef", "1", **ISOLATED)


@pytest.mark.parametrize(("text", "sha256", "detail"), [
    (RIGHT, None, ""),
    (evidence("", "1"), None, "chunks-1: expected marker sha256:beef, saw no marker"),
    (evidence("sha256:beef", "1"), None, "chunks-1: still in the host's namespaces: "),
    (evidence("sha256:beef", "0-1", **ISOLATED), None,
     "chunks-1: expected CPUs 1, allowed were 0-1"),
    (RIGHT, "feed", "chunks-1: /usr/sbin/served: expected feed, runs "),
])  # fmt: skip
def test_a_server_that_is_elsewhere_or_another_fails(sleeping, tmp_path, text, sha256, detail):
    (log := tmp_path / "log").write_text(text + "no room\n")
    running = hashlib.sha256(Path(f"/proc/{sleeping.pid}/exe").read_bytes()).hexdigest()
    audited = SimpleNamespace(arm="docker", path=SERVICE.argv[0], sha256=sha256 or running)
    server = Server(SERVICE, [], LAUNCH, log, sleeping, psutil.Process(sleeping.pid))
    gate = service_gate(order_of(binaries=(audited,)), server)
    assert (gate.passed, bool(gate.detail)) == (not detail, bool(detail))
    assert gate.detail.startswith(detail)


def test_a_server_that_ended_fails_with_the_end_of_its_log(sleeping, tmp_path):
    sleeping.kill()
    sleeping.wait()
    (log := tmp_path / "log").write_text(evidence("", "1") + "no room\n")
    gate = service_gate(order_of(), Server(SERVICE, [], LAUNCH, log, sleeping))
    assert gate.detail == "chunks-1 ended before the program did: no room"


@pytest.mark.parametrize(("name", "passed", "reason"), [
    ("service", False, "gate-service"), ("service", True, "exit-status"),
    ("mount", False, "exit-status"),
])  # fmt: skip
def test_a_program_whose_server_ended_fails_by_it(name, passed, reason):
    order = order_of("native-a")
    ended, gate = Finished(1, 1.0, 0.0, 0.0, False), Gate(name, passed, "why")
    attempt = Attempt(order, None, None, [["x"]], [ended], beside=[gate])
    assert record(attempt, evidence("", "0")).reason == reason


def test_what_is_mounted_below_a_folder_is_found_the_last_first(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(
        "36 25 0:31 / /a\\040b rw - fuse x rw\n"
        "37 36 0:32 / /a\\040b/c rw - fuse x rw\n"
        "38 25 0:33 / /a rw - ext4 x rw\n"
    )
    monkeypatch.setattr(client, "TABLE", table)
    assert client.mounts_below(Path("/a b")) == [Path("/a b/c"), Path("/a b")]


PORTS = {"10.213.1.11": [9421, 9422], "10.213.1.12": [9422]}
AT = {"10.213.1.11": "10.213.1.21", "10.213.1.12": "10.213.1.22"}
REMOVED = [
    ["timeout", "60", "docker", "ps", "--all", "--quiet", "--filter=label=parity-servers"],
    ["docker", "rm", "--force", "one", "two"],
    ["docker", "network", "rm", "parity-servers"],
]


@pytest.fixture
def said(monkeypatch):
    """What is asked of Docker; two containers were left by a runner that was killed."""
    lines = []

    def output(words):
        lines.append(list(words))
        return "one\ntwo\n" if "ps" in words else ""

    monkeypatch.setattr(docker_bridge, "output_of", output)
    monkeypatch.setattr(
        docker_bridge, "answer_of", lambda words, seconds: (True, lines.append(list(words)))
    )
    return lines


def test_published_ports_stand_on_the_host_s_own_addresses(said):
    arms()["docker-bridge"].begin_servers(IMAGE, SUBNET, PORTS, AT)
    assert said[:3] == REMOVED
    assert said[3] == [
        *("docker", "network", "create", "--subnet=10.213.1.8/29"),
        *("--opt=com.docker.network.bridge.name=parity-servers", "parity-servers"),
    ]
    assert said[4] == [
        *("docker", "run", "--detach", "--rm", "--name=parity-servers-10.213.1.11"),
        *("--pull=never", "--log-driver=none", "--read-only", "--label=parity-servers"),
        *("--network=parity-servers", "--ip=10.213.1.11"),
        *("--publish=10.213.1.21:9421:9421", "--publish=10.213.1.21:9422:9422"),
        *("sha256:feed", "/bin/sleep", "infinity"),
    ]
    assert "--publish=10.213.1.22:9422:9422" in said[5] and len(said) == 6


def test_routed_servers_publish_nothing(said):
    arms()["docker-bridge-direct"].begin_servers(IMAGE, SUBNET, PORTS, {})
    assert len(said) == 6 and not any("--publish" in word for line in said for word in line)


@pytest.mark.parametrize("name", ["docker-bridge", "docker-bridge-direct"])
def test_the_host_gives_up_the_addresses_and_the_client_is_routed(name, said, monkeypatch):
    here, there, own, to = [], [], "10.213.1.11", "10.213.1.21"
    monkeypatch.setattr(client, "batch", here.extend)
    monkeypatch.setattr(client, "output_of", there.append)
    order = SimpleNamespace(arm=arms()[name], state=SimpleNamespace(image=IMAGE))
    place = SimpleNamespace(inside=lambda do: do())
    with client.servers_bridge(order, [replace(SERVICE, address=own)], place, "link"):
        pass
    gone = [f"address delete 10.213.1.{last}/32 dev link" for last in (11, 12, 13, 14)]
    route = ["ip", "route", "add", SUBNET, "via", "10.213.1.254"]
    table = ["iptables", "-t", "nat", "-A", "OUTPUT", "-d", own, "-j", "DNAT"]
    is_published = order.arm.published
    assert here == gone + [f"address add {to}/32 dev link"] * is_published
    assert there == [route] + [[*table, "--to-destination", to]] * is_published


def test_what_is_left_of_it_is_removed_with_any_container_of_it(said, monkeypatch):
    monkeypatch.setattr(docker_bridge.Docker, "cleanup", lambda self, *launches: None)
    arms()["docker-bridge"].cleanup()
    assert said == REMOVED


def test_a_server_joins_the_namespace_of_its_address_and_nothing_else_changes():
    plain, arm = arms()["docker"], arms()["docker-bridge"]
    usual = plain.command(LAUNCH, ["/bin/true"])
    assert arm.command(LAUNCH, ["/bin/true"]) == usual
    joined = "--network=container:parity-servers-10.213.1.12"
    words = arm.command(replace(LAUNCH, address="10.213.1.12"), ["/bin/true"])
    assert words == [joined if word == "--network=host" else word for word in usual] != usual
    # A server has to be in a network of its own, and a program has not.
    assert "net" not in arm.isolates
    assert arm.as_server.isolates == (*arm.isolates, "net")
    assert arm.as_server.published == arm.published
