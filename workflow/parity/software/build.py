"""Makes the one image: on top of a base, the benchmarks as the study's provider has them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from parity.core import digests
from parity.core.commands import is_installed, output_of
from parity.core.errors import UserError
from parity.software.base import base_reference, check_base, version_of
from parity.software.build_context import Context, recipe_of
from parity.software.builders import build_command, find_builder, in_store
from parity.software.images import TAG, ImageRecord, manifest_digest, publish, remove

# Debian packages that building and unpacking take, beyond those of the runtimes.
PACKAGES = ("buildah", "mmdebstrap", "skopeo", "uidmap", "umoci")


def build_image(base: ImageRecord, context: Context, destination: Path, log: Path) -> ImageRecord:
    """Build the image and leave it as an OCI image layout, tagged `parity`.

    Args:
        base: the base's record.
        context: what is built.
        destination: directory of the layout.
        log: file for the output of the programs that build.

    Raises:
        UserError: a program that is here failed, or the image is not on that base.
    """
    builder = find_builder()
    absent = [program for program in ("skopeo", "umoci") if not is_installed(program)]
    reason = base.reason or (f"{' and '.join(absent)} not installed" if absent else "")
    if reason or not builder:
        reason = reason or "no image builder: docker, podman or buildah"
        return ImageRecord("oci", parent="base", parent_digest=base.digest, reason=reason)
    recipe = recipe_of(context, base.digest)
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        reference = base_reference(base, builder, Path(name), log)
        identity = Path(name) / "id"
        try:
            output_of(build_command(builder, context, reference, recipe, identity), log=log)
        except UserError as error:
            # The command line alone would be a screen.
            raise UserError(f"{builder.program} cannot build it, see {log}\n{error.what}") from None
        built = in_store(builder, identity.read_text().strip())
    output_of(["skopeo", "copy", built, f"oci:{part}:{TAG}"], log=log)
    seconds = round(time.monotonic() - start, 3)
    check_base(base, part)
    publish(part, destination)
    return ImageRecord(
        "oci",
        digest=manifest_digest(destination),
        parent="base",
        parent_digest=base.digest,
        bytes=digests.size_on_disk(destination),
        seconds=seconds,
        tool=version_of(*builder.alive),
        location=str(destination),
        recipe=recipe,
    )


def unpack_image(oci: ImageRecord, destination: Path, rootless: bool, log: Path) -> ImageRecord:
    """Unpack the image into a directory.

    Args:
        rootless: whether we are not root; then every file belongs to us.

    Raises:
        UserError: umoci failed; the message ends with its output.
    """
    if oci.reason:
        return ImageRecord("directory", parent="oci", reason=oci.reason)
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    start = time.monotonic()
    as_user = ["--rootless"] if rootless else []
    image = f"{oci.location}:{TAG}"
    output_of(["umoci", "raw", "unpack", *as_user, "--image", image, part], log=log)
    seconds = round(time.monotonic() - start, 3)
    publish(part, destination)
    return ImageRecord(
        "directory",
        digest=digests.digest(destination),
        parent="oci",
        parent_digest=oci.digest,
        bytes=digests.size_on_disk(destination),
        seconds=seconds,
        tool=version_of("umoci", "--version"),
        location=str(destination),
        recipe=oci.recipe,
    )
