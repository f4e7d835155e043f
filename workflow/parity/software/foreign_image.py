"""An image that somebody else made: read where it lies, and given what every run needs of one.

Nothing of the image is run and nothing is installed in it, so it may be of any distribution, or
hold one static program. A thin layer adds the marker, mount points and the hosts file.
"""

import hashlib
import os
import platform
import re
import stat
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from parity.core import files
from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.runtimes.apptainer import program as apptainer
from parity.runtimes.ladder import MACHINES
from parity.runtimes.model import HOSTS, MARKER, SCRATCH, manifest_digest
from parity.software.build import SOURCE_DATE_EPOCH, made
from parity.software.images import FOREIGN, TAG, ImageRecord, image_configuration

IN_STORE = re.compile(r"[A-Za-z0-9][\w./:-]*@(sha256:[0-9a-f]{64})")
ALLOWED = (
    "a SIF file, an archive of `docker save` or of an OCI layout, a folder that is an OCI layout,"
    " or <name>@sha256:<64 digits> of Docker's or Podman's store on this machine; of `--image` also"
    " its name:tag"
)
_TAGGED = re.compile(r"[A-Za-z0-9][\w./:-]*")
_WHERE = "image.from"
# What runtimes mount upon: some have a root that is read-only even for them.
FOLDERS = ("/dev/shm", "/proc", "/sys", str(SCRATCH))
FILES = ("/etc/group", "/etc/passwd", "/etc/resolv.conf")
# Neither an image nor its history says when we made it: the same one gives the same bytes.
_DAY = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(SOURCE_DATE_EPOCH)))
_AS_THEN = ("--history.created", _DAY, "--history.created_by", "parity")
# Ours are all the words that are run, by root of the container: an entry point would take them for
# its own, another user could not write where programs work, and no layer can add to a volume.
_CLEARED = [f"--clear=config.{key}" for key in ("entrypoint", "cmd", "volume")]
_NEITHER = (*_CLEARED, "--config.user=0:0")
_SIF_BEGIN, _SIF_MAGIC = 32, b"SIF_MAGIC"
# The line of its root file system, in what `apptainer sif list` says of it.
_SYSTEM = re.compile(r"\|(\d+)-\d+ *\|FS \(Squashfs/\*System/(\w+)\)")
# Programs that ask an image's store for its own id of an image; what skopeo has before the id.
_STORES = (("docker", "docker-daemon:sha256:"), ("podman", "containers-storage:@"))


class Foreign(NamedTuple):
    """A foreign image that is there."""

    digest: str  # `sha256:…` of the file, of a layout's manifest, or as a store's name has it
    source: str = ""  # how skopeo names it; empty for a SIF file, which skopeo does not read


def refuse_no_image(reference: str, where: str) -> None:
    """Refuse, by UserError, what is neither a file or folder here nor a digest in a store."""
    if not Path(reference).exists() and not IN_STORE.fullmatch(reference):
        # A tag may name another image tomorrow.
        known = with_digest(reference)
        action = f"name what it is today: {known}" if known != reference else ""
        what = f"there is no image {reference}"
        raise UserError(what, where=where, allowed=ALLOWED, action=action)


def with_digest(reference: str) -> str:
    """What `name` or `name:tag` is in a store of this machine, by its id; all else as it is."""
    may_be_named = _TAGGED.fullmatch(reference) and not Path(reference).exists()
    if may_be_named and (held := _held(reference)):
        name = re.sub(r":[\w.-]+$", "", reference)
        return f"{name}@sha256:{held[1]}"
    return reference


def _held(*names: str) -> tuple[str, str] | None:
    """Where skopeo finds an image that a store holds under one of these names, and its id."""
    for program, before in _STORES:
        for name in names:
            words = [program, "image", "inspect", "--format={{.Id}}", name]
            answered, identity = answer_of(words, seconds=60)
            if answered:
                return before, identity.removeprefix("sha256:")
    return None


def foreign_files(reference: str) -> list[str]:
    """The file that changes when an image at a path does; none for one of a store."""
    path = Path(reference)
    return [str(path / "index.json" if path.is_dir() else path)] if path.exists() else []


def find_foreign(reference: str) -> Foreign:
    """The image that a study names by a path or a digest; UserError if there is none to read."""
    path, named = Path(reference), IN_STORE.fullmatch(reference)
    if named and not path.exists():
        if not (held := _held(reference, named[1])):
            problem = f"no store on this machine has {reference}"
            action = "docker images --digests --no-trunc, or podman images --digests --no-trunc"
            raise UserError(problem, where=_WHERE, action=action)
        return Foreign(named[1], "".join(held))
    refuse_no_image(reference, _WHERE)
    if (path / "oci-layout").exists():
        try:
            return Foreign(manifest_digest(path), f"oci:{path}")
        except (OSError, ValueError, KeyError):
            action = "copy the one that is meant: skopeo copy oci:<layout>:<tag> oci:<new folder>"
            what = f"the OCI layout {path} does not hold one image"
            raise UserError(what, where=_WHERE, action=action) from None
    if path.is_file():
        digest = files.digest(path)
        with path.open("rb") as file:
            file.seek(_SIF_BEGIN)
            if file.read(len(_SIF_MAGIC)) == _SIF_MAGIC:
                return Foreign(digest)
        names = set[str]()
        with suppress(tarfile.TarError), tarfile.open(path) as archive:
            names = {name.removeprefix("./") for name in archive.getnames()}
        for kind, name in (("oci-archive", "oci-layout"), ("docker-archive", "manifest.json")):
            if name in names:
                return Foreign(digest, f"{kind}:{path}")
    raise UserError(f"{reference} is no image", where=_WHERE, allowed=ALLOWED)


def take_foreign(
    reference: str, hosts: Path, destination: Path, log: Path
) -> tuple[ImageRecord, ImageRecord]:
    """Leave a foreign image as an OCI image layout, tagged `parity`, with the thin layer on top.

    The same image gives the same layout, byte for byte; its /etc/hosts is a place for the host's
    own, with the text of `hosts`. UserError if it cannot be read, or is of another architecture.
    The records are of the foreign image, and of the layout, whose parent it is.
    """
    foreign = find_foreign(reference)
    text = "\0".join([foreign.digest, hosts.read_text("utf-8"), *FOLDERS, *FILES, *_NEITHER])
    recipe = hashlib.sha256(text.encode()).hexdigest()

    def take(part: Path) -> None:
        image = ["--image", f"{part}:{TAG}"]
        with tempfile.TemporaryDirectory(dir=destination.parent) as name:
            folder, bundle = Path(name), Path(name) / "bundle"
            if foreign.source:
                output_of(["skopeo", "copy", foreign.source, f"oci:{part}:{TAG}"], log=log)
            else:
                _convert_sif(reference, part, folder, log)
            ours = MACHINES.get(platform.machine(), platform.machine())
            theirs = image_configuration(part).get("architecture", ours)
            if theirs != ours:
                what = f"{reference} is an image for {theirs}, and this machine is {ours}"
                raise UserError(what, where=_WHERE)
            output_of(["umoci", "config", *_NEITHER, *_AS_THEN, *image], log=log)
            # The image is unpacked and added to, and the difference packed as its top layer.
            rootless = ["--rootless"] if os.getuid() else []
            output_of(["umoci", "unpack", *rootless, *image, bundle], log=log)
            _add(bundle / "rootfs", hosts.read_text(encoding="utf-8"), recipe)
            output_of(["umoci", "repack", *_AS_THEN, *image, bundle], log=log)
            output_of(["umoci", "gc", "--layout", part], log=log)

    empty = ImageRecord("oci", parent=FOREIGN, parent_digest=foreign.digest, recipe=recipe)
    layout = made(empty, take, destination, ("umoci", "--version"), None, digest=manifest_digest)
    return ImageRecord(FOREIGN, digest=foreign.digest, location=reference), layout


def _convert_sif(sif: str, layout: Path, folder: Path, log: Path) -> None:
    system = _SYSTEM.search(output_of([apptainer(), "sif", "list", sif], log=log))
    if not system:
        raise UserError(f"{sif} holds no SquashFS of a system", where=_WHERE)
    begin, architecture = system.groups()
    root, tar = folder / "root", folder / "root.tar"
    image = ["--image", f"{layout}:{TAG}"]
    sorted_tar = ["tar", "--sort=name", "--numeric-owner", "--owner=0", "--group=0", "--format=gnu"]
    # Of files that only root may read.
    readable: list[list[str | Path]] = [["chmod", "-R", "u+rX", root]] if os.getuid() else []
    steps: tuple[list[str | Path], ...] = (
        ["unsquashfs", "-o", begin, "-d", root, sif],
        *readable,
        [*sorted_tar, "-C", root, "-cf", tar, "."],
        ["umoci", "init", "--layout", layout],
        ["umoci", "new", *image],
        ["umoci", "config", "--created", _DAY, "--architecture", architecture, *_AS_THEN, *image],
        ["umoci", "raw", "add-layer", *_AS_THEN, *image, tar],
    )
    for step in steps:
        output_of(step, log=log)


def _add(root: Path, hosts: str, recipe: str) -> None:
    """What every run needs of an image, added to the unpacked one; its other files stay."""
    begun = time.time() - 1
    folders, points = ([_place(root, path) for path in paths] for paths in (FOLDERS, FILES))
    places = (*folders, *points, _place(root, str(HOSTS)), _place(root, MARKER))
    within = {above for place in places for above in place.parents if above.is_relative_to(root)}
    # In some images only root may write to /, and an ordinary user unpacks it as their own.
    shut = {above: stat.S_IMODE(above.stat().st_mode) for above in within
            if above.is_dir() and not os.access(above, os.W_OK)}  # fmt: skip
    for above, mode in shut.items():
        above.chmod(mode | stat.S_IWUSR)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    texts = {point: "" for point in points if not os.path.lexists(point)}
    texts |= {_place(root, str(HOSTS)): hosts, _place(root, MARKER): f"{recipe}\n"}
    for place, text in texts.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_text(text, encoding="utf-8")
    new = {above for place in (*folders, *texts) for above in (place, *place.parents)}
    for place in new:
        if place.is_relative_to(root) and place.stat().st_mtime > begun:
            os.utime(place, (int(SOURCE_DATE_EPOCH),) * 2)
    for above, mode in shut.items():
        above.chmod(mode)


def _place(root: Path, path: str) -> Path:
    """Where a path of the image is in the unpacked one; UserError if a link is on the way."""
    place = root / path.removeprefix("/")
    for above in reversed(place.relative_to(root).parents[:-1]):
        if (root / above).is_symlink():
            problem = f"/{above} is a link in the image, and {path} has to be made below it"
            raise UserError(problem, where=_WHERE, action="make it a folder in the image")
    return place
