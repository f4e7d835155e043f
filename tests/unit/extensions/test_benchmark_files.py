"""Files on servers and on the own disk: exact words and files, and what fio and IOR print."""

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from benchmark_help import GOLDEN, NODE, defaults, golden, values

from parity.benchmarks import benchmark_of, benchmarks
from parity.benchmarks.model import SOFTWARE, Outputs, Parsed, Program
from parity.extensions.servers.benchmarks import glusterfs, orangefs
from parity.extensions.servers.benchmarks.file_server import FIO, FileServer
from parity.extensions.servers.benchmarks.local_files import BENCHMARK
from parity.extensions.servers.benchmarks.service import cannot_serve, client_cpus, server_cpus
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
SNAPSHOT = GOLDEN / "servers.txt"


def parse(text: str, benchmark: FileServer = BENCHMARK, **asked) -> Parsed:
    asked = defaults(benchmark, **OF_SITE | asked)
    return benchmark.parse(Outputs(stdout=text, parameters=asked))


def lines_of(program: Program) -> list[str]:
    return [" ".join(words) for words in (program.argv, *program.then, program.check)]


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


OF_FIO, OF_IOR = ("fio/real-1.txt", BENCHMARK), ("orangefs/real.txt", ORANGEFS)


@pytest.mark.parametrize(("run", "old", "new", "reason"), [
    (OF_FIO, '"bs" : "1M"', '"bs" : "1k"', "wrong-size"),
    (OF_FIO, '"end_fsync" : "1"', '"end_fsync" : "0"', "wrong-size"),
    (OF_FIO, '"ioengine" : "psync"', '"ioengine" : "mmap"', "wrong-size"),
    (OF_FIO, '"size" : "67108864"', '"size" : "67108865"', "wrong-size"),
    (OF_FIO, '"io_bytes" : 67108864', '"io_bytes" : 67108863', "wrong-size"),
    (OF_FIO, '"total_ios" : 64', '"total_ios" : 63', "wrong-size"),
    (OF_FIO, '"short_ios" : 0', '"short_ios" : 1', "wrong-size"),
    (OF_FIO, '"error" : 0', '"error" : 5', "wrong-size"),
    (OF_FIO, "fio-3.33", "fio-2.1", "wrong-size"),
    (OF_FIO, '"jobs" : [', '"jobs" : 7, "others" : [', "unparsable"),
    (OF_FIO, '"name" : "check",', '"name" : "read",', "wrong-size"),
    (OF_IOR, '"checkRead": 1', '"checkRead": 0', "wrong-size"),
    (OF_IOR, '"fsync": 1', '"fsync": 0', "wrong-size"),
    (OF_IOR, '"blockSize": 67108864', '"blockSize": 1048576', "wrong-size"),
    (OF_IOR, '"api": "POSIX"', '"api": "MMAP"', "wrong-size"),
    (OF_IOR, '"Version": "4.1.0+dev"', '"Version": "3.3.0"', "wrong-size"),
    (OF_IOR, '"bwMeanMIB": 91.5545', '"bwMeanMIB": 92.5545', "contradictory"),
    (OF_IOR, '"bwMiB": 91.5545', '"bwMiB": 0.0000', "contradictory"),
    (OF_IOR, "\n}\n{", "\n}\nERROR: no space\n{", "unparsable"),
    (OF_IOR, '"Finished"', "", "truncated"),
])  # fmt: skip
def test_output_of_another_run_is_refused(run, old, new, reason):
    file, benchmark = run
    text = golden(file)
    assert old in text
    assert parse(text.replace(old, new), benchmark).reason == reason


def test_each_file_goes_into_transfers_of_a_mebibyte():
    levels = FileServer.factors["gigabytes"], BENCHMARK.parameters["ranks"]["enum"]
    for gigabytes, ranks in itertools.product(*levels):
        line, *_ = BENCHMARK.starts({"gigabytes": gigabytes, "ranks": ranks})
        size = next(int(word[7:]) for word in line if word.startswith("--size="))
        assert not size % 2**20 and size * ranks == float(gigabytes) * 2**30
        assert f"--numjobs={ranks}" in line


@pytest.mark.parametrize("benchmark", SERVED, ids=lambda benchmark: benchmark.name)
def test_each_file_system_is_where_its_load_works_and_audits_its_servers(benchmark):
    asked = defaults(benchmark, **SMALL, inside="servers", servers=4, monitor_hz=1)
    program = benchmark.program(asked, NODE)
    beside = program.beside
    assert (beside.mount, beside.mount_point, beside.monitor_hz) == (benchmark.mount, "mounted", 1)
    assert all(re.search("[= ]mounted", line) for line in lines_of(program))
    names = [service.name for service in beside.services]
    assert len(set(names)) == len(names) >= 4
    if not benchmark.software:
        assert beside.mount[0] in benchmark.binaries and FIO in benchmark.binaries
    for service in beside.services:
        assert set(benchmark.binaries) & set(service.argv)
        assert all(not name.startswith(("/", "..")) for name in service.files)


FILE_SYSTEMS = (glusterfs.BENCHMARK, MOOSEFS, ORANGEFS)


def told(benchmark: FileServer) -> Iterator[str]:
    """What two servers and their client are told: words, and files line by line."""
    yield benchmark.name
    program = benchmark.program(defaults(benchmark, **OF_SITE, servers=2), NODE)
    program = staged_program(program, benchmark.needs)
    yield from (f"    {line}" for line in lines_of(program))
    for words in (program.beside.mount, program.beside.mounted):
        yield f"    {words}"
    yield from of_files(program.files)
    for service in program.beside.services:
        yield f"  {service.name} at {service.address}:{service.port}, its data in {service.data}"
        yield f"    {service.argv} {service.executable} {service.environment}"
        yield from of_files(service.files)


def of_files(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        yield f"    {name}"
        yield from (f"        {line!r}" for line in text.splitlines(keepends=True))


def test_servers_and_their_client_are_told_what_they_were() -> None:
    """A snapshot, which PARITY_SNAPSHOTS=1 writes anew; what changed in it is then read."""
    lines = itertools.chain.from_iterable(map(told, FILE_SYSTEMS))
    text = "\n".join(lines).replace(str(NEEDS), "<needs>") + "\n"
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("benchmark", FILE_SYSTEMS, ids=lambda benchmark: benchmark.name)
def test_data_in_the_image_s_tree_are_below_the_own_folder_where_there_is_none(benchmark) -> None:
    bind, inside = (
        benchmark.program(defaults(benchmark, **OF_SITE, data=data), NODE).beside.services[-1]
        for data in ("bind", "image")
    )
    assert (bind.data, inside.data) == ("data", "/var/tmp/parity-data")
    assert any(inside.data in text for text in inside.files.values())
    native = inside.below(Path("/own"))
    assert native.data == "data" and "/var/tmp" not in str(native)
    assert any("/own/data" in text for text in native.files.values())
    assert bind.below(Path("/own")) is bind


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


def test_numbers_of_ior_on_orangefs():
    parsed = parse(golden("orangefs/real.txt"), ORANGEFS)
    assert parsed.valid, parsed.detail
    told = {"write": 91.5545, "read": 85.0046, "time": 64 / 91.5545 + 64 / 85.0046}
    assert values(parsed) == pytest.approx(told)
    assert parse(golden("orangefs/failed.txt"), ORANGEFS).reason == "validation-failed"


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
