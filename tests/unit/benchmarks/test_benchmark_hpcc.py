import re

import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.hpcc import BENCHMARK, process_grid
from parity.benchmarks.model import NodeFacts, Outputs
from parity.core.errors import UserError


def parse(text, **parameters):
    files = {"hpccoutf.txt": text}
    return BENCHMARK.parse(Outputs(files=files, parameters=defaults(BENCHMARK, **parameters)))


def test_a_real_output():
    parsed = parse(golden("hpcc/real.txt"))
    assert parsed.valid
    assert values(parsed) == {
        "hpl": pytest.approx(10.6776, rel=1e-12),
        "stream_copy_single": 29.4698,
        "stream_copy_star": 29.2897,
        "stream_scale_single": 30.3236,
        "stream_scale_star": 29.518,
        "stream_add_single": 30.709,
        "stream_add_star": 29.8365,
        "stream_triad_single": 30.7451,
        "stream_triad_star": 29.8563,
        "dgemm_single": 14.3931,
        "dgemm_star": 11.3003,
        "fft_single": 1.16095,
        "fft_star": 3.55178,
        "fft_mpi": 3.36937,
        "random_access_single": 0.163035,
        "random_access_star": 0.321002,
        "random_access_mpi": 0.020639,
        "ptrans": 0.66664,
        "ping_pong_latency": 0.334778,
        "ring_latency": 0.238037,
        "ping_pong_bandwidth": 12.318,
        "ring_bandwidth": 6.3725,
    }
    assert {metric.name: metric.better for metric in parsed.metrics}["ring_latency"] == "lower"


def test_a_failed_residual():
    assert parse(golden("hpcc/failed.txt")).reason == "residual-failed"


def test_one_rank_where_two_were_asked_for():
    # hpcc takes a smaller grid without a word and says Success=1.
    parsed = parse(golden("hpcc/failed-singleton.txt"))
    assert parsed.reason == "wrong-size"
    assert parsed.detail == "CommWorldProcs: asked for 2, the output says 1"


@pytest.mark.parametrize("parameter", ["n", "nb", "p", "q"])
def test_another_problem_than_the_one_asked_for(parameter):
    assert parse(golden("hpcc/real.txt"), **{parameter: 4}).reason == "wrong-size"


@pytest.mark.parametrize(
    ("passed", "failed", "reason"),
    [
        ("Success=1", "Success=0", "validation-failed"),
        ("Solution Validates", "Failed Validation", "validation-failed"),
        ("Node(s) with error 0\nNode selected", "Node(s) with error 1\nNode", "validation-failed"),
        ("locations (passed)", "locations (failed)", "validation-failed"),
        ("    0 tests completed and failed", "    1 tests completed and failed", "residual-failed"),
        ("DGEMM_Gflops=", "DGEMM_Gflops=-", "unparsable"),
        ("HPL_time=0.500051", "HPL_time=0.400051", "contradictory"),
        ("Begin of SingleFFT section.", "Begin of section.", "unparsable"),
        ("MPIFFT_Gflops=", "MPIFFT_Gflops=nan", "unparsable"),
        ("PTRANS_GBs=", "PTRANS=", "unparsable"),
    ],
)
def test_each_check_is_heeded(passed, failed, reason):
    text = golden("hpcc/real.txt")
    assert passed in text
    assert parse(text.replace(passed, failed, 1)).reason == reason


@pytest.mark.parametrize("name", ["hpcc/real-1x1.txt", "hpcc/real.txt"])
def test_each_check_that_rank_0_prints_is_heeded(name):
    # With one rank it is the one that hpcc chooses, so that single tests print theirs, too.
    text, alone = golden(name), "1x1" in name
    for passed, failed, count in (
        ("Solution Validates: avg", "Failed Validation: avg", 1 + alone),
        ("locations (passed)", "locations (failed)", 4 + 2 * alone),
    ):
        begins = [match.start() for match in re.finditer(re.escape(passed), text)]
        assert len(begins) == count
        for begin in begins:
            changed = text[:begin] + failed + text[begin + len(passed) :]
            asked = {"n": 1000, "p": 1, "q": 1} if alone else {}
            assert parse(text, **asked).valid
            assert parse(changed, **asked).reason == "validation-failed"


def test_a_second_run_appended_to_the_file():
    # hpcc appends. Of a first run that was killed the header alone may be left.
    text = golden("hpcc/real.txt")
    assert parse(golden("hpcc/truncated.txt") + text).reason == "several-runs"


def test_a_killed_run():
    assert parse(golden("hpcc/truncated.txt")).reason == "truncated"


def test_a_run_that_left_no_file():
    parsed = BENCHMARK.parse(Outputs(parameters=defaults(BENCHMARK)))
    assert parsed.reason == "unparsable"


def test_the_input_file():
    parameters = defaults(BENCHMARK, n=3000, nb=128, p=2, q=4)
    node = NodeFacts(tuple(range(8)), NODE.last_level_cache, NODE.memory)
    lines = BENCHMARK.program(parameters, node).files["hpccinf.txt"].splitlines()
    words = [line.split()[0] for line in lines]
    assert len(lines) == 36
    assert [words[index] for index in (5, 7, 10, 11)] == ["3000", "128", "2", "4"]


def test_more_ranks_than_cpus_is_refused():
    with pytest.raises(UserError, match="4 logical CPUs are asked for"):
        BENCHMARK.program(defaults(BENCHMARK, p=2), NODE)


def on_allocation(text, stderr, nodes, ranks, **parameters):
    parameters = defaults(BENCHMARK, nodes=nodes, ranks=ranks, **parameters)
    files = {"hpccoutf.txt": text}
    return BENCHMARK.parse(Outputs(stderr=stderr, files=files, parameters=parameters))


def test_ranks_on_two_nodes():
    text, stderr = golden("hpcc/real-2x4.txt"), golden("openmpi/two-nodes.txt")
    parsed = on_allocation(text, stderr, 2, 4, n=500)
    assert parsed.valid, parsed.detail
    assert list(values(parsed)) == list(values(parse(golden("hpcc/real.txt"))))
    assert on_allocation(text, stderr, 4, 4, n=500).reason == "transport"
    assert on_allocation(text, "", 2, 4, n=500).reason == "world-size"


def test_one_rank_has_nobody_to_talk_to():
    parsed = on_allocation(
        golden("hpcc/real-1x1.txt"), golden("openmpi/one-rank.txt"), 1, 1, n=1000
    )
    assert parsed.valid, parsed.detail
    named = set(values(parsed))
    assert {"hpl", "ptrans", "fft_mpi", "stream_triad_star"} <= named
    assert not {name for name in named if "ring" in name or "ping" in name}


def test_ranks_that_do_not_know_of_each_other():
    # The one that finds the input file ends well, and its output is complete.
    text, stderr = golden("hpcc/failed-singletons.txt"), golden("openmpi/singletons.txt")
    assert on_allocation(text, stderr, 2, 2, n=500).reason == "singletons"
    assert on_allocation(text, golden("openmpi/one-node.txt"), 1, 2, n=500).reason == "wrong-size"


@pytest.mark.parametrize(
    ("ranks", "grid"),
    [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (36, (6, 6)), (72, (8, 9))],
)
def test_the_grid_of_an_allocation_is_as_square_as_it_can_be(ranks, grid):
    assert process_grid({"p": 1, "q": 2, "nodes": 1, "ranks": ranks}) == grid


def test_more_ranks_on_a_node_than_it_has_cpus_is_refused():
    with pytest.raises(UserError, match="3 logical CPUs are asked for"):
        BENCHMARK.program(defaults(BENCHMARK, nodes=2, ranks=6), NODE)


def test_a_line_without_an_end_is_refused_before_it_is_read():
    text = golden("hpcc/real.txt").replace("Success=1", "Success=1" + "x" * 2_000_000)
    assert parse(text).detail == "a line of more than 1000000 characters"
    alone = Outputs(stdout="x" * 2_000_000, parameters=defaults(BENCHMARK))
    assert BENCHMARK.parse(alone).reason == "unparsable"
