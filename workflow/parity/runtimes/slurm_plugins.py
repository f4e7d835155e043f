"""Containers that Slurm starts: NVIDIA's Pyxis, the engine of CSCS. Nobody tried them with MPI.

Written from github.com/NVIDIA/pyxis/wiki/Usage and the EDF reference of docs.cscs.ch, none is here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.runtimes.model import HOSTS, Arm, Launch, Look

SRUN = ("srun", "--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none")


@dataclass(frozen=True)
class SlurmPlugin(Arm):
    """An option of `srun` that takes a SquashFS file."""

    name: str
    title: str
    option: str
    runtime: str = "slurm-plugin"
    look = Look("#AA4499", "8")
    image_format: str = "squashfs"
    isolates: tuple[str, ...] = ("mnt",)
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    def probe(self) -> Availability:
        if not is_installed("srun"):
            return Availability(False, reason="no Slurm", remedy="run it on a cluster that has it")
        try:
            known = output_of(["srun", "--help"])
        except UserError:
            # Without any cluster's configuration it tells not even that.
            return Availability(False, reason="no Slurm answers", remedy="run it on a cluster")
        if self.option not in known:
            return Availability(False, reason=f"srun knows no {self.option}", remedy="ask the site")
        return Availability(True, version=answer_of(["srun", "--version"])[1])

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        mounts = [f"{launch.scratch}:{launch.scratch}"]
        mounts += [f"{path}:{path}:ro" for path in (HOSTS, *launch.binds)]
        words = [f"{self.option}={launch.image.location}", f"--container-mounts={','.join(mounts)}"]
        words += ["--container-readonly", "--no-container-mount-home", "--no-container-entrypoint"]
        if self.option == "--environment":
            # JSON's texts, and lists of them, are TOML's as well.
            image, shown = json.dumps(launch.image.location), json.dumps(mounts)
            words = [f"{self.option}={launch.state / 'environment.toml'}"]
            (launch.state / "environment.toml").write_text(
                f"image = {image}\nmounts = {shown}\nwritable = false\nentrypoint = false\n"
            )
        return [*SRUN, f"--nodelist={launch.host}", *words, *inner]


PLUGINS = (
    SlurmPlugin("pyxis", "Pyxis", "--container-image"),
    SlurmPlugin("cscs-engine", "CSCS container engine", "--environment"),
)
