"""Servers beside a program: which side is in the arm, what is started, and which gates fail."""

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
from parity.extensions.servers.measure.client import host_commands
from parity.extensions.servers.measure.services import (
    SERVERS,
    Server,
    service_arm,
    service_command,
    service_gate,
)
from parity.measure import inner_command, places
from parity.measure.attempt import Attempt, Order, record
from parity.measure.documents import Gate
from parity.measure.timed_process import Finished
from parity.runtimes import arms
from parity.runtimes.model import SCRATCH, Image, Launch

SERVICE = Service("chunks-1", ("/usr/sbin/served", "-f"), {"a.cfg": "b\n"}, {"A": "1"}, 9422)
IMAGE = Image("docker", "sha256:feed", "sha256:feed")
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
    launch = Launch("parity-1-1-1", IMAGE, SCRATCH, Path("/state"), "here", cpus=(1,))
    its = launch.beside(SERVICE.name)
    assert (its.name, its.state) == ("parity-1-1-1-chunks-1", Path("/state/chunks-1"))
    work = places.WORK
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
    launch = Launch("parity-1-1-1", IMAGE, SCRATCH, Path("/state"), "here", cpus=(1,))
    service = replace(SERVICE, data="/var/tmp/data")
    made = ["/bin/sh", "-c", 'mkdir -p "$0" && exec "$@"', "/var/tmp/data"]
    assert service_command(order_of(), service, launch)[-6:] == [*made, *SERVICE.argv]


def test_the_host_s_end_has_an_address_for_itself_and_for_each_server():
    assert host_commands("/proc/7/fd/8") == [
        "link add parity-link type veth peer name eth0 netns /proc/7/fd/8",
        "address add 10.213.1.254/24 dev parity-link", "address add 10.213.1.11/32 dev parity-link",
        "address add 10.213.1.12/32 dev parity-link", "address add 10.213.1.13/32 dev parity-link",
        "address add 10.213.1.14/32 dev parity-link", "link set parity-link up",
    ]  # fmt: skip


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


def gate_of(sleeping, tmp_path, text: str, sha256: str | None = None) -> Gate:
    log = tmp_path / "log"
    log.write_text(text + "no room\n")
    running = hashlib.sha256(Path(f"/proc/{sleeping.pid}/exe").read_bytes()).hexdigest()
    audited = SimpleNamespace(arm="docker", path=SERVICE.argv[0], sha256=sha256 or running)
    launch = Launch("any", IMAGE, SCRATCH, tmp_path, cpus=(1,))
    own = psutil.Process(sleeping.pid)
    server = Server(SERVICE, [], launch, log, sleeping, own)
    return service_gate(order_of(binaries=(audited,)), server)


ISOLATED = dict.fromkeys(("ipc", "mnt", "pid", "uts"), "99")


def test_a_server_that_is_where_its_arm_says_passes(sleeping, tmp_path):
    gate = gate_of(sleeping, tmp_path, evidence("sha256:beef", "1", **ISOLATED))
    assert gate == Gate("service", True, "")


@pytest.mark.parametrize(("text", "sha256", "detail"), [
    (evidence("", "1"), None, "chunks-1: expected marker sha256:beef, saw no marker"),
    (evidence("sha256:beef", "1"), None, "chunks-1: still in the host's namespaces: "),
    (
        evidence("sha256:beef", "0-1", **ISOLATED),
        None,
        "chunks-1: expected CPUs 1, allowed were 0-1",
    ),
    (
        evidence("sha256:beef", "1", **ISOLATED),
        "feed",
        "chunks-1: /usr/sbin/served: expected feed, runs ",
    ),
])  # fmt: skip
def test_a_server_that_is_elsewhere_or_another_fails(sleeping, tmp_path, text, sha256, detail):
    gate = gate_of(sleeping, tmp_path, text, sha256)
    assert not gate.passed and gate.detail.startswith(detail)


def test_a_server_that_ended_fails_with_the_end_of_its_log(sleeping, tmp_path):
    sleeping.kill()
    sleeping.wait()
    (tmp_path / "log").write_text(evidence("", "1") + "no room\n")
    launch = Launch("any", IMAGE, SCRATCH, tmp_path, cpus=(1,))
    gate = service_gate(order_of(), Server(SERVICE, [], launch, tmp_path / "log", sleeping))
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
