"""QEMU: a guest with a kernel of its own, whose root is the image that containers have.

The image's folder, with scratch and binds mounted into it, is served to the guest by virtiofsd. The
guest has as many CPUs as its node, each bound to the node's of the same number, half of the
memory, and no network. The program's words reach it in a file, no shell reads them; its streams
come back through ports of their own, and its status in a file.

`kvm` runs where a guest was seen to boot by it, since there are machines that have /dev/kvm and
run no guest; `qemu-tcg` emulates every instruction, so it shows that the way to a guest and back
works and tells nothing of what a virtual machine costs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.runtimes import qemu_install
from parity.runtimes.model import HOSTS, KERNEL, Arm, Launch, Look

GUEST = Path(__file__).with_name("qemu_guest.sh").read_text(encoding="utf-8")
SERVER = Path("/usr/lib/qemu/virtiofsd")
_SETUP = "as root: make setup"


@dataclass(frozen=True)
class Qemu(Arm):
    """A guest by one accelerator: `kvm` or `tcg`, with the model of a CPU that it has."""

    name: str
    title: str
    runtime: str
    accelerator: str
    cpu_model: str
    image_format: str = "directory"
    root_filesystem: str = "virtiofs"
    look = Look("#117733", "D")
    isolates: tuple[str, ...] = (KERNEL,)
    packages = ("qemu-system-x86", "umoci", "util-linux")

    def probe(self) -> Availability:
        """Whether all of it is here; of KVM what the last try since the machine booted told."""
        if not is_installed("qemu-system-x86_64") or not SERVER.exists():
            remedy = "apt-get install qemu-system-x86"
            return Availability(False, reason="not installed", remedy=remedy)
        if not (release := qemu_install.guest_release()):
            return Availability(False, reason="no kernel for a guest", remedy=_SETUP)
        if os.getuid():
            return Availability(False, reason="needs root", remedy="run the study as root")
        if self.accelerator == "kvm" and (problem := qemu_install.problem_of_kvm()):
            return Availability(False, reason=problem, remedy=_SETUP)
        _, version = answer_of(["qemu-system-x86_64", "--version"])
        return Availability(True, version=f"{version.partition(' (')[0]}, guest {release}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        megabytes = psutil.virtual_memory().total // 2**21
        facts = (launch.state / launch.name, launch.name, launch.image.location, launch.scratch)
        guest = (launch.host, self.accelerator, self.cpu_model, cpus, megabytes)
        words = map(str, (*facts, *guest, qemu_install.PREFIX, HOSTS, *launch.binds))
        return ["unshare", "--mount", "/bin/sh", "-euc", GUEST, "guest", *words, "--", *inner]

    def cleanup(self, *launches: Launch) -> None:
        """End guests of these names; what serves their files ends with them."""
        names = {f"guest={launch.name},debug-threads=on" for launch in launches}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if names.intersection(process.cmdline()):
                    process.kill()

    def install(self) -> None:
        qemu_install.install()
        if self.accelerator == "kvm" and is_installed("qemu-system-x86_64"):
            qemu_install.try_kvm()


ARMS = (
    Qemu("kvm", "QEMU (KVM)", "qemu", "kvm", "host"),
    Qemu("qemu-tcg", "QEMU (emulated)", "qemu-tcg", "tcg", "max"),
)
