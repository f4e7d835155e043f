"""An image that was not made by our Dockerfile runs under four runtimes with one digest chain.

Needs: root, the runtimes, and for Debian's image a mirror.
"""

import json

import foreign_images
import pyarrow.parquet as pq
import pytest
from clones import give_study, succeeded

from parity.runtimes.model import manifest_digest
from parity.software.images import read_images

pytestmark = pytest.mark.system
ARMS = ["apptainer", "charliecloud-sqfs", "docker", "podman"]
PARENTS = {
    "foreign": "", "oci": "foreign", "directory": "oci", "squashfs": "directory", "sif": "oci",
    "docker": "oci", "podman": "oci",
}  # fmt: skip


@pytest.mark.parametrize("make", [
    # One without a shell; what the others have besides the thin layer's own test holds.
    foreign_images.empty_image,
    pytest.param(foreign_images.alpine_like_image, marks=pytest.mark.long),
    pytest.param(foreign_images.debian_image, marks=pytest.mark.long),
])  # fmt: skip
def test_it_is_measured_in_every_runtime(new_clone, tmp_path, make) -> None:
    image, clone = make(tmp_path, foreign_images.solver(tmp_path)), new_clone()
    before = manifest_digest(image)
    study = foreign_images.study(image, ARMS)
    config = ["--config", *give_study(clone, study)]
    live = clone / "results/live/foreign-tiny"
    targets = (live.relative_to(clone) / "summary.txt", "parity")
    said = "".join(succeeded(clone, target, *config, timeout=600) for target in targets)

    runs = pq.read_table(live / "records/runs.parquet").to_pylist()
    ended = {(run["arm"], run["stage"], run["reason"]) for run in runs if run["final"]}
    assert ended == {(arm, "valid", "") for arm in study["arms"]}
    images = read_images(live / "images.json")
    assert {name: record.parent for name, record in images.items()} == PARENTS
    for record in images.values():
        assert record.reason == "" and (
            record.parent_digest == (images[record.parent].digest if record.parent else "")
        )
    assert images["foreign"].digest == before == manifest_digest(image)
    # The same program everywhere, of an image of which no package list is known.
    binaries = pq.read_table(live / "records/binaries.parquet").to_pylist()
    assert {row["arm"] for row in binaries} == set(study["arms"])
    assert len({row["sha256"] for row in binaries}) == 1 and binaries[0]["sha256"]
    assert "Nothing is confounded" in said and "lists of packages are not compared" in said
    # What stands in for a native build is never called one.
    written = [live / "summary.txt", *live.glob("tables/*.csv")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in written)
    assert "Chroot" in texts and "native" not in texts.lower()
    assert json.loads((live / "plan.json").read_text())["reference"] == "chroot-a"
