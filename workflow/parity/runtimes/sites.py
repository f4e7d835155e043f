"""Runtimes that sites have: Enroot, Sarus, Shifter, and plugins of Slurm.

Written from their documentation, which each class names: no machine here has any of them.
"""

import json
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.core.files import read_input
from parity.runtimes.model import HOSTS, Arm, Launch, Named, absent, arms_of, probed, store_name
from parity.runtimes.namespaces import no_user_namespaces


class Enroot(Arm):
    """`enroot start` of an image; its root is read-only unless it is told otherwise."""

    def probe(self) -> Availability:
        needed = ("enroot", "squashfuse", "fuse-overlayfs")
        if missing := [name for name in needed if not is_installed(name)]:
            remedy = "https://github.com/NVIDIA/enroot/blob/master/doc/installation.md"
            return absent(f"no {' and no '.join(missing)}", remedy)
        _, version = answer_of(["enroot", "version"])
        return no_user_namespaces() or Availability(True, version=f"enroot {version}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        # The fields of fstab(5), with a colon between them.
        shown = [f"--mount={path}:{path}:none:bind,ro" for path in (HOSTS, *launch.binds)]
        scratch = f"--mount={launch.scratch}:{launch.scratch}"
        return ["enroot", "start", scratch, *shown, launch.location, *inner]


class Sarus(Arm):
    """`sarus run`, which takes processes and network from the host."""

    def probe(self) -> Availability:
        return probed("sarus", "https://sarus.readthedocs.io", called="Sarus ")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        shown = [f"{path},destination={path},readonly" for path in (HOSTS, *launch.binds)]
        binds = [f"{launch.scratch},destination={launch.scratch}", *shown]
        mounts = [f"--mount=type=bind,source={bind}" for bind in binds]
        return ["sarus", "run", *mounts, launch.location, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            archive = f"{folder}/parity.tar"
            output_of(["skopeo", "copy", f"oci:{oci}:parity", f"docker-archive:{archive}"])
            output_of(["sarus", "load", f"--temp-dir={folder}", archive, store_name(oci)])
        return f"load/library/{store_name(oci)}"

    def digest(self, location: str) -> str:
        return next((f"sha256:{row[2]}" for row in self._rows(location)), "")

    def size(self, location: str) -> int:
        (size,) = (row[4] for row in self._rows(location))
        [(number, prefix)] = re.findall(r"^([\d.]+)([KMGT]?)B$", size.upper())
        thousands = 1000.0 ** " KMGT".index(prefix or " ")
        return round(float(number) * thousands)

    def _rows(self, location: str) -> list[list[str]]:
        rows = map(str.split, output_of(["sarus", "images"]).splitlines())
        return [row for row in rows if ":".join(row[:2]) == location]


CONFIGURATION = Path("/etc/shifter/udiRoot.conf")
LONGEST_IMPORT_SECONDS = 300.0


class Shifter(Arm):
    """`shifter --image`; what it shows of /etc is the site's, /etc/hosts among it."""

    def probe(self) -> Availability:
        here = is_installed("shifter")
        return Availability(True) if here else absent("not installed", "github.com/NERSC/shifter")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        volumes = [f"--volume={launch.scratch}:{launch.scratch}"]
        volumes += [f"--volume={path}:{path}:ro" for path in launch.binds]
        return ["shifter", f"--image={launch.location}", *volumes, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        site = dict(re.findall(r"(?m)^(imageGateway|system)=(\S+)", read_input(CONFIGURATION)))
        output_of(["mksquashfs", rootfs, destination, "-noappend", "-no-progress", "-no-xattrs"])
        gateway, system = site.get("imageGateway", ""), site.get("system", "")
        url = f"{gateway}/api/doimport/{system}/custom/{store_name(oci)}/"
        header = f"--header=authentication: {output_of(['munge', '-n']).strip()}"
        asked = json.dumps({"filepath": str(destination), "format": "squashfs"})
        output_of(["curl", "--fail", f"--data={asked}", header, url])
        location = f"custom:{store_name(oci)}"
        end = time.monotonic() + LONGEST_IMPORT_SECONDS
        while not self.digest(location) and time.monotonic() < end:
            time.sleep(1)
        return location

    def digest(self, location: str) -> str:
        known, identifier = answer_of(["shifterimg", "lookup", location])
        return f"fasthash:{identifier}" if known and identifier else ""

    def size(self, location: str) -> int:
        return 0  # The gateway does not say it.


SRUN = ("srun", "--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none")


@dataclass(frozen=True)
class SlurmPlugin(Named):
    """An option of `srun` that takes a SquashFS file."""

    option: str

    def probe(self) -> Availability:
        if not is_installed("srun"):
            return absent("no Slurm", "run it on a cluster that has it")
        try:
            known = output_of(["srun", "--help"])
        except UserError:
            # Without any cluster's configuration it tells not even that.
            return absent("no Slurm answers", "run it on a cluster")
        if self.option not in known:
            return absent(f"srun knows no {self.option}", "ask the site")
        return Availability(True, version=answer_of(["srun", "--version"])[1])

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        mounts = [f"{launch.scratch}:{launch.scratch}"]
        mounts += [f"{path}:{path}:ro" for path in (HOSTS, *launch.binds)]
        words = [f"{self.option}={launch.location}", f"--container-mounts={','.join(mounts)}"]
        words += ["--container-readonly", "--no-container-mount-home", "--no-container-entrypoint"]
        if self.option == "--environment":
            # JSON's texts, and lists of them, are TOML's as well.
            text = f"image = {json.dumps(launch.location)}\nmounts = {json.dumps(mounts)}\n"
            text += "writable = false\nentrypoint = false\n"
            (file := launch.state / "environment.toml").write_text(text)
            words = [f"{self.option}={file}"]
        return [*SRUN, f"--nodelist={launch.host}", *words, *inner]


ARMS = arms_of(Enroot, Sarus, Shifter, SlurmPlugin)
