"""Link sets: the same arm with programs or an MPI that are the host's, not its image's.

Where native and container differ because their builds do (Torrez et al. 2019, section
IV-A), a link set tells which part of it is the build: with the native tree the program is
the same file on both sides.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.core.availability import Availability
from parity.core.spack_paths import PREFIX
from parity.runtimes.derived import Derived
from parity.runtimes.model import HOST_MPI, SHARED, Arm, Launch

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
    found = (path for folder, names in _MPI for name in names for path in folder.glob(name))
    return tuple(sorted(path for path in found if not path.is_symlink()))


_SHOWN = {SHARED: native_tree, HOST_MPI: host_mpi}
_ABSENT = {
    SHARED: Availability(False, reason="nothing was built natively", remedy="snakemake native"),
    HOST_MPI: Availability(False, reason="no MPI", remedy="apt-get install openmpi-bin"),
}


@dataclass(frozen=True)
class Linked(Derived):
    """A container arm that shows its programs something of the host's."""

    link_set: str

    def probe(self) -> Availability:
        """Whether the runtime is here, and what is to be shown."""
        presence = self.base.probe()
        return presence if not presence.available or self._shown() else _ABSENT[self.link_set]

    def _shown(self) -> tuple[Path, ...]:
        return _SHOWN[self.link_set]()

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return self.base.command(replace(launch, binds=(*launch.binds, *self._shown())), inner)


def linked(arms: Iterable[Arm]) -> list[Arm]:
    """Each arm that runs from an image, once with each link set but its own."""
    return [
        Linked(
            base=arm,
            name=f"{arm.name}-{suffix}",
            title=f"{arm.title} ({words})",
            link_set=link_set,
        )
        for arm in arms
        if arm.image_format
        for link_set, (suffix, words) in _SUFFIXES.items()
    ]
