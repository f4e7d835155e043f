import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.model import Outputs
from parity.benchmarks.npb import BENCHMARK, KERNELS
from parity.core.errors import UserError

WORLDS = {1: "openmpi/one-rank.txt", 2: "openmpi/one-node.txt"}
RATES = {"lu": 11018.23, "ep": 222.74, "cg": 3333.37, "mg": 8816.68, "ft": 1916.03, "is": 580.03}
TIMES = {"lu": 0.01, "ep": 0.15, "cg": 0.02, "mg": 0.0, "ft": 0.09, "is": 0.0}


def case(**levels):
    return defaults(BENCHMARK, nodes=1, ranks=2) | {"kernel": "lu", "class": "S"} | levels


def parse(text, **levels):
    asked = case(**levels)
    return BENCHMARK.parse(
        Outputs(stdout=text, stderr=golden(WORLDS[asked["ranks"]]), parameters=asked)
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_real_output(kernel):
    parsed = parse(golden(f"npb/real-{kernel}.txt"), kernel=kernel)
    assert parsed.valid, parsed.detail
    assert values(parsed) == {"rate": RATES[kernel], "time": TIMES[kernel]}
    assert set(BENCHMARK.primary) <= values(parsed).keys()


def test_a_later_release_names_its_processes_in_full():
    parsed = parse(golden("npb/active-processes.txt"), kernel="ep")
    assert values(parsed) == {"rate": 33.55, "time": 1.0}
    other = golden("npb/active-processes.txt").replace(
        "processes=                        2", "processes= 1"
    )
    assert parse(other, kernel="ep").reason == "wrong-size"


def test_a_kernel_that_does_not_verify():
    # It ends with status 0.
    parsed = parse(golden("npb/failed.txt"))
    assert (parsed.reason, parsed.detail) == ("verification-failed", "LU: UNSUCCESSFUL")


@pytest.mark.parametrize("wrong", [{"class": "A"}, {"ranks": 1}])
def test_another_problem_than_the_one_asked_for(wrong):
    assert parse(golden("npb/real-lu.txt"), **wrong).reason == "wrong-size"


def test_another_kernel_than_the_one_asked_for():
    assert parse(golden("npb/real-lu.txt"), kernel="cg").reason == "unparsable"


@pytest.mark.parametrize(
    ("line", "other", "reason"),
    [
        ("Active procs    =                        2", "Active procs = 1", "wrong-size"),
        ("Mop/s total     =                 11018.23", "Mop/s total = NaN", "unparsable"),
        ("Mop/s total     =                 11018.23", "Mop/s total = *********", "unparsable"),
        ("Time in seconds =", "Time =", "unparsable"),
        ("Time in seconds =                     0.01", "Time in seconds = 0", "unparsable"),
        ("Benchmarks 3.4 --", "Benchmarks 3.3 --", "unparsable"),
    ],
)
def test_each_line_is_heeded(line, other, reason):
    text = golden("npb/real-lu.txt")
    assert line in text
    assert parse(text.replace(line, other)).reason == reason


def test_a_killed_run():
    assert parse(golden("npb/truncated.txt")).reason == "truncated"


def test_ranks_that_are_no_power_of_two_are_refused():
    with pytest.raises(UserError, match="power of two ranks, not on 6"):
        BENCHMARK.program(case(nodes=3, ranks=6), NODE)
