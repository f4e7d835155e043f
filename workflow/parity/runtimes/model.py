"""What every runtime provides: an `Arm` for each of its variants."""

import hashlib
import json
import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from parity.core import files
from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.runtimes.limits import NO_LIMIT, CpuLimit

# Where a run works, outside and inside of every container: the working directory is the same path
# in all arms, because a path's length alone can shift a timing (Mytkowicz et al., ASPLOS 2009).
SCRATCH = Path("/tmp/parity")
# The file in the image by which a process knows that it is inside of it.
MARKER = "/etc/parity-image"
# The host's own file, seen in every container: a program that looks up its host's name
# (mpirun does) must not wait for a name server in one arm and not in the other.
HOSTS = Path("/etc/hosts")
# Whose programs and libraries an arm runs: those of its image, the host's build of the
# benchmarks, or those of its image with the host's MPI.
OWN, SHARED, HOST_MPI = LINK_SETS = ("own", "shared", "host-mpi")
# Where an arm puts the ranks of an allocation: all on one node, one on each of as many nodes as
# ranks, or on any CPU; most put them where their case says.
PACKED, SPREAD, UNBOUND = "packed", "spread", "unbound"
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# What stands for the kernel among them, and the number that it gives itself when it boots.
KERNEL = "kernel"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Image:
    """The one image in a runtime's format, by absolute path or id in a store, and `Arm.digest`."""

    format: str
    location: str
    digest: str


@dataclass(frozen=True)
class Launch:
    """The facts a command line is made from."""

    # Of a program with ranks there is a container for each; then `name` and `host` hold what is
    # filled in on the node, and the words that hold them are all that differs between ranks.
    name: str  # unique name of this run, `[a-z0-9.@-]+`; names the container where there is one
    image: Image | None  # the image in the arm's format; None for arms outside of any container
    scratch: Path  # directory of the run, bound read-write at the same path inside
    # For the runtime's own files, such as an LXC configuration; it exists when `command` is called,
    # and is the run's own, shared by its ranks and seen by all nodes.
    state: Path
    host: str = field(default_factory=platform.node)  # the node's name, if a runtime has to be told
    # Files and folders of the host that a container shows at the same path, where the image has
    # something already. Read-only, as far as the runtime can.
    binds: tuple[Path, ...] = ()
    cpus: tuple[int, ...] = ()  # the program's; none where nothing is timed, and so nothing limited
    limits: tuple[str, ...] = ()  # the runtime's own words for a limit, of `Arm.limit_words`
    address: str = ""  # IPv4 address at which a server is to answer; empty for all other programs

    @property
    def location(self) -> str:
        """Where the image is, of an arm that runs from one."""
        assert self.image is not None
        return self.image.location

    def beside(self, name: str) -> "Launch":
        """The launch of something beside the program, with a directory of its own."""
        return replace(self, name=f"{self.name}-{name}", state=self.state / name)


class Cpus(NamedTuple):
    """Where a program and what runs beside it are bound; nothing beside it has none."""

    program: tuple[int, ...]
    neighbour: tuple[int, ...] = ()


class Look(NamedTuple):
    """How a runtime is drawn in every figure: its colour, and matplotlib's sign of its marker."""

    colour: str
    marker: str


def name_in(folder: Path) -> str:
    """A container's name that nothing else on a node has: of this process, working in a folder."""
    # Engines keep one list of names for all clones on a node, and a dead runner's number returns.
    digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
    return f"parity-{os.getpid()}-{digest[:8]}"


def manifest_digest(oci: Path | str) -> str:
    """Digest of the one manifest of an OCI image layout: the head of the chain."""
    (entry,) = json.loads(Path(oci, "index.json").read_text())["manifests"]
    return str(entry["digest"])


def store_name(oci: Path) -> str:
    """What an image store calls the image of a layout: `parity:` and digits of its digest."""
    # All clones on a node share the node's stores, and each may build another image.
    return f"parity:{manifest_digest(oci).partition(':')[2][:16]}"


def absent(reason: str, remedy: str = "") -> Availability:
    """It cannot be used here: why, and what the user can do about it."""
    return Availability(False, reason=reason, remedy=remedy)


def no_root() -> Availability | None:
    """Why what needs root cannot be here; None for root."""
    return absent("needs root", "run the study as root") if os.getuid() else None


def probed(
    program: str, remedy: str, *problems: Callable[[], Availability | None], called: str = ""
) -> Availability:
    """Whether a program is installed, and no problem there; `called` goes before its version."""
    if not is_installed(program):
        return absent("not installed", remedy)
    if problem := next(filter(None, (look() for look in problems)), None):
        return problem
    version = answer_of([program, "--version"])[1].removeprefix(f"{program} from ")
    return Availability(True, version=f"{called}{version}")


def _fixed(said: Any) -> Any:
    """What YAML says, with tuples for its lists."""
    if isinstance(said, dict):
        return {key: _fixed(value) for key, value in said.items()}
    return tuple(map(_fixed, said)) if isinstance(said, list) else said


_DESCRIBED = _fixed(msgspec.yaml.decode(Path(__file__).with_name("arms.yaml").read_bytes()))


class Arm(ABC):
    """One runtime in one variant.

    A module of this package exports its arms as `ARMS: tuple[Arm, ...]`; that is all it takes to
    add a runtime. What is data of a class here, and of its arms, stands in arms.yaml, by its name.
    """

    name: str  # the arm's name in studies, `[a-z0-9-]+`
    runtime: str  # the runtime's name; arms of one runtime share it (and a colour family)
    title: str  # how figures and tables call it
    look: ClassVar[Look | None] = None  # of its runtime; else one is chosen by the runtime's name
    image_format: str | None = None  # the format it runs from; None outside of any container
    packages: ClassVar[tuple[str, ...]] = ()  # Debian packages that provide it
    made_from: ClassVar[str] = "oci"  # what `convert` reads: `oci` (the layout) or `directory`
    # Prints the version of the program that makes the format: a line for the table of images.
    converter: ClassVar[tuple[str, ...]] = ()
    # Type of the root file system that a run must see, where the format decides it (a SquashFS that
    # was silently unpacked is another type).
    root_filesystem: str = ""
    # Namespaces that must differ from the runner's own in every run; all others of `mnt` and `pid`
    # must not (`native` isolates none). `KERNEL` alone where programs run on another one: its
    # namespaces' numbers tell nothing here.
    isolates: tuple[str, ...] = ()
    link_set: str = OWN  # whose build the measured programs are, one of `LINK_SETS`
    is_native: ClassVar[bool] = False  # the plain program, which may be one of an A/A pair
    # May be one where the image is foreign and there is no native build: the same bytes as in every
    # container, and never called native.
    stands_in: ClassVar[bool] = False
    does_more: ClassVar[bool] = False  # is given more work than others: a study's positive control
    placement: str = ""  # of its ranks: `packed`, `spread` or `unbound`; empty: as the case has it
    lasting: tuple[str, ...] = ()  # names of processes that it keeps from one run to the next
    # The words that end what a killed run left, with {name} and {state} of its launch.
    ended_by: ClassVar[tuple[str, ...]] = ()
    limit: CpuLimit = NO_LIMIT  # of the CPU time that a program has in it
    # Something else than its runtime as a site offers it: a step of a ladder, a layer or a network
    # of its own, one mount alone.
    variant: ClassVar[bool] = False
    # A container gets the network that its command is started in; not where a daemon starts it.
    inherits_network: ClassVar[bool] = True
    arms: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)  # what each of the class is given

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for attribute, said in _DESCRIBED.get(cls.__name__, {}).items():
            setattr(cls, attribute, Look(*said) if attribute == "look" else said)

    @abstractmethod
    def probe(self) -> Availability:
        """Whether this arm can run here, now, with these privileges; cheap (< 0.5 s)."""

    @abstractmethod
    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        """The exact command line that runs `inner` (a list of words) in this arm.

        Nothing of it goes through a shell. The container has no network of its own making, sees
        `launch.scratch` read-write, and its root read-only where the runtime can. `inner` sets
        environment, directory and CPUs, in all arms alike. May write files into `launch.state`.
        """

    @property
    def is_plain(self) -> bool:
        """Whether it is a runtime as a site offers it, with programs of the image."""
        return not (self.is_native or self.variant) and self.link_set == OWN

    @property
    def unlimited(self) -> "Arm":
        """The same arm without what an extension adds to it: a limit, a network."""
        return self

    def in_the_way(self) -> Availability | None:
        """Why it cannot be had here though `unlimited` can; None if it can."""
        return None

    def refusal(self, ranks: int, containers: int) -> str:
        """Why no program of so many ranks and containers of several can be in it; empty if any."""
        return ""

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        """The words by which `command` sets a limit (`Launch.limits`); None: it cannot."""
        return None

    def placed(self, asked: tuple[int, ...], node: tuple[int, ...]) -> Cpus:
        """The CPUs of a run, of those its program asks for and all of the node; or UserError."""
        return Cpus(asked)

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        """Make the arm's image format; return the image's location (`Image.location`).

        `oci`: an OCI image layout with the one image, tagged `parity`. `rootfs`: that one unpacked,
        which is the format `directory`. `destination`: path that it may take; stores ignore it.
        """
        if self.image_format == "directory":
            return str(rootfs)
        if self.image_format == "squashfs":
            output_of(["mksquashfs", rootfs, destination, "-noappend", "-no-progress"])
            return str(destination)
        raise TypeError(f"{self.name} runs from no image")

    def digest(self, location: str) -> str:
        """`sha256:…` of what is at `location` now, or an image's id in its store; empty if gone."""
        return files.digest(path) if (path := Path(location)).exists() else ""

    def size(self, location: str) -> int:
        """Bytes that the image takes on disk, or what the image store says of it."""
        return files.size_on_disk(Path(location))

    def cleanup(self, *launches: Launch) -> None:
        """Remove what a killed run may have left behind (a container, a mount); never raises."""
        # There is one for each rank, and engines end thousands by one command, not one by one.
        for launch in launches if self.ended_by else ():
            answer_of([w.format(name=launch.name, state=launch.state) for w in self.ended_by])

    def install(self) -> None:
        """Install what `packages` cannot (root only); most runtimes need nothing here."""

    def start_service(self) -> None:
        """Start a daemon the runtime needs (root only, no service manager); most need none."""


@dataclass(frozen=True)
class Named(Arm):
    """An arm of a class that has more than one."""

    name: str
    title: str


def arms_of(*kinds: Any) -> tuple[Arm, ...]:
    """The arms of these classes, with what arms.yaml gives each."""
    return tuple(kind(**given) for kind in kinds for given in kind.arms)
