"""The namespace ladder: the program under one more mechanism of a container at each step.

A container engine is a sum of mechanisms of the kernel. Here they are added one by one, so
that a cost can be laid at the door of one of them: a step is compared with the step before.
Bubblewrap does most of it; the first step's difference to the bare program is a control
group, the second one's is bubblewrap itself, which always makes a mount namespace and sets
"no new privileges" (engines do so on request only). It keeps all capabilities of its caller.

Control groups and namespaces without a user namespace belong to root. So an ordinary user
has the steps from `+user` on, and those only where its control group is delegated to it.
"""

from __future__ import annotations

import os
import platform
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.core.fuse import no_fuse
from parity.runtimes.ladder_seccomp import no_profile, write_filter
from parity.runtimes.limits import (
    CONTROL_GROUPS,
    CpuLimit,
    control_group_version,
    control_group_words,
)
from parity.runtimes.model import HOSTS, SCRATCH, Arm, Launch, Look
from parity.runtimes.mounts import mounted
from parity.runtimes.namespaces import no_user_namespaces

_LONGEST_END_SECONDS = 5
_TRIES = 3

# Runs the words in a control group of their own, in every hierarchy that there is, as an
# engine does: below the caller's group in those of version 1 (where a new cpuset is
# empty), beside it in version 2, where a group that has processes hands no controller
# down. Words such as cpu.shares=512 in front of the others are what to write into the files of
# these groups. The outer shell ($$) stays where it is, and removes the groups after the program.
CONTROL_GROUP = Path(__file__).with_name("ladder_control_group.sh").read_text(encoding="utf-8")

# Bubblewrap reads the filter from an open file.
FILTERED = """
filter=$1
shift
exec "$@" 9< "$filter"
"""


class Mechanism(NamedTuple):
    """One mechanism: the namespace that it makes, bubblewrap's words for it, Debian packages."""

    namespace: str = ""
    words: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


# In the order in which they are added. A network namespace's loopback, over which mpirun
# finds its ranks, bubblewrap brings up.
MECHANISMS = {
    "cgroup": Mechanism(),
    "mount": Mechanism("mnt", packages=("bubblewrap",)),
    "pid": Mechanism("pid", ("--unshare-pid", "--proc", "/proc")),
    "ipc": Mechanism("ipc", ("--unshare-ipc",)),
    "user": Mechanism("user", ("--unshare-user",)),
    "net": Mechanism("net", ("--unshare-net",)),
    "seccomp": Mechanism(
        "", ("--seccomp", "9"), ("golang-github-containers-common", "libseccomp2")
    ),
    "squashfs": Mechanism(packages=("squashfs-tools", "squashfuse", "umoci", "util-linux")),
}


@dataclass(frozen=True)
class Step(Arm):
    """The ladder up to one step.

    Attributes:
        mechanisms: what is on, in the order of `MECHANISMS`; the step is named after the last.
    """

    name: str
    title: str
    mechanisms: tuple[str, ...]
    image_format: str | None = None
    root_filesystem: str = ""
    runtime: str = "ladder"
    look = Look("#882255", ">")
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(filter(None, (MECHANISMS[each].namespace for each in self.mechanisms)))

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for each in self.mechanisms for name in MECHANISMS[each].packages)

    def probe(self) -> Availability:
        if missing := _missing(self.mechanisms):
            return missing
        # The image is the run's own; everything else is tried.
        tried = [each for each in self.mechanisms if each != "squashfs"]
        with tempfile.TemporaryDirectory() as state:
            launch = Launch(f"parity-probe-{os.getpid()}-{self.name}", None, SCRATCH, Path(state))
            started, said = self._started(launch, [*_words(tried, launch), "true"])
            if not started:
                remedy = "as root on the node itself, or in a control group delegated to you"
                return Availability(False, reason=f"cannot start: {said}", remedy=remedy)
        if "mount" in self.mechanisms:
            return Availability(True, version=answer_of(["bwrap", "--version"])[1])
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return [*_words(self.mechanisms, launch), *inner]

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        return control_group_words(limit, control_group_version())

    def _started(self, launch: Launch, words: Sequence[str]) -> tuple[bool, str]:
        """Whether the words ran, and what they said; asked anew where a mount may have gone.

        Bubblewrap reads the table of mounts and then goes through them, and fails if another
        container ends in between and takes its own away.
        """
        for _ in range(_TRIES):
            started, said = answer_of(words)
            if started:
                break
            self.cleanup(launch)
        return started, said

    def cleanup(self, *launches: Launch) -> None:
        """End what is left in the run's control groups, and remove them."""
        names = {launch.name for launch in launches}
        for folder, below, _ in os.walk(CONTROL_GROUPS):
            for name in names.intersection(below):
                _remove(Path(folder, name))


def _missing(mechanisms: Sequence[str]) -> Availability | None:
    """What of the mechanisms' programs, files or rights is not here; None if nothing is."""
    if "mount" in mechanisms:
        if not is_installed("bwrap"):
            return Availability(False, reason="not installed", remedy="apt-get install bubblewrap")
        if os.getuid() and "user" not in mechanisms:
            remedy = "run the study as root: an ordinary user's needs a user namespace as well"
            return Availability(False, reason="needs root", remedy=remedy)
        if os.getuid() and (missing := no_user_namespaces()):
            return missing
    if "seccomp" in mechanisms and (missing := no_profile()):
        return missing
    if "squashfs" in mechanisms:
        if not is_installed("squashfuse_ll"):
            return Availability(False, reason="no squashfuse", remedy="apt-get install squashfuse")
        return no_fuse()
    return None


def _words(mechanisms: Sequence[str], launch: Launch) -> list[str]:
    """The words in front of the program's own that turn the mechanisms on."""
    words = ["/bin/sh", "-euc", CONTROL_GROUP, "control-group", launch.name, *launch.limits]
    root = ["--dev-bind", "/", "/"]
    if "squashfs" in mechanisms:
        mount, root = _mounted(launch)
        words += mount
    if "seccomp" in mechanisms:
        file = launch.state / "seccomp.bpf"
        write_filter(file)
        words += ["/bin/sh", "-euc", FILTERED, "filtered", str(file)]
    if "mount" in mechanisms:
        words += ["bwrap", *root]
    return words + [word for each in mechanisms for word in MECHANISMS[each].words]


def _mounted(launch: Launch) -> tuple[list[str], list[str]]:
    """The words that mount the image, and bubblewrap's that make it the root."""
    assert launch.image is not None
    point = launch.state / "mount"
    # Only root may mount without a user namespace to do it in.
    rights = ["--map-root-user"] if os.getuid() else []
    root = ["--ro-bind", str(point), "/", "--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys"]
    root += ["--bind", str(launch.scratch), str(launch.scratch)]
    for path in (HOSTS, *launch.binds):
        root += ["--ro-bind", str(path), str(path)]
    words = mounted("squashfuse_ll", launch.image.location, point)
    return ["unshare", *rights, "--mount", *words], root


def _remove(group: Path) -> None:
    """Kill a control group's processes, and remove it as soon as the kernel lets go of it."""
    deadline = time.monotonic() + _LONGEST_END_SECONDS
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            # Number 0 is a process that we do not see, and would be ourselves to kill().
            for number in set((group / "cgroup.procs").read_text().split()) - {"0"}:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(number), signal.SIGKILL)
            group.rmdir()
        time.sleep(0.01)


def _steps() -> Iterator[Step]:
    for last, name in enumerate(MECHANISMS, start=1):
        image = ("squashfs", "fuse") if name == "squashfs" else (None, "")
        yield Step(f"ladder-{name}", f"+{name}", tuple(MECHANISMS)[:last], *image)


ARMS = tuple(_steps())
