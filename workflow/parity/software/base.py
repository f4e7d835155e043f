"""The base of the image: bootstrapped from Debian's packages, or a registry's by digest."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from parity.core import digests
from parity.core.commands import answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.software.builders import Builder
from parity.software.debian_packages import debian_sources
from parity.software.images import TAG, ImageRecord, layer_digests, publish, remove

# No file of the base is newer than the day Debian 12 came out: the same packages give
# the same bytes.
SOURCE_DATE_EPOCH = "1686355200"
# The tool of a base that was not bootstrapped.
REGISTRY = "registry"


def version_of(*argv: str) -> str:
    """The first line that a program says of its version."""
    return answer_of(argv)[1]


def registry_base(reference: str) -> ImageRecord:
    """A base image of a registry, given by digest (`load_system` refuses any other)."""
    digest = reference.partition("@")[2]
    return ImageRecord("base", digest=digest, tool=REGISTRY, location=reference)


def bootstrap_base(destination: Path, log: Path) -> ImageRecord:
    """A minimal Debian as a tar file, from this machine's own mirror.

    Raises:
        UserError: mmdebstrap failed; the message ends with its output.
    """
    if not is_installed("mmdebstrap"):
        return ImageRecord("base", reason="mmdebstrap not installed")
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    sources = debian_sources(suite)
    if not sources:
        return ImageRecord("base", reason="apt knows no Debian mirror for this release")
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    start = time.monotonic()
    argv = ["mmdebstrap", "--variant=minbase", "--format=tar", suite, str(part), *sources]
    output_of(argv, environment={"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}, log=log)
    seconds = round(time.monotonic() - start, 3)
    publish(part, destination)
    return ImageRecord(
        "base",
        digest=digests.digest(destination),
        bytes=digests.size_on_disk(destination),
        seconds=seconds,
        tool=version_of("mmdebstrap", "--version"),
        location=str(destination),
    )


def base_reference(base: ImageRecord, builder: Builder, folder: Path, log: Path) -> str:
    """A name of the base that `FROM` accepts; a bootstrapped one is put into the store first."""
    if base.tool == REGISTRY:
        return base.location
    name = f"localhost/parity-base:{base.digest.removeprefix('sha256:')[:12]}"
    layout = folder / "base"
    output_of(["umoci", "init", "--layout", layout])
    output_of(["umoci", "new", "--image", f"{layout}:{TAG}"])
    output_of(["umoci", "raw", "add-layer", "--image", f"{layout}:{TAG}", base.location], log=log)
    output_of(["skopeo", "copy", f"oci:{layout}:{TAG}", f"{builder.store}{name}"], log=log)
    return name


def check_base(base: ImageRecord, oci: Path) -> None:
    """Refuse an image whose lowest layer is not the bootstrapped tar file; raises UserError."""
    if base.tool == REGISTRY:
        return
    lowest = layer_digests(oci)[0]
    if lowest != base.digest:
        raise UserError(
            f"the image was not built on its base: lowest layer {lowest}, base {base.digest}",
            action="snakemake images --forcerun bootstrap_base",
        )
