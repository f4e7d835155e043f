import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.model import Outputs
from parity.benchmarks.npb import kernel_path
from parity.extensions.networks.benchmarks.mpip import BENCHMARK, REPORT, library

REAL = golden("mpip/real.csv")


def case(**levels):
    return defaults(BENCHMARK, nodes=1, ranks=2) | {"kernel": "lu", "class": "S"} | levels


def parse(report, wall=(1.2,), stdout=None, files=None):
    return BENCHMARK.parse(
        Outputs(
            stdout=golden("mpip/real.txt") if stdout is None else stdout,
            stderr=golden("openmpi/one-node.txt"),
            files={REPORT: report} if files is None else files,
            wall_seconds=wall,
            parameters=case(),
        )
    )


def test_real_times():
    parsed = parse(REAL)
    assert parsed.valid, parsed.detail
    found = values(parsed)
    whole, mpi, init = 0.030782662 / 2, 0.009353109 / 2, 0.766239642 / 2
    assert found == {
        "application": pytest.approx(whole - mpi),
        "mpi": mpi,
        "mpi_init": init,
        "init": pytest.approx(1.2 - whole),
        "mpi_part": pytest.approx(0.3038, abs=1e-4),
        # LU sends rows of 5 numbers of 8 bytes, and faces.
        "messages": 510 + 54 + 513 + 54,
        "sent": 204000 + 622080 + 204416 + 622080,
        "collectives": 44,
        "given": 648,
    }
    assert found["application"] + found["mpi"] + found["init"] == pytest.approx(1.2)
    assert found["mpi_init"] < found["init"]


def test_one_rank():
    outputs = Outputs(
        stdout=golden("mpip/one-rank.txt"),
        stderr=golden("openmpi/one-rank.txt"),
        files={REPORT: golden("mpip/one-rank.csv")},
        wall_seconds=(0.5,),
        parameters=case(kernel="cg", ranks=1),
    )
    parsed = BENCHMARK.parse(outputs)
    assert parsed.valid, parsed.detail
    assert values(parsed)["mpi"] == 0.00002751
    assert values(parsed)["messages"] == 0


def test_times_of_other_ranks():
    parsed = parse(golden("mpip/one-rank.csv"))
    assert (parsed.reason, parsed.detail) == (
        "wrong-size",
        "ranks: asked for 0,1, the output says 0",
    )


def test_a_rank_that_counted_otherwise_than_the_sum():
    parsed = parse(REAL.replace(",513,", ",512,"))
    assert parsed.reason == "contradictory"
    assert parsed.detail.startswith("messages_1024 of the ranks, and their sum contradict each")


def test_columns_of_another_library():
    assert parse(REAL.replace("rank,init", "rank,start")).reason == "unparsable"


@pytest.mark.parametrize("files", [{}, {REPORT: ""}, {REPORT: REAL.partition("\n")[0]}])
def test_a_kernel_without_its_times(files):
    # The library was not preloaded: the kernel runs as ever.
    assert parse("", files=files).reason in ("unparsable", "truncated")


def test_the_kernel_itself_must_be_valid():
    assert parse(REAL, stdout=golden("npb/failed.txt")).reason == "verification-failed"


@pytest.mark.parametrize("wall", [(), (0.39,)])
def test_parts_that_are_more_than_the_whole(wall):
    assert parse(REAL, wall).reason == "unparsable"


def test_a_killed_run():
    assert parse(golden("mpip/truncated.csv")).reason == "truncated"


def test_the_command_line():
    program = BENCHMARK.program(case(), NODE)
    preload = ("/usr/bin/env", f"LD_PRELOAD={library('debian12')}")
    assert program.argv == (*preload, kernel_path("lu", "S"))
    assert program.collect == (REPORT,)
