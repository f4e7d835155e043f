"""A profile of the project's is found by its name in any folder, with its configuration."""

import pytest

from parity.command_line.workflow import with_our_profile
from parity.core.package import PROJECT

OURS = [str(PROJECT / "profiles/slurm"), "--configfile", str(PROJECT / "config/slurm.yaml")]


@pytest.mark.parametrize("words", [["all", "--profile", "slurm"], ["all", "--profile=slurm"]])
def test_ours_is_found_by_its_name_but_where_a_folder_has_one(words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_our_profile(words) == ["all", "--profile", *OURS]
    (tmp_path / "config").mkdir()
    (tmp_path / "config/slurm.yaml").touch()
    assert with_our_profile(words) == ["all", "--profile", OURS[0]]
    (tmp_path / "slurm").mkdir()
    assert with_our_profile(words) == ["all", "--profile", "slurm"]
    for other in (["--profile"], ["--profile", "none"], ["--profile", "profiles/ours"], ["all"]):
        assert with_our_profile(other) == other
