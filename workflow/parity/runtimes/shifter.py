"""NERSC's Shifter; written from doc/command/shifter.rst and doc/import.rst, none is here."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.core.files import read_input
from parity.runtimes.model import Arm, Launch, Look

CONFIGURATION = Path("/etc/shifter/udiRoot.conf")
TAG, LONGEST_IMPORT = "custom:parity:study", 300.0


@dataclass(frozen=True)
class Shifter(Arm):
    """`shifter --image`; what it shows of /etc is the site's, /etc/hosts among it."""

    name: str = "shifter"
    runtime: str = "shifter"
    look = Look("#661100", "d")
    title: str = "Shifter"
    image_format: str = "shifter"
    isolates: tuple[str, ...] = ("mnt",)
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    def probe(self) -> Availability:
        if is_installed("shifter"):
            return Availability(True)
        return Availability(False, reason="not installed", remedy="github.com/NERSC/shifter")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        volumes = [f"--volume={path}:{path}:ro" for path in launch.binds]
        scratch = f"--volume={launch.scratch}:{launch.scratch}"
        return ["shifter", f"--image={launch.image.location}", scratch, *volumes, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        site = dict(re.findall(r"(?m)^(imageGateway|system)=(\S+)", read_input(CONFIGURATION)))
        output_of(["mksquashfs", rootfs, destination, "-noappend", "-no-progress", "-no-xattrs"])
        gateway, system = site.get("imageGateway", ""), site.get("system", "")
        url = f"{gateway}/api/doimport/{system}/custom/parity:study/"
        header = f"--header=authentication: {output_of(['munge', '-n']).strip()}"
        asked = f'{{"filepath": "{destination}", "format": "squashfs"}}'
        output_of(["curl", "--fail", f"--data={asked}", header, url])
        end = time.monotonic() + LONGEST_IMPORT
        while not self.digest(TAG) and time.monotonic() < end:
            time.sleep(1)
        return TAG

    def digest(self, location: str) -> str:
        known, identifier = answer_of(["shifterimg", "lookup", location])
        return f"fasthash:{identifier}" if known and identifier else ""

    def size(self, location: str) -> int:
        return 0  # The gateway does not say it.


SHIFTER = (Shifter(),)
