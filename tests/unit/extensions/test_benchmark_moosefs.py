"""MooseFS: exact command lines and files of its servers, and what its client is told."""

from pathlib import Path

import pytest
from benchmark_help import NODE, defaults, golden

from parity.benchmarks import benchmarks
from parity.extensions.servers.benchmarks.service import cannot_serve, client_cpus, server_cpus

MOOSEFS = benchmarks()["moosefs"]


def program(**parameters):
    return MOOSEFS.program(defaults(MOOSEFS, inside="servers", gigabytes="1") | parameters, NODE)


def test_a_master_and_a_server_of_chunks_on_each_address():
    master, first, second = program(servers=2).beside.services
    assert master.argv == ("/usr/sbin/mfsmaster", "-f", "-c", "master.cfg", "start")
    assert master.files == {
        "master.cfg": golden("servers/master.cfg"),
        "exports.cfg": "* / rw,alldirs,admin,maproot=0:0\n",
        "metadata.mfs": "MFSM NEW",
    }
    assert (master.name, master.address, master.port) == ("master", "10.213.1.11", 9421)
    assert [each.name for each in (first, second)] == ["chunks-1", "chunks-2"]
    assert second.argv == ("/usr/sbin/mfschunkserver", "-f", "-c", "chunks.cfg", "start")
    assert second.files == {"chunks.cfg": golden("servers/chunks.cfg"), "disks.cfg": "data\n"}
    (inside,) = program(data="image").beside.services[1:]
    assert inside.data == "/var/tmp/parity-data"
    native = inside.below(Path("/own"))
    assert (native.data, native.files["disks.cfg"]) == ("data", "/own/data\n")
    assert second.below(Path("/own")) is second
    assert (second.data, second.address, second.port) == ("data", "10.213.1.12", 9422)


def test_the_client_mounts_by_the_first_server_and_asks_for_one_copy():
    made = program()
    options = "mfsnice=0,mfsallowoomkiller,mfsrlimitnofile=4096"
    assert made.beside.mount == ("/usr/bin/mfsmount", "mounted", "-H", "10.213.1.11", "-o", options)
    assert made.beside.mounted == ("/usr/bin/mfssetgoal", "1", "mounted")
    assert made.beside.mount_point == "mounted"
    assert made.least_free_bytes > 2**30
    assert {each.argv[0] for each in made.beside.services} < set(MOOSEFS.binaries)
    assert made.beside.mount[0] in MOOSEFS.binaries


def test_a_machine_that_cannot_mount_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    nowhere = tmp_path / "fuse"
    assert cannot_serve(nowhere).reason == f"no {nowhere}"
    nowhere.touch()
    assert cannot_serve(nowhere) is None
    monkeypatch.setattr(
        "parity.extensions.servers.benchmarks.service.is_installed", lambda name: name != "tc"
    )
    assert cannot_serve(nowhere).remedy == "apt-get install iproute2"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert cannot_serve(nowhere).reason == "a link between servers and client needs root"


@pytest.mark.parametrize(("cpus", "client", "servers"), [
    ((0, 1), (0,), (1,)), ((4,), (4,), (4,)), ((0, 2, 4), (0,), (2, 4)),
    ((0, 1, 2, 3), (0, 1), (2, 3)),
])  # fmt: skip
def test_the_client_has_the_first_half_of_the_cpus_and_the_servers_the_second(
    cpus, client, servers
):
    assert (client_cpus(cpus), server_cpus(cpus)) == (client, servers)
