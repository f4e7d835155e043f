"""The digest chain: images.json and each format's own record, and where images lie."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from parity.benchmarks.model import Benchmark
from parity.core import documents
from parity.core.documents import Document, Format, read_document, said_from_2_on, write_document
from parity.core.errors import UserError
from parity.runtimes import arms
from parity.runtimes.model import Arm, manifest_digest

TAG = "parity"
FOREIGN = "foreign"  # made by somebody else, in the digest chain: there is no base of ours then
IMAGES = "images.json"  # the records of all formats, by format


class ImageRecord(Document, frozen=True, kw_only=False):
    """One format of the image: the columns of the images table, and where it is."""

    format: str  # base or foreign, oci, directory, squashfs, sif, docker, podman
    digest: str = ""  # `sha256:…` of the content; as location, empty if it could not be made
    parent: str = ""  # format that it was made from; empty for the base and for a foreign image
    parent_digest: str = ""
    bytes: int | None = None  # its size on disk, or what the image store says
    seconds: float | None = None  # that making it took
    tool: str = ""  # program and version that made it; `reason`, why it could not be made here
    reason: str = ""
    location: str = ""  # absolute path, or id in an image store; empty in a dataset, of no machine
    recipe: str = ""  # SHA-256 of Dockerfile, base and packages, as in the image's marker file


class Images(Document, frozen=True):
    """The content of images.json."""

    version: int
    formats: dict[str, ImageRecord]


# The first was the records alone.
_FORMAT = Format(Images, (lambda content: {"formats": content},), said_from_2_on)


def read_images(path: Path | str) -> dict[str, ImageRecord]:
    """The records by format, from images.json of this or of the older shape; or UserError."""
    formats = _FORMAT.read(Path(path)).formats
    for name, record in formats.items():
        if record.format != name:
            problem = f"these are no records of images: the record of {name} is another one"
            raise UserError(problem, where=str(path), action=documents.RESTORE)
    return formats


def write_images(path: Path | str, formats: Mapping[str, ImageRecord]) -> None:
    """Write images.json whole or not at all."""
    write_document(Path(path), Images(version=2, formats=dict(formats)))


def without_location(formats: Mapping[str, ImageRecord]) -> dict[str, ImageRecord]:
    """The records without their place on this machine, as a dataset has them."""
    return {name: msgspec.structs.replace(record, location="") for name, record in formats.items()}


def remove(path: Path) -> None:
    """Remove a file or directory; it may be absent."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def publish(part: Path, final: Path) -> None:
    """Give a finished file or directory its name, in place of what had it before."""
    remove(final)
    part.rename(final)


def place_of(record: Path, folder: str | None, name: str) -> Path:
    """Where the image of that name goes: into the site's folder, or beside its record."""
    (place := Path(folder) if folder else record.parent).mkdir(parents=True, exist_ok=True)
    return place.resolve() / name


def line_of(record: ImageRecord) -> str:
    """A record as a line for a terminal."""
    size = "" if record.bytes is None else f"{record.bytes / 1e6:8.1f} MB"
    duration = "" if record.seconds is None else f"{record.seconds:6.1f} s"
    what = record.reason or f"{size}  {duration}"
    return f"{record.format:<10} {record.digest[:19]:<19}  {what}".rstrip()


def forget_failures(folder: Path) -> list[str]:
    """Remove the records of what could not be made, so that it is tried again; their formats."""
    again = []
    for path in sorted(folder.glob("*.json")):
        if path.stem != "images" and read_document(path, ImageRecord).reason:
            path.unlink()
            again.append(path.stem)
    return again


def config_digest(oci: Path) -> str:
    """Digest of the image's configuration, which image stores use as its id."""
    return str(_blob(oci, manifest_digest(oci))["config"]["digest"])


def image_configuration(oci: Path) -> Any:
    """The configuration of the one image of a layout, as its own JSON has it."""
    return _blob(oci, config_digest(oci))


def _blob(oci: Path, digest: str) -> Any:
    return json.loads((oci / "blobs" / digest.replace(":", os.sep)).read_text())


ROOT = "results/images"  # of the distribution's programs
RECORDS = "records-"  # begins the name of the folder of a study's records


@dataclass(frozen=True)
class NeededImage:
    """The image of a study at one scale."""

    base: str  # the base image as the system's file has it: `bootstrap`, or by its digest
    packages: tuple[str, ...]  # Debian's of the study's benchmarks; none for a foreign image
    formats: tuple[str, ...]  # that the study's arms run from; without any, no image is made
    sources: tuple[str, ...] = ()  # names of the sources that are compiled for it
    foreign: str = ""  # one that somebody else made, as the study names it; empty for one of ours

    @property
    def chain(self) -> tuple[str, ...]:
        """All formats to make, each after what it is made from."""
        if not self.formats:
            return ()
        parents = {maker_of(name).made_from for name in self.formats}
        own = [name for name in self.formats if name != "directory"]
        unpacked = ["directory"] if "directory" in parents.union(self.formats) else []
        return (FOREIGN if self.foreign else "base", "oci", *unpacked, *own)

    def base_in(self, root: str) -> str:
        """The folder of the base, which all images on it share: `bootstrap`, or its digest's."""
        return f"{root}/{self.base.rpartition(':')[2][:12]}"

    def image_in(self, root: str) -> str:
        """The folder of the image in all its formats. No package's name has an underscore."""
        if self.foreign:
            return f"{root}/{FOREIGN}-{hashlib.sha256(self.foreign.encode()).hexdigest()[:12]}"
        return f"{self.base_in(root)}/{'_'.join(self.packages + self.sources) or 'no-packages'}"

    def records_in(self, root: str) -> str:
        """The folder of what is gathered of the needed formats, which no other study writes."""
        folder = f"{self.image_in(root)}/{RECORDS}{'-'.join(self.formats)}"
        return folder if self.formats else f"{root}/no-image"


def needed_image(
    base: str, used: Iterable[Benchmark], chosen: Iterable[Arm], foreign: str = ""
) -> NeededImage:
    """What benchmarks in arms need, on a base as the system's file has it or of a foreign one."""
    used = tuple(used)
    packages = {name for benchmark in used for name in benchmark.packages if not foreign}
    sources = {name for benchmark in used for name in benchmark.sources}
    formats = {arm.image_format for arm in chosen if arm.image_format}
    first, then, last = (tuple(sorted(each)) for each in (packages, formats, sources))
    return NeededImage(base, first, then, last, foreign)


def maker_of(image_format: str) -> Arm:
    """The arm that makes a format: the first of those that run from it."""
    return next(arm for arm in arms().values() if arm.image_format == image_format)
