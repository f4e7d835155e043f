"""runc alone, as engines call it: a container of the OCI's runtime specification, from a folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.runtimes.model import HOSTS, Arm, Launch, Look

# Puts the words of a run into a bundle of its own, then becomes runc: of several ranks each has
# words that are filled in on the node.
RUN = """import json, os, sys
from pathlib import Path
state, name, *words = sys.argv[1:]
bundle = Path(state, name)
bundle.mkdir(exist_ok=True)
config = json.loads(Path(state, "config.json").read_text())
config["process"]["args"] = words
(bundle / "config.json").write_text(json.dumps(config))
argv = ["runc", f"--root={state}/runc", "run", f"--bundle={bundle}", name]
os.execvp("runc", argv)
"""
RIGHTS = [f"CAP_{name}" for name in ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL")]


def configuration(launch: Launch) -> dict[str, object]:
    """The container without its words: read-only root, the host's devices and network."""
    assert launch.image is not None

    def bind(path: Path, access: str) -> dict[str, object]:
        names = {"type": "bind", "source": str(path), "destination": str(path)}
        return names | {"options": ["rbind", access]}

    return {
        "ociVersion": "1.0.2",
        "root": {"path": launch.image.location, "readonly": True},
        "process": {
            "cwd": "/",
            "env": [f"PATH={os.defpath}"],
            "user": {"uid": 0, "gid": 0},
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), RIGHTS),
        },
        "mounts": [
            {"type": "proc", "source": "proc", "destination": "/proc"},
            *(bind(path, "rw") for path in (Path("/dev"), launch.scratch)),
            *(bind(path, "ro") for path in (Path("/sys"), HOSTS, *launch.binds)),
        ],
        "linux": {"namespaces": [{"type": name} for name in ("ipc", "mount", "pid")]},
    }


@dataclass(frozen=True)
class Runc(Arm):
    """`runc run` as root, without an engine above it."""

    name: str = "runc"
    runtime: str = "runc"
    look = Look("#117733", "<")
    title: str = "runc"
    image_format: str = "directory"
    isolates: tuple[str, ...] = ("ipc", "mnt", "pid")
    packages = ("runc", "umoci")

    def probe(self) -> Availability:
        if not is_installed("runc"):
            return Availability(False, reason="not installed", remedy="apt-get install runc")
        if os.getuid():
            return Availability(False, reason="needs root", remedy="run the study as root")
        _, version = answer_of(["runc", "--version"])
        return Availability(True, version=version)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        (launch.state / "config.json").write_text(json.dumps(configuration(launch)))
        return [sys.executable, "-c", RUN, str(launch.state), launch.name, *inner]

    def cleanup(self, *launches: Launch) -> None:
        for launch in launches:
            answer_of(["runc", f"--root={launch.state}/runc", "delete", "--force", launch.name])


RUNC = (Runc(),)
