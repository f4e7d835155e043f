"""Whether the register fits the rest: every name in its cells is declared, or waited for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from plans import plan_of

from parity.benchmarks.description import Quantity
from parity.benchmarks.startup import StartUp
from parity.claims.cells import CONTAINERS, Selection
from parity.claims.register import Declared, declared, load_register
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
    "how MPI is started": {"hpcg.pmi"},
    "parts of a CPU": {"podman-rootless-quota"},
}  # fmt: skip

# Levels of published statements and of findings that no shipped study plans at any scale, though
# it could, and the arm that is simulated.
UNPLANNED = {"sysbench.threads=36", "sysbench.prime=40000000", "sysbench-libaio.threads=36",
             "sysbench-libaio.prime=40000000", "selfish-reading.seconds=20",
             "noise-replay: injected-noise"}  # fmt: skip


@each_test
def test_every_name_is_declared_or_waited_for(test: dict[str, Any]) -> None:
    missing = set(KNOWN.missing(Selection.of(test["cells"]), test))
    assert missing == set(test.get("waits_for", ()))
    assert missing <= set().union(*AWAITED.values())


def misspelt(test: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cells with one name or level after the other misspelt, and which it is."""
    there, cells = set(test.get("waits_for", ())), test["cells"]
    for key in ("benchmark", "metric", "against"):
        if isinstance(cells.get(key), str) and cells["benchmark"] not in there:
            yield cells[key], cells | {key: f"{cells[key]}x"}
    for arm in cells["arms"] if cells["arms"] != CONTAINERS else ():
        yield arm, cells | {"arms": [*cells["arms"], f"{arm}x"]}
    if cells["benchmark"] in there:
        return
    for key in ("parameters", "levels"):
        named = cells.get(key, {})
        for name, levels in named.items():
            yield name, cells | {key: named | {f"{name}_x": levels}}
            if f"{cells['benchmark']}.{name}" not in there:
                for level in levels if isinstance(levels, list) else [levels]:
                    yield f"{name}={level}", cells | {key: named | {name: [f"{level}x"]}}


@each_test
def test_a_name_that_is_misspelt_is_refused(test: dict[str, Any]) -> None:
    changed = list(misspelt(test))
    assert changed
    for name, wrong in changed:
        with pytest.raises(UserError) as caught:
            KNOWN.require(Selection.of(wrong), test, test.get("waits_for", ()), "x")
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
    if part:
        old = KNOWN.benchmarks[of]
        metrics = (*old.metrics, Quantity(part, part, "s"))
        more = {"parameters": {**old.parameters, part: {}}, "metrics": metrics}
        changed = type("Changed", (type(old),), more)()
        return Declared({**KNOWN.benchmarks, of: changed}, KNOWN.arms)
    new, arms = type("New", (StartUp,), {"name": name})(), dict(KNOWN.arms)
    return Declared({**KNOWN.benchmarks, name: new}, Arms(arms | {name: arms["podman"]}))


@pytest.mark.parametrize("name", sorted(set().union(*AWAITED.values())))
def test_what_comes_into_being_is_waited_for_no_longer(name: str) -> None:
    """A benchmark that comes without what its tests ask for is refused as well."""
    waiting = [test for test in TESTS.values() if name in test.get("waits_for", ())]
    assert waiting
    for test in waiting:
        cells, waits_for = Selection.of(test["cells"]), test["waits_for"]
        with pytest.raises(UserError, match=rf"waits for .*{name}|nothing declares {name}\."):
            with_name(name).require(cells, test, waits_for, "x")


@pytest.fixture(scope="module")
def shipped() -> list[Study]:
    """Every shipped study at each of its scales."""
    return [
        load_study(path, scale)
        for path in sorted((CONFIG / "studies").glob("*.yaml"))
        for scale in yaml.safe_load(path.read_text())["scales"]
    ]


def unplanned(test: dict[str, Any], shipped: list[Study]) -> set[str]:
    """The levels, or the benchmark with its arms, that no shipped study plans for a test."""
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
        return {f"{cells.benchmark}: {', '.join(sorted(named))}"}
    return {
        f"{cells.benchmark}.{name}={level}"
        for name, wanted in [*cells.parameters.items(), *cells.levels.items()]
        for level in wanted
        if str(level) not in {str(parameters.get(name)) for parameters in planned}
    }


def test_shipped_studies_plan_what_the_register_can_judge(shipped: list[Study]) -> None:
    """Arms and levels of every test that waits for nothing, but for those that are listed."""
    found = [unplanned(test, shipped) for test in TESTS.values() if "waits_for" not in test]
    assert set().union(*found) == UNPLANNED


def test_no_shipped_study_measures_what_its_blocks_cannot_decide(shipped: list[Study]) -> None:
    """Three claims asked for 0.9 of runs, which takes 29, of plans with 8 or 10."""
    register = load_register(CONFIG / "claims.yaml", CONFIG / "published/claims.csv", KNOWN)
    for study in shipped:
        held = {case.name: study.blocks for case in study.cases}
        assert short_of(register, study, held) == {}, study.campaign


COMMAND = {
    "title": "Melt", "program": ["/melt", "{steps}"], "binaries": ["/melt"],
    "metrics": [{"name": "loop", "pattern": "(.)", "unit": "s", "better": "lower"}],
}  # fmt: skip


@pytest.mark.parametrize(("cells", "absent"), [
    ({"metric": "loop"}, []), ({"metric": "loop", "parameters": {"steps": [10, 20]}}, []),
    ({"metric": "tau"}, ["melt.tau"]),
    ({"metric": "loop", "parameters": {"steps": [30], "size": [1]}},
     ["melt.steps=30", "melt.size"]),
])  # fmt: skip
def test_claims_may_be_about_a_program_that_a_plan_alone_describes(cells, absent) -> None:
    cases = [{"case": f"melt-steps_{n}", "benchmark": "melt",
              "parameters": {"command": COMMAND, "steps": n}} for n in (10, 20)]  # fmt: skip
    chosen = Selection.of({"benchmark": "melt", "arms": ["podman"], **cells})
    assert declared([plan_of({"cases": cases})]).missing(chosen, {}) == absent
    assert KNOWN.missing(chosen, {}) == ["melt"]
