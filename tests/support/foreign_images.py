"""Images that no Dockerfile of ours made, a program in them, and a study of it."""

import os
import subprocess
from pathlib import Path
from typing import Any

# Static, so that any distribution runs it, or none.
SOLVER = Path(__file__).with_name("programs") / "sums.c"
PROGRAM = "/opt/app/solver"

BENCHMARK = f'''"""A program that lies in an image alone."""

from collections.abc import Mapping
from typing import Any

from parity.benchmarks.programs import installed
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import said_by
from parity.core.commands import Availability

TIME = Quantity("time", "wall-clock time", "s", "lower", "external")


class Solver(Benchmark):
    """It adds, and says the sum."""

    name = "solver"
    title = "Solver"
    packages = ()
    binaries = ("{PROGRAM}",)
    parameters = {{"terms": {{"type": "integer", "default": 100000000, "description": "Terms."}}}}
    metrics = (TIME,)
    primary = ("time",)

    def probe(self) -> Availability:
        """Not here."""
        return installed(self.binaries, self.packages)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """Its path in the image."""
        return Program((self.binaries[0], str(parameters["terms"])), node.cpus[:1])

    def read(self, outputs: Outputs) -> Parsed:
        """The clock's time, if it said the sum."""
        said_by({{"sum": r"^sum ([0-9.]+)$"}}, outputs.stdout).positive("sum")
        return Parsed(valid=True, metrics=(TIME.measured(outputs.wall_seconds[0]),))


BENCHMARK = Solver()
'''


def study(image: Path | str, arms: list[str]) -> dict[str, Any]:
    """A study of that program in a foreign image, whose reference is a chroot."""
    pair = ["chroot-a", "chroot-b"]
    return {
        "study": "foreign", "title": "An image of one's own", "reproduces": "none", "seed": 7,
        "image": {"from": str(image)}, "reference": "chroot-a", "aa_pair": pair,
        "arms": pair + arms, "benchmarks": {"solver": {"margin_percent": 25}},
        "scales": {"tiny": {"blocks": 2}},
    }  # fmt: skip


def solver(folder: Path) -> Path:
    """The program, compiled."""
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
    """An OCI layout of one layer."""
    image = f"{folder}:app"
    layer = ["raw", "add-layer", "--image", image, tar]
    for words in (["init", "--layout", folder], ["new", "--image", image], layer):
        subprocess.run(["umoci", *words], check=True, capture_output=True)
    return folder
