"""A study that wants Spack: its environment is printed, and without Spack it is told so once."""

from pathlib import Path

import pytest
import yaml
from clones import refused, succeeded

from parity.plan.plan import read_plan

SMOKE = ("scale=smoke", "spack={repository: /nowhere/spack}")


@pytest.mark.parametrize("compilers", ["here", "missing"])
def test_one_message_says_how_to_get_it(new_clone, compilers: str) -> None:
    clone = new_clone()
    if compilers == "missing":
        system = clone / "config/systems/machine.yaml"
        system.write_text(system.read_text().replace("/usr/bin/gcc-12", "/nowhere/gcc"))
    said = refused(clone, "all", "--config", "study=config/studies/libaio.yaml", *SMOKE)
    assert said.count("parity: there is no Spack here: /nowhere/spack") == said.count("parity: ")
    assert said.count("parity: ") == 1
    assert "git clone" in said and "`provider: system`" in said
    assert not list((clone / "results").glob("**/images/**/*.json"))
    assert not (clone / "results/spack/debian12/spack.lock").exists()


def test_a_dry_run_prints_the_study_s_environment(clone: Path) -> None:
    said = succeeded(clone, "lock", "-n", "--config", "study=config/studies/hpcg.yaml", *SMOKE)
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
        succeeded(clone, "--cores", "1", "write_plan", "--config", *chosen)
        plans.append(read_plan(clone / "results/live/hpcg-smoke/plan.json"))
    first, second = plans
    assert (first.provider, second.provider) == ("spack", "spack-debian12-v1")
    # Other programs are other blocks: nothing measured with the first counts for the second.
    assert not {block.name for block in first.blocks} & {block.name for block in second.blocks}
