"""A study that wants Spack: its environment is printed, and without Spack it is told so once."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parity.plan.plan import read_plan

SNAKEMAKE = Path(sys.executable).with_name("snakemake")
NOWHERE = "spack={repository: /nowhere/spack}"


def _snakemake(clone: Path, study: str, *words: str) -> subprocess.CompletedProcess:
    config = ["--config", f"study=config/studies/{study}.yaml", "scale=smoke", NOWHERE]
    return subprocess.run(
        [SNAKEMAKE, "--cores", "2", *words, *config],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("compilers", ["here", "missing"])
def test_one_message_says_how_to_get_it(new_clone, compilers: str) -> None:
    clone = new_clone()
    if compilers == "missing":
        system = clone / "config/systems/machine.yaml"
        system.write_text(system.read_text().replace("/usr/bin/gcc-12", "/nowhere/gcc"))
    done = _snakemake(clone, "libaio", "all")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert said.count("parity: there is no Spack here: /nowhere/spack") == 1
    assert said.count("parity: ") == 1
    assert "git clone" in said and "`provider: system`" in said
    assert "Traceback" not in said
    assert not list((clone / "results").glob("**/images/**/*.json"))
    assert not (clone / "results/spack/debian12/spack.lock").exists()


def test_a_dry_run_prints_the_study_s_environment(clone: Path) -> None:
    done = _snakemake(clone, "hpcg", "lock", "-n")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    composed = said[said.index("spack:\n  specs:") :].partition("\n\n")[0]
    content = yaml.safe_load(composed)["spack"]
    assert {spec.split("@")[0] for spec in content["specs"]} == {"hpcg", "stream"}
    assert content["packages"]["openmpi"]["externals"][0]["prefix"] == "/usr"
    assert not (clone / "results/spack/debian12").exists()


def test_a_second_toolchain_has_its_own_place_and_programs(clone: Path) -> None:
    system = clone / "config/systems/machine.yaml"
    text = system.read_text()
    entry = text[text.index("  debian12:") :].replace("x86_64_v3", "x86_64")
    system.write_text(text + entry.replace("  debian12:", "  debian12-v1:", 1))
    plans = []
    for toolchain in ("debian12", "debian12-v1"):
        chosen = ["study=config/studies/hpcg.yaml", f"spack={{toolchain: {toolchain}}}"]
        done = subprocess.run(
            [SNAKEMAKE, "--cores", "1", "write_plan", "--config", *chosen],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        plans.append(read_plan(clone / "results/live/hpcg-smoke/plan.json"))
    first, second = plans
    assert (first.provider, second.provider) == ("spack", "spack-debian12-v1")
    # Other programs are other blocks: nothing measured with the first counts for the second.
    assert not {block.name for block in first.blocks} & {block.name for block in second.blocks}
