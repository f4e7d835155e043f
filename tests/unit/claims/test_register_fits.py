"""Whether the register fits the rest: every name in its cells is declared, or waited for."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark
from parity.benchmarks.startup import StartUp
from parity.claims.cells import CONTAINERS, Selection
from parity.claims.register import Declared, declared, load_register, load_users_claims
from parity.claims.registration import short_of
from parity.core.errors import UserError
from parity.plan.study import Study, load_study
from parity.runtimes import Arms

CONFIG = Path(__file__).parents[3] / "config"
KNOWN = declared()
CLAIMS: list[dict[str, Any]] = [
    claim
    for name in ("claims.yaml", "findings.yaml")
    for claim in yaml.safe_load((CONFIG / name).read_text())["claims"]
]
TESTS = {
    f"{claim['id']}.{number}": test
    for claim in CLAIMS
    for number, test in enumerate(claim.get("tests", ()), start=1)
}
each_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)

# What is not there yet, by what would bring it. A name that comes into being leaves this list.
AWAITED = {
    "how MPI is started, and with what": {"hpcg.pmi", "hpcg.libraries"},
    "images of sizes": {"memory.image_mib"},
    "interruptions": {"noise-replay", "injected-noise"},
    "parts of a CPU": {"podman-rootless-quota"},
}  # fmt: skip

# Levels of published statements and of findings that no shipped study plans at any scale, though
# it could.
UNPLANNED = {"sysbench.threads=36", "sysbench.prime=40000000", "sysbench-libaio.threads=36",
             "sysbench-libaio.prime=40000000",
             "selfish-reading.seconds=20"}  # fmt: skip


def missing_in(test: dict[str, Any], known: Declared = KNOWN) -> set[str]:
    return set(known.missing(Selection.of(test["cells"]), test))


@each_test
def test_every_name_is_declared_or_waited_for(test: dict[str, Any]) -> None:
    assert missing_in(test) == set(test.get("waits_for", ()))
    assert missing_in(test) <= set().union(*AWAITED.values())


def misspelt(test: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same test with one name or text level after the other misspelt, and which it is."""
    there = set(test.get("waits_for", ()))
    cells = test["cells"]
    for key in ("benchmark", "metric", "against"):
        if isinstance(cells.get(key), str) and cells["benchmark"] not in there:
            yield cells[key], _with(test, [key], f"{cells[key]}x")
    for place, arm in enumerate(cells["arms"] if cells["arms"] != CONTAINERS else ()):
        yield arm, _with(test, ["arms", place], f"{arm}x")
    if cells["benchmark"] in there:
        return
    for key in ("parameters", "levels"):
        for name, levels in cells.get(key, {}).items():
            renamed = copy.deepcopy(test)
            renamed["cells"][key][f"{name}_x"] = renamed["cells"][key].pop(name)
            yield name, renamed
            if f"{cells['benchmark']}.{name}" in there:
                continue
            for place, level in enumerate(levels if isinstance(levels, list) else [levels]):
                at = [key, name, place] if isinstance(levels, list) else [key, name]
                yield f"{name}={level}", _with(test, at, f"{level}x")


def _with(test: dict[str, Any], keys: list[Any], value: Any) -> dict[str, Any]:
    """A copy of a test in whose cells this stands."""
    changed = copy.deepcopy(test)
    place = changed["cells"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return changed


@each_test
def test_a_name_that_is_misspelt_is_refused(test: dict[str, Any]) -> None:
    changed = list(misspelt(test))
    assert changed
    for name, wrong in changed:
        with pytest.raises(UserError) as caught:
            KNOWN.require(Selection.of(wrong["cells"]), wrong, wrong.get("waits_for", ()), "x")
        assert "nothing declares" in str(caught.value), name


@pytest.mark.parametrize(("benchmark", "name", "level"), [
    ("npb", "kernel", "EP"), ("npb", "class", "D"), ("hpcg", "n", 105), ("hpcg", "nodes", 0),
    ("stream", "elements", 2_000_000_000), ("sysbench-libaio", "libaio", "present"),
])  # fmt: skip
def test_a_level_that_a_benchmark_does_not_have_is_refused(benchmark: str, name: str, level: Any):
    metric = KNOWN.benchmarks[benchmark].metrics[0].metric
    cells = {"benchmark": benchmark, "metric": metric, "arms": ["lxc"]}
    for key in ("parameters", "levels"):
        chosen = Selection.of(cells | {key: {name: [level]}})
        assert KNOWN.missing(chosen, {}) == [f"{benchmark}.{name}={level}"]


@pytest.mark.parametrize(("options", "name"), [
    ({"than": "lcx"}, "lcx"), ({"along": "size"}, "npb.size"),
    ({"along": "kernel", "order": [["mg", "lu"], ["ep", "EP"]]}, "npb.kernel=EP"),
    ({"factor": "class", "levels": ["A", "E"]}, "npb.class=E"),
    ({"control": {"benchmark": "npb", "metric": "flops", "arms": ["lxc"]}}, "npb.flops"),
])  # fmt: skip
def test_the_options_of_a_rule_name_something_too(options: dict[str, Any], name: str) -> None:
    cells = Selection.of({"benchmark": "npb", "metric": "rate", "arms": ["lxc"]})
    assert KNOWN.missing(cells, options) == [name]


def with_name(name: str) -> Declared:
    """What there is, and something of this name that is waited for."""
    of, _, part = name.partition(".")
    benchmarks: dict[str, Benchmark] = dict(KNOWN.benchmarks)
    if part:
        old = benchmarks[of]
        more: dict[str, Any] = {
            "parameters": {**old.parameters, part: {}},
            "metrics": (*old.metrics, Quantity(part, part, "s")),
        }
        benchmarks[of] = type("Changed", (type(old),), more)()
        return Declared(benchmarks, KNOWN.arms)
    benchmarks[name] = type("New", (StartUp,), {"name": name})()
    arms = dict(KNOWN.arms)
    return Declared(benchmarks, Arms(arms | {name: arms["podman"]}))


@pytest.mark.parametrize("name", sorted(set().union(*AWAITED.values())))
def test_what_comes_into_being_is_waited_for_no_longer(name: str) -> None:
    """A benchmark that comes without what its tests ask for is refused as well."""
    changed, waiting = (
        with_name(name),
        [t for t in TESTS.values() if name in t.get("waits_for", ())],
    )
    assert waiting
    for test in waiting:
        with pytest.raises(UserError, match=rf"waits for .*{name}|nothing declares {name}\."):
            changed.require(Selection.of(test["cells"]), test, test["waits_for"], "x")


@pytest.fixture(scope="module")
def shipped() -> list[Study]:
    """Every shipped study at each of its scales."""
    return [
        load_study(path, scale)
        for path in sorted((CONFIG / "studies").glob("*.yaml"))
        for scale in yaml.safe_load(path.read_text())["scales"]
    ]


def unplanned(test: dict[str, Any], shipped: list[Study]) -> tuple[set[str], set[str]]:
    """The levels, and the benchmark with its arms, that no shipped study plans for a test."""
    cells = Selection.of(test["cells"])
    named = {*(cells.arms or ()), *cells.against}
    # Of what is simulated with the events of a benchmark, the rest are levels of the simulation.
    of, simulation, _ = cells.benchmark.partition("-replay")
    rules = KNOWN.benchmarks[cells.benchmark].parameters
    simulated = {name: rules[name]["enum"] for name in ("ranks", "step_seconds") if simulation}
    planned = [
        case.parameters | {name: level}
        for study in shipped
        if named <= {*study.arms}
        for case in study.cases
        if case.benchmark == of
        for name, levels in (simulated or {"": [""]}).items()
        for level in levels
    ]
    if not planned:
        return set(), {f"{cells.benchmark}: {', '.join(sorted(named))}"}
    levels = {
        f"{cells.benchmark}.{name}={level}"
        for name, wanted in [*cells.parameters.items(), *cells.levels.items()]
        for level in wanted
        if str(level) not in {str(parameters.get(name)) for parameters in planned}
    }
    return levels, set()


def test_shipped_studies_plan_what_the_register_can_judge(shipped: list[Study]) -> None:
    """Arms and levels of every test that waits for nothing, but for those that are listed."""
    found = [unplanned(test, shipped) for test in TESTS.values() if "waits_for" not in test]
    assert set().union(*(levels for levels, _ in found)) == UNPLANNED
    assert not set().union(*(arms for _, arms in found))


def test_no_shipped_study_measures_what_its_blocks_cannot_decide(shipped: list[Study]) -> None:
    """Three claims asked for 0.9 of runs, which takes 29, of plans with 8 or 10."""
    register = load_register(CONFIG / "claims.yaml", CONFIG / "published/claims.csv", KNOWN)
    for study in shipped:
        held = {case.name: study.blocks for case in study.cases}
        assert short_of(register, study, held) == {}, study.campaign


def test_a_number_that_is_mistyped_is_noticed(shipped: list[Study]) -> None:
    """One that the benchmark could have is still none that a study plans."""
    noticed = 0
    for test in TESTS.values():
        if "waits_for" in test or unplanned(test, shipped)[1]:
            continue
        for key in ("parameters", "levels"):
            for name, levels in test["cells"].get(key, {}).items():
                if isinstance(levels, list) and isinstance(levels[-1], int):
                    other = levels[-1] + 40
                    wrong = _with(test, [key, name, len(levels) - 1], other)
                    said = unplanned(wrong, shipped)[0] | missing_in(wrong)
                    assert f"{test['cells']['benchmark']}.{name}={other}" in said
                    noticed += 1
    assert noticed > 20


CELLS = {"benchmark": "npb", "metric": "rate", "arms": ["lxc"]}


def of_a_user(folder: Path, **test: Any) -> Path:
    """A file of a user's with one claim of one test."""
    entry = {
        "id": "ours-1", "kind": "magnitude", "claim": "It costs a tenth.",
        "scales": {"machine": "full", "cluster": "full"}, "tests": [{"cells": CELLS} | test],
    }  # fmt: skip
    (folder / "site.yaml").write_text(yaml.safe_dump({"claims": [entry]}))
    return folder / "site.yaml"


def test_a_user_s_claims_need_no_bibliography_and_bring_their_own_numbers(tmp_path: Path) -> None:
    test = {"rule": "magnitude", "published": "m/r", "scale": "ratio"}
    path = of_a_user(tmp_path, **test)
    with pytest.raises(UserError, match="no published number"):
        load_users_claims(path, KNOWN)
    header = "claim,study,benchmark,runtime,nodes,metric,value,unit,place\n"
    path.with_suffix(".csv").write_text(f"{header}ours-1,,npb,r,1,m,10,percent,\n")
    [claim] = load_users_claims(path, KNOWN).claims
    assert (claim.study, claim.where, claim.published) == ("site", "", "")
    assert claim.values["m/r"].value == 10
    of_a_user(tmp_path, **test, cells=CELLS | {"metric": "speed"})
    with pytest.raises(UserError, match=r"npb\.speed"):
        load_users_claims(path, KNOWN)


@pytest.mark.parametrize("rule", [[], {}, None, 3])
def test_a_rule_that_is_no_text_is_refused_in_words(tmp_path: Path, rule: object) -> None:
    """`rule: []` ended in a traceback, as a list cannot be looked up."""
    with pytest.raises(UserError, match=r"not of the right type(.|\n)*tests\.1\.rule"):
        load_users_claims(of_a_user(tmp_path, rule=rule), KNOWN)
