"""One set of versions: pyproject.toml, uv.lock and the conda environments say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def _locked() -> dict[str, str]:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    return {package["name"]: package.get("version", "") for package in lock["package"]}


def _pinned() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    return dict(requirement.split("==") for group in groups for requirement in group)


def test_every_requirement_is_pinned_exactly_and_locked_so() -> None:
    locked = _locked()
    assert {name: locked[name] for name in _pinned()} == _pinned()


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.name)
def test_conda_environments_have_the_locked_versions(path: Path) -> None:
    locked = _locked()
    for dependency in yaml.safe_load(path.read_text())["dependencies"]:
        name, version = re.fullmatch(r"([a-z0-9-]+) =([0-9.]+)", dependency).groups()
        if name != "python":
            assert locked[CONDA_NAMES.get(name, name)] == version, name


def test_uv_s_own_version_is_pinned_where_it_is_installed() -> None:
    assert re.search(r"^UV_VERSION=\d+\.\d+\.\d+$", (ROOT / "tools/environment").read_text(), re.M)


def test_the_citation_has_the_project_s_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"]
    assert {"authors", "cff-version", "message", "title"} <= citation.keys()
