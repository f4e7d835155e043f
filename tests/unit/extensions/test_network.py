"""Networks of containers: what a study can ask of them and the kernel, and what is counted."""

from dataclasses import asdict

import jsonschema
import pytest

from parity.benchmarks import benchmarks
from parity.core.errors import UserError
from parity.extensions.networks.benchmarks import network
from parity.extensions.networks.benchmarks.network import COUNTERS, PARAMETERS, Knobs, metrics_of
from parity.extensions.networks.measure.network import (
    differences,
    expected_inside,
    features,
    read_counter,
    settings,
)
from parity.extensions.networks.runtimes.networked import Network

SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: ActiveOpens RetransSegs InErrs
Tcp: 5 17 0
TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes
TcpExt: 0 3 21
"""


def test_an_era_says_how_losses_are_found():
    now = {"tcp_sack": "1", "tcp_recovery": "1", "tcp_early_retrans": "3"}
    assert settings(Knobs()) == {"tcp_congestion_control": "reno", **now}
    then = Knobs(era="2015", sack=False, congestion_control="cubic")
    assert settings(then) == {"tcp_congestion_control": "cubic"} | dict.fromkeys(now, "0")


@pytest.mark.parametrize(("offloads", "said"), [(True, "on"), (False, "off")])
def test_offloads_are_all_on_or_all_off_but_for_the_one_that_veth_never_has(offloads, said):
    found = features(Network("veth", offloads=offloads))
    assert found.pop("generic-receive-offload") == "off" and [*found.values()] == [said] * 4


def test_what_a_place_says_otherwise_is_named():
    expected = expected_inside("10.213.0.1", Network("veth"), Knobs())
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


def test_every_knob_is_a_parameter_whose_usual_value_is_allowed():
    assert PARAMETERS.keys() == asdict(Knobs()).keys()
    for name, value in asdict(Knobs()).items():
        jsonschema.validate(value, dict(PARAMETERS[name]))
        assert PARAMETERS[name]["description"] and "default" not in PARAMETERS[name]
    asked = {"nodes": 1, "ranks": 2, "kernel": "cg", "rto_min_ms": 2, "sack": False}
    assert Knobs.of(asked) == Knobs(rto_min_ms=2, sack=False)
    assert Knobs.of({}) == Knobs(200, True, "now", 1000, 0, "reno")


def test_levels_are_said_in_words():
    said = {
        "rto_min_ms_200": "rto_min 200 ms", "era_2015": "TCP of 2015", "era_now": "TCP of today",
        "queue_packets_10": "queue of 10 packets", "queue_packets_1": "queue of 1 packet",
        "rate_mbit_1000": "1000 Mbit/s", "sack_false": "no SACK",
        "congestion_control_cubic": "cubic", "class_a": "class_a", "cg": "cg",
    }  # fmt: skip
    assert {level: network.in_words(level) for level in said} == said
    usual = {f"{name}_{value}".lower() for name, value in asdict(Knobs()).items()}
    assert not any(network.in_words(level) == level for level in usual)


@pytest.mark.parametrize("benchmark", benchmarks().values(), ids=benchmarks())
def test_benchmarks_with_allocations_have_the_knobs_beside_their_own_parameters(benchmark):
    more = benchmark.all_parameters.keys() - benchmark.parameters.keys()
    assert more == (PARAMETERS.keys() if benchmark.allocations else set())
    # A link between servers and their client has a rate of its own.
    assert not (benchmark.allocations and PARAMETERS.keys() & benchmark.parameters.keys())
    own = {each.metric for each in benchmark.metrics}
    assert not {each.metric for each in network.METRICS} & own


def test_counters_become_metrics_with_whether_there_were_timeouts():
    counters = dict.fromkeys(COUNTERS, "0") | {"tcp_retransmits": "12", "tcp_timeouts": "3"}
    told = {m.name: m.value for m in metrics_of(counters | {"hostname": "n1"}, {})}
    seen = {"tcp_retransmits": 12, "tcp_timeouts": 3, "tcp_timeouts_seen": 1}
    assert told == dict.fromkeys(COUNTERS, 0) | seen
    assert list(told) == [each.metric for each in network.METRICS]
    none = {m.name: m.value for m in metrics_of(dict.fromkeys(COUNTERS, "0"), {})}
    assert none["tcp_timeouts_seen"] == 0
    for nothing in ({}, {"tcp_timeouts": "many"}, {"hostname": "n1"}):
        assert metrics_of(nothing, {}) == ()
