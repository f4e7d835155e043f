import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.model import Outputs
from parity.benchmarks.mpip import BENCHMARK, library
from parity.benchmarks.npb import kernel_path

NAME = "lu.S.x.2.27598.1.mpiP"


def case(**levels):
    return defaults(BENCHMARK, nodes=1, ranks=2) | {"kernel": "lu", "class": "S"} | levels


def parse(report, wall=(0.3,), stdout=None, files=None):
    return BENCHMARK.parse(
        Outputs(
            stdout=golden("mpip/real.txt") if stdout is None else stdout,
            stderr=golden("openmpi/one-node.txt"),
            files={NAME: report} if files is None else files,
            wall_seconds=wall,
            parameters=case(),
        )
    )


def test_a_real_report():
    parsed = parse(golden("mpip/real.mpiP"))
    assert parsed.valid, parsed.detail
    found = values(parsed)
    assert found == {
        "application": pytest.approx(0.051439 - 0.043056),
        "mpi": 0.043056,
        "init": pytest.approx(0.3 - 0.051439),
        "mpi_part": pytest.approx(0.8370, abs=1e-4),
    }
    assert sum(found[part] for part in BENCHMARK.primary) == pytest.approx(0.3)


def test_one_rank():
    outputs = Outputs(
        stdout=golden("mpip/one-rank.txt"),
        stderr=golden("openmpi/one-rank.txt"),
        files={"cg.S.x.1.1.1.mpiP": golden("mpip/one-rank.mpiP")},
        wall_seconds=(0.3,),
        parameters=case(kernel="cg", ranks=1),
    )
    parsed = BENCHMARK.parse(outputs)
    assert parsed.valid, parsed.detail
    assert values(parsed)["mpi"] == 5.6e-05


def test_a_report_of_another_program():
    other = golden("mpip/real.mpiP").replace("lu.S.x", "lu.A.x")
    assert parse(other).reason == "wrong-size"


def test_a_report_of_other_ranks():
    parsed = parse(golden("mpip/one-rank.mpiP"))
    assert parsed.reason == "contradictory"
    assert parsed.detail.startswith("AppTime of 2 ranks, and their sum contradict each other")


def test_a_kernel_without_its_report():
    # The library was not preloaded: the kernel runs as ever.
    assert parse("", files={}).reason == "unparsable"


def test_two_reports_mean_two_worlds():
    report = golden("mpip/real.mpiP")
    assert parse("", files={NAME: report, "lu.S.x.1.2.1.mpiP": report}).reason == "unparsable"


def test_the_kernel_itself_must_be_valid():
    parsed = parse(golden("mpip/real.mpiP"), stdout=golden("npb/failed.txt"))
    assert parsed.reason == "verification-failed"


@pytest.mark.parametrize("wall", [(), (0.01,)])
def test_parts_that_are_more_than_the_whole(wall):
    assert parse(golden("mpip/real.mpiP"), wall).reason == "unparsable"


def test_a_killed_run():
    assert parse(golden("mpip/truncated.mpiP")).reason == "truncated"


def test_the_command_line():
    program = BENCHMARK.program(case(), NODE)
    assert program.argv == (
        *("/usr/bin/env", f"LD_PRELOAD={library('debian12')}", "MPIP=-c -d"),
        kernel_path("lu", "S"),
    )
    assert program.collect == ("*.mpiP",)
