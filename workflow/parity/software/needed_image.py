"""What a study needs of an image: its programs, the formats that its arms run from, its place.

An image lies in a folder of its own contents, so studies that need the same one share it and
no study overwrites another's. The place follows from names alone: every node finds the same
one, and a package that is installed or upgraded on a machine moves nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from parity.benchmarks.model import Benchmark
from parity.runtimes import arms
from parity.runtimes.model import Arm
from parity.software.images import FOREIGN

# Where the images of the distribution's programs are.
ROOT = "results/images"
NO_PACKAGES = "no-packages"
NO_IMAGE = "no-image"
# Begins the name of the folder of a study's records.
RECORDS = "records-"


@dataclass(frozen=True)
class NeededImage:
    """The image of a study at one scale.

    Attributes:
        base: the base image as the system's file has it: `bootstrap`, or by its digest.
        foreign: an image that somebody else made, as the study names it; empty for one of ours.
            Nothing is installed in it, so it has no packages.
        packages: names of the Debian packages of the study's benchmarks, sorted.
        formats: those that the study's arms run from, sorted. Without any, no image is made.
        sources: names of the sources that are compiled for it, sorted.
    """

    base: str
    packages: tuple[str, ...]
    formats: tuple[str, ...]
    sources: tuple[str, ...] = ()
    foreign: str = ""

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
        return f"{self.base_in(root)}/{'_'.join(self.packages + self.sources) or NO_PACKAGES}"

    def records_in(self, root: str) -> str:
        """The folder of what is gathered of the needed formats, which no other study writes."""
        if not self.formats:
            return f"{root}/{NO_IMAGE}"
        return f"{self.image_in(root)}/{RECORDS}{'-'.join(self.formats)}"


def needed_image(
    base: str,
    used: Iterable[Benchmark],
    chosen: Iterable[Arm],
    foreign: str = "",
) -> NeededImage:
    """What benchmarks in arms need, on a base as the system's file has it or of a foreign one."""
    used = tuple(used)
    packages = {name for benchmark in used for name in benchmark.packages if not foreign}
    sources = {name for benchmark in used for name in benchmark.sources}
    formats = {arm.image_format for arm in chosen if arm.image_format}
    packed, made, compiled = (tuple(sorted(names)) for names in (packages, formats, sources))
    return NeededImage(base, packed, made, compiled, foreign)


def maker_of(image_format: str) -> Arm:
    """The arm that makes a format: the first of those that run from it."""
    return next(arm for arm in arms().values() if arm.image_format == image_format)
