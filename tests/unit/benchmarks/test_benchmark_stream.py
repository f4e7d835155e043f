from dataclasses import replace

import pytest
from benchmark_help import NODE, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.model import Outputs
from parity.benchmarks.stream import BENCHMARK, BUILDS, build_path, conforms, elements_for
from parity.core.errors import UserError

SMALL, LARGE = BUILDS[0], 160_000_000


def parse(text, elements=LARGE, threads=2, cache=NODE.last_level_cache):
    return BENCHMARK.parse(
        Outputs(
            stdout=text,
            parameters=defaults(BENCHMARK, threads=threads),
            command=("some-runtime", build_path(elements)),
            last_level_cache=cache,
        )
    )


def test_a_real_output():
    parsed = parse(golden("stream/real.txt"))
    assert (parsed.valid, parsed.detail) == (True, "")
    assert values(parsed) == {
        "copy": pytest.approx(43.7689),
        "scale": pytest.approx(25.4542),
        "add": pytest.approx(28.2517),
        "triad": pytest.approx(27.7856),
        "conforming": 1.0,
    }
    assert set(BENCHMARK.primary) <= values(parsed).keys()


@pytest.mark.parametrize("cache", [NODE.last_level_cache, 0])
def test_arrays_that_are_too_small_for_the_cache_make_a_variant(cache):
    parsed = parse(golden("stream/real-small.txt"), SMALL, 1, cache)
    assert (parsed.valid, values(parsed)["conforming"]) == (True, 0.0)
    assert parsed.detail.startswith("a variant of STREAM")


def test_arrays_that_are_not_what_they_should_be():
    parsed = parse(golden("stream/failed.txt"), SMALL)
    assert parsed.reason == "validation-failed"
    assert parsed.detail == "STREAM's solution does not validate"


def test_a_build_without_openmp_has_one_thread_and_says_nothing_of_it():
    lines = golden("stream/real-small.txt").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("Number of Threads"))
    assert parse(text, SMALL, 1).valid
    assert parse(text, SMALL, 2).reason == "wrong-size"


@pytest.mark.parametrize("wrong", [{"elements": SMALL}, {"threads": 1}])
def test_another_run_than_the_one_asked_for(wrong):
    assert parse(golden("stream/real.txt"), **wrong).reason == "wrong-size"


@pytest.mark.parametrize(
    ("line", "other", "reason"),
    [
        ("(= 137830 clock ticks)", "(= 19 clock ticks)", "too-few-ticks"),
        ("uses 8 bytes per", "uses 4 bytes per", "wrong-size"),
        ("Number of Threads counted = 2\n", "", "unparsable"),
        ("will be executed 10 times", "will be executed 2 times", "wrong-size"),
        ("0.154383", "0.100000", "contradictory"),
        ("$Revision: 5.10 $", "$Revision: 5.9 $", "unparsable"),
        ("Triad:          27785.6", "Triad:          -1", "unparsable"),
        ("Copy:           43768.9", "Copy:           0", "contradictory"),
    ],
)
def test_each_line_is_heeded(line, other, reason):
    text = golden("stream/real.txt")
    assert line in text
    assert parse(text.replace(line, other)).reason == reason


def test_a_command_line_that_names_no_build():
    outputs = Outputs(golden("stream/real.txt"), parameters=defaults(BENCHMARK), command=("x",))
    assert BENCHMARK.parse(outputs).reason == "unparsable"


def test_a_killed_run():
    assert parse(golden("stream/truncated.txt")).reason == "truncated"


@given(cache=st.integers(1, 8 * BUILDS[-1] // 4))
def test_the_smallest_build_that_conforms_is_taken(cache):
    elements = elements_for(replace(NODE, last_level_cache=cache))
    assert conforms(elements, cache)
    assert elements == BUILDS[0] or not conforms(elements // 2, cache)


@pytest.mark.parametrize("cache", [0, 8 * BUILDS[-1] // 4 + 1])
def test_a_cache_that_no_build_is_for_is_refused(cache):
    with pytest.raises(UserError, match="no build of STREAM is for this node's"):
        BENCHMARK.program(defaults(BENCHMARK), replace(NODE, last_level_cache=cache))


def test_arrays_that_do_not_fit_the_memory_are_refused():
    with pytest.raises(UserError, match=r"STREAM needs 3.6 GiB, and this node has 4.0 GiB"):
        BENCHMARK.program(defaults(BENCHMARK), replace(NODE, memory=2**32))
