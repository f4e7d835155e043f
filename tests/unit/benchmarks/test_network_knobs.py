"""What a study can ask of a network between containers, and the metrics of its counters."""

from dataclasses import asdict

import jsonschema
import pytest

from parity.benchmarks import benchmarks, network
from parity.benchmarks.network import COUNTED, METRICS, PARAMETERS, Knobs, metrics_of


def test_every_knob_is_a_parameter_whose_usual_value_is_allowed():
    assert PARAMETERS.keys() == asdict(Knobs()).keys()
    for name, value in asdict(Knobs()).items():
        jsonschema.validate(value, dict(PARAMETERS[name]))
        assert PARAMETERS[name]["description"] and "default" not in PARAMETERS[name]


def test_a_case_says_what_it_wants_and_the_rest_is_usual():
    asked = {"nodes": 1, "ranks": 2, "kernel": "cg", "rto_min_ms": 2, "sack": False}
    assert Knobs.of(asked) == Knobs(rto_min_ms=2, sack=False)
    assert Knobs.of({}) == Knobs(200, True, "now", 1000, 0, "reno")


@pytest.mark.parametrize("benchmark", benchmarks().values(), ids=benchmarks())
def test_benchmarks_with_allocations_have_the_knobs_beside_their_own_parameters(benchmark):
    more = benchmark.all_parameters.keys() - benchmark.parameters.keys()
    assert more == (PARAMETERS.keys() if benchmark.allocations else set())
    assert not PARAMETERS.keys() & benchmark.parameters.keys()
    assert not {each.metric for each in METRICS} & {each.metric for each in benchmark.metrics}


def test_counters_become_metrics_with_whether_there_were_timeouts():
    counters = dict.fromkeys(COUNTED, "0") | {"tcp_retransmits": "12", "tcp_timeouts": "3"}
    told = {m.name: m.value for m in metrics_of(counters | {"hostname": "n1"})}
    assert told == dict.fromkeys(COUNTED, 0) | {
        "tcp_retransmits": 12,
        "tcp_timeouts": 3,
        "tcp_timeouts_seen": 1,
    }
    none = {m.name: m.value for m in metrics_of(dict.fromkeys(COUNTED, "0"))}
    assert none["tcp_timeouts_seen"] == 0
    assert [m.name for m in metrics_of(counters)] == [each.metric for each in network.METRICS]


@pytest.mark.parametrize("counters", [{}, {"tcp_timeouts": "many"}, {"hostname": "n1"}])
def test_a_run_without_counters_has_no_such_metrics(counters):
    assert metrics_of(counters) == ()
