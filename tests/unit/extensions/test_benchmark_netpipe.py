import subprocess

import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks.model import NodeFacts, Outputs
from parity.extensions.networks.benchmarks.netpipe import BENCHMARK, message_sizes

ALLOCATION = NodeFacts(NODE.cpus, NODE.last_level_cache, NODE.memory, ("n3", "n4"))


def case(nodes=2, **parameters):
    return defaults(BENCHMARK, protocol="tcp", nodes=nodes, ranks=2, **parameters)


def test_sizes_are_those_that_netpipe_takes_and_a_smaller_bound_states_fewer_times():
    lines = golden("netpipe/tcp-2x2.txt").splitlines(keepends=True)
    sizes = [int(line.split()[0]) for line in lines]
    assert sizes == list(message_sizes(1_048_576))
    text = "".join(line for line, size in zip(lines, sizes, strict=True) if size <= 65_536)
    outputs = Outputs(files={"np.out": text}, parameters=case(upper_bound=65_536))
    told = list(values(BENCHMARK.parse(outputs)))
    assert told[2:] == [f"time_{size}" for size in message_sizes(65_536)]


@pytest.mark.parametrize(("nodes", "host"), [(1, "127.0.0.1"), (2, "n4")])
def test_over_tcp_rank_0_calls_the_host_of_rank_1(nodes, host):
    program = BENCHMARK.program(case(nodes), ALLOCATION)
    assert program.argv[4] == host
    assert program.argv[-2:] == ("-P", "5002")
    assert not program.environment


@pytest.mark.system
def test_a_receiver_that_never_comes_is_a_failure(tmp_path):
    if not BENCHMARK.probe().available:
        pytest.skip(BENCHMARK.probe().reason)
    argv = BENCHMARK.program(case(1, port=5003, repetitions=1), NODE).argv
    words = [word.replace("tries=300", "tries=2") for word in argv]
    environment = {"PATH": "/usr/bin:/bin", "PARITY_RANK": "0"}
    options = {"capture_output": True, "text": True, "timeout": 20}
    ended = subprocess.run(words, cwd=tmp_path, env=environment, **options)
    assert ended.returncode == 246
    assert ended.stdout.count("Cannot Connect") == 2
    assert not (tmp_path / "np.out").exists()
