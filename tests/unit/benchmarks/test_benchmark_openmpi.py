import pytest
from benchmark_help import cuts, golden

from parity.benchmarks import openmpi
from parity.benchmarks.openmpi import read_world, require_world
from parity.benchmarks.reading import Refused


def refusal(text, nodes, ranks):
    """Why a world is not the one that was asked for; empty if it is."""
    try:
        require_world(text, nodes, ranks)
    except Refused as refused:
        return refused.reason
    return ""


# The name of a singleton's job comes from its host and process id, and with a process namespace
# for each rank both may be equal: they are told apart by their number.
ONE_NAME = "[n1:1] mca: bml: Using self btl for send to [[26559,1],0] on node n1\n" * 2


@pytest.mark.parametrize(("text", "nodes", "ranks", "reason"), [
    (golden("openmpi/one-rank.txt"), 1, 1, ""), (golden("openmpi/one-node.txt"), 1, 2, ""),
    (golden("openmpi/two-nodes.txt"), 2, 4, ""), (golden("openmpi/four-nodes.txt"), 4, 4, ""),
    (golden("openmpi/singletons.txt"), 2, 2, "singletons"),
    (ONE_NAME, 1, 2, "singletons"),
    (golden("openmpi/one-rank.txt"), 1, 2, "world-size"),
    (golden("openmpi/not-launched.txt"), 2, 2, "world-size"),
    (golden("openmpi/tcp-within-node.txt"), 1, 2, "transport"),
    (golden("openmpi/two-nodes.txt"), 1, 4, "transport"),
    (golden("openmpi/two-nodes.txt"), 4, 4, "transport"),
    (golden("openmpi/two-nodes.txt"), 2, 2, "world-size"),
    (golden("openmpi/two-nodes.txt"), 2, 6, "world-size"),
])  # fmt: skip
def test_a_real_world_is_the_one_asked_for_or_refused(text, nodes, ranks, reason):
    assert refusal(text, nodes, ranks) == reason


def test_processes_that_do_not_know_of_each_other():
    jobs, reached = read_world(golden("openmpi/singletons.txt"))
    assert len(jobs) == 2 and {rank for rank, _ in reached} == {0}


def test_a_world_that_does_not_say_everything_is_refused_and_any_cut_is_read():
    text = golden("openmpi/two-nodes.txt")
    lines = text.splitlines(keepends=True)
    stated = [number for number, line in enumerate(lines) if "bml" in line]
    assert len(stated) == 16
    for number in stated:
        without = "".join(lines[:number] + lines[number + 1 :])
        assert refusal(without, 2, 4) in ("transport", "world-size")
    for cut in cuts(text):
        read_world(cut)


def test_a_second_interface_between_the_nodes_changes_nothing():
    text = golden("openmpi/two-nodes.txt")
    twice = text + "".join(line for line in text.splitlines(keepends=True) if "tcp btl" in line)
    require_world(twice, 2, 4)
    assert read_world(twice)[1][0, "tcp"] == 4


def test_in_a_very_large_world_no_rank_is_named():
    cutoff = openmpi.environment(4)["OMPI_MCA_mpi_add_procs_cutoff"]
    assert int(cutoff) == openmpi.LARGEST_WORLD
    large = openmpi.LARGEST_WORLD + 1
    assert "OMPI_MCA_btl_base_verbose" not in openmpi.environment(large)
    assert openmpi.environment(large)["OMPI_MCA_pml"] == "ob1"
    require_world("", 1, large)
