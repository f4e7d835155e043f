"""The claims on networks and placement judge as soon as arms, parameters and metrics are there."""

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import claims_data as data
import numpy as np
import pytest

from parity.claims.cells import JudgingData
from parity.claims.register import load_register
from parity.claims.sums import summed

CONFIG = Path(__file__).parents[3] / "config"
REGISTER = load_register(CONFIG / "claims.yaml", CONFIG / "published/claims.csv")
CLAIMS = {each.id: each for each in REGISTER.claims if each.study in ("ruiz2015", "beserra2015")}
EACH = [(name, number) for name, claim in CLAIMS.items() for number in range(len(claim.tests))]
# Other parameters of which a published statement names several that belong together.
TOGETHER = ("nodes", "ranks", "containers_per_node")


def cases_of(test: dict[str, Any]) -> list[dict[str, Any]]:
    """A case at each level that a test speaks of; nodes, ranks and containers as they were."""
    cells = test["cells"]
    wanted = {k: v if isinstance(v, list) else [v] for k, v in cells.get("parameters", {}).items()}
    wanted |= cells.get("levels", {})
    for name in ("along", "factor"):
        if isinstance(test.get(name), str):
            groups = test.get("order", test.get("levels", []))
            flat = [str(level) for group in groups for level in np.ravel(group)]
            wanted.setdefault(test[name], flat)
    longest = max((len(wanted[name]) for name in TOGETHER if name in wanted), default=1)
    grown = [n for n in TOGETHER if n in wanted and len(wanted[n]) == longest > 1]
    alone = {name: levels for name, levels in wanted.items() if name not in grown}
    made = []
    for levels in itertools.product(*alone.values()):
        for together in zip(*(wanted[name] for name in grown), strict=True) if grown else [()]:
            named = dict(zip(alone, levels, strict=True)) | dict(zip(grown, together, strict=True))
            name = "-".join([cells["benchmark"], *map(str, named.values())])
            made.append({"case": name, "benchmark": cells["benchmark"], "parameters": named})
    return made


def judged(name: str, number: int, expected: bool) -> Any:
    """The verdict on one test of a claim, by planted data that show what it expects or not."""
    claim = CLAIMS[name]
    test = claim.definition["tests"][number]
    cells, cases = test["cells"], cases_of(test)
    arms = dict.fromkeys(
        ["native-a", "native-b", cells.get("against", "native-a"), *cells["arms"]], "native"
    )
    arms |= {test["than"]: "native"} if "than" in test else {}
    values = {}
    for place, (case, arm) in enumerate(itertools.product(cases, arms)):
        cost, spread = 1.0, 0.004
        if arm in cells["arms"] and arm != cells.get("against"):
            cost = _cost(test, case["parameters"], expected, claim)
            # Of a group one arm is unlike the others, or each case and arm scatters too much.
            if test["rule"] == "group-equivalence" and arm != cells["arms"][-1]:
                cost = 1.0
            if test["rule"] == "coefficient-of-variation" and not expected:
                spread = 0.2
        if arm == test.get("than"):
            spread *= 8 if expected else 1 / 8
        values[case["case"], arm] = data.around(cost, place, spread=spread)
    if test["rule"] == "exists":
        values |= {key: [float(test["expect"] == expected)] * 30 for key in values}
    there = claim.tests[number]
    # Planted values are of no program that would take its time.
    timeless = dataclasses.replace(there.cells, shortest_seconds=0.0)
    there = dataclasses.replace(there, waits_for=(), system="", reading="", cells=timeless)
    alone = dataclasses.replace(REGISTER, claims=(dataclasses.replace(claim, tests=(there,)),))
    found = data.dataset(values, cases, metric=cells["metric"], arms=arms, label="cluster")
    return data.row(data.verdicts(alone, found), name)


def _cost(test: dict[str, Any], parameters: dict[str, Any], expected: bool, claim: Any) -> float:
    """The cost ratio of a test's arm that the test expects, or one that it does not."""
    rule = test["rule"]
    more = 1 + 3 * (test.get("smallest_effect_percent") or test.get("minimum_percent") or 5) / 100
    if rule == "trend":
        level = math.log2(float(parameters[test["along"]]))
        rising = (test["expect"] == "rising") == expected
        return more ** (level / 2) if rising else more ** (-level / 2)
    if rule == "rank":
        first = str(parameters[test["along"]]) in test["order"][0]
        return 1.5 if first == expected else 1.2
    if rule == "counts":
        level = str(parameters[test["along"]])
        [place] = [n for n, group in enumerate(test["order"]) if level in np.ravel(group)]
        return 100.0 ** (-place if expected else place)
    if rule == "change" and parameters[test["factor"]] != str(test["levels"][1]):
        return 1.0
    if rule in ("direction", "minimum-effect", "change"):
        dearer = (test["expect"] == "costs-more") == expected
        return more if dearer else 1 / more
    if rule == "magnitude":
        number = claim.values[test["published"]]
        value = 1 + number.value / 100 if number.unit == "percent" else number.value
        return value if expected else value**-2
    return 1.0 if expected or rule in ("less-variable", "coefficient-of-variation") else 1.5


@pytest.mark.parametrize("name, number", EACH)
def test_each_test_holds_for_what_it_expects_and_not_for_the_opposite(name, number) -> None:
    held, failed = (judged(name, number, expected) for expected in (True, False))
    assert held.verdict in ("supported", "holds-in-part", "order-ok"), held.reason
    assert failed.verdict in ("contradicted", "differs", "inconclusive"), failed.reason


@pytest.mark.parametrize(("metric", "told", "expected"), [
    ("link_bytes_per_gigabyte", "link_and_bridge_bytes_per_gigabyte", 1.0 + 2 * (100 + 50)),
    ("application", "whole", 1.0),  # whose runs tell no time in MPI beside it
    ("time", "whole", None),
])  # fmt: skip
def test_a_sum_is_of_what_each_run_recorded(metric, told, expected: float | None) -> None:
    values = {("spin", arm): [1.0] * 6 for arm in data.ARMS}
    measured, analysis = data.dataset(values, metric=metric)
    bridged = '{"usage_seconds": "1", "usage_received.parity-servers": "100", '
    bridged += '"usage_sent.parity-servers": "50", "usage_sent.veth1": "7"}'
    evidence = measured.runs["arm"].map(lambda arm: bridged if arm == "box" else "{}")
    runs = measured.runs.assign(evidence=evidence, parameters='{"gigabytes": "0.5"}')
    made = summed(JudgingData(dataclasses.replace(measured, runs=runs), analysis))
    numbers = made.engine.by_case.get(("spin", told))
    assert (numbers is None) == (expected is None)
    if numbers:
        assert set(numbers.of("box").values()) == {expected}
        assert set(numbers.of("crate").values()) == {1.0}
