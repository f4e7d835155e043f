"""Files on servers and on the own disk: exact words and files, and what fio and IOR print."""

import itertools
import json
import re
from pathlib import Path

import pytest
from benchmark_help import NODE, defaults, golden, values

from parity.benchmarks import benchmark_of, benchmarks
from parity.benchmarks.model import SOFTWARE, Outputs, Parsed, Program
from parity.extensions.servers.benchmarks import glusterfs, orangefs
from parity.extensions.servers.benchmarks.file_server import FIO, FileServer
from parity.extensions.servers.benchmarks.local_files import BENCHMARK
from parity.extensions.servers.benchmarks.service import (
    Served,
    cannot_serve,
    client_cpus,
    server_cpus,
)
from parity.measure.places import NEEDS, staged_program

SERVED = [each for each in benchmarks().values() if isinstance(each, FileServer) and each.mount]
MOOSEFS = benchmarks()["moosefs"]
SMALL = {"gigabytes": "0.0625"}
BUILDS = {
    "orangefs": {"prefix": "/opt/orangefs", "digest": "sha256:1"},
    "ior": {"prefix": "/opt/ior", "digest": "sha256:2"},
}
OF_SITE = {"inside": "servers", **SMALL, SOFTWARE: BUILDS}
ORANGEFS = benchmark_of("orangefs", OF_SITE)


def parse(text: str, **asked) -> Parsed:
    return BENCHMARK.parse(Outputs(stdout=text, parameters=defaults(BENCHMARK, **SMALL | asked)))


def lines_of(program: Program) -> list[str]:
    return [" ".join(words) for words in (program.argv, *program.then, program.check)]


def test_fio_is_told_the_published_pattern_in_three_starts():
    program = BENCHMARK.program(defaults(BENCHMARK, gigabytes="1", ranks=2), NODE)
    files = "--directory=. --filename_format=data.$jobnum --bs=1M --size=536870912"
    same = f"{files} --ioengine=psync --numjobs=2 --group_reporting=1"
    checksums = "--verify=crc32c --verify_state_save=0"
    start, end = "/usr/bin/fio --output-format=json", "--allow_file_create=0"
    assert lines_of(program) == [
        f"{start} --name=write --rw=write {same} {checksums}"
        " --end_fsync=1 --fallocate=none --do_verify=0",
        f"{start} --name=read --rw=read {same} {end}",
        f"{start} --name=check --rw=read {same} {end} {checksums}",
    ]
    assert (program.cpus, program.drop_caches, program.repetitions) == ((0,), True, 1)
    assert program.least_free_bytes == 2**30 + 2**28
    assert program.beside == Served()


@pytest.mark.parametrize("ranks", [1, 2])
def test_numbers_of_fio(ranks):
    text = golden(f"fio/real-{ranks}.txt")
    documents = [json.loads(each) for each in text.replace("}\n{", "}\0{").split("\0")]
    parsed = parse(text, ranks=ranks)
    assert parsed.valid, parsed.detail
    told = zip(documents, ("write", "read"), strict=False)
    wrote, read = (job["jobs"][0][way]["runtime"] / 1000 for job, way in told)
    assert values(parsed) == {"write": 64 / wrote, "read": 64 / read, "time": wrote + read}
    unchecked = text[: text.rindex('\n{\n  "fio version"')]
    assert parse(unchecked, ranks=ranks).reason == "truncated"


@pytest.mark.parametrize(("name", "asked", "reason"), [
    ("failed", {}, "validation-failed"), ("failed-full", {}, "io-failed"),
    ("truncated", {}, "truncated"), ("real-1", {"ranks": 2}, "wrong-size"),
    ("real-1", {"gigabytes": "0.25"}, "wrong-size"),
])  # fmt: skip
def test_a_run_that_failed_or_another_is_refused(name, asked, reason):
    refused = parse(golden(f"fio/{name}.txt"), **asked)
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


def test_each_file_goes_into_transfers_of_a_mebibyte():
    levels = FileServer.factors["gigabytes"], BENCHMARK.parameters["ranks"]["enum"]
    for gigabytes, ranks in itertools.product(*levels):
        line, *_ = BENCHMARK.starts({"gigabytes": gigabytes, "ranks": ranks})
        size = next(int(word[7:]) for word in line if word.startswith("--size="))
        assert not size % 2**20 and size * ranks == float(gigabytes) * 2**30


@pytest.mark.parametrize("benchmark", SERVED, ids=lambda benchmark: benchmark.name)
def test_each_file_system_is_where_its_load_works_and_audits_its_servers(benchmark):
    asked = defaults(benchmark, **SMALL, inside="servers", servers=4, monitor_hz=1)
    program = benchmark.program(asked, NODE)
    beside = program.beside
    assert (beside.mount, beside.mount_point, beside.monitor_hz) == (benchmark.mount, "mounted", 1)
    assert all(re.search("[= ]mounted", line) for line in lines_of(program))
    # Whatever else may run on it has the same servers.
    assert benchmark.served(Program(("/bin/true",), ()), asked).beside == beside
    names = [service.name for service in beside.services]
    assert len(set(names)) == len(names) >= 4
    if not benchmark.software:
        assert beside.mount[0] in benchmark.binaries and FIO in benchmark.binaries
    for service in beside.services:
        assert set(benchmark.binaries) & set(service.argv)
        assert all(not name.startswith(("/", "..")) for name in service.files)


def test_a_master_of_moosefs_and_a_server_of_chunks_on_each_address():
    asked = defaults(MOOSEFS, inside="servers", gigabytes="1")
    master, first, second = MOOSEFS.program(asked | {"servers": 2}, NODE).beside.services
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
    (inside,) = MOOSEFS.program(asked | {"data": "image"}, NODE).beside.services[1:]
    assert inside.data == "/var/tmp/parity-data"
    native = inside.below(Path("/own"))
    assert (native.data, native.files["disks.cfg"]) == ("data", "/own/data\n")
    assert second.below(Path("/own")) is second
    assert (second.data, second.address, second.port) == ("data", "10.213.1.12", 9422)


def test_the_client_of_moosefs_mounts_by_the_first_server_and_asks_for_one_copy():
    beside = MOOSEFS.program(defaults(MOOSEFS, inside="servers", gigabytes="1"), NODE).beside
    options = "mfsnice=0,mfsallowoomkiller,mfsrlimitnofile=4096"
    assert beside.mount == ("/usr/bin/mfsmount", "mounted", "-H", "10.213.1.11", "-o", options)
    assert beside.mounted == ("/usr/bin/mfssetgoal", "1", "mounted")


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


def test_bricks_of_glusterfs_and_their_client():
    asked = defaults(glusterfs.BENCHMARK, **SMALL, inside="servers", servers=2)
    program = glusterfs.BENCHMARK.program(asked, NODE)
    second, words = program.beside.services[1], "--no-daemon --volfile=brick.vol --log-file=-"
    assert second.files == {"brick.vol": golden("servers/brick.vol")}
    assert (second.name, second.port, second.address) == ("brick-2", 24107, "10.213.1.12")
    assert " ".join(second.argv) == f"/usr/sbin/glusterfsd {words}"
    mount = "/usr/sbin/glusterfs --volfile=client.vol --log-file=- mounted"
    assert " ".join(program.beside.mount) == mount
    client = program.files["client.vol"]
    assert client.count("  type protocol/client\n") == 2
    assert "  option remote-host 10.213.1.12\n" in client
    assert "  type cluster/distribute\n  subvolumes brick-1 brick-2\n" in client
    inside = glusterfs.BENCHMARK.program(asked | {"data": "image"}, NODE).beside.services[0]
    assert inside.data == "/var/tmp/parity-data"
    assert "  option directory /var/tmp/parity-data\n" in inside.files["brick.vol"]


def test_servers_of_orangefs_share_one_configuration():
    program = ORANGEFS.program(defaults(ORANGEFS, **SMALL, inside="client", servers=2), NODE)
    first, second = program.beside.services
    assert first.files == second.files
    assert first.argv[0] == "/bin/sh" and first.argv[3:] == ("orangefs", first.executable, "s1")
    said = first.files["fs.conf.in"]
    assert "\tAlias s1 tcp://10.213.1.11:3334\n\tAlias s2 tcp://10.213.1.12:3334\n" in said
    assert "\tDataStorageSpace @own@/data/storage\n" in said


def test_ior_and_orangefs_run_from_the_copies_that_every_container_shows():
    assert ORANGEFS.needs == {"/opt/orangefs": "sha256:1", "/opt/ior": "sha256:2"}
    program = ORANGEFS.program(defaults(ORANGEFS, **OF_SITE), NODE)
    program, copies = staged_program(program, ORANGEFS.needs), f"{NEEDS}/opt"
    ior = f"{copies}/ior/bin/ior -a POSIX -t 1m -b 67108864 -o mounted/ior.data -k -G 1"
    ends = ["-w -e", "-r", "-r -R"]
    assert lines_of(program) == [f"{ior} -O summaryFormat=JSON {end}" for end in ends]
    assert " ".join(program.beside.mount) == (
        f"/usr/bin/env LD_LIBRARY_PATH={copies}/orangefs/lib {copies}/orangefs/bin/pvfs2fuse"
        " mounted -o fs_spec=tcp://10.213.1.11:3334/orangefs"
    )
    (server,) = program.beside.services
    assert server.executable == server.argv[4] == f"{copies}/orangefs/sbin/pvfs2-server"


def parse_ior(text: str) -> Parsed:
    return ORANGEFS.parse(Outputs(stdout=text, parameters=defaults(ORANGEFS, **OF_SITE)))


def test_numbers_of_ior_on_orangefs():
    parsed = parse_ior(golden("orangefs/real.txt"))
    assert parsed.valid, parsed.detail
    told = {"write": 91.5545, "read": 85.0046, "time": 64 / 91.5545 + 64 / 85.0046}
    assert values(parsed) == pytest.approx(told)
    assert parse_ior(golden("orangefs/failed.txt")).reason == "validation-failed"


@pytest.mark.parametrize(("old", "new", "reason"), [
    ('"checkRead": 1', '"checkRead": 0', "wrong-size"),
    ('"fsync": 1', '"fsync": 0', "wrong-size"),
    ('"blockSize": 67108864', '"blockSize": 1048576', "wrong-size"),
    ('"api": "POSIX"', '"api": "MMAP"', "wrong-size"),
    ('"Version": "4.1.0+dev"', '"Version": "3.3.0"', "wrong-size"),
    ('"bwMeanMIB": 91.5545', '"bwMeanMIB": 92.5545', "contradictory"),
    ('"bwMiB": 91.5545', '"bwMiB": 0.0000', "contradictory"),
    ("\n}\n{", "\n}\nERROR: no space\n{", "unparsable"), ('"Finished"', "", "truncated"),
])  # fmt: skip
def test_another_run_of_ior_is_refused(old, new, reason):
    text = golden("orangefs/real.txt")
    assert old in text
    assert parse_ior(text.replace(old, new)).reason == reason


@pytest.mark.parametrize("servers", [1, 2, 3, 4])
def test_handles_of_orangefs_are_shared_out_without_a_gap(servers):
    said = orangefs.configuration(servers, "data")
    found = re.findall(r"Range s([0-9]+) ([0-9]+)-([0-9]+)", said)
    assert [int(server) for server, *_ in found] == 2 * [*range(1, 1 + servers)]
    bounds = [(int(first), int(last)) for _, first, last in found]
    # As pvfs2-genconfig has them, from the first to the last.
    assert (bounds[0][0], bounds[-1][1]) == (3, 9223372036854775806)
    assert all(last + 1 == then for (_, last), (then, _) in itertools.pairwise(bounds))


def test_software_that_the_system_s_file_does_not_name_is_said_with_how_to_make_it():
    found = benchmarks()["orangefs"].probe()
    said = "the system's file does not say where orangefs and ior were built"
    assert (found.available, found.reason) == (False, said)
    assert found.remedy.startswith("software: {orangefs: PREFIX, ior: PREFIX}")
    assert "--with-db-backend=lmdb --enable-fuse" in found.remedy


DUMMY = "#!/bin/sh\necho 'API for I/O [DUMMY|MPIIO]'; exit 1"


@pytest.mark.parametrize(("path", "text", "reason"), [
    ("bin/pvfs2fuse", None, "OrangeFS was built without its FUSE client: no program {path}"),
    ("sbin/pvfs2-server", "#!/bin/sh\n", "{path} was built with another back end than lmdb"),
    ("bin/ior", DUMMY, "{path} was built without its POSIX interface"),
    ("bin/ior", "#!/bin/sh\necho lost >&2; exit 127", "{path} does not start: lost"),
    ("sbin/pvfs2-server", None, "no program {path}"), ("", "", ""),
])  # fmt: skip
def test_a_build_that_lacks_something_is_one_message(path, text, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(orangefs, "cannot_serve", lambda: None)
    good = {
        "bin/pvfs2fuse": "#!/bin/sh\n",
        "sbin/pvfs2-server": "#!/bin/sh\n# mdb_env_open\necho 2.10\n",
        "bin/ior": "#!/bin/sh\necho 'API for I/O [POSIX|DUMMY]'; exit 1\n",
    }
    for name, script in (good | ({path: text} if path else {})).items():
        if script is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)
    build = {"prefix": str(tmp_path), "digest": "sha256:1"}
    found = benchmark_of("orangefs", {SOFTWARE: {"orangefs": build, "ior": build}}).probe()
    assert found.reason == reason.format(path=tmp_path / path)
    assert (found.available, bool(found.remedy)) == (not path, bool(path))
    assert path or found.version == "2.10"
