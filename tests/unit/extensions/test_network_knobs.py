"""What a study can ask of a network between containers, and the metrics of its counters."""

from dataclasses import asdict

import jsonschema
import pytest

from parity.benchmarks import benchmarks
from parity.extensions.networks.benchmarks import network
from parity.extensions.networks.benchmarks.network import (
    COUNTERS,
    METRICS,
    PARAMETERS,
    Knobs,
    metrics_of,
)


def test_every_knob_is_a_parameter_whose_usual_value_is_allowed():
    assert PARAMETERS.keys() == asdict(Knobs()).keys()
    for name, value in asdict(Knobs()).items():
        jsonschema.validate(value, dict(PARAMETERS[name]))
        assert PARAMETERS[name]["description"] and "default" not in PARAMETERS[name]


def test_a_case_says_what_it_wants_and_the_rest_is_usual():
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
    assert not {each.metric for each in METRICS} & {each.metric for each in benchmark.metrics}


def test_counters_become_metrics_with_whether_there_were_timeouts():
    counters = dict.fromkeys(COUNTERS, "0") | {"tcp_retransmits": "12", "tcp_timeouts": "3"}
    told = {m.name: m.value for m in metrics_of(counters | {"hostname": "n1"})}
    seen = {"tcp_retransmits": 12, "tcp_timeouts": 3, "tcp_timeouts_seen": 1}
    assert told == dict.fromkeys(COUNTERS, 0) | seen
    none = {m.name: m.value for m in metrics_of(dict.fromkeys(COUNTERS, "0"))}
    assert none["tcp_timeouts_seen"] == 0
    assert [m.name for m in metrics_of(counters)] == [each.metric for each in network.METRICS]
    for nothing in ({}, {"tcp_timeouts": "many"}, {"hostname": "n1"}):
        assert metrics_of(nothing) == ()
