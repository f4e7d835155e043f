"""What a run used: differences of known readings, and the real /proc against known work."""

import json
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from parity.benchmarks.model import Program
from parity.extensions.servers.benchmarks import usage as metrics
from parity.extensions.servers.benchmarks.service import Served, Service
from parity.extensions.servers.measure import usage
from parity.extensions.servers.measure.usage import Reading, evidence, of_client, pressure, reading
from parity.measure.attempt import Attempt
from parity.measure.timed_process import Finished

MIB, GIB = 2**20, 2**30
BEFORE = Reading(
    100.0,
    {("server", 7, 1.0): 3.0, ("server", 8, 1.0): 9.0, ("mount", 9, 2.0): 0.5},
    {
        "disk_read_requests": 10, "disk_written_requests": 20,
        "disk_read_bytes": 0, "disk_written_bytes": 512,
        "received.link": 1000, "sent.link": 50, "received.gone": 5,
    },
)  # fmt: skip
AFTER = Reading(
    104.0,
    {
        ("server", 7, 1.0): 4.5,
        # The number of one that ended, given to another, is another process.
        ("server", 8, 103.0): 0.25,
        ("mount", 9, 2.0): 1.0,
        ("carrier", 10, 101.0): 2.0,
    },
    {
        "disk_read_requests": 10, "disk_written_requests": 70,
        "disk_read_bytes": 0, "disk_written_bytes": 512 + GIB,
        "received.link": 1000 + 3 * GIB, "sent.link": 50 + GIB,
        # Made in between, and made anew.
        "received.veth1": 2 * GIB, "sent.veth1": 0, "received.gone": 4,
    },
)  # fmt: skip


SERVED = Served((Service("any", ("/bin/served",)),), monitor_hz=10)


@pytest.fixture(autouse=True)
def servers(monkeypatch, tmp_path):
    """A folder of servers in which there is none but those that a test starts."""
    monkeypatch.setattr(usage, "SERVERS", tmp_path / "servers")
    return tmp_path / "servers"


def _order(inside: str = "servers", inherits: bool = True):
    return SimpleNamespace(
        program=Program(("/bin/true",), (0,), beside=SERVED, then=(("/bin/true",),)),
        arm=SimpleNamespace(inherits_network=inherits),
        case=SimpleNamespace(parameters={"inside": inside}),
    )


def test_a_run_used_the_difference_of_two_readings():
    told = evidence(BEFORE, AFTER)
    assert told == {
        "usage_seconds": "4.000000", "usage_server_cpu_seconds": "1.75",
        "usage_server_processes": "2", "usage_carrier_cpu_seconds": "2.00",
        "usage_carrier_processes": "1", "usage_mount_cpu_seconds": "0.50",
        "usage_mount_processes": "1", "usage_disk_read_requests": "0",
        "usage_disk_written_requests": "50", "usage_disk_read_bytes": "0",
        "usage_disk_written_bytes": f"{GIB}", "usage_received.link": f"{3 * GIB}",
        "usage_sent.link": f"{GIB}", "usage_received.veth1": f"{2 * GIB}", "usage_sent.veth1": "0",
        "usage_received.gone": "4",
    }  # fmt: skip


def test_metrics_are_per_gigabyte_of_the_file():
    told = evidence(BEFORE, AFTER) | {"usage_link": "link", "usage_client_cpu_seconds": "0.300"}
    values = {each.name: each.value for each in metrics.metrics_of(told, {"gigabytes": 2.0})}
    assert values == {
        "server_cpu_seconds": 3.75, "client_cpu_seconds": 0.3, "cpu_seconds_per_gigabyte": 1.875,
        "device_requests": 50, "device_requests_per_second": 12.5, "device_bytes_per_byte": 0.5,
        "network_bytes_per_gigabyte": (6 * GIB + 4) / 2, "link_bytes_per_gigabyte": 2 * GIB,
    }  # fmt: skip
    declared = [each.metric for each in metrics.METRICS]
    assert [name for name in declared if name in values] == list(values)


@pytest.mark.parametrize(("told", "size", "counted"), [
    ({}, 1.0, []), ({"tcp_timeouts": "3"}, 1.0, []),
    ({"usage_server_cpu_seconds": "-1"}, 1.0, []),
    ({"usage_server_cpu_seconds": "nan"}, 1.0, []), ({"usage_received.lo": "many"}, 1.0, []),
    ({"usage_server_cpu_seconds": "1.0"}, 0.0, []),
    # Without all counters of disks nothing is said of them.
    ({"usage_seconds": "2.0", "usage_received.lo": "5", "usage_disk_read_requests": "1"}, 1,
     ["network_bytes_per_gigabyte"]),
])  # fmt: skip
def test_what_is_no_number_or_no_size_makes_no_metric(told, size, counted):
    made = metrics.metrics_of(told, {"gigabytes": size})
    assert [each.name for each in made] == counted


def test_a_server_is_found_by_its_working_folder_and_its_work_is_counted(servers, tmp_path):
    (folder := servers / "busy").mkdir(parents=True)
    loop = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass\n"
    loop += "print(flush=True)\ninput()"
    words = [sys.executable, "-c", loop]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = subprocess.Popen(words, cwd=tmp_path, **pipes)
    server = subprocess.Popen(words, cwd=folder, **pipes)
    try:
        before = reading({})
        server.stdout.readline()
        told = evidence(before, reading({}))
    finally:
        for process in (server, other):
            process.kill()
            process.communicate()
    assert told["usage_server_processes"] == "1"
    # What it took before the first reading is not counted; Linux counts in ticks of 10 ms.
    assert 0.05 < float(told["usage_server_cpu_seconds"]) < 1.2


def test_a_named_process_has_its_part(tmp_path):
    sleeper = subprocess.Popen(["/bin/sleep", "60"], cwd=tmp_path)
    try:
        found = reading({"sleep": usage.CARRIER}).processes
    finally:
        sleeper.kill()
        sleeper.wait()
    assert ("carrier", sleeper.pid) in {key[:2] for key in found}
    assert {key[0] for key in found} == {"carrier"}


def test_bytes_of_an_interface_are_those_that_were_sent():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        before = reading({})
        with socket.create_connection(listening.getsockname()) as client:
            accepted, _ = listening.accept()
            with accepted:
                for _ in range(64):
                    client.sendall(bytes(MIB // 8))
                    accepted.recv(MIB // 8, socket.MSG_WAITALL)
        told = evidence(before, reading({}))
    # Others talk on this interface as well, so there may be more.
    assert int(told["usage_received.lo"]) == int(told["usage_sent.lo"]) >= 8 * MIB


def test_what_is_still_in_memory_counts_as_written(tmp_path):
    before = reading({})
    if "disk_written_bytes" not in before.counts:
        pytest.skip("this node has no disk of its own")
    (tmp_path / "file").write_bytes(bytes(range(256)) * (8 * MIB // 256))
    told = evidence(before, reading({}))
    assert int(told["usage_disk_written_bytes"]) >= 8 * MIB
    assert 0 < int(told["usage_disk_written_requests"]) < 1_000_000


def test_pressure_is_read_where_the_kernel_tells_it(tmp_path):
    assert pressure(tmp_path / "none") == {}
    (tmp_path / "io").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=56\n"
    )
    assert pressure(tmp_path) == {"waited_io_some_us": 1234, "waited_io_full_us": 56}


def test_a_monitor_reads_beside_the_body_and_tells_its_own_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(usage, "HOST_ADDRESS", "203.0.113.254")
    attempt = Attempt(_order(), None, tmp_path)
    before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
    with usage.usage(attempt, SERVED):
        time.sleep(0.55)
        attempt.before_check[0]()
        sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(1000), ("127.0.0.1", 9))
    used = attempt.evidence
    # What comes after its end is not counted.
    assert int(used["usage_sent.lo"]) <= sent - before
    lines = (tmp_path / "files/usage.jsonl").read_text().splitlines()
    assert int(used["usage_monitor_readings"]) == len(lines)
    # Late on a busy machine, but never more often than asked.
    assert 1 <= len(lines) <= 5
    assert 0 < float(used["usage_monitor_cpu_seconds"]) < 2
    rows = [json.loads(line) for line in lines]
    assert sum(float(row["usage_seconds"]) for row in rows) < float(used["usage_seconds"])
    assert used["usage_link"] == ""


def test_a_monitor_ends_where_the_body_fails(tmp_path):
    with pytest.raises(KeyError), usage.usage(Attempt(_order(), None, tmp_path), SERVED):
        raise KeyError
    assert (tmp_path / "files/usage.jsonl").exists()


@pytest.mark.parametrize(("inside", "inherits", "told"), [
    ("servers", True, {"usage_client_cpu_seconds": "1.500"}),
    ("servers", False, {"usage_client_cpu_seconds": "1.500"}),
    ("client", True, {"usage_client_cpu_seconds": "1.500"}),
    ("client", False, {}),
])  # fmt: skip
def test_a_clients_cpu_time_is_not_told_of_what_a_daemon_started(inside, inherits, told):
    # The last is the check, which is not measured.
    finished = [Finished(0, 2.0, cpu, 0.0, False) for cpu in (1.25, 0.25, 9.0)]
    assert of_client(_order(inside, inherits), finished) == told
