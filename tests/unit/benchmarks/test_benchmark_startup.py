import json
import math

import pytest
from benchmark_help import defaults, golden

from parity.benchmarks.model import Metric, Outputs
from parity.benchmarks.startup import BENCHMARK


def parse(walls, cache="warm"):
    parameters = defaults(BENCHMARK, cache=cache)
    return BENCHMARK.parse(Outputs(wall_seconds=tuple(walls), parameters=parameters))


@pytest.mark.parametrize(
    ("cache", "middle", "shortest", "longest"),
    [("cold", 0.008274, 0.00512, 0.010576), ("warm", 0.004553, 0.00314, 0.008717)],
)
def test_real_starts(cache, middle, shortest, longest):
    parsed = parse(json.loads(golden(f"startup/{cache}.json")), cache)
    assert parsed.valid
    assert parsed.metrics == (
        Metric("start_seconds", middle, "s", "lower", "external"),
        Metric("start_seconds_min", shortest, "s", "lower", "external"),
        Metric("start_seconds_max", longest, "s", "lower", "external"),
    )


def test_a_start_is_missing():
    walls = json.loads(golden("startup/warm.json"))
    assert not any(parse(walls[:count]).valid for count in range(5))
    assert parse(walls[:4]).reason == "wrong-size"


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none(wrong):
    assert parse([0.1, 0.1, wrong, 0.1, 0.1]).reason == "unparsable"
