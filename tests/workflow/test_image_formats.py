"""A study makes the formats that its arms run from, of an image with its benchmarks alone."""

import re
from pathlib import Path

import pytest
import toys
import yaml
from clones import borrow_images, records_of, refused, succeeded

from parity.core.documents import write_document
from parity.core.spack_paths import SPACK
from parity.software.images import ImageRecord

STUDIES = Path(__file__).parents[2] / "config/studies"
NEEDED = yaml.safe_load(Path(__file__).with_name("image_formats.yaml").read_text())
PACKAGES = NEEDED["packages"]
SHIPPED = {
    (study, scale): formats.split()
    for formats, studies in NEEDED["formats"].items()
    for study, scales in studies.items()
    for scale in scales.split()
}


def _dry_run(clone: Path, target: str, *config: str) -> str:
    return succeeded(clone, "-n", target, "--config", *config)


def _made(said: str) -> list[Path]:
    """The records that the jobs of a dry run make, one for each format."""
    outputs = re.findall(r"^ +output: (\S+\.json)$", said, re.M)
    return sorted((Path(name) for name in outputs), key=lambda path: path.name)


def _study(clone: Path, arms: list[str]) -> tuple[str, str]:
    """A study of SysBench in these arms."""
    content = {
        "study": "small", "title": "Small", "reproduces": "none", "seed": 7,
        "reference": "native-a", "aa_pair": ["native-a", "native-b"],
        "arms": ["native-a", "native-b", *arms],
        "benchmarks": {"sysbench": {"margin_percent": 1}},
        "scales": {"tiny": {"blocks": 1}},
    }  # fmt: skip
    (clone / "config/studies/small.yaml").write_text(yaml.safe_dump(content))
    return ("study=config/studies/small.yaml", "scale=tiny")


def test_every_shipped_study_is_held_to_its_formats() -> None:
    documents = {path.stem: yaml.safe_load(path.read_text()) for path in STUDIES.glob("*.yaml")}
    assert {(name, scale) for name in documents for scale in documents[name]["scales"]} == set(
        SHIPPED
    )


@pytest.mark.parametrize(("study", "scale"), SHIPPED)
def test_a_shipped_study_makes_these_formats_and_no_other(clone: Path, study: str, scale: str):
    said = _dry_run(clone, "images", f"study=config/studies/{study}.yaml", f"scale={scale}")
    made = _made(said)
    assert [path.stem for path in made] == SHIPPED[study, scale]
    by_spack = yaml.safe_load((STUDIES / f"{study}.yaml").read_text()).get("provider") == SPACK
    root = Path("results/spack/debian12/images" if by_spack else "results/images")
    base, *others = made
    assert base == root / "bootstrap/base.json"
    packages = PACKAGES.get(f"{study}-{scale}", PACKAGES.get(study, "no-packages"))
    assert {path.parent for path in others} == {root / "bootstrap" / packages}


def test_a_study_of_one_runtime_makes_its_format_alone(clone: Path) -> None:
    made = _made(_dry_run(clone, "images", *_study(clone, ["podman"])))
    assert [path.stem for path in made] == ["base", "oci", "podman"]


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
    for path in _made(_dry_run(clone, "images", *of_study)):
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
