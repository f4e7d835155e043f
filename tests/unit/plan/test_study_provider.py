"""Who provides the benchmarks is a study's choice, and never silently another's."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from parity.benchmarks import benchmarks
from parity.plan.making import make_plan
from parity.plan.study import load_study

STUDY = load_study(Path(__file__).parents[3] / "config/studies/torrez2019.yaml", "smoke")


def test_the_distribution_provides_unless_the_study_says_otherwise() -> None:
    plan = make_plan(STUDY)
    assert plan.provider == "system"


def test_the_plan_says_that_spack_provides() -> None:
    assert make_plan(replace(STUDY, provider="spack")).provider == "spack"


@pytest.mark.parametrize("name", ["hpcc", "netpipe"])
def test_what_both_provide_lies_elsewhere_and_is_otherwise_the_same(name: str) -> None:
    by_system = benchmarks()[name].provided_by("system")
    by_spack = benchmarks()[name].provided_by("spack")
    assert by_system is benchmarks()[name]
    assert by_spack.binaries[0].startswith("/opt/parity/debian12/view/")
    assert by_spack.provided_by("spack") is by_spack
    assert (by_spack.name, by_spack.primary) == (by_system.name, by_system.primary)


def test_what_one_provides_is_the_same_benchmark_for_both() -> None:
    for name in ("hpcg", "sysbench"):
        assert {id(benchmarks()[name].provided_by(p)) for p in ("system", "spack")} == {
            id(benchmarks()[name])
        }
