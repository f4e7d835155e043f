import subprocess

import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.model import NodeFacts, Outputs
from parity.core.errors import UserError
from parity.extensions.networks.benchmarks.netpipe import BENCHMARK, message_sizes

ALLOCATION = NodeFacts(NODE.cpus, NODE.last_level_cache, NODE.memory, ("n3", "n4"))


def case(protocol="tcp", nodes=2, ranks=2, **parameters):
    return defaults(BENCHMARK, protocol=protocol, nodes=nodes, ranks=ranks, **parameters)


def parse(text, stderr="", **parameters):
    files = {"np.out": text}
    return BENCHMARK.parse(Outputs(stderr=stderr, files=files, parameters=case(**parameters)))


def test_the_sizes_are_those_that_netpipe_takes():
    lines = golden("netpipe/tcp-2x2.txt").splitlines()
    assert [int(line.split()[0]) for line in lines] == list(message_sizes(1_048_576))


def test_a_real_output_over_tcp():
    parsed = parse(golden("netpipe/tcp-2x2.txt"))
    assert parsed.valid, parsed.detail
    found = values(parsed)
    stated = {
        "latency": 5.098e-05,
        "bandwidth": 28.004,
        "time_1024": 4.343e-05,
        "time_65536": 6.724e-05,
        "time_1048576": 0.0013967,
    }
    assert {name: found[name] for name in stated} == pytest.approx(stated, rel=1e-3)
    # The whole curve: its first point is the latency.
    assert list(found)[2:] == [f"time_{size}" for size in message_sizes(1_048_576)]
    assert found["time_1"] == found["latency"]
    assert [metric.better for metric in parsed.metrics[:2]] == ["lower", "higher"]


def test_a_smaller_bound_states_fewer_times():
    text = golden("netpipe/tcp-2x2.txt")
    lines = [line for line in text.splitlines(keepends=True) if int(line.split()[0]) <= 65_536]
    parsed = parse("".join(lines), upper_bound=65_536)
    assert list(values(parsed))[2:] == [f"time_{size}" for size in message_sizes(65_536)]


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_real_output_over_mpi(nodes):
    text, stderr = golden(f"netpipe/mpi-{nodes}x2.txt"), golden(f"netpipe/mpi-{nodes}x2-stderr.txt")
    parsed = parse(text, stderr, protocol="mpi", nodes=nodes)
    assert parsed.valid, parsed.detail
    assert parse(text, stderr, protocol="mpi", nodes=3 - nodes).reason == "transport"
    assert parse(text, protocol="mpi", nodes=nodes).reason == "world-size"


def test_the_time_within_a_node_is_known_better_than_the_file_rounds_it():
    stderr = golden("netpipe/mpi-1x2-stderr.txt")
    text = golden("netpipe/mpi-1x2.txt")
    latency = values(parse(text, stderr, protocol="mpi", nodes=1))["latency"]
    rounded = float(text.split()[2])
    assert latency != rounded
    assert latency == pytest.approx(rounded, abs=5e-9)


def test_ranks_that_do_not_know_of_each_other():
    parsed = parse("", golden("openmpi/singletons.txt"), protocol="mpi")
    assert parsed.reason == "singletons"


def test_a_network_so_slow_that_netpipe_stops_early():
    # It ends well, but leaves out all sizes after one that takes more than a second.
    parsed = parse(golden("netpipe/failed-slow.txt"), upper_bound=8_388_608)
    assert parsed.reason == "truncated"
    assert parsed.detail == "44 message sizes of 46 were measured"


def test_a_killed_run():
    assert parse(golden("netpipe/truncated.txt")).reason == "truncated"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("       7 0.224000   0.00003406", "wrong-size"),
        ("       1 nan   0.00003406", "unparsable"),
        ("       1 -0.224000   0.00003406", "unparsable"),
        ("       1 0.448000   0.00003406", "contradictory"),
        ("       1 inf   0.00000000", "unparsable"),
        ("       1 0.224000", "unparsable"),
    ],
)
def test_each_line_is_checked(line, reason):
    _, rest = golden("netpipe/tcp-2x2.txt").split("\n", 1)
    assert parse(f"{line}\n{rest}").reason == reason


def test_more_sizes_than_asked_for():
    parsed = parse(golden("netpipe/tcp-2x2.txt"), upper_bound=65_536)
    assert parsed.reason == "wrong-size"


def test_over_mpi_both_ranks_run_the_program_itself():
    program = BENCHMARK.program(case("mpi", repetitions=50), ALLOCATION)
    options = ("-l", "1", "-u", "1048576", "-p", "0", "-o", "np.out", "-n", "50")
    assert program.argv == ("/usr/bin/NPopenmpi", *options)
    assert (program.nodes, program.ranks, program.cpus) == (2, 2, NODE.cpus)
    assert program.environment["OMPI_MCA_pml"] == "ob1"


@pytest.mark.parametrize(("nodes", "host"), [(1, "127.0.0.1"), (2, "n4")])
def test_over_tcp_rank_0_calls_the_host_of_rank_1(nodes, host):
    program = BENCHMARK.program(case("tcp", nodes), ALLOCATION)
    assert program.argv[4] == host
    assert program.argv[-2:] == ("-P", "5002")
    assert not program.environment


def test_other_numbers_of_ranks_are_refused_by_the_name_of_the_key():
    with pytest.raises(UserError, match=r"(?s)not 4.*benchmarks\.netpipe\.allocations"):
        BENCHMARK.program(case(ranks=4), ALLOCATION)


def test_nodes_without_names_are_refused():
    with pytest.raises(UserError, match="the names of 2 nodes"):
        BENCHMARK.program(case(), NODE)


def transmitter(folder, port):
    argv = BENCHMARK.program(case(nodes=1, port=port, repetitions=1), NODE).argv
    script = argv[2].replace("tries=300", "tries=2")
    return subprocess.run(
        [*argv[:2], script, *argv[3:]],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PARITY_RANK": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


@pytest.mark.system
def test_a_receiver_that_never_comes_is_a_failure(tmp_path):
    if not BENCHMARK.probe().available:
        pytest.skip(BENCHMARK.probe().reason)
    ended = transmitter(tmp_path, 5003)
    assert ended.returncode == 246
    assert ended.stdout.count("Cannot Connect") == 2
    assert not (tmp_path / "np.out").exists()
