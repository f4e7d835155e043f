"""Who provides the benchmarks is a study's choice, and never silently another's."""

from dataclasses import replace
from pathlib import Path

import pytest

from parity.errors import UserError
from parity.study import load_study, refuse_provider

STUDY = load_study(Path(__file__).parents[2] / "config/studies/torrez2019.yaml", "smoke")


def test_the_distribution_provides_unless_the_study_says_otherwise() -> None:
    assert STUDY.provider == "system"
    refuse_provider(STUDY)


def test_measuring_what_spack_builds_is_refused_until_it_can_be_done() -> None:
    with pytest.raises(UserError, match="not be measured") as caught:
        refuse_provider(replace(STUDY, provider="spack"))
    assert "snakemake native" in str(caught.value)
