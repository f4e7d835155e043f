"""The rules of single benchmarks: how they size themselves, what they refuse to start, and checks
that no golden output tells of (`test_benchmark_golden.py` has those).
"""

import re
from dataclasses import replace
from statistics import fmean, pstdev

import pytest
from benchmark_help import NODE, case, defaults, golden, outcome
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks import benchmarks, hpcc, hpcg, likwid, stream
from parity.benchmarks.model import NodeFacts
from parity.benchmarks.reading import Refused, printed
from parity.benchmarks.sysbench import require_balance
from parity.core.errors import UserError

TOO_LARGE = 8 * stream.BUILDS[-1] // 4 + 1
ONE, TWO = {"nodes": 1, "ranks": 2}, {"nodes": 2, "ranks": 2}


@pytest.mark.parametrize(("name", "asked", "node", "problem"), [
    ("sysbench", {"threads": 3}, {}, "3 logical CPUs are asked for, and 2 may be used"),
    ("hpcc", {"p": 2}, {}, "4 logical CPUs are asked for"),
    ("hpcc", {"nodes": 2, "ranks": 6}, {}, "3 logical CPUs are asked for"),
    ("npb", {"kernel": "lu", "nodes": 3, "ranks": 6}, {}, "power of two ranks, not on 6"),
    ("ior", ONE | {"block_mib": 8, "transfer_kib": 3072}, {}, "3072 KiB do not fill a block"),
    ("ior", TWO, {}, "each node's working folder is its own"),
    ("likwid", {"kernel": "copy"}, {"last_level_cache": 0}, "does not tell the size of its"),
    ("stream", {}, {"last_level_cache": 0}, "no build of STREAM is for this node's"),
    ("stream", {}, {"last_level_cache": TOO_LARGE}, "no build of STREAM is for this node's"),
    ("stream", {}, {"memory": 2**32}, "STREAM needs 3.6 GiB, and this node has 4.0 GiB"),
    ("netpipe", {"protocol": "tcp", **TWO}, {}, "the names of 2 nodes"),
    ("netpipe", {"protocol": "tcp", "nodes": 1, "ranks": 4}, {}, "(?s)not 4.*netpipe.alloc"),
    ("hpcg", TWO, {"launcher": False}, "2 nodes are asked for, and the system's file names"),
    ("hpcg", {"nodes": 1, "ranks": 3}, {"launcher": False}, "3 logical CPUs are asked for"),
    ("selfish-reading", {}, {"cpus": (0,)}, "2 logical CPUs are asked for, and 1 may be used"),
])  # fmt: skip
def test_what_cannot_run_is_refused_before_it_starts(name, asked, node, problem):
    benchmark = benchmarks()[name]
    with pytest.raises(UserError, match=problem):
        benchmark.program(case(benchmark, **asked), replace(NODE, **node))


def test_a_folder_that_nodes_share_lets_ior_use_them():
    ior = benchmarks()["ior"]
    asked = defaults(ior, file="own", access="direct", folder="/scratch", **TWO)
    assert ior.program(asked, NODE).nodes == 2


def test_hpcg_is_linked_with_what_it_needs_or_with_more_and_is_else_the_same():
    commands = {}
    for libraries, build in (("needed", "hpcg"), ("further", "hpcg-further")):
        asked = case(hpcg.BENCHMARK, n=24, seconds=2, nodes=1, ranks=1, libraries=libraries)
        path, *commands[build] = hpcg.BENCHMARK.program(asked, NODE).argv
        assert path == f"/opt/parity/debian12/view/{build}/bin/xhpcg"
    assert (
        commands["hpcg"] == commands["hpcg-further"] == ["--nx=24", "--ny=24", "--nz=24", "--rt=2"]
    )
    further, needed = hpcg.BENCHMARK.spack_packages
    flags = further.variants.removeprefix(f"{needed.variants} ")
    assert further.spec.startswith(needed.spec) and flags.count("-l:lib") == 4


def of_hpcc(text, **asked):
    return outcome(hpcc.BENCHMARK, asked, files={hpcc.OUTPUT: text})


@pytest.mark.parametrize("name", ["hpcc/real-1x1.txt", "hpcc/real.txt"])
def test_each_check_that_rank_0_of_hpcc_prints_is_heeded(name):
    # With one rank it is the one that hpcc chooses, so that single tests print theirs, too.
    text, alone = golden(name), "1x1" in name
    asked = {"n": 1000, "p": 1, "q": 1} if alone else {}
    assert of_hpcc(text, **asked).valid
    for passed, failed, count in (
        ("Solution Validates: avg", "Failed Validation: avg", 1 + alone),
        ("locations (passed)", "locations (failed)", 4 + 2 * alone),
    ):
        begins = [match.start() for match in re.finditer(re.escape(passed), text)]
        assert len(begins) == count
        for begin in begins:
            changed = text[:begin] + failed + text[begin + len(passed) :]
            assert of_hpcc(changed, **asked).reason == "validation-failed"


def test_a_second_run_in_the_file_and_a_line_without_an_end_are_refused() -> None:
    # hpcc appends. Of a first run that was killed the header alone may be left.
    text = golden("hpcc/truncated.txt") + golden("hpcc/real.txt")
    assert of_hpcc(text).reason == "several-runs"
    text = golden("hpcc/real.txt").replace("Success=1", "Success=1" + "x" * 2_000_000)
    assert of_hpcc(text).detail == "a line of more than 1000000 characters"
    assert outcome(hpcc.BENCHMARK, {}, stdout="x" * 2_000_000).reason == "unparsable"


def test_the_input_file_of_hpcc():
    parameters = defaults(hpcc.BENCHMARK, n=3000, nb=128, p=2, q=4)
    node = NodeFacts(tuple(range(8)), NODE.last_level_cache, NODE.memory)
    lines = hpcc.BENCHMARK.program(parameters, node).files["hpccinf.txt"].splitlines()
    assert len(lines) == 36
    assert [lines[index].split()[0] for index in (5, 7, 10, 11)] == ["3000", "128", "2", "4"]


@pytest.mark.parametrize(
    ("ranks", "grid"),
    [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (36, (6, 6)), (72, (8, 9))],
)
def test_the_grid_of_an_allocation_is_as_square_as_it_can_be(ranks, grid):
    assert hpcc.process_grid({"p": 1, "q": 2, "nodes": 1, "ranks": ranks}) == grid


@given(seconds=st.floats(0, 1e5), used=st.floats(0, 1e12), memory=st.floats(1e9, 1e12))
def test_official_is_what_fulfils_both_rules(seconds, used, memory):
    fulfilled = seconds >= hpcg.OFFICIAL_SECONDS and used >= memory / 4
    assert bool(hpcg.unofficial(seconds, used, memory)) != fulfilled


@given(data=st.data())
def test_a_summary_of_ior_with_a_piece_missing_or_doubled_is_read_or_refused(data):
    ior, text = benchmarks()["ior"], golden("ior/real-own-buffered.json")
    begin, end = (data.draw(st.integers(0, len(text))) for _ in range(2))
    asked = {"block_mib": 8, "file": "own", "access": "buffered", **ONE}
    files, world = {"ior.json": text[:begin] + text[end:]}, golden("openmpi/one-node.txt")
    parsed = outcome(ior, asked, stderr=world, files=files)
    assert parsed.valid or (parsed.reason and not parsed.metrics)


@given(st.integers(2**20, 2**35), st.integers(2**30, 2**42), st.integers(1, 128), st.floats(1, 64))
def test_the_working_set_needs_no_rounding_and_stays_in_memory(cache, memory, threads, multiple):
    node = NodeFacts(tuple(range(threads)), cache, memory)
    parameters = defaults(likwid.BENCHMARK, threads=threads, cache_multiple=multiple)
    size, unit = likwid.working_set(parameters, node) * 1000, 48000 * threads
    assert all(size % (streams * 4 * 8 * threads) == 0 for streams in (2, 3, 4))
    wanted = min(multiple * cache, memory / 4)
    assert wanted - unit < size <= max(unit, wanted)


def test_a_given_working_set_is_taken():
    asked = defaults(likwid.BENCHMARK, working_set_mib=100)
    assert likwid.working_set(asked, NODE) == 104_832


@given(cache=st.integers(1, TOO_LARGE - 1))
def test_the_smallest_build_of_stream_that_conforms_is_taken(cache):
    elements = stream.elements_for(replace(NODE, last_level_cache=cache))
    assert stream.conforms(elements, cache)
    assert elements == stream.BUILDS[0] or not stream.conforms(elements // 2, cache)


@given(events=st.lists(st.integers(0, 10_000), min_size=1, max_size=63), each=st.floats(1e-6, 1))
def test_a_thread_that_did_nothing_is_always_found(events, each):
    events = [0, *events]
    shares = [
        (printed(f"{fmean(parts):.4f}", "mean"), printed(f"{pstdev(parts):.2f}", "scatter"))
        for parts in (events, [each * event for event in events])
    ]
    with pytest.raises(Refused):
        require_balance(shares, len(events))
