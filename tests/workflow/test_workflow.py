"""The workflow as a user meets it: dry runs, bad input, lint; from a clean copy, nothing built.

Needs: for the jobs of a cluster Slurm's programs, which root installs.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from clones import called, files_of, refused, succeeded


def _jobs(folder: Path, *words: str) -> Counter:
    """Jobs by rule from the statistics of a dry run."""
    table = succeeded(folder, "-n", *words).split("Job stats:")[1].split("total")[0]
    return Counter({name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)})


def test_a_dry_run_works_before_anything_is_built_and_a_bare_call_makes_all(clone: Path) -> None:
    jobs = _jobs(clone, "all")
    assert jobs["run_batch"] == 3
    for rule in ("write_plan", "build_image", "gather_blocks", "parse_records"):
        assert jobs[rule] == 1
    # The catalogue's Snakefile is the same workflow.
    inside = ("-s", "workflow/Snakefile")
    assert _jobs(clone, *inside) == _jobs(clone) == jobs
    listed = [called(clone, *words, "--list").stdout for words in ((), inside)]
    assert listed[0] == listed[1] != ""


def _elsewhere(folder: Path, snakefile: str, words: str = "") -> Path:
    """A folder whose Snakefile is a module's use of the workflow, and nothing else."""
    text = f"module parity:\n    snakefile: {snakefile}\n\nuse rule * from parity{words}\n"
    (folder / "Snakefile").write_text(text)
    return folder


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_as_a_module_it_uses_its_own_files_and_leaves_its_own_folder_alone(
    clone: Path, tmp_path: Path, snakefile: str
) -> None:
    folder = _elsewhere(tmp_path, repr(str(clone / snakefile)))
    expected, before = _jobs(clone), files_of(clone)
    said = succeeded(folder, "-n", "--cores", "1")
    assert _jobs(folder, "--cores", "1") == expected
    for own in ("containers/Dockerfile", "paper/main.tex", "config/published/values.csv"):
        assert f"{clone}/{own}" in said
    # For real: a script of a rule imports the package, and results belong to the user.
    succeeded(folder, "--cores", "1", "write_plan")
    assert (folder / "results/live/torrez2019-smoke/plan.json").exists()
    assert files_of(clone) == before


def test_in_a_module_the_user_s_own_configuration_goes_first(clone: Path, tmp_path: Path) -> None:
    folder = _elsewhere(tmp_path, repr(str(clone / "Snakefile")), " as parity_*")
    shutil.copytree(clone / "config", folder / "config")
    (folder / "config/published").rename(folder / "taken-away")
    said = succeeded(folder, "-n", "--cores", "1")
    assert re.search(r"^parity_all +1$", said, re.M)
    assert "input: config/studies/torrez2019.yaml\n" in said
    assert f"{clone}/config/published/values.csv" in said


def _commit(folder: Path, *files: str) -> None:
    """Make a folder a repository of these files, with one commit and its tag."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", folder]
    for words in (["init", "-q"], ["add", *files], ["commit", "-qm", "x"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True)


def test_a_source_whose_files_are_not_beside_each_other_is_refused(clone: Path, tmp_path: Path):
    _commit(clone, "Snakefile", "workflow")
    place = repr(f"git+file://{clone}/workflow/Snakefile@HEAD")
    said = refused(_elsewhere(tmp_path, place), "-n", "--cores", "1")
    shutil.rmtree(clone / ".git")
    assert "is neither a folder nor a hosting service" in said


def test_a_hosting_service_s_tag_is_deployed_with_all_its_files(clone, tmp_path, monkeypatch):
    """As snakedeploy writes it; Snakemake's own bare clone of the tag is laid ready for it."""
    hosted = tmp_path / "cache/snakemake/snakemake/source-cache/snakemake-git-cache/github.com"
    bare, work = hosted / "owner/parity", tmp_path / "work"
    shutil.copytree(clone, work, symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    _commit(work, "-A")
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    shutil.rmtree(work)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "deployed").mkdir()
    place = 'github("owner/parity", path="workflow/Snakefile", tag="v1")'
    folder = _elsewhere(tmp_path / "deployed", place)
    said = succeeded(folder, "-n", "--cores", "1")
    assert re.search(r"^run_batch +3$", said, re.M)
    (checked_out,) = (folder / ".snakemake/parity").iterdir()
    for own in ("containers/Dockerfile", "paper/main.tex", "config/studies/torrez2019.yaml"):
        assert f"{checked_out}/{own}" in said
    succeeded(folder, "--cores", "1", "write_plan")


DATA_LIBRARIES = {"pandas", "pyarrow", "scipy", "matplotlib", "statsmodels"}
# The executor plugin for Slurm loads pandas by itself, so only what comes later counts.
DRY_RUN = """
from snakemake.cli import main
before = set(sys.modules)
try:
    main(["-n", "all"])
except SystemExit as ended:
    assert not ended.code
"""
BLOCK = """
before = set()
from parity.command_line.main import main
try:
    main("run-batch --batch a --record b --folder c --system d --images e --plan f".split())
except SystemExit as ended:
    assert ended.code
"""


@pytest.mark.parametrize("program", [DRY_RUN, BLOCK], ids=["dry run", "block"])
def test_what_every_call_and_every_job_loads_holds_no_library_for_data(clone: Path, program: str):
    words = f"import sys\n{program}\nprint('loaded', *set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=clone, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.rsplit("loaded", 1)[1].split()}
    assert "parity" in loaded
    assert not DATA_LIBRARIES & loaded


@pytest.mark.parametrize(("scale", "blocks"), [("machine", 30), ("cluster", 100)])
def test_each_scale_has_its_blocks(clone: Path, scale: str, blocks: int) -> None:
    assert _jobs(clone, "all", "--config", f"scale={scale}")["run_batch"] == blocks


def test_targets_that_no_other_test_asks_for_resolve(clone: Path) -> None:
    assert {"dashboard", "parity", "probe"} <= _jobs(clone, "dashboard", "parity", "probe").keys()


def test_figures_of_the_archive_measure_and_build_nothing(clone: Path) -> None:
    jobs = _jobs(clone, "figures")
    assert not {"run_batch", "build_image", "convert_image", "bootstrap_base"} & jobs.keys()


@pytest.mark.parametrize(("word", "expected"), [
    ("scale=huge", ("no scale 'huge'", "smoke, quick, hour, ")),
    ("sclae=smoke", ("unknown key: sclae", "data, fresh, minutes, scale")),
    ("study=config/studies/torez.yaml", ("no such file", "torrez2019.yaml")),
    ("system=config/systems/x.yaml", ("no such file", "machine.yaml")),
    ("study=torez", ("unknown file of a study: torez", "config/studies/torrez2019.yaml")),
    ("scale=$(reboot)", ("is not a safe name",)), ("archive=../../etc", ("is not a safe name",)),
    ("fresh=../../etc", ("is not a safe name",)), ("fresh=live/", ("is not a safe name",)),
    ("fresh=torrez2019-smoke", ("is not a safe name",)),
    ("archive=machine-1999-01-01", ("unknown archive", "machine-2026-11-20")),
    ("data=both", ("'both' is not known here", "archive, live")),
])  # fmt: skip
def test_a_bad_call_is_one_message_and_starts_nothing(clone: Path, word, expected) -> None:
    before = sorted(clone.rglob("results/**/*"))
    said = refused(clone, "all", "--config", word)
    assert [part for part in expected if part not in said] == []
    assert sorted(clone.rglob("results/**/*")) == before


def test_a_config_file_that_is_no_yaml_is_one_message(clone: Path) -> None:
    path = clone / "config/config.yaml"
    before = path.read_text()
    path.write_text("study: [")
    try:
        assert "config/config.yaml, line" in refused(clone, "-n", "all")
    finally:
        path.write_text(before)


def test_without_slurm_one_line_says_what_is_missing(clone: Path, tmp_path: Path) -> None:
    for name in ("bash", "sh", "which"):
        (tmp_path / name).symlink_to(shutil.which(name))
    environment = os.environ | {"PATH": str(tmp_path)}
    said = refused(clone, "--profile", "slurm", "-n", "all", env=environment)
    (line,) = [line for line in said.splitlines() if "sbatch" in line]
    assert "cannot be found on PATH" in line


@pytest.mark.system
# Slurm's programs alone, no cluster: the module has a worker of its own.
@pytest.mark.beside
@pytest.mark.usefixtures("slurm_programs")
@pytest.mark.parametrize(("scale", "blocks"), [("smoke", 9), ("virtual", 24), ("cluster", 500)])
def test_each_scale_of_the_cluster_has_its_jobs(clone: Path, scale: str, blocks: int) -> None:
    words = ("--profile", "slurm", "all", "--config", f"scale={scale}")
    assert _jobs(clone, *words)["run_batch"] == blocks


def test_lint_finds_nothing(clone: Path) -> None:
    assert "Congratulations, your workflow is in a good condition!" in succeeded(clone, "--lint")
