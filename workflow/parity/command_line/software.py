"""Commands of the rules on images and native builds, and those that say or install what is here."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.core.documents import read_document, write_document
from parity.software import build, cache
from parity.software import images as records
from parity.software import install as installation
from parity.software.foreign_image import take_foreign
from parity.software.images import ImageRecord, maker_of, place_of
from parity.software.native import build_native, check_lock, make_lock
from parity.software.spack import chosen_spack, gather_sources, release_of
from parity.software.toolchain import LOCKED, check_compilers, composed_manifest, installed_packages


def install(
    toolchain: str | None = None, system: Path | None = None, keep_libraries: bool = False
) -> None:
    """As root, install and start what the study can use; else say what is missing."""
    installation.install(toolchain, system or installation.SYSTEM, keep_libraries)


def probe() -> None:
    """Print which runtimes and benchmarks are here, and what to do about those that are not."""
    print("\n".join(installation.probe_lines()))


def clean(yes: bool = False) -> None:
    """Say which images of ours this user's cache and stores hold, and remove them with --yes.

    Whoever needs one again makes it anew; nothing of anybody else's is touched.
    """
    total = 0
    for each in cache.kept():
        total += each.size
        left = cache.forget(each) if yes else ""
        print(f"{each.size / 1e6:8.1f} MB  {each.store}  {each.name}  {left}".rstrip())
    done = "removed" if yes else "not removed without --yes"
    shared = "files and layers that images share count each time"
    print(f"{total / 1e6:8.1f} MB  in all, {done}; {shared}")


def bootstrap_base(record: Path, log: Path, base_image: str, folder: str | None) -> None:
    """Make the base image from Debian's packages, or take it from a registry by digest."""
    write_document(record, build.base_image(base_image, place_of(record, folder, "base.tar"), log))


def take_image(
    image: str, hosts: Path, foreign: Path, record: Path, log: Path, folder: str | None
) -> None:
    """Take an image that somebody else made, with what every run needs of one."""
    taken, made = take_foreign(image, hosts, place_of(record, folder, "oci"), log)
    write_document(foreign, taken)
    write_document(record, made)


def build_image(
    base: Path, containers: Path, packages: list[str], compiled: list[str], compiler: list[str],
    sources: Path | None, site: Mapping[str, Any], jobs: int, record: Path, log: Path,
    folder: str | None,
) -> None:  # fmt: skip
    """Build the image with every benchmark that is installed or compiled natively."""
    files = containers.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        if sources:
            toolchain, spack = chosen_spack(site, jobs, log)
            context = build.spack_context(files, packages, toolchain, spack, sources, place)
        elif compiled:
            context = build.compiled_context(files, packages, compiled, compiler, place)
        else:
            context = build.system_context(files, packages)
        place_there = place_of(record, folder, "oci")
        made = build.build_image(read_document(base, ImageRecord), context, place_there, log)
        write_document(record, made)


def unpack_image(oci: Path, record: Path, log: Path, folder: str | None) -> None:
    """Unpack the image into a directory."""
    image, place = read_document(oci, ImageRecord), place_of(record, folder, "directory")
    write_document(record, build.unpack_image(image, place, os.getuid() != 0, log))


def convert_image(
    format: str, oci: Path, directory: Path | None, record: Path, log: Path, folder: str | None
) -> None:
    """Convert the image into the format of one runtime."""
    place = place_of(record, folder, f"image.{format}")
    # Nothing is at this place for a format that is not made from it.
    unpacked = ImageRecord("directory", location=str(place.with_name("directory")))
    if directory:
        unpacked = read_document(directory, ImageRecord)
    image = read_document(oci, ImageRecord)
    write_document(record, build.make_format(maker_of(format), image, unpacked, place, log))


def images(formats: list[Path], images: Path, table: Path) -> None:
    """Gather the records of all formats, and print the digest chain."""
    from parity.records import schema
    from parity.records.parse import image_rows

    made = [read_document(path, ImageRecord) for path in formats]
    print("\n".join(map(records.line_of, made)))
    by_format = {record.format: record for record in made}
    records.write_images(images, by_format)
    # The images of this folder belong to no campaign.
    schema.write(schema.IMAGES, image_rows("", by_format), table)


def lock(site: Mapping[str, Any], manifest: str, jobs: int, log: Path) -> None:
    """Let Spack decide anew what spack.yaml means."""
    toolchain, spack = chosen_spack(site, jobs, log)
    make_lock(spack, toolchain, manifest, log)


def image_sources(site: Mapping[str, Any], jobs: int, sources: Path, log: Path) -> None:
    """Check the toolchain, and gather the sources that its image is built from."""
    toolchain, spack = chosen_spack(site, jobs, log)
    check_lock(toolchain)
    check_compilers(toolchain.manifest, toolchain)
    installed_packages(toolchain)
    gather_sources(spack, toolchain, sources, log)


def native(
    site: Mapping[str, Any], builds: Mapping[str, Any], jobs: int, record: Path, log: Path
) -> None:
    """Lock the environment at its first use, install it, and record every program's identity."""
    toolchain, spack = chosen_spack(site, jobs, log)
    manifest = composed_manifest(toolchain, builds, release_of(spack.version))
    build_native(spack, toolchain, manifest, record, log)
    for name in LOCKED:
        shutil.copyfile(toolchain.folder / name, record.with_name(name))
