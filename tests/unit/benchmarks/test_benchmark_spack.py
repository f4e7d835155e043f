"""Programs that Spack builds, and ranks that no site launches."""

from dataclasses import replace

import pytest
from benchmark_help import NODE, defaults, golden

from parity.benchmarks import benchmarks, openmpi, programs
from parity.benchmarks.model import Outputs
from parity.benchmarks.sysbench import BENCHMARK as SYSBENCH
from parity.benchmarks.sysbench_libaio import BENCHMARK as LIBAIO

ALONE = replace(NODE, launcher=False)
BUILT = [each for each in benchmarks().values() if each.provided_by("spack").spack_packages]
SPACK = [benchmark.provided_by("spack") for benchmark in BUILT]


each = pytest.mark.parametrize("benchmark", SPACK, ids=lambda benchmark: benchmark.name)


@each
def test_what_is_not_built_says_how_to_get_it(benchmark, monkeypatch):
    monkeypatch.setattr(programs.os, "access", lambda *_: False)
    presence, first = benchmark.probe(), benchmark.spack_packages[0]
    assert not presence.available and presence.reason.startswith("not built: ")
    assert "snakemake native" in presence.remedy
    assert f"{first.name}@{first.version}" in presence.remedy


def test_a_build_is_named_after_its_hash(tmp_path, monkeypatch):
    real = tmp_path / "tree/hpcg-3.1-abcdefg/bin/xhpcg"
    real.parent.mkdir(parents=True)
    real.touch()
    (tmp_path / "view").mkdir()
    (tmp_path / "view/hpcg").symlink_to(real.parents[1])
    monkeypatch.setattr(programs, "view_of", lambda _toolchain: tmp_path / "view")
    presence = programs.built_by_spack([programs.program_path("hpcg", "xhpcg")], ())
    assert (presence.available, presence.version) == (True, "hpcg-3.1-abcdefg")


@each
def test_another_toolchain_s_programs_lie_in_its_own_view(benchmark):
    other = benchmark.provided_by("spack-debian12-v1")
    assert other.name == benchmark.name and other is not benchmark
    assert benchmark.provided_by("spack") is benchmark
    paths = [path for path in benchmark.binaries if path.startswith("/opt/parity/")]
    folders = {package.view_folder for package in benchmark.spack_packages}
    assert {path.split("/")[5] for path in paths} <= folders
    assert all(p.version[0].isdigit() or "=" in p.version for p in benchmark.spack_packages)
    built = [path for path in other.binaries if path.startswith("/opt/parity/")]
    assert built and all(path.startswith("/opt/parity/debian12-v1/view/") for path in built)
    levels = {key: levels[0] for key, levels in benchmark.factors.items()}
    placed = {"nodes": 1, "ranks": 2} if benchmark.allocations else {}
    case = defaults(benchmark, **placed, **levels)
    here, there = (" ".join(each.program(case, NODE).argv) for each in (benchmark, other))
    assert "/opt/parity/debian12/view/" in here
    assert there == here.replace("/opt/parity/debian12/", "/opt/parity/debian12-v1/")


@pytest.mark.parametrize("name", ["hpcg", "npb", "ior", "mpip"])
def test_without_a_launcher_ranks_are_started_inside(name):
    benchmark = benchmarks()[name]
    levels = {key: levels[0] for key, levels in benchmark.factors.items()}
    case = defaults(benchmark, nodes=1, ranks=2, **levels)
    launched, inside = benchmark.program(case, NODE), benchmark.program(case, ALONE)
    assert (launched.ranks, inside.ranks) == (2, 0)
    assert inside.argv == openmpi.launch_words(launched.argv, (0, 1))
    assert inside.argv[:3] == ("/usr/bin/mpirun", "--bind-to", "none")
    assert inside.argv.count(":") == 1
    assert (inside.cpus, inside.collect) == ((0, 1), launched.collect)
    assert inside.environment["OMPI_MCA_btl"] == "self,vader"
    assert inside.environment["OMPI_MCA_btl_base_verbose"] == "1"
    one = benchmark.program(case | {"ranks": 1}, ALONE)
    assert one.cpus == (0,)


def test_two_builds_of_sysbench_run_the_same_command():
    programs = [
        LIBAIO.program(defaults(LIBAIO, libaio=level), NODE) for level in ("linked", "absent")
    ]
    linked, absent = (program.argv for program in programs)
    assert linked[0] != absent[0]
    assert {linked[0], absent[0]} == set(LIBAIO.binaries)
    assert linked[1:] == absent[1:] == SYSBENCH.program(defaults(SYSBENCH), NODE).argv[1:]
    assert LIBAIO.parse(Outputs(golden("sysbench/real.txt"), parameters=defaults(LIBAIO))).valid
