"""Servers of files for real: in every runtime, in both directions, and what is left after faults.

Needs: root, /dev/fuse and MooseFS; of runtimes each with its image, or the arm is left out.
"""

import json
import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import trials
from benchmark_help import defaults, running, wait_for
from links import send
from trials import NO_IMAGES, PAIR, case_of, measured, runner_of, trial

from parity.benchmarks import benchmark_of, benchmarks
from parity.benchmarks.model import SOFTWARE
from parity.core.commands import output_of
from parity.extensions.servers.benchmarks import file_server, service
from parity.extensions.servers.benchmarks.service import cannot_serve
from parity.extensions.servers.measure.client import INTERFACE, client_link, link_gate, mounts_below
from parity.measure.attempt import NotStarted
from parity.measure.places import WORK, only_one
from parity.plan.cases import digested
from parity.plan.plan import Plan
from parity.plan.system import load_system
from parity.runtimes import arms
from parity.runtimes.model import SCRATCH

MOOSEFS = benchmarks()["moosefs"]
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not MOOSEFS.probe().available, reason=MOOSEFS.probe().reason),
]
CHUNKS, MASTER, FIO = "mfschunkserver", "mfsmaster", "fio"
CONTAINERS = ("namespaces", "docker", "podman", "lxc", "charliecloud-dir", "apptainer")


def plan_of(*names: str, inside: str = "servers", timeout: float = 60, **parameters) -> Plan:
    """A block of one case; at 200 Mbit/s its 64 MiB take three seconds each way."""
    asked = {"inside": inside, "gigabytes": "0.0625", "rate_mbit": 200} | parameters
    case = case_of("moosefs", defaults(MOOSEFS, **asked), timeout=timeout)
    return trial(case, arms=(*PAIR, *names))


def rows_of(plan: Plan, folder: Path, images=NO_IMAGES) -> list[dict]:
    """The rows of all attempts of the plan's block, in the order in which they were made."""
    order = [run.name for run in plan.blocks[0].runs]
    rows = measured(plan, folder, images)["runs"]
    return sorted(rows, key=lambda row: (order.index(row["run"]), row["attempt"]))


def processes(program: str) -> list[psutil.Process]:
    """The processes of a program that work for a run."""
    return running(lambda words: Path(words[0]).name == program)


def left() -> list[str]:
    """What there is of servers, mounts, links and containers while nothing is measured."""
    with only_one(SCRATCH, "another measurement on this node"):
        folders = [WORK / name for name in ("servers", file_server.MOUNT_POINT)]
        found = [*mounts_below(WORK), *(path for path in folders if path.exists())]
        found += [p for name in (CHUNKS, MASTER, "mfsmount") for p in processes(name)]
        found += [name for _, name in socket.if_nameindex() if name == INTERFACE]
        found += trials.containers(os.getpid())
    return [str(each) for each in found]


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    assert left() == []


@contextmanager
def struck(program: str, sent: int, while_runs: str = FIO, after: float = 1.0) -> Iterator[None]:
    """Send a signal to a program of the first run some time after another one began."""
    hit: list[int] = []

    def strike() -> None:
        wait_for(lambda: processes(while_runs), seconds=600)
        time.sleep(after)
        for each in processes(program):
            hit.append(each.pid)
            each.send_signal(sent)

    thread = threading.Thread(target=strike, daemon=True)
    thread.start()
    yield
    thread.join()
    assert hit, f"{program} was not struck"


@pytest.mark.parametrize("inside", ["servers", "client"])
def test_what_is_written_is_read_back_with_either_side_in_each_runtime(inside, tmp_path, images):
    plan = plan_of(*CONTAINERS, inside=inside, rate_mbit=10_000)
    for row in rows_of(plan, tmp_path, images):
        if row["reason"] == "not-tested":
            assert row["arm"] in CONTAINERS
            continue
        assert row["stage"] == "valid", row
        (path,) = tmp_path.glob(f"runs/{row['run']}/attempt-1/record.json")
        passed = Counter(gate["name"] for gate in json.loads(path.read_text())["gates"])
        assert (passed["service"], passed["mount"], passed["network"]) == (2, 1, 1)


SITE = os.environ.get("PARITY_SITE")


@pytest.mark.skipif(not SITE, reason="PARITY_SITE names no system file with orangefs and ior")
def test_ior_verifies_what_orangefs_of_a_site_serves_in_each_runtime(tmp_path, images):
    software = digested(load_system(SITE).software)
    benchmark = benchmark_of("orangefs", {SOFTWARE: software})
    asked = defaults(benchmark, inside="servers", gigabytes="0.0625") | {SOFTWARE: software}
    plan = trial(case_of("orangefs", asked, timeout=300), arms=(*PAIR, *CONTAINERS))
    for row in rows_of(plan, tmp_path, images):
        assert row["stage"] == "valid" or row["reason"] == "not-tested", row
    assert not processes("pvfs2-server") + processes("pvfs2fuse")


@pytest.mark.long
def test_two_servers_share_the_chunks(tmp_path):
    plan = plan_of(servers=2, rate_mbit=0, gigabytes="0.25")
    assert {row["stage"] for row in rows_of(plan, tmp_path)} == {"valid"}
    for log in tmp_path.glob("runs/*/attempt-1/service-master.log"):
        assert {f"10.213.1.1{n}:9422" in log.read_text() for n in (1, 2)} == {True}


@pytest.mark.parametrize("rate", [0, 200])
def test_the_link_has_its_rate_its_addresses_and_an_end(rate):
    with only_one(SCRATCH, "another measurement"), client_link(rate) as link:
        assert link
        seen = json.loads(output_of(["ip", "-json", "address", "show", "dev", INTERFACE]))
        addresses = [each["local"] for each in seen[0]["addr_info"]]
        assert addresses == ["10.213.1.254", *(f"10.213.1.1{n}" for n in (1, 2, 3, 4))]
        took = send(link, "10.213.1.11", 20_000_000)
        assert (took > 0.7) == bool(rate), took
        assert link_gate(link, rate).passed


def test_a_link_that_is_changed_on_the_way_fails_its_gate():
    with only_one(SCRATCH, "another measurement"), client_link(200) as link:
        output_of(["tc", "qdisc", "del", "dev", INTERFACE, "root"])
        gate = link_gate(link, 200)
    assert not gate.passed
    assert gate.detail == "the rate of the servers is 0 bytes/s, not 25000000"


def test_addresses_that_are_somebody_s_are_refused():
    somebody = ["ip", "link", "add", "parity-other", "type", "bridge"]
    with only_one(SCRATCH, "another measurement"):
        output_of(somebody)
        try:
            output_of(["ip", "address", "add", "10.213.1.7/24", "dev", "parity-other"])
            output_of(["ip", "link", "set", "parity-other", "up"])
            with pytest.raises(NotStarted, match="by parity-other"), client_link(0):
                pytest.fail("it was made")
        finally:
            output_of(["ip", "link", "delete", "parity-other"])


def test_without_fuse_every_run_is_a_row_with_the_reason(tmp_path, monkeypatch):
    nowhere = tmp_path / "fuse"
    monkeypatch.setattr(service, "cannot_serve", lambda: cannot_serve(nowhere))
    for row in rows_of(plan_of(), tmp_path / "block"):
        assert (row["stage"], row["reason"], row["attempt"]) == ("planned", "not-tested", 0)
        assert row["detail"] == f"moosefs: no {nowhere}; as root: modprobe fuse"


def test_a_port_in_use_is_named_with_its_holder(tmp_path):
    with socket.create_server(("0.0.0.0", 9421)):
        rows = rows_of(plan_of(), tmp_path)
    holder = psutil.Process().name()
    said = f"port 9421 of 10.213.1.11, which master needs, is in use by {holder}"
    assert {(row["reason"], row["detail"]) for row in rows} == {("not-started", said)}


def test_data_in_a_container_s_own_tree_needs_one_that_may_be_written_to(tmp_path, images):
    plan = plan_of("docker", data="image", rate_mbit=10_000)
    rows = {row["arm"]: row for row in rows_of(plan, tmp_path, images)}
    # Natively there is no such tree, and the data lie where they always do.
    assert {rows[native]["stage"] for native in PAIR} == {"valid"}
    assert not Path(file_server.DATA_FOLDERS["image"]).exists()
    if rows["docker"]["reason"] != "not-tested":
        assert rows["docker"]["reason"] == "not-started"
        assert "Read-only file system" in rows["docker"]["detail"]


def test_a_disk_too_small_is_said_with_numbers_before_anything_starts(tmp_path):
    more = 1 + shutil.disk_usage(SCRATCH).free // 2**30
    plan = plan_of(gigabytes=str(more))
    needed = MOOSEFS.program(plan.cases[0].parameters, NODE).least_free_bytes
    for row in rows_of(plan, tmp_path):
        assert (row["stage"], row["reason"], row["attempt"]) == ("planned", "not-tested", 0)
        begin, _, end = row["detail"].partition(" bytes free, and ")
        assert begin.startswith(f"{SCRATCH} has ") and end == f"{needed} are needed"


NODE = SimpleNamespace(cpus=(0, 1))


@pytest.mark.long
@pytest.mark.parametrize(("program", "sent", "when", "reason", "detail"), [
    (CHUNKS, signal.SIGKILL, {}, "gate-service", "chunks-1 ended before the program did: "),
    # A mount that hangs: all starts of a run share its time limit.
    (CHUNKS, signal.SIGSTOP, {}, "timeout", ""),
    # One that does not come.
    (MASTER, signal.SIGSTOP, {"while_runs": CHUNKS, "after": 0.0}, "not-started",
     "/usr/bin/mfsmount did not succeed in 10 s: "),
])  # fmt: skip
def test_a_server_s_fault_fails_its_run_and_the_block_goes_on(
    program, sent, when, reason, detail, tmp_path, monkeypatch
):
    if program == MASTER:
        monkeypatch.setattr("parity.extensions.servers.measure.client.MOUNT_SECONDS", 10.0)
    plan = plan_of(timeout=20 if reason == "timeout" else 60)
    with struck(program, sent, **when):
        first, second = rows_of(plan, tmp_path)
    assert first["reason"] == reason and first["detail"].startswith(detail)
    assert first["stage"] == "ran" if program == MASTER else first["wall_seconds"] < 30
    if reason == "gate-service":
        log = tmp_path / f"runs/{first['run']}/attempt-1/service-chunks-1.log"
        assert "listen on 10.213.1.11:9422" in log.read_text()
    assert second["stage"] == "valid", second


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("name", ["native-a", "docker", "lxc"])
def test_the_next_session_ends_what_a_killed_runner_left(name, stop, tmp_path, images):
    names = () if name == "native-a" else (name,)
    trials.image_of(arms()[name], images)
    plan = plan_of(*names, rate_mbit=1000)
    batch = tmp_path / plan.blocks[0].name
    begun = batch / "runs" / f"moosefs.{name}" / "attempt-1/stdout"
    command = runner_of(plan, tmp_path, images)
    pid = trials.killed(command, lambda: begun.exists() and processes(FIO), stop, seconds=600)
    if stop == signal.SIGKILL:
        assert processes(CHUNKS) and mounts_below(WORK), "servers outlive their killed runner"
    trials.require_each_once(plan, rows_of(plan, batch, images), interrupted=f"moosefs.{name}")
    assert trials.containers(pid) == []
