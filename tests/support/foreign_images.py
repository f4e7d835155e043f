"""Images that no Dockerfile of ours made, a program in them, and a study of it."""

import os
import subprocess
from pathlib import Path
from typing import Any

# Static, so that any distribution runs it, or none.
SOLVER = Path(__file__).with_name("programs") / "sums.c"
PROGRAM = "/opt/app/solver"

COMMAND = {
    "title": "Solver", "program": [PROGRAM, "100000000"], "binaries": [PROGRAM], "cpus": 1,
    "valid": "^sum [0-9.]+$",
}  # fmt: skip


def study(image: Path | str, arms: list[str]) -> dict[str, Any]:
    """A study of that program in a foreign image, whose reference is a chroot."""
    pair = ["chroot-a", "chroot-b"]
    return {
        "study": "foreign", "title": "An image of one's own", "reproduces": "none", "seed": 7,
        "image": {"from": str(image)}, "reference": "chroot-a", "aa_pair": pair,
        "arms": pair + arms, "benchmarks": {"solver": {"margin_percent": 25, "command": COMMAND}},
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
