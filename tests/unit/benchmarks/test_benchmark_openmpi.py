import pytest
from benchmark_help import cuts, golden

from parity.benchmarks import openmpi
from parity.benchmarks.openmpi import read_world, require_world
from parity.benchmarks.reading import Refused


def refusal(text, nodes, ranks):
    with pytest.raises(Refused) as refused:
        require_world(text, nodes, ranks)
    return refused.value.reason


@pytest.mark.parametrize(
    ("name", "nodes", "ranks"),
    [("one-rank", 1, 1), ("one-node", 1, 2), ("two-nodes", 2, 4), ("four-nodes", 4, 4)],
)
def test_a_real_world(name, nodes, ranks):
    text = golden(f"openmpi/{name}.txt")
    require_world(text, nodes, ranks)
    world = openmpi.read_world(text)
    assert len(world.jobs) == 1
    assert world.ranks == frozenset(range(ranks))
    neighbours = ranks // nodes - 1
    assert world.reached.get((0, "vader"), 0) == neighbours
    assert world.reached.get((0, "tcp"), 0) == ranks - 1 - neighbours


def test_processes_that_do_not_know_of_each_other():
    text = golden("openmpi/singletons.txt")
    assert len(read_world(text).jobs) == 2
    assert read_world(text).ranks == {0}
    assert refusal(text, 2, 2) == "singletons"


def test_singletons_with_equal_names_are_told_apart_by_their_number():
    # The name of a singleton's job comes from its host and process id, and with a
    # process namespace for each rank both may be equal.
    line = "[n1:1] mca: bml: Using self btl for send to [[26559,1],0] on node n1\n"
    assert refusal(line * 2, 1, 2) == "singletons"


def test_one_process_that_lost_its_world():
    assert refusal(golden("openmpi/one-rank.txt"), 1, 2) == "world-size"


def test_a_launcher_that_mpi_does_not_find():
    assert refusal(golden("openmpi/not-launched.txt"), 2, 2) == "world-size"


def test_neighbours_without_shared_memory():
    assert refusal(golden("openmpi/tcp-within-node.txt"), 1, 2) == "transport"


@pytest.mark.parametrize(("nodes", "ranks"), [(1, 4), (4, 4), (2, 2), (2, 6)])
def test_another_world_than_the_one_asked_for(nodes, ranks):
    reason = "transport" if ranks == 4 else "world-size"
    assert refusal(golden("openmpi/two-nodes.txt"), nodes, ranks) == reason


def test_a_world_that_does_not_say_everything_is_refused():
    text = golden("openmpi/two-nodes.txt")
    lines = text.splitlines(keepends=True)
    stated = [number for number, line in enumerate(lines) if "bml" in line]
    assert len(stated) == 16
    for number in stated:
        assert refusal("".join(lines[:number] + lines[number + 1 :]), 2, 4) in (
            "transport",
            "world-size",
        )


def test_any_cut_is_read_without_an_error():
    for text in cuts(golden("openmpi/two-nodes.txt")):
        read_world(text)


def test_a_second_interface_between_the_nodes_changes_nothing():
    text = golden("openmpi/two-nodes.txt")
    twice = text + "".join(line for line in text.splitlines(keepends=True) if "tcp btl" in line)
    require_world(twice, 2, 4)
    assert openmpi.read_world(twice).reached[0, "tcp"] == 4


def test_the_environment_names_every_choice():
    variables = openmpi.environment(4)
    assert variables["OMPI_MCA_btl"] == "self,vader,tcp"
    assert variables["OMPI_MCA_btl_vader_single_copy_mechanism"] == "none"
    assert int(variables["OMPI_MCA_mpi_add_procs_cutoff"]) == openmpi.LARGEST_WORLD


def test_ranks_of_a_very_large_world_do_not_name_each_other():
    large = openmpi.LARGEST_WORLD + 1
    assert "OMPI_MCA_btl_base_verbose" not in openmpi.environment(large)
    assert openmpi.environment(large)["OMPI_MCA_pml"] == "ob1"
    require_world("", 1, large)
