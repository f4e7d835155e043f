"""An image that was not made by our Dockerfile runs under four runtimes with one digest chain.

Needs: root, the runtimes, and for Debian's image a mirror.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clones import USUAL, give_study, rows_of, succeeded

from parity.runtimes.model import manifest_digest
from parity.software.images import read_images

pytestmark = pytest.mark.system
ARMS = ["apptainer", "charliecloud-sqfs", "docker", "podman"]
PARENTS = {
    "foreign": "", "oci": "foreign", "directory": "oci", "squashfs": "directory", "sif": "oci",
    "docker": "oci", "podman": "oci",
}  # fmt: skip
# Static, so that any distribution runs it, or none.
SOLVER = Path(__file__).parents[1] / "support/programs/sums.c"
PROGRAM = "/opt/app/solver"
COMMAND = {
    "title": "Solver", "program": [PROGRAM, "100000000"], "binaries": [PROGRAM], "cpus": 1,
    "valid": "^sum [0-9.]+$",
}  # fmt: skip


def study_of(image: Path) -> dict[str, Any]:
    """A study of that program in a foreign image, whose reference is a chroot."""
    pair = ["chroot-a", "chroot-b"]
    return USUAL | {
        "study": "foreign", "title": "An image of one's own",
        "image": {"from": str(image)}, "reference": "chroot-a", "aa_pair": pair,
        "arms": pair + ARMS, "benchmarks": {"solver": {"margin_percent": 25, "command": COMMAND}},
        "scales": {"tiny": {"blocks": 2}},
    }  # fmt: skip


def solver(folder: Path) -> Path:
    words = ["gcc", "-O2", "-static", "-o", folder / "solver", SOLVER]
    subprocess.run(words, check=True)
    return folder / "solver"


def empty_image(folder: Path, program: Path) -> Path:
    """An OCI layout that holds one static program and nothing else: no shell, no /etc, no /tmp."""
    root = folder / "empty"
    (root / "opt/app").mkdir(parents=True)
    os.link(program, root / PROGRAM[1:])
    return layout(folder / "empty-oci", _packed(root))


def alpine_like_image(folder: Path, program: Path) -> Path:
    """The same beside BusyBox, whose shell is not dash and whose `env` is not coreutils'.

    It has an entry point and a user, as images of services do.
    """
    root = folder / "alpine"
    (root / "opt/app").mkdir(parents=True)
    os.link(program, root / PROGRAM[1:])
    (root / "bin").mkdir()
    subprocess.run(["cp", "/bin/busybox", root / "bin"], check=True)
    subprocess.run(["chroot", root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    made = layout(folder / "alpine-oci", _packed(root))
    own = ["--config.entrypoint=/bin/false", "--config.user=1000", "--config.volume=/tmp"]
    words = ["umoci", "config", "--image", f"{made}:app", *own]
    subprocess.run(words, check=True, capture_output=True)
    return made


def debian_image(folder: Path, program: Path) -> Path:
    """What mmdebstrap makes of Debian's packages, with the program beside them."""
    tar = folder / "debian.tar"
    hook = f"mkdir -p $1/opt/app && cp {program} $1{PROGRAM}"
    words = ["mmdebstrap", "--variant=apt", f"--customize-hook={hook}", "bookworm", tar]
    subprocess.run(words, check=True, capture_output=True)
    return layout(folder / "debian-oci", tar)


def _packed(root: Path) -> Path:
    tar = root.with_suffix(".tar")
    words = ["tar", "--sort=name", "--owner=0", "--group=0", "--mtime=@0", "-C", root, "-cf", tar]
    subprocess.run([*words, "."], check=True)
    return tar


def layout(folder: Path, tar: Path) -> Path:
    image = f"{folder}:app"
    layer = ["raw", "add-layer", "--image", image, tar]
    for words in (["init", "--layout", folder], ["new", "--image", image], layer):
        subprocess.run(["umoci", *words], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("make", [
    # One without a shell; what the others have besides the thin layer's own test holds.
    empty_image,
    pytest.param(alpine_like_image, marks=pytest.mark.long),
    pytest.param(debian_image, marks=pytest.mark.long),
])  # fmt: skip
def test_it_is_measured_in_every_runtime(new_clone, tmp_path, make) -> None:
    image, clone = make(tmp_path, solver(tmp_path)), new_clone()
    before = manifest_digest(image)
    study = study_of(image)
    config = ["--config", *give_study(clone, study)]
    live = clone / "results/live/foreign-tiny"
    targets = (live.relative_to(clone) / "summary.txt", "parity")
    said = "".join(succeeded(clone, target, *config, timeout=600) for target in targets)

    runs = rows_of(live, "runs")
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
    binaries = rows_of(live, "binaries")
    assert {row["arm"] for row in binaries} == set(study["arms"])
    assert len({row["sha256"] for row in binaries}) == 1 and binaries[0]["sha256"]
    assert "Nothing is confounded" in said and "lists of packages are not compared" in said
    # What stands in for a native build is never called one.
    written = [live / "summary.txt", *live.glob("tables/*.csv")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in written)
    assert "Chroot" in texts and "native" not in texts.lower()
    assert json.loads((live / "plan.json").read_text())["reference"] == "chroot-a"
