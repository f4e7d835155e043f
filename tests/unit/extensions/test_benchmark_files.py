"""Files on servers and on the node's own disk: exact words of fio, and what it prints."""

import itertools
import json
import re
from dataclasses import replace

import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs, Parsed
from parity.extensions.servers.benchmarks import glusterfs, orangefs
from parity.extensions.servers.benchmarks.file_server import FIO, MOUNT_POINT, FileServer, fio_lines
from parity.extensions.servers.benchmarks.local_files import BENCHMARK
from parity.extensions.servers.benchmarks.service import Served, Service

SERVED = [each for each in benchmarks().values() if isinstance(each, FileServer) and each.mount]
SMALL = {"gigabytes": "0.0625"}


def parse(text: str, **asked) -> Parsed:
    return BENCHMARK.parse(Outputs(stdout=text, parameters=defaults(BENCHMARK, **SMALL | asked)))


class Toy(FileServer):
    """Servers that never were."""

    name = "toy-files"
    title = "Toy files"
    mount = ("/usr/bin/toymount", MOUNT_POINT)

    def services(self, parameters):
        """One for each that is asked for."""
        return tuple(Service(f"s{n}", ("/usr/sbin/toyd",)) for n in range(parameters["servers"]))


def test_fio_is_told_the_published_pattern_in_three_starts():
    program = BENCHMARK.program(defaults(BENCHMARK, gigabytes="1", ranks=2), NODE)
    files = "--directory=. --filename_format=data.$jobnum --bs=1M --size=536870912"
    same = f"{files} --ioengine=psync --numjobs=2 --group_reporting=1"
    checksums = "--verify=crc32c --verify_state_save=0"
    start, end = "/usr/bin/fio --output-format=json", "--allow_file_create=0"
    lines = [" ".join(words) for words in (program.argv, *program.then, program.check)]
    assert lines == [
        f"{start} --name=write --rw=write {same} {checksums}"
        " --end_fsync=1 --fallocate=none --do_verify=0",
        f"{start} --name=read --rw=read {same} {end}",
        f"{start} --name=check --rw=read {same} {end} {checksums}",
    ]
    assert (program.cpus, program.drop_caches, program.repetitions) == ((0,), True, 1)
    assert program.least_free_bytes == 2**30 + 2**28
    assert program.beside == Served()


def test_a_file_system_of_servers_is_where_fio_works():
    toy = Toy()
    asked = defaults(toy, gigabytes="8", inside="servers", servers=3, monitor_hz=1)
    program = toy.program(asked, NODE)
    assert [service.name for service in program.beside.services] == ["s0", "s1", "s2"]
    assert (program.beside.mount, program.beside.mount_point) == (toy.mount, "mounted")
    assert program.beside.monitor_hz == 1
    for words in (program.argv, *program.then, program.check):
        assert "--directory=mounted" in words and "--size=8589934592" in words
    # Whatever else may run on it has the same servers.
    other = toy.served(replace(program, argv=("/bin/true",)), asked)
    assert other.beside.services == program.beside.services


@pytest.mark.parametrize("ranks", [1, 2])
def test_numbers_of_fio(ranks):
    text = golden(f"fio/real-{ranks}.txt")
    documents = [json.loads(each) for each in text.replace("}\n{", "}\0{").split("\0")]
    parsed = parse(text, ranks=ranks)
    assert parsed.valid, parsed.detail
    wrote, read = (
        job["jobs"][0][way]["runtime"] / 1000
        for job, way in zip(documents, ("write", "read"), strict=False)
    )
    assert values(parsed) == {"write": 64 / wrote, "read": 64 / read, "time": wrote + read}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("failed", "validation-failed"), ("failed-full", "io-failed"), ("truncated", "truncated")],
)
def test_a_run_that_failed_is_refused(name, reason):
    refused = parse(golden(f"fio/{name}.txt"))
    assert (refused.valid, refused.reason, refused.metrics) == (False, reason, ())


@pytest.mark.parametrize(("old", "new", "reason"), [
    ('"bs" : "1M"', '"bs" : "1k"', "wrong-size"),
    ('"end_fsync" : "1"', '"end_fsync" : "0"', "wrong-size"),
    ('"ioengine" : "psync"', '"ioengine" : "mmap"', "wrong-size"),
    ('"size" : "67108864"', '"size" : "67108865"', "wrong-size"),
    ('"io_bytes" : 67108864', '"io_bytes" : 67108863', "wrong-size"),
    ('"total_ios" : 64', '"total_ios" : 63', "wrong-size"),
    ('"short_ios" : 0', '"short_ios" : 1', "wrong-size"),
    ('"error" : 0', '"error" : 5', "wrong-size"), ("fio-3.33", "fio-2.1", "wrong-size"),
    ('"jobs" : [', '"jobs" : 7, "others" : [', "unparsable"),
    ('"name" : "check",', '"name" : "read",', "wrong-size"),
])  # fmt: skip
def test_output_of_another_run_is_refused(old, new, reason):
    text = golden("fio/real-1.txt")
    assert old in text
    assert parse(text.replace(old, new)).reason == reason


def test_a_run_with_other_parameters_or_without_its_check_is_refused():
    text = golden("fio/real-1.txt")
    assert parse(text, ranks=2).reason == "wrong-size"
    assert parse(text, gigabytes="0.25").reason == "wrong-size"
    assert parse(text[: text.rindex('\n{\n  "fio version"')]).reason == "truncated"


def test_each_file_goes_into_transfers_of_a_mebibyte():
    for gigabytes in FileServer.factors["gigabytes"]:
        for ranks in BENCHMARK.parameters["ranks"]["enum"]:
            line = fio_lines({"gigabytes": gigabytes, "ranks": ranks}, ".")[0]
            size = next(int(word[7:]) for word in line if word.startswith("--size="))
            assert not size % 2**20 and size * ranks == float(gigabytes) * 2**30


@pytest.mark.parametrize("benchmark", SERVED, ids=lambda benchmark: benchmark.name)
def test_each_file_system_names_its_servers_once_and_audits_their_programs(benchmark):
    asked = defaults(benchmark, **SMALL, inside="servers", servers=4)
    program = benchmark.program(asked, NODE)
    names = [service.name for service in program.beside.services]
    assert len(set(names)) == len(names) >= 4
    assert program.beside.mount[0] in benchmark.binaries and FIO in benchmark.binaries
    for service in program.beside.services:
        assert set(benchmark.binaries) & set(service.argv)
        assert all(not name.startswith(("/", "..")) for name in service.files)


def test_bricks_of_glusterfs_and_their_client():
    asked = defaults(glusterfs.BENCHMARK, **SMALL, inside="servers", servers=2)
    program = glusterfs.BENCHMARK.program(asked, NODE)
    second = program.beside.services[1]
    assert second.files == {"brick.vol": golden("servers/brick.vol")}
    assert (second.name, second.port, second.address) == ("brick-2", 24107, "10.213.1.12")
    assert (
        " ".join(second.argv) == "/usr/sbin/glusterfsd --no-daemon --volfile=brick.vol --log-file=-"
    )
    assert " ".join(program.beside.mount) == (
        "/usr/sbin/glusterfs --volfile=client.vol --log-file=- mounted"
    )
    client = program.files["client.vol"]
    assert client.count("  type protocol/client\n") == 2
    assert "  option remote-host 10.213.1.12\n" in client
    assert "  type cluster/distribute\n  subvolumes brick-1 brick-2\n" in client
    inside = glusterfs.BENCHMARK.program(asked | {"data": "image"}, NODE).beside.services[0]
    assert inside.data == "/var/tmp/parity-data"
    assert "  option directory /var/tmp/parity-data\n" in inside.files["brick.vol"]


def test_servers_of_orangefs_share_one_configuration():
    asked = defaults(orangefs.BENCHMARK, **SMALL, inside="client", servers=2)
    program = orangefs.BENCHMARK.program(asked, NODE)
    first, second = program.beside.services
    assert first.files == second.files
    assert first.argv[0] == "/bin/sh" and first.argv[3:] == (
        *("orangefs", "/opt/parity/site/view/orangefs/sbin/pvfs2-server", "s1"),
    )
    assert program.beside.mount == (
        *("/opt/parity/site/view/orangefs/bin/pvfs2fuse", "mounted"),
        *("-o", "fs_spec=tcp://10.213.1.11:3334/orangefs"),
    )
    said = first.files["fs.conf"]
    assert "\tAlias s1 tcp://10.213.1.11:3334\n\tAlias s2 tcp://10.213.1.12:3334\n" in said
    assert "\tDataStorageSpace /proc/self/cwd/data/storage\n" in said


@pytest.mark.parametrize("servers", [1, 2, 3, 4])
def test_handles_of_orangefs_are_shared_out_without_a_gap(servers):
    said = orangefs.configuration(servers, "data")
    found = re.findall(r"Range s([0-9]+) ([0-9]+)-([0-9]+)", said)
    assert [int(server) for server, *_ in found] == 2 * [*range(1, 1 + servers)]
    bounds = [(int(first), int(last)) for _, first, last in found]
    # As pvfs2-genconfig has them, from the first to the last.
    assert (bounds[0][0], bounds[-1][1]) == (3, 9223372036854775806)
    assert all(last + 1 == then for (_, last), (then, _) in itertools.pairwise(bounds))


def test_a_build_that_is_not_there_is_said_with_how_to_make_it(monkeypatch):
    monkeypatch.setattr(orangefs, "cannot_serve", lambda: None)
    monkeypatch.setattr(type(orangefs.BENCHMARK), "binaries", ("/nowhere/orangefs/pvfs2-server",))
    found = orangefs.BENCHMARK.probe()
    assert found.reason == "not installed: /nowhere/orangefs/pvfs2-server"
    assert "--prefix=/opt/parity/site/view/orangefs --with-db-backend=lmdb" in found.remedy
    monkeypatch.setattr(type(orangefs.BENCHMARK), "binaries", ("/nowhere/fio",))
    assert orangefs.BENCHMARK.probe().remedy.startswith("apt-get install fio")
