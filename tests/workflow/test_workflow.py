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

SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def _snakemake(clone: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [SNAKEMAKE, *words], cwd=clone, capture_output=True, text=True, check=False
    )


def _jobs(done: subprocess.CompletedProcess) -> Counter:
    """Jobs by rule from the statistics of a dry run."""
    assert done.returncode == 0, done.stderr + done.stdout
    table = (done.stdout + done.stderr).split("Job stats:")[1].split("total")[0]
    return Counter({name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)})


def test_a_dry_run_works_before_anything_is_built(clone: Path) -> None:
    jobs = _jobs(_snakemake(clone, "-n", "all"))
    assert jobs["run_block"] == 3
    for rule in ("write_plan", "build_image", "gather_blocks", "parse_records"):
        assert jobs[rule] == 1


def test_a_bare_call_makes_all(clone: Path) -> None:
    assert _jobs(_snakemake(clone, "-n")) == _jobs(_snakemake(clone, "-n", "all"))


@pytest.mark.parametrize(("scale", "blocks"), [("smoke", 3), ("machine", 30), ("cluster", 100)])
def test_each_scale_has_its_blocks(clone: Path, scale: str, blocks: int) -> None:
    jobs = _jobs(_snakemake(clone, "-n", "all", "--config", f"scale={scale}"))
    assert jobs["run_block"] == blocks


TARGETS = (
    "claims", "claims_expected", "compare", "dashboard", "figures", "images", "parity", "plan",
    "probe", "paper", "reparse",
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_every_documented_target_resolves(clone: Path, target: str) -> None:
    _jobs(_snakemake(clone, "-n", target))


def test_figures_of_the_archive_measure_and_build_nothing(clone: Path) -> None:
    jobs = _jobs(_snakemake(clone, "-n", "figures"))
    assert not {"run_block", "build_image", "convert_image", "bootstrap_base"} & jobs.keys()


BAD_CALLS = {
    "unknown scale": (["scale=huge"], ["no scale 'huge'", "smoke, machine, cluster"]),
    "unknown key": (["sclae=smoke"], ["unknown key: sclae", "archive, data, fresh, scale"]),
    "missing study": (["study=config/studies/torez.yaml"], ["no such file", "torrez2019.yaml"]),
    "missing system": (["system=config/systems/x.yaml"], ["no such file", "machine.yaml"]),
    "scale for a shell": (["scale=$(reboot)"], ["is not a safe name"]),
    "archive outside": (["archive=../../etc"], ["is not a safe name"]),
    "unknown source": (["data=both"], ["'both' is not known here", "archive, live"]),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_one_message_and_starts_nothing(clone: Path, name: str) -> None:
    words, expected = BAD_CALLS[name]
    before = sorted(clone.rglob("results/**/*"))
    done = _snakemake(clone, "all", "--config", *words)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in said
    for part in expected:
        assert part in said
    assert sorted(clone.rglob("results/**/*")) == before


@pytest.mark.parametrize("text", ["study: [", "a: 1\n  b: 2", "\tx"])
def test_a_config_file_that_is_no_yaml_is_one_message(clone: Path, text: str) -> None:
    path = clone / "config/config.yaml"
    before = path.read_text()
    path.write_text(text)
    try:
        done = _snakemake(clone, "-n", "all")
    finally:
        path.write_text(before)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in said and "config/config.yaml, line" in said


def test_without_slurm_one_line_says_what_is_missing(clone: Path, tmp_path: Path) -> None:
    for name in ("bash", "sh", "which"):
        (tmp_path / name).symlink_to(shutil.which(name))
    words = [SNAKEMAKE, "--profile", "slurm", "-n", "all"]
    environment = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "sbatch" in line]
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert len(said) == 1 and "cannot be found on PATH" in said[0]


@pytest.mark.system
@pytest.mark.usefixtures("slurm_programs")
@pytest.mark.parametrize(("scale", "blocks"), [("smoke", 9), ("virtual", 24), ("cluster", 500)])
def test_each_scale_of_the_cluster_has_its_jobs(clone: Path, scale: str, blocks: int) -> None:
    words = ("--profile", "slurm", "-n", "all", "--config", f"scale={scale}")
    assert _jobs(_snakemake(clone, *words))["run_block"] == blocks


def test_lint_finds_nothing(clone: Path) -> None:
    done = _snakemake(clone, "--lint")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Congratulations, your workflow is in a good condition!" in said
