"""Docker's bridge: the exact commands that make it, and what the client is told."""

from pathlib import Path

import pytest

from parity.extensions.servers.measure.client import (
    SUBNET,
    bridge_commands,
    client_commands,
    published_address,
)
from parity.extensions.servers.runtimes import docker_bridge
from parity.runtimes import arms
from parity.runtimes.model import Image, Launch

DIGEST = "sha256:" + "3" * 64
IMAGE = Image("docker", DIGEST, DIGEST)
PORTS = {"10.213.1.11": [9421, 9422], "10.213.1.12": [9422]}
AT = {"10.213.1.11": "10.213.1.21", "10.213.1.12": "10.213.1.22"}


@pytest.fixture
def said(monkeypatch):
    """What is asked of Docker; two containers were left by a runner that was killed."""
    lines = []
    monkeypatch.setattr(docker_bridge, "output_of", lambda words: lines.append(list(words)) or "")

    def answer(words, seconds=5):
        lines.append(list(words))
        return True, "one\ntwo" if "ps" in words else ""

    monkeypatch.setattr(docker_bridge, "answer_of", answer)
    return lines


REMOVED = [
    ["docker", "ps", "--all", "--quiet", "--filter=label=parity-servers"],
    ["docker", "rm", "--force", "one", "two"],
    ["docker", "network", "rm", "parity-servers"],
]


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
        "--publish=10.213.1.21:9421:9421",
        "--publish=10.213.1.21:9422:9422",
        *(DIGEST, "/bin/sleep", "infinity"),
    ]
    assert "--publish=10.213.1.22:9422:9422" in said[5] and len(said) == 6


def test_routed_servers_publish_nothing(said):
    arms()["docker-bridge-direct"].begin_servers(IMAGE, SUBNET, PORTS, {})
    assert len(said) == 6 and not any("--publish" in word for line in said for word in line)


def test_what_is_left_of_it_is_removed_with_any_container_of_it(said, monkeypatch):
    monkeypatch.setattr(docker_bridge.Docker, "cleanup", lambda self, *launches: None)
    arms()["docker-bridge"].cleanup()
    assert said == REMOVED


def test_a_server_joins_the_namespace_of_its_address_and_nothing_else_changes():
    launch = Launch("run", IMAGE, Path("/tmp/parity"), Path("/state"))
    plain, arm = arms()["docker"], arms()["docker-bridge"]
    assert arm.command(launch, ["/bin/true"]) == plain.command(launch, ["/bin/true"])
    server = Launch("run", IMAGE, Path("/tmp/parity"), Path("/state"), address="10.213.1.12")
    changed = [word for word in arm.command(server, ["/bin/true"])
               if word not in plain.command(server, ["/bin/true"])]  # fmt: skip
    assert changed == ["--network=container:parity-servers-10.213.1.12"]
    assert "--network=host" not in arm.command(server, ["/bin/true"])


def test_a_server_has_to_be_in_a_network_of_its_own_and_a_program_not():
    arm = arms()["docker-bridge"]
    assert "net" not in arm.isolates
    assert arm.as_server.isolates == (*arm.isolates, "net")
    assert arm.as_server.published == arm.published


def test_a_writable_container_has_all_of_its_runtime_s_words_but_one():
    launch = Launch("run", IMAGE, Path("/tmp/parity"), Path("/state"))
    for name in ("docker", "podman"):
        usual, own = (arms()[each].command(launch, []) for each in (name, f"{name}-writable"))
        assert own == [word for word in usual if not word.startswith("--read-only")] != usual


def test_the_host_gives_up_the_servers_addresses():
    assert bridge_commands("link", AT) == [
        *(f"address delete 10.213.1.{last}/32 dev link" for last in (11, 12, 13, 14)),
        "address add 10.213.1.21/32 dev link",
        "address add 10.213.1.22/32 dev link",
    ]
    assert published_address("10.213.1.14") == "10.213.1.24"


def test_the_client_is_routed_and_told_where_ports_are_published():
    route = ["ip", "route", "add", "10.213.1.8/29", "via", "10.213.1.254"]
    assert client_commands({}) == [route]
    assert client_commands({"10.213.1.11": "10.213.1.21"}) == [
        route,
        [
            *("iptables", "-t", "nat", "-A", "OUTPUT", "-d", "10.213.1.11"),
            *("-j", "DNAT", "--to-destination", "10.213.1.21"),
        ],
    ]
