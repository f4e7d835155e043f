"""Whatever an image or a native build is made from, a change of it makes them anew."""

from pathlib import Path

import pytest
from clones import succeeded

from parity.benchmarks import benchmarks
from parity.core.documents import write_document
from parity.plan.study import load_study
from parity.runtimes import every_arm
from parity.software.images import ImageRecord, needed_image, write_images

LOCK = ("spack.yaml", "spack.lock", "lock.json")


@pytest.fixture
def made(clone: Path) -> Path:
    """A clone in which all is made, by its records."""
    study = load_study(clone / "config/studies/torrez2019.yaml", "smoke")
    used = [benchmarks()[case.benchmark] for case in study.cases]
    needed = needed_image("bootstrap", used, [every_arm()[name] for name in study.arms])
    root = str(clone / "results/images")
    gathered = Path(needed.records_in(root))
    gathered.mkdir(parents=True, exist_ok=True)
    records = {name: ImageRecord(name, reason="for a test") for name in needed.chain}
    for name, record in records.items():
        folder = needed.base_in(root) if name == "base" else needed.image_in(root)
        write_document(Path(folder) / f"{name}.json", record)
    write_images(gathered / "images.json", records)
    (gathered / "images.parquet").touch()
    native = clone / "results/spack/debian12/native"
    native.mkdir(parents=True, exist_ok=True)
    for name in ("native.json", *LOCK):
        (native / name).touch()
    return clone


@pytest.mark.parametrize(("path", "target", "study", "rule"), [
    ("containers/hosts", "images", "torrez2019", "build_image"),
    ("containers/etc/added.conf", "images", "torrez2019", "build_image"),
    ("envs/spack/repo/repo.yaml", "native", "hpcg", "native"),
    ("envs/spack/repo/packages/netpipe/added.patch", "native", "hpcg", "native"),
])  # fmt: skip
def test_a_changed_or_added_file_is_seen(made: Path, path: str, target: str, study: str, rule: str):
    words = ["-n", target, "--rerun-triggers", "mtime", "--config"]
    words += [f"study=config/studies/{study}.yaml", "scale=smoke"]
    assert "Nothing to be done" in succeeded(made, *words)
    (made / path).parent.mkdir(parents=True, exist_ok=True)
    with (made / path).open("a") as file:
        file.write("# changed\n")
    said = succeeded(made, *words)
    assert f"rule {rule}:" in said and path in said


def test_an_image_follows_what_was_built_natively_in_the_same_call(made: Path) -> None:
    (made / "results/spack/debian12/images/sources").mkdir(parents=True)
    words = ["-n", "results/spack/debian12/images/sources", "--forcerun", "native", "--config"]
    said = succeeded(made, *words, "study=config/studies/hpcg.yaml", "scale=smoke")
    assert "rule native:" in said and "rule image_sources:" in said


def test_a_study_that_was_built_before_is_not_built_again_after_another(new_clone) -> None:
    """Snakemake makes the native side anew where its command or its environment is another."""
    clone = new_clone()
    manifest = clone / "results/spack/debian12/spack.yaml"
    manifest.parent.mkdir(parents=True)
    commands = []
    for study in ("hpcg", "libaio", "hpcg"):
        words = ("--config", f"study=config/studies/{study}.yaml", "scale=smoke")
        said = succeeded(clone, "lock", "-n", *words)
        manifest.write_text(said[said.index("spack:\n  specs:") :].partition("\n\n")[0] + "\n")
        said = succeeded(clone, "native", "-n", "-p", *words)
        commands += [line for line in said.splitlines() if "parity native " in line]
    first, both, again = commands
    assert first != both == again
