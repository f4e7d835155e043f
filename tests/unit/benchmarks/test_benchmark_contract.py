"""What holds for every benchmark, whichever there are."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from benchmark_help import NODE, case
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark, Outputs

ALL = sorted(benchmarks().values(), key=lambda benchmark: benchmark.name)
each = pytest.mark.parametrize("benchmark", ALL, ids=lambda benchmark: benchmark.name)

number = st.one_of(st.integers(0, 2**40), st.none())
sample = st.fixed_dictionaries(
    {
        "seconds": st.floats(-1, 10), "process": st.sampled_from(["", "likwid-bench"]),
        "pid": st.integers(0, 9), "node_used": number, "node_free_per_cpu": number,
        "private_writable": number, "private_dirty": number,
    }
)  # fmt: skip
FILES = ["hpccoutf.txt", "np.out", "HPCG-Benchmark_3.1_1.txt", "ior.json", "mpi_time.csv"]
outputs = st.builds(
    Outputs, stdout=st.text(), stderr=st.text(),
    files=st.dictionaries(st.sampled_from(FILES), st.text()),
    wall_seconds=st.lists(st.floats()).map(tuple), samples=st.lists(sample).map(tuple),
    command=st.lists(st.one_of(st.just("-w"), st.text())).map(tuple),
)  # fmt: skip


def test_the_benchmarks_are_found():
    folder = Path(inspect.getfile(Benchmark)).parent
    paths = (*folder.glob("*.py"), *folder.parent.glob("extensions/*/benchmarks/*.py"))
    modules = [path for path in paths if "\nBENCHMARK = " in path.read_text()]
    assert len(ALL) == len(modules) > 0


@given(outputs=outputs)
def test_every_parser_answers_to_any_text(outputs):
    # All at once: making the texts up takes longer than reading them.
    for benchmark in ALL:
        parsed = benchmark.parse(replace(outputs, parameters=case(benchmark)))
        if parsed.valid:
            # Nothing but the runner's own clock makes a run of any text valid.
            assert {quantity.clock for quantity in benchmark.metrics} == {"external"}
            assert parsed.metrics
        else:
            assert re.fullmatch(r"[a-z-]+", parsed.reason), benchmark.name
            assert parsed.detail, benchmark.name
            assert not parsed.metrics, benchmark.name


@each
def test_every_parameter_is_described_and_its_default_is_allowed(benchmark):
    for name, schema in benchmark.parameters.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(schema["default"], schema)
        assert schema["description"].endswith("."), name
        assert "type" in schema, name
        assert {"maximum", "enum", "maxLength"} & schema.keys(), name


@each
def test_the_program_is_named_by_absolute_paths_and_bound_to_cpus_of_the_node(benchmark):
    program = benchmark.program(case(benchmark), NODE)
    assert program.argv[0].startswith("/") and set(program.cpus) <= set(NODE.cpus) and program.cpus
    assert all(binary.startswith("/") for binary in benchmark.binaries)
    assert set(benchmark.differences) <= set(benchmark.primary)
    assert benchmark.allocations in ("", "optional", "required")
    if benchmark.allocations:
        placed = benchmark.program(case(benchmark) | {"nodes": 1, "ranks": 2}, NODE)
        assert (placed.nodes, placed.ranks, len(placed.cpus)) == (1, 2, 2)


def test_a_probe_says_what_to_install():
    for benchmark in ALL:
        presence = benchmark.probe()
        assert presence.available or (presence.reason and presence.remedy)


@each
def test_what_a_benchmark_is_sized_by_is_a_whole_number_that_its_program_is_told(benchmark):
    if not (name := benchmark.sized_by):
        assert not benchmark.target_seconds
        return
    schema = benchmark.parameters[name]
    assert (schema["type"], schema["minimum"]) == ("integer", 1)
    assert 1 <= schema["default"] < schema["maximum"]
    assert benchmark.target_seconds > 0 and benchmark.work in ("", name)
    units = {quantity.metric: quantity.unit for quantity in benchmark.metrics}
    assert not benchmark.timed or units[benchmark.timed] == "s"
    asked, more = case(benchmark), case(benchmark) | {name: schema["default"] + 1}
    assert benchmark.program(asked, NODE).argv != benchmark.program(more, NODE).argv


@each
def test_output_that_tells_no_time_has_no_timed_section(benchmark):
    outputs = Outputs(wall_seconds=(2.0, 0.5), parameters=case(benchmark))
    assert benchmark.timed_seconds(outputs) == (2.5 if benchmark.name == "startup" else 0.0)
