"""Networked arms: their names, what they leave as it is, and why one cannot be had."""

import pytest

from parity.core.commands import Availability
from parity.extensions.networks.runtimes import networked
from parity.extensions.networks.runtimes.networked import Network, Networked
from parity.runtimes import arms, every_arm
from parity.runtimes.model import KERNEL

PLAIN = Network("veth", offloads=False)


@pytest.mark.parametrize(("name", "title", "network", "isolates"), [
    ("native-a-veth", "Native A, veth", Network("veth"), {"net"}),
    ("lxc-veth", "LXC, veth", Network("veth"), {"ipc", "mnt", "pid", "uts", "net"}),
    ("podman-veth-plain", "Podman, veth without offloads", PLAIN, None),
    ("apptainer-host-mpi-macvlan", "Apptainer (host MPI), macvlan", Network("macvlan"), None),
])  # fmt: skip
def test_a_name_says_the_network(name, title, network, isolates):
    arm = every_arm()[name]
    assert (arm.name, arm.title, arm.network) == (name, title, network)
    assert arm.unlimited is every_arm()[name.partition("-veth")[0].removesuffix("-macvlan")]
    assert set(arm.isolates) == (isolates or {*arm.unlimited.isolates, "net"})
    assert (arm.runtime, arm.link_set) == (arm.unlimited.runtime, arm.unlimited.link_set)
    assert not arm.is_native


def test_other_names_are_none_nor_has_an_arm_with_a_kernel_of_its_own_any():
    """Its programs would talk through that kernel's network, which is not the one that is made."""
    others = ("veth", "-veth", "nothing-veth", "lxc-veth-veth", "lxc-veth-off", "lxc-own-cpu-veth")
    own = [name for name in every_arm() if KERNEL in every_arm()[name].isolates]
    ends = ("-veth", "-veth-plain", "-macvlan")
    assert len(own) > 2
    for name in (*others, *(f"{name}{end}" for name in own for end in ends)):
        assert name not in every_arm(), name
    # No networked arm is listed.
    assert not any(isinstance(arm, Networked) for arm in every_arm().values())


@pytest.fixture
def can(monkeypatch):
    """A machine that can make any network."""
    monkeypatch.setattr(networked, "is_installed", lambda _: True)
    monkeypatch.setattr(networked.os, "geteuid", lambda: 0)
    monkeypatch.setattr(networked, "answer_of", lambda *_, **__: (True, ""))
    return monkeypatch


def test_a_network_that_cannot_be_made_is_said_with_its_reason(can):
    assert every_arm()["native-a-veth"].probe() == arms()["native-a"].probe()
    absent = Availability(False, reason="not installed", remedy="apt-get install lxc")
    can.setattr(type(arms()["lxc"]), "probe", lambda _: absent)
    assert every_arm()["lxc-veth"].probe() == absent
    can.setattr(type(arms()["docker"]), "probe", lambda _: Availability(True))
    daemon = every_arm()["docker-macvlan"].probe()
    assert daemon.reason == "a daemon starts its containers, in the host's network"
    assert daemon.remedy
    can.setattr(networked.os, "geteuid", lambda: 1000)
    assert every_arm()["native-a-veth"].probe().reason == "networks of containers need root"
    can.setattr(networked, "is_installed", lambda name: name == "ip")
    found = every_arm()["native-a-veth"].probe()
    assert not found.available and found.reason == "tc, ethtool not installed"
    assert found.remedy == "apt-get install ethtool iproute2"


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
