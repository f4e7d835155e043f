"""Arms made of others: with something of the host's, with something changed, or given."""

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.core.commands import Availability
from parity.core.spack_paths import PREFIX
from parity.runtimes.model import HOST_MPI, SHARED, Arm, Launch, absent
from parity.runtimes.native import Native


def of_base(name: str) -> Any:
    """An attribute that is the one of `base`."""
    return property(lambda self: getattr(self.base, name))


@dataclass(frozen=True)
class Derived(Arm):
    """The arm `base` under another name and title."""

    base: Arm
    name: str
    title: str

    runtime, isolates, lasting = of_base("runtime"), of_base("isolates"), of_base("lasting")
    image_format, root_filesystem = of_base("image_format"), of_base("root_filesystem")
    probe, command, limit_words = of_base("probe"), of_base("command"), of_base("limit_words")
    digest, size, cleanup = of_base("digest"), of_base("size"), of_base("cleanup")


_LIBRARIES = Path("/usr/lib") / f"{platform.machine()}-linux-gnu"
# Open MPI as Debian installs it: launcher, libraries and plugins. Names without a version
# are symbolic links, in the image as well, so the files that they end in are shown.
_MPI = (
    (Path("/usr/bin"), ("orterun", "orted")),
    (Path("/usr/share"), ("openmpi",)),
    (_LIBRARIES, ("openmpi", "libmpi*.so.*", "libopen-rte.so.*", "libopen-pal.so.*")),
)
_SUFFIXES = {SHARED: ("shared-tree", "native tree"), HOST_MPI: ("host-mpi", "host MPI")}


def native_tree() -> tuple[Path, ...]:
    """What Spack installed on the host: the prefix, with every toolchain's tree and view."""
    return (PREFIX,) if any(PREFIX.glob("*/view")) else ()


def host_mpi() -> tuple[Path, ...]:
    """The files and folders of the host's Open MPI, sorted."""
    paths = (path for folder, names in _MPI for name in names for path in folder.glob(name))
    return tuple(sorted(path for path in paths if not path.is_symlink()))


_SHOWN = {SHARED: native_tree, HOST_MPI: host_mpi}
_ABSENT = {
    SHARED: absent("nothing was built natively", "snakemake native"),
    HOST_MPI: absent("no MPI", "apt-get install openmpi-bin"),
}


@dataclass(frozen=True)
class Linked(Derived):
    """A container arm that shows its programs something of the host's."""

    link_set: str

    def probe(self) -> Availability:
        presence: Availability = self.base.probe()
        if presence.available and not _SHOWN[self.link_set]():
            return _ABSENT[self.link_set]
        return presence

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        binds = (*launch.binds, *_SHOWN[self.link_set]())
        return self.base.command(replace(launch, binds=binds), inner)


def linked(arms: Iterable[Arm]) -> list[Arm]:
    """Each arm that runs from an image, once with each link set but its own."""
    return [
        Linked(arm, f"{arm.name}-{suffix}", f"{arm.title} ({words})", link_set)
        for arm in arms
        if arm.image_format
        for link_set, (suffix, words) in _SUFFIXES.items()
    ]


class Given(Native):
    """A rung of a ladder; what it runs is the program's words in the plan, whatever they start."""


def derived(name: str, arms: Mapping[str, Arm]) -> Arm | None:
    """The rung that a study gives, of `step-1` to `step-99`; None if it is another name."""
    return Given(name, name) if re.fullmatch(r"step-[1-9][0-9]?", name) else None
