"""CSCS' Sarus, from its own store; written from doc/user/user_guide.rst, no machine here has it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.runtimes.model import HOSTS, Arm, Launch, Look


@dataclass(frozen=True)
class Sarus(Arm):
    """`sarus run`, which takes processes and network from the host."""

    name: str = "sarus"
    runtime: str = "sarus"
    look = Look("#DDCC77", "H")
    title: str = "Sarus"
    image_format: str = "sarus"
    isolates: tuple[str, ...] = ("mnt",)
    converter = ("sarus", "--version")

    def probe(self) -> Availability:
        if not is_installed("sarus"):
            return Availability(
                False, reason="not installed", remedy="https://sarus.readthedocs.io"
            )
        return Availability(True, version=f"Sarus {answer_of(['sarus', '--version'])[1]}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        shown = [f"{path},destination={path},readonly" for path in (HOSTS, *launch.binds)]
        binds = [f"{launch.scratch},destination={launch.scratch}", *shown]
        mounts = [f"--mount=type=bind,source={bind}" for bind in binds]
        return ["sarus", "run", *mounts, launch.image.location, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            archive = f"{folder}/parity.tar"
            output_of(["skopeo", "copy", f"oci:{oci}:parity", f"docker-archive:{archive}"])
            output_of(["sarus", "load", f"--temp-dir={folder}", archive, "parity:study"])
        return "load/library/parity:study"

    def digest(self, location: str) -> str:
        return next((f"sha256:{row[2]}" for row in self._rows(location)), "")

    def size(self, location: str) -> int:
        (size,) = (row[4] for row in self._rows(location))
        return round(float(size[:-2]) * {"k": 1e3, "M": 1e6, "G": 1e9}[size[-2]])

    def _rows(self, location: str) -> list[list[str]]:
        rows = map(str.split, output_of(["sarus", "images"]).splitlines())
        return [row for row in rows if ":".join(row[:2]) == location]


SARUS = (Sarus(),)
