"""Each rule on the planted effects of rules.yaml, and what no row of that table can say."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import claims_data as data
import numpy as np
import pytest
import yaml
from claims_data import judged, levels

from parity.claims.rules.exists import Count, runs_needed
from parity.claims.rules.magnitude import compare

GROUPS = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))
EXPECTED = (
    "verdict", "control", "cells", "blocks", "margin", "coverage", "capability", "scale"
)  # fmt: skip
TAKEN = ("metric", "unit", "better", "label", "kind", "scales", "not_tested", "positive")


def _rows() -> list[Any]:
    """The rows of the table, each with what its group says."""
    rows = []
    for group in GROUPS:
        for place, row in enumerate(group.pop("rows")):
            inner = {name: group.get(name, {}) | row.get(name, {}) for name in ("test", "values")}
            name = f"{group['test']['rule']}-{row['verdict']}-{place}"
            rows.append(pytest.param(group | row | inner, id=name))
    return rows


def _numbers(asked: Any, values: Mapping[tuple[str, str], list[float]], blocks: int) -> list[float]:
    match asked:
        case {"around": [centre, seed, spread]}:
            return list(centre * np.exp(spread * data.noise(seed, blocks, 1.0)))
        case {"normal": [centre, sd, seed]}:
            return list(centre + data.noise(seed, blocks, sd))
        case {"far": [far, seed, spread]}:
            logs = data.noise(seed, blocks, spread)
            logs[::10] += far
            return list(np.exp(logs))
        case {"beside": [arm, centre, seed, spread]}:
            return list(centre * np.exp(data.noise(seed, blocks, spread)) * values["spin", arm])
        case _:
            return list(map(float, asked))


@pytest.mark.parametrize("row", _rows())
def test_rule(tmp_path: Path, row: Mapping[str, Any]) -> None:
    lists = [v for v in row["values"].values() if isinstance(v, list) and v]
    blocks = row.get("blocks", max(map(len, lists), default=30))
    quiet = {"blocks": blocks, "spread": row.get("spread", 0.005)}
    values, cases = levels(*row.get("levels", ()), **quiet)
    for place, at in enumerate(() if cases else row.get("at", [{}])):
        name, of = f"spin-{place}" if place else "spin", row.get("benchmark", "spin")
        cases.append({"case": name, "benchmark": of, "parameters": at})
        values |= data.quiet(name, row.get("box", 1.0), row.get("crate", 1.0), **quiet)
    for case, ratio in zip(cases, row.get("pair", ()), strict=False):
        values[case["case"], "native-b"] = list(ratio * np.array(values[case["case"], "native-b"]))
    for case, ratio in zip(cases, row.get("every", ()), strict=False):
        values |= {
            key: list(ratio * np.array(of)) for key, of in values.items() if key[0] == case["case"]
        }
    for arm, asked in row["values"].items():
        values["spin", arm] = _numbers(asked, values, blocks)
    if "zero" in row:
        values["spin", row["zero"]][0] = 0.0
    if "lost" in row:
        values["spin", row["lost"]][:2] = [np.nan] * 2
    arms = data.ARMS | row.get("arms", {})
    found = judged(
        tmp_path, data.test_of(**row["test"]), values, lines=row.get("published", ""), cases=cases,
        arms={arm: of for arm, of in arms.items() if arm not in row.get("without", ())},
        failed={("spin", "box"): row["failed"]} if "failed" in row else None,
        **{name: row[name] for name in TAKEN if name in row},
    )  # fmt: skip
    expected = {name: row[name] for name in EXPECTED if name in row}
    assert {name: getattr(found, name) for name in expected} == expected, found.reason
    assert re.search(row.get("reason", ""), found.reason), found.reason
    if found.verdict == "not-tested":
        assert found.blocks == 0 and math.isnan(found.estimate)
    if "estimate" in row:
        assert found.estimate == pytest.approx(row["estimate"], rel=row.get("within"))
    if "p_below" in row:
        assert found.p_adjusted < row["p_below"]
    if "provable" in row:
        low, high = row["provable"]
        assert low < found.smallest_margin < high


# Of a size that differs its words say whether it has the published sign.
@pytest.mark.parametrize("numbers, on_machine, on_cluster, is_same_sign", [
    ((0.30, 0.28, 0.25, 0.31), "order-ok", "supported", True),
    ((0.30, 0.22, 0.20, 0.24), "order-ok", "order-ok", True),
    ((0.30, 0.05, 0.01, 0.09), "differs", "differs", True),
    ((-0.30, -0.05, -0.09, -0.01), "differs", "differs", True),
    ((0.30, 0.01, -0.05, 0.09), "differs", "differs", False),
    ((0.30, -0.20, -0.30, -0.10), "differs", "differs", False),
    ((0.30, 0.14, -0.10, 0.40), "inconclusive", "inconclusive", False),
    ((0.30, 0.90, 0.40, 1.40), "inconclusive", "inconclusive", True),
    ((-0.30, -0.28, -0.31, -0.25), "order-ok", "supported", True),
    # The wider interval was supported for being wide.
    ((0.15, 0.20, 0.005, 0.395), "order-ok", "order-ok", True),
    ((0.15, 0.14, 0.13, 0.149), "order-ok", "order-ok", True),
])  # fmt: skip
def test_a_published_effect_beside_ours(numbers, on_machine, on_cluster, is_same_sign) -> None:
    verdict, words = compare(*numbers, cluster=False)
    assert (verdict, words.startswith("same sign")) == (on_machine, is_same_sign)
    assert compare(*numbers, cluster=True)[0] == on_cluster


@pytest.mark.parametrize(("rule", "options", "ratio", "blocks"), [
    ("magnitude", {"published": "overhead/box", "scale": "ratio"}, 1.1447, 30),
    ("rank", {"along": "nodes", "order": [1, 2], "minimum_tau": 1}, 1.007, 12),
])  # fmt: skip
def test_one_of_two_cells_may_be_against_by_chance(tmp_path, rule, options, ratio, blocks) -> None:
    """P just below 0.05 in one cell contradicted however many there are."""
    values, cases = data.levels(1.0, ratio, blocks=blocks)
    case = {} if rule == "rank" else {"parameters": {"nodes": 2}}
    if rule == "magnitude":
        values["spin-2", "crate"] = [1.3 * value for value in values["spin-2", "crate"]]
    lines = "one,s,b,box,1,overhead,30,percent,p\n"
    for arms, is_chance in ((["box"], False), (["box", "crate"], True)):
        test = data.test_of(rule, {"arms": arms, **case}, **options)
        found = judged(tmp_path, test, values, lines=lines, cases=cases, kind="magnitude")
        assert ("to be expected of one among 2" in found.reason) == is_chance
        assert (found.verdict == "inconclusive") == is_chance


@pytest.mark.parametrize("limit", [0.3, 0.5, 0.8, 0.9, 0.95])
def test_the_runs_that_it_takes_are_the_fewest_that_do(limit: float) -> None:
    needed = runs_needed(limit)
    assert Count(needed, needed).bounds(0.90)[0] > limit
    assert Count(needed - 1, needed - 1).bounds(0.90)[0] <= limit


def test_blocks_that_scatter_do_not_hide_what_an_arm_does(tmp_path: Path) -> None:
    """Five times the scatter passed as at most twice, because whole blocks scattered more."""
    arms = {**data.ARMS, "barrel": "barrels", "cask": "casks"}
    block = np.exp(data.noise(5, spread=0.025))
    values = {
        ("spin", arm): list(block * data.around(1, seed, spread=0.025 if arm == "box" else 0.005))
        for seed, arm in enumerate(arms, start=60)
    }
    test = data.test_of("spread-ratio", factor=2)
    found = judged(tmp_path, test, values, kind="dispersion", arms=arms)
    assert found.verdict == "contradicted" and found.estimate == pytest.approx(5, rel=0.35)
    less = data.test_of("less-variable", {"arms": ["native-a"]}, than="box")
    found = judged(tmp_path, less, values, kind="dispersion", arms=arms)
    assert found.verdict == "supported"


def test_one_spike_is_no_scatter(tmp_path: Path) -> None:
    """One slow run in thirty contradicted by the test of the variances (p below 1e-6)."""
    logs = data.noise(8)
    logs[4] += 0.08
    values = data.quiet() | {("spin", "box"): list(np.exp(logs))}
    test = data.test_of("spread-ratio", factor=2)
    assert judged(tmp_path, test, values, kind="dispersion").verdict != "contradicted"
    test = data.test_of("less-variable", than="native-a")
    assert judged(tmp_path, test, values, kind="dispersion").verdict == "inconclusive"
