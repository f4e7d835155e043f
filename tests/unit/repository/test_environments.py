"""One set of versions: uv.lock has them, pyproject.toml allows them, conda's files repeat them."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = {
    package["name"]: package.get("version", "")
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
}
OWN = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
GROUPS = [Requirement(text) for group in PROJECT["dependency-groups"].values() for text in group]
# What rules are run by, and what no rule needs.
AROUND_RULES = {"udocker", *(each.name for each in OWN if "snakemake" in each.name)}
CONDA_NAMES = {"matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}


@pytest.mark.parametrize("requirement", OWN + GROUPS, ids=lambda each: each.name)
def test_every_requirement_has_bounds_that_the_locked_version_meets(requirement: Requirement):
    assert {each.operator for each in requirement.specifier} == {">=", "<"}
    assert requirement.specifier.contains(LOCKED[requirement.name])


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.name)
def test_conda_environments_have_the_locked_versions_of_all_that_the_package_needs(path: Path):
    pinned = {}
    *of_conda, from_pypi = yaml.safe_load(path.read_text())["dependencies"]
    for dependency in [*of_conda, *from_pypi["pip"]]:
        name, version = re.fullmatch(r"([a-z0-9-]+) ==?([0-9.]+)", dependency).groups()
        pinned[CONDA_NAMES.get(name, name)] = version
    del pinned["python"]
    assert pinned == {each.name: LOCKED[each.name] for each in OWN if each.name not in AROUND_RULES}


def test_uv_s_own_version_is_pinned_and_the_citation_has_the_project_s() -> None:
    assert re.search(r"^UV_VERSION=\d+\.\d+\.\d+$", (ROOT / "tools/environment").read_text(), re.M)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["project"]["version"]
    assert {"authors", "cff-version", "message", "title"} <= citation.keys()
    doi, digests = citation["identifiers"]
    assert doi["value"] != "10.5281/zenodo.0000000" or "placeholder" in doi["description"]
    assert "<!-- begin digests -->" in (ROOT / digests["value"]).read_text()


def test_what_cffconvert_made_of_the_citation_still_says_the_same() -> None:
    """Made by `cffconvert -f codemeta` and `-f zenodo`; its own pins keep it out of the lock."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    said = citation["version"], citation["keywords"]
    for name, theirs in ((codemeta["name"], codemeta), (zenodo["title"], zenodo)):
        assert name == citation["title"] and (theirs["version"], theirs["keywords"]) == said
    assert codemeta["license"].endswith(f"/{citation['license']}")
    assert zenodo["license"] == {"id": citation["license"]}
    day = str(citation["date-released"])
    assert codemeta["datePublished"] == zenodo["publication_date"] == day


def test_every_file_has_a_licence() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("reuse"), "lint"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert (ROOT / "LICENSES/MIT.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_forge_runs_targets_that_are_there() -> None:
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    jobs = [job for file in files for job in yaml.safe_load(file.read_text())["jobs"].values()]
    asked = {step["run"] for job in jobs for step in job["steps"] if "run" in step}
    targets = {words.split()[1] for words in asked if words.startswith("make ")}
    made = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))
    assert targets == {"lint", "test-fast", "figures", "site"} and targets <= made
