"""A study makes the formats that its arms run from, of an image with its benchmarks alone."""

import re
from pathlib import Path

import pytest
import toys
import yaml
from clones import NATIVES, USUAL, borrow_images, records_of, refused, succeeded

from parity.core.documents import write_document
from parity.core.spack_paths import SPACK
from parity.plan.making import make_plan
from parity.plan.study import load_study
from parity.plan.system import load_system
from parity.runtimes import every_arm
from parity.software.images import ImageRecord, needed_image

CONFIG = Path(__file__).parents[2] / "config"
STUDIES = CONFIG / "studies"
NEEDED = yaml.safe_load(Path(__file__).with_name("image_formats.yaml").read_text())
PACKAGES = NEEDED["packages"]
SHIPPED = {
    (study, scale): formats.split()
    for formats, studies in NEEDED["formats"].items()
    for study, scales in studies.items()
    for scale in scales.split()
}
# Debian's packages, sources of ours alone, and what Spack builds.
MADE = [("torrez2019", "smoke"), ("levy2021", "smoke"), ("libaio", "smoke")]


def _image_of(study: str, scale: str) -> str:
    return PACKAGES.get(f"{study}-{scale}", PACKAGES.get(study, "no-packages"))


def _dry_run(clone: Path, target: str, *config: str) -> str:
    return succeeded(clone, "-n", target, "--config", *config)


def _made(said: str) -> list[Path]:
    """The records that the jobs of a dry run make, one for each format."""
    outputs = re.findall(r"^ +output: (\S+\.json)$", said, re.M)
    return sorted((Path(name) for name in outputs), key=lambda path: path.name)


def _study(clone: Path, arms: list[str]) -> tuple[str, str]:
    content = USUAL | {
        "study": "small", "title": "Small", "arms": [*NATIVES, *arms],
        "benchmarks": {"sysbench": {"margin_percent": 1}},
        "scales": {"tiny": {"blocks": 1}},
    }  # fmt: skip
    (clone / "config/studies/small.yaml").write_text(yaml.safe_dump(content))
    return ("study=config/studies/small.yaml", "scale=tiny")


def test_every_shipped_study_is_held_to_its_formats() -> None:
    documents = {path.stem: yaml.safe_load(path.read_text()) for path in STUDIES.glob("*.yaml")}
    scales = {(name, scale) for name, each in documents.items() for scale in each["scales"]}
    assert scales == set(SHIPPED)


@pytest.mark.parametrize(("study", "scale"), SHIPPED)
def test_a_shipped_study_needs_these_formats_and_no_other(study: str, scale: str) -> None:
    """As workflow/rules/needed_image.smk asks for it; a dry run of each takes minutes."""
    system = load_system(CONFIG / "systems/machine.yaml")
    loaded = load_study(STUDIES / f"{study}.yaml", scale, software=system.software)
    used = [each.provided_by(loaded.provider) for each in loaded.definitions.values()]
    arms = [every_arm()[name] for name in loaded.arms]
    needed = needed_image(system.base_image, used, arms, foreign=loaded.image)
    assert sorted(needed.chain) == SHIPPED[study, scale]
    assert needed.image_in("r") == f"r/bootstrap/{_image_of(study, scale)}"
    # Before a pilot no plan is known.
    assert loaded.is_piloted or make_plan(loaded).blocks


@pytest.mark.parametrize(("study", "scale"), MADE)
def test_rules_make_what_is_needed(clone: Path, study: str, scale: str) -> None:
    said = _dry_run(clone, "images", f"study=config/studies/{study}.yaml", f"scale={scale}")
    made = _made(said)
    assert [path.stem for path in made] == SHIPPED[study, scale]
    by_spack = yaml.safe_load((STUDIES / f"{study}.yaml").read_text()).get("provider") == SPACK
    root = Path("results/spack/debian12/images" if by_spack else "results/images")
    base, *others = made
    assert base == root / "bootstrap/base.json"
    assert {path.parent for path in others} == {root / "bootstrap" / _image_of(study, scale)}


def test_a_study_without_containers_builds_nothing(clone: Path) -> None:
    said = _dry_run(clone, "all", *_study(clone, []))
    assert "rule run_batch:" in said and "results/images/no-image/images.json" in said
    for rule in ("bootstrap_base", "build_image", "unpack_image", "convert_image"):
        assert f"rule {rule}:" not in said


def test_only_a_study_with_own_sources_compiles_and_not_beside_spack_s(clone: Path) -> None:
    study = _study(clone, ["podman"])
    assert "rule compile:" not in _dry_run(clone, "all", *study)
    path = clone / "config/studies/small.yaml"
    content = yaml.safe_load(path.read_text())
    content["benchmarks"]["selfish"] = {"margin_percent": 10, "factors": {"mode": ["fwq"]}}
    path.write_text(yaml.safe_dump(content))
    said = _dry_run(clone, "all", *study)
    assert "output: results/compiled/selfish.c.txt" in said
    assert "output: results/images/bootstrap/sysbench_selfish.c/oci.json" in said
    path.write_text(yaml.safe_dump(content | {"provider": SPACK}))
    said = refused(clone, "-n", "all", "--config", *study)
    assert "cannot be compiled beside what Spack builds" in said


def test_another_benchmark_on_the_host_changes_nothing(clone, tmp_path, monkeypatch) -> None:
    """A benchmark's module is added and its package installed; then the study's is upgraded."""
    of_study, query = _study(clone, ["podman"]), tmp_path / "dpkg-query"
    said = '#!/bin/sh\nshift 2\nfor name; do printf "ii\\t$name\\t1.0\\n"; done\n'
    query.write_text(said)
    query.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    made = _made(_dry_run(clone, "images", *of_study))
    assert [path.stem for path in made] == ["base", "oci", "podman"]
    for path in made:
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        write_document(clone / path, ImageRecord(path.stem))
    borrow_images(clone, {}, *of_study)
    records_of(clone, *of_study).with_suffix(".parquet").touch()
    # Snakemake takes them for made, by what it would now make them from.
    succeeded(clone, "images", "--touch", "--forceall", "--config", *of_study)
    assert "Nothing to be done" in _dry_run(clone, "images", *of_study)

    added = toys.BENCHMARK.replace('packages = ("coreutils",)', 'packages = ("fio",)')
    assert '"fio"' in added
    (clone / "workflow/parity/benchmarks/fio.py").write_text(added)
    assert "Nothing to be done" in _dry_run(clone, "images", *of_study)

    query.write_text(said.replace("1.0", "1.1"))
    assert "rule build_image:" in _dry_run(clone, "images", *of_study)
