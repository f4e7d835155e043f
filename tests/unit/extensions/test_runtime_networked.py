"""Networked arms: their names, what they leave as it is, and why one cannot be had."""

from pathlib import Path

import pytest

from parity.core.commands import Availability
from parity.extensions.networks.runtimes import networked
from parity.extensions.networks.runtimes.networked import Network, Networked
from parity.runtimes import arms, every_arm
from parity.runtimes.model import KERNEL, SCRATCH, Image, Launch

PLAIN = Network("veth", offloads=False)


@pytest.mark.parametrize(
    ("name", "title", "network", "isolates"),
    [
        ("native-a-veth", "Native A, veth", Network("veth"), {"net"}),
        ("lxc-veth", "LXC, veth", Network("veth"), {"ipc", "mnt", "pid", "uts", "net"}),
        ("podman-veth-plain", "Podman, veth without offloads", PLAIN, None),
        ("apptainer-host-mpi-macvlan", "Apptainer (host MPI), macvlan", Network("macvlan"), None),
    ],
)
def test_a_name_says_the_network(name, title, network, isolates):
    arm = every_arm()[name]
    assert (arm.name, arm.title, arm.network) == (name, title, network)
    assert arm.unlimited is every_arm()[name.partition("-veth")[0].removesuffix("-macvlan")]
    assert set(arm.isolates) == (isolates or {*arm.unlimited.isolates, "net"})
    assert (arm.runtime, arm.link_set) == (arm.unlimited.runtime, arm.unlimited.link_set)
    assert not arm.is_native


@pytest.mark.parametrize(
    "name", ["veth", "-veth", "nothing-veth", "lxc-veth-veth", "lxc-veth-off", "lxc-own-cpu-veth"]
)
def test_other_names_are_none(name):
    assert name not in every_arm()


@pytest.mark.parametrize("end", ["-veth", "-veth-plain", "-macvlan"])
def test_an_arm_with_a_kernel_of_its_own_has_none(end):
    """Its programs would talk through that kernel's network, which is not the one that is made."""
    own = [name for name in every_arm() if KERNEL in every_arm()[name].isolates]
    assert len(own) > 2 and not any(f"{name}{end}" in every_arm() for name in own)


def test_no_networked_arm_is_listed_and_no_other_one_has_a_network():
    assert not any(isinstance(arm, Networked) for arm in every_arm().values())


@pytest.mark.parametrize("name", ["native-a", "charliecloud-dir", "lxc"])
def test_a_command_is_the_arm_s_own(name, tmp_path: Path):
    arm = every_arm()[f"{name}-veth"]
    image = Image(arm.image_format, "/images/one", "") if arm.image_format else None
    launch = Launch("run", image, SCRATCH, tmp_path)
    assert arm.command(launch, ["true"]) == arms()[name].command(launch, ["true"])


@pytest.fixture
def can(monkeypatch):
    """A machine that can make any network."""
    monkeypatch.setattr(networked, "is_installed", lambda _: True)
    monkeypatch.setattr(networked.os, "geteuid", lambda: 0)
    monkeypatch.setattr(networked, "answer_of", lambda *_, **__: (True, ""))
    return monkeypatch


def test_its_probe_is_the_arm_s_where_the_network_can_be_made(can):
    assert every_arm()["native-a-veth"].probe() == arms()["native-a"].probe()


def test_an_absent_runtime_comes_first(can):
    absent = Availability(False, reason="not installed", remedy="apt-get install lxc")
    can.setattr(type(arms()["lxc"]), "probe", lambda _: absent)
    assert every_arm()["lxc-veth"].probe() == absent


def test_programs_that_are_missing_are_named_with_their_packages(can):
    can.setattr(networked, "is_installed", lambda name: name == "ip")
    found = every_arm()["native-a-veth"].probe()
    assert not found.available
    assert found.reason == "tc, ethtool not installed"
    assert found.remedy == "apt-get install ethtool iproute2"


def test_an_ordinary_user_has_none(can):
    can.setattr(networked.os, "geteuid", lambda: 1000)
    assert every_arm()["native-a-veth"].probe().reason == "networks of containers need root"


def test_a_daemon_s_containers_have_none(can):
    can.setattr(type(arms()["docker"]), "probe", lambda _: Availability(True))
    found = every_arm()["docker-macvlan"].probe()
    assert found.reason == "a daemon starts its containers, in the host's network"
    assert found.remedy


@pytest.mark.parametrize("kind", ["veth", "macvlan"])
def test_a_kernel_that_cannot_is_asked_once_and_quoted(can, kind):
    asked = []

    def answer(argv, **given):
        asked.append((argv, given))
        return False, "Error: Unknown device type."

    can.setattr(networked, "answer_of", answer)
    found = every_arm()[f"native-a-{kind}"].probe()
    assert found.reason == f"no {kind}: Error: Unknown device type."
    assert "CAP_NET_ADMIN" in found.remedy and kind in found.remedy
    ((argv, given),) = asked
    assert argv == ["unshare", "--net", "ip", "-batch", "-"]
    assert f"type {kind}" in given["given"] and given["seconds"] == 5
