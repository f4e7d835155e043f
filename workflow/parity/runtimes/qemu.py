"""QEMU: a guest with a kernel of its own, whose root is the image that containers have.

The image's folder, with scratch and binds mounted into it, is served to the guest by virtiofsd. The
guest has as many CPUs as its node, each bound to the node's of the same number, half of the
memory, and no network. The program's words reach it in a file, no shell reads them; its streams
come back through ports of their own, and its status in a file.

`kvm` runs where a guest was seen to boot by it, since there are machines that have /dev/kvm and
run no guest; `qemu-tcg` emulates every instruction, so it shows that the way to a guest and back
works and tells nothing of what a virtual machine costs.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.runtimes.model import BOOT_ID, HOSTS, Launch, Named, absent, arms_of, no_root

PREFIX = Path("/opt/parity/qemu")
INIT = Path(__file__).with_name("qemu_init.sh")
GUEST = Path(__file__).with_name("qemu_guest.sh").read_text(encoding="utf-8")
SERVER = Path("/usr/lib/qemu/virtiofsd")
KVM = Path("/dev/kvm")
LONGEST_BOOT_SECONDS = 20
# In the order in which they are loaded.
_MODULES = (
    "drivers/virtio/virtio_ring", "drivers/virtio/virtio", "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev", "drivers/virtio/virtio_pci",
    "drivers/char/virtio_console", "fs/fuse/fuse", "fs/fuse/virtiofs",
)  # fmt: skip
_FOLDERS = ("bin", "dev", "guest", "modules", "proc", "root")
_FOLDER, _PROGRAM = 0o40755, 0o100755
_SETUP = "as root: make setup"


def install() -> None:
    """Put kernel and first file system into `PREFIX` (root only), or raise UserError."""
    PREFIX.mkdir(parents=True, exist_ok=True)
    if guest_release() and (PREFIX / "init").read_bytes() == INIT.read_bytes():
        return
    depends = output_of(["apt-cache", "depends", "linux-image-cloud-amd64"])
    if not (match := re.search(r"Depends: (linux-image-(\S+))", depends)):
        raise UserError(f"Debian's kernel for guests is not to be had: {depends}", where="apt")
    kernel, release = match.groups()
    with tempfile.TemporaryDirectory(dir=PREFIX) as name:
        words = ["apt-get", "-oAPT::Sandbox::User=root", "download", kernel, "busybox-static"]
        output_of(["env", f"--chdir={name}", *words])
        for package in Path(name).glob("*.deb"):
            output_of(["dpkg-deb", "-x", package, name])
        drivers = Path(name, "lib/modules", release, "kernel")
        files = [(folder, _FOLDER, b"") for folder in _FOLDERS]
        programs = {"bin/busybox": Path(name, "bin/busybox"), "init": INIT}
        programs |= {f"modules/{n}.ko": drivers / f"{m}.ko" for n, m in enumerate(_MODULES)}
        files += [(place, _PROGRAM, file.read_bytes()) for place, file in programs.items()]
        (PREFIX / "initrd").write_bytes(archive(files))
        Path(name, "boot", f"vmlinuz-{release}").replace(PREFIX / "vmlinuz")
    (PREFIX / "init").write_bytes(INIT.read_bytes())
    (PREFIX / "release").write_text(release, encoding="utf-8")


def archive(files: Sequence[tuple[str, int, bytes]]) -> bytes:
    """A cpio archive as kernels read it (`newc`): path, mode and content of each file."""
    parts = bytearray()
    for number, (path, mode, content) in enumerate((*files, ("TRAILER!!!", 0, b"")), start=1):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        for part in (header, content):
            parts += part + bytes(-len(part) % 4)
    return bytes(parts)


def guest_release() -> str:
    """The release of the guest's kernel; empty where none is installed."""
    return file.read_text(encoding="utf-8") if (file := PREFIX / "release").exists() else ""


def try_kvm() -> None:
    """Boot a guest by KVM and write down what became of it, once since this machine booted."""
    if _answer() or not KVM.exists():
        return
    machine = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "512"]
    machine += ["-machine", "q35,accel=kvm", "-cpu", "host", "-serial", "stdio"]
    machine += ["-kernel", f"{PREFIX}/vmlinuz", "-initrd", f"{PREFIX}/initrd"]
    machine += ["-append", "console=ttyS0 quiet panic=-1 try"]
    limit = ["timeout", "--kill-after=5", str(LONGEST_BOOT_SECONDS)]
    try:
        output = output_of([*limit, "qemu-system-x86_64", *machine])
    except UserError as error:
        # Behind the line that has the command.
        output = error.what.partition("\n")[2]
    # That we ended it is no word of the guest's.
    told = [line for line in output.strip().splitlines() if "terminating on signal" not in line]
    said = next(iter(told), f"no word of it in {LONGEST_BOOT_SECONDS} s")
    why = "" if "a guest is up" in output else f"KVM does not run a stock guest here: {said}"
    (PREFIX / "kvm").write_text(f"{BOOT_ID.read_text().strip()}\n{why}\n", encoding="utf-8")


def problem_of_kvm() -> str:
    """Why no guest runs by KVM here; empty if one did since this machine booted."""
    if not KVM.exists():
        return "no /dev/kvm"
    answer = _answer()
    return answer[1] if answer else "no guest was tried by KVM since this machine booted"


def _answer() -> list[str]:
    """The id of this boot and what was written down in it; nothing if nothing was."""
    file = PREFIX / "kvm"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return lines if lines[:1] == [BOOT_ID.read_text().strip()] else []


@dataclass(frozen=True)
class Qemu(Named):
    """A guest by one accelerator: `kvm` or `tcg`, with the model of a CPU that it has."""

    runtime: str
    accelerator: str
    cpu_model: str

    def probe(self) -> Availability:
        if not is_installed("qemu-system-x86_64") or not SERVER.exists():
            return absent("not installed", "apt-get install qemu-system-x86")
        if not (release := guest_release()):
            return absent("no kernel for a guest", _SETUP)
        if missing := no_root():
            return missing
        if self.accelerator == "kvm" and (problem := problem_of_kvm()):
            return absent(problem, _SETUP)
        _, version = answer_of(["qemu-system-x86_64", "--version"])
        return Availability(True, version=f"{version.partition(' (')[0]}, guest {release}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        megabytes = psutil.virtual_memory().total // 2**21
        facts = (launch.state / launch.name, launch.name, launch.location, launch.scratch)
        guest = (launch.host, self.accelerator, self.cpu_model, cpus, megabytes)
        words = map(str, (*facts, *guest, PREFIX, HOSTS, *launch.binds))
        return ["unshare", "--mount", "/bin/sh", "-euc", GUEST, "guest", *words, "--", *inner]

    def cleanup(self, *launches: Launch) -> None:
        """End guests of these names; what serves their files ends with them."""
        names = {f"guest={launch.name},debug-threads=on" for launch in launches}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if names.intersection(process.cmdline()):
                    process.kill()

    def install(self) -> None:
        install()
        if self.accelerator == "kvm" and is_installed("qemu-system-x86_64"):
            try_kvm()


ARMS = arms_of(Qemu)
