"""Networks of containers: what is asked of the kernel, and what of its answers is refused."""

import os

import pytest

from parity.core.errors import UserError
from parity.extensions.network_namespace import Namespace
from parity.extensions.networks.benchmarks.network import Knobs
from parity.extensions.networks.measure.network import (
    Link,
    differences,
    expected_inside,
    features,
    hub_commands,
    read_counter,
    settings,
)
from parity.extensions.networks.runtimes.networked import Network

VETH, PLAIN, MACVLAN = Network("veth"), Network("veth", offloads=False), Network("macvlan")
LINKS = [Link(Namespace(70 + n), f"port{n}", f"10.213.0.{1 + n}") for n in range(2)]
SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: ActiveOpens RetransSegs InErrs
Tcp: 5 17 0
TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes
TcpExt: 0 3 21
"""


def test_a_place_is_entered_by_the_file_that_holds_it():
    assert Namespace(7).words == ("nsenter", f"--net=/proc/{os.getpid()}/fd/7")


def test_veth_pairs_are_joined_by_a_bridge():
    here = f"/proc/{os.getpid()}/fd"
    assert hub_commands(VETH, LINKS) == [
        "link add bridge type bridge",
        f"link add port0 type veth peer name eth0 netns {here}/70",
        "link set port0 master bridge up",
        f"link add port1 type veth peer name eth0 netns {here}/71",
        "link set port1 master bridge up",
        "address add 10.213.0.254/24 dev bridge",
        "link set bridge up",
    ]


def test_macvlan_interfaces_are_children_of_one_and_the_hub_has_one_too():
    here = f"/proc/{os.getpid()}/fd"
    assert hub_commands(MACVLAN, LINKS) == [
        "link add parent type veth peer name peer", "link set parent up", "link set peer up",
        "link add hub link parent type macvlan mode bridge",
        "link add port0 link parent type macvlan mode bridge",
        f"link set port0 netns {here}/70 name eth0",
        "link add port1 link parent type macvlan mode bridge",
        f"link set port1 netns {here}/71 name eth0", "address add 10.213.0.254/24 dev hub",
        "link set hub up",
    ]  # fmt: skip


def test_an_era_says_how_losses_are_found():
    now = {"tcp_sack": "1", "tcp_recovery": "1", "tcp_early_retrans": "3"}
    assert settings(Knobs()) == {"tcp_congestion_control": "reno", **now}
    then = Knobs(era="2015", sack=False, congestion_control="cubic")
    assert settings(then) == {"tcp_congestion_control": "cubic"} | dict.fromkeys(now, "0")


def test_offloads_are_all_on_or_all_off_but_for_the_one_that_veth_never_has():
    assert set(features(PLAIN).values()) == {"off"}
    on = features(VETH)
    assert on.pop("generic-receive-offload") == "off" and set(on.values()) == {"on"}
    assert len(on) == 4


def test_what_a_place_says_otherwise_is_named():
    expected = expected_inside("10.213.0.1", VETH, Knobs())
    assert not differences("10.213.0.1", expected, expected | {"more": "x"})
    seen = expected | {"interfaces": "eth0 eth1 lo", "tcp_sack": "0"}
    del seen["rto_min_ms"]
    assert differences("10.213.0.1", expected, seen) == [
        "10.213.0.1: interfaces is eth0 eth1 lo, not eth0 lo",
        "10.213.0.1: rto_min_ms is nothing, not 200",
        "10.213.0.1: tcp_sack is 0, not 1",
    ]


def test_a_counter_stands_below_its_name():
    assert read_counter(SNMP, "Tcp", "RetransSegs") == 17
    assert read_counter(SNMP, "TcpExt", "TCPLossProbes") == 21
    with pytest.raises(UserError, match="does not count TCPSpuriousRTOs"):
        read_counter(SNMP, "TcpExt", "TCPSpuriousRTOs")
