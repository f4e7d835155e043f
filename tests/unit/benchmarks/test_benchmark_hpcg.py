import re

import pytest
from benchmark_help import NODE, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.hpcg import BENCHMARK, OFFICIAL_SECONDS, unofficial
from parity.benchmarks.model import Outputs

FILE = "HPCG-Benchmark_3.1_2026-11-21_05-00-12.txt"
WORLDS = {1: "openmpi/one-rank.txt", 2: "openmpi/one-node.txt"}


def parse(text, ranks=1, memory=NODE.memory, **parameters):
    asked = defaults(BENCHMARK, nodes=1, ranks=ranks, n=32) | parameters
    files = {} if text is None else {FILE: text}
    return BENCHMARK.parse(
        Outputs(stderr=golden(WORLDS[ranks]), files=files, parameters=asked, memory=memory)
    )


def test_a_real_output():
    parsed = parse(golden("hpcg/real-1x1.txt"))
    assert parsed.valid, parsed.detail
    assert values(parsed) == {
        "rate": 2.76015,
        "raw_rate": 2.86652,
        "bandwidth": 21.7766,
        "time": 2.00241,
        "setup_time": 0.0771688,
        "memory": pytest.approx(22.33572),
        "scaled_residual": 1.04489e-20,
        "official": 0.0,
    }
    assert set(BENCHMARK.primary) <= values(parsed).keys()
    assert parsed.detail == (
        "not an official HPCG result: 2 s of at least 1800 s, "
        "0.1% of the memory instead of at least 25 %"
    )


def test_two_ranks():
    parsed = parse(golden("hpcg/real-1x2.txt"), ranks=2)
    assert parsed.valid, parsed.detail
    assert values(parsed)["rate"] == 2.67373


def test_a_program_that_multiplies_wrongly_is_found_out_by_hpcg_itself():
    parsed = parse(golden("hpcg/failed.txt"), n=16)
    assert parsed.reason == "symmetry-failed"
    assert parsed.detail.endswith(": FAILED")


@pytest.mark.parametrize(
    ("passed", "failed", "reason"),
    [
        ("Spectral Convergence Tests::Result=PASSED", "FAILED", "convergence-failed"),
        ("epsilon::Result=PASSED", "FAILED", "symmetry-failed"),
        ("Iteration Count Information::Result=PASSED", "FAILED", "residual-failed"),
        ("Reproducibility Information::Result=PASSED", "FAILED", "residual-failed"),
    ],
)
def test_each_check_is_heeded(passed, failed, reason):
    text = golden("hpcg/real-1x1.txt")
    assert passed in text
    assert parse(text.replace(passed, passed.replace("PASSED", failed))).reason == reason


@pytest.mark.parametrize(
    ("departure", "reason"),
    [("nan", "unparsable"), ("-nan", "unparsable"), ("1.5", "symmetry-failed"), ("1", "")],
)
@pytest.mark.parametrize("product", ["SpMV", "MG"])
def test_a_departure_from_symmetry_that_is_no_number_or_too_large(product, departure, reason):
    # HPCG itself calls both passed: a departure that is not a number is not above 1.
    text = re.sub(rf"(?<=Departure for {product}=).*", departure, golden("hpcg/real-1x1.txt"))
    assert parse(text).reason == reason


def test_all_checks_passed_and_yet_not_called_valid():
    text = golden("hpcg/real-1x1.txt").replace("HPCG result is VALID with", "HPCG result is")
    assert parse(text).reason == "validation-failed"


@pytest.mark.parametrize("wrong", [{"n": 40}, {"ranks": 2}])
def test_another_problem_than_the_one_asked_for(wrong):
    assert parse(golden("hpcg/real-1x1.txt"), **wrong).reason == "wrong-size"


def test_ranks_that_do_not_know_of_each_other():
    asked = defaults(BENCHMARK, nodes=2, ranks=2, n=32)
    alone = golden("openmpi/singletons.txt")
    outputs = Outputs(stderr=alone, files={FILE: golden("hpcg/real-1x1.txt")}, parameters=asked)
    assert BENCHMARK.parse(outputs).reason == "singletons"


def test_a_killed_run():
    assert parse(golden("hpcg/truncated.txt"), ranks=2).reason == "truncated"


def test_a_run_that_left_no_file():
    assert parse(None).reason == "unparsable"


def stated(text, key, value):
    """The text with another value of a key."""
    changed, found = re.subn(rf"(?<={re.escape(key)}=).*", f"{value:g}", text)
    assert found == 1
    return changed


def test_an_official_result_takes_its_time_and_a_quarter_of_the_memory():
    # 900 times as long, with as many times the operations, and more memory for each equation.
    used = NODE.memory / 4e9 + 0.1
    text = golden("hpcg/real-1x1.txt")
    for key, value in {
        "Benchmark Time Summary::Total": 900 * 2.00241,
        "Operations Summary::Total": 900 * 5.73995e9,
        "Operations Summary::Total with convergence overhead": 900 * 5.73995e9,
        "Total number of reference iterations": 900 * 500,
        "Total memory used for data (Gbytes)": used,
        "(Total memory / Number of Equations)": 1e9 * used / 32**3,
    }.items():
        text = stated(text, key, value)
    text = text.replace(
        text.splitlines()[-1],
        "Final Summary::Please upload results from the YAML file contents to="
        "http://hpcg-benchmark.org",
    )
    parsed = parse(text)
    assert (parsed.valid, parsed.detail, values(parsed)["official"]) == (True, "", 1.0)
    unknown = parse(text, memory=0)
    assert (unknown.valid, values(unknown)["official"]) == (True, 0.0)
    assert unknown.detail.endswith("an unknown part of the memory")


@given(seconds=st.floats(0, 1e5), used=st.floats(0, 1e12), memory=st.floats(1e9, 1e12))
def test_official_is_what_fulfils_both_rules(seconds, used, memory):
    fulfilled = seconds >= OFFICIAL_SECONDS and used >= memory / 4
    assert bool(unofficial(seconds, used, memory)) != fulfilled
