"""Makes the one image: a base from Debian's packages, and the benchmarks on top of it."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity import content
from parity.commands import answer_of, is_installed, output_of
from parity.errors import UserError
from parity.provenance.images import (
    TAG,
    ImageRecord,
    layer_digests,
    manifest_digest,
    publish,
    remove,
)

# Debian packages that building and unpacking take, beyond those of the runtimes.
PACKAGES = ("buildah", "mmdebstrap", "skopeo", "uidmap", "umoci")
# No file of the base is newer than the day Debian 12 came out: the same packages give
# the same bytes.
SOURCE_DATE_EPOCH = "1686355200"


@dataclass(frozen=True)
class Builder:
    """A program that understands a Dockerfile.

    Attributes:
        program: its name.
        alive: command that succeeds where it can be used, and then says its version.
        build: words that begin a build. The host's network is used because that is
            the one that reaches the mirror; `chroot` needs no privilege.
        store: transport of its image store, as skopeo names it.
    """

    program: str
    alive: tuple[str, ...]
    build: tuple[str, ...]
    store: str


BUILDERS = (
    Builder(
        "docker",
        ("docker", "version", "--format=docker version {{.Server.Version}}"),
        ("docker", "build", "--network=host"),
        "docker-daemon:",
    ),
    Builder(
        "podman",
        ("podman", "--version"),
        ("podman", "build", "--isolation=chroot", "--network=host"),
        "containers-storage:",
    ),
    Builder(
        "buildah",
        ("buildah", "--version"),
        ("buildah", "build", "--isolation=chroot", "--network=host"),
        "containers-storage:",
    ),
)


# The files in the folder of the Dockerfile that the image is made from.
CONTEXT = ("Dockerfile", "hosts")
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
        digest=content.digest(destination),
        bytes=content.size_on_disk(destination),
        seconds=seconds,
        tool=version_of("mmdebstrap", "--version"),
        location=str(destination),
    )


def debian_sources(suite: str) -> list[str]:
    """The sources that apt has of a Debian release, as one-line entries of sources.list(5).

    Asks apt, which knows both of its file formats; empty where there is no apt, no
    package list yet, or another distribution.
    """
    if not is_installed("apt-get"):
        return []
    form = "$(ORIGIN)\t$(RELEASE)\t$(REPO_URI)\t$(COMPONENT)"
    lines = output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    releases = {suite, f"{suite}-updates", f"{suite}-security"}
    targets = [line.split("\t") for line in lines.splitlines()]
    return sorted(
        {
            f"deb {address} {release} {component}"
            for origin, release, address, component in targets
            if origin == "Debian" and release in releases
        }
    )


def installed_versions(packages: Sequence[str]) -> list[str]:
    """`name=version` of each package that is installed natively, sorted.

    A package that is not installed is left out: what cannot run natively has nothing to
    be compared with. Where there is no dpkg at all the bare names are returned, and
    whether both sides have the same binaries is for the audit to say.
    """
    names = sorted(set(packages))
    if not is_installed("dpkg-query"):
        return names
    # One call for all: Snakemake asks each time it reads the rules. It fails if a package
    # is unknown and answers for the others all the same.
    form = "--showformat=${db:Status-Abbrev}\t${Package}=${Version}\n"
    done = subprocess.run(
        ["dpkg-query", "--show", form, *names], capture_output=True, text=True, check=False
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return sorted({said for status, said in lines if status.strip() == "ii"})


def _context(folder: Path) -> str:
    """Names and texts of the files that the build takes from its folder."""
    return "\0".join(f"{name}\0{(folder / name).read_text()}" for name in CONTEXT)


def recipe_of(context: str, base_digest: str, packages: Sequence[str]) -> str:
    """SHA-256 (hexadecimal) over all that decides what the image is."""
    text = "\0".join([context, base_digest, *packages])
    return hashlib.sha256(text.encode()).hexdigest()


def find_builder() -> Builder | None:
    """The first builder that can be used here."""
    return next((builder for builder in BUILDERS if answer_of(builder.alive)[0]), None)


def build_image(
    base: ImageRecord, packages: Sequence[str], dockerfile: Path, destination: Path, log: Path
) -> ImageRecord:
    """Build the image and leave it as an OCI image layout, tagged `parity`.

    Args:
        base: the base's record.
        packages: Debian packages, `name=version`.
        dockerfile: the one Dockerfile.
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
    recipe = recipe_of(_context(dockerfile.parent), base.digest, packages)
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = {
            "BASE": _base_reference(base, builder, folder, log),
            "PACKAGES": " ".join(packages),
            "RECIPE": recipe,
        }
        words = [w for key, value in arguments.items() for w in ("--build-arg", f"{key}={value}")]
        identity = folder / "id"
        tail = ["--iidfile", identity, "--file", dockerfile, dockerfile.parent]
        output_of([*builder.build, *words, *tail], log=log)
        built = _in_store(builder, identity.read_text().strip())
    output_of(["skopeo", "copy", built, f"oci:{part}:{TAG}"], log=log)
    seconds = round(time.monotonic() - start, 3)
    _check_base(base, part)
    publish(part, destination)
    return ImageRecord(
        "oci",
        digest=manifest_digest(destination),
        parent="base",
        parent_digest=base.digest,
        bytes=content.size_on_disk(destination),
        seconds=seconds,
        tool=version_of(*builder.alive),
        location=str(destination),
        recipe=recipe,
    )


def _base_reference(base: ImageRecord, builder: Builder, folder: Path, log: Path) -> str:
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


def _in_store(builder: Builder, identity: str) -> str:
    """An image of the builder's store by its id, as skopeo names it."""
    if builder.store == "docker-daemon:":
        return f"{builder.store}{identity}"
    return f"{builder.store}@{identity.removeprefix('sha256:')}"


def _check_base(base: ImageRecord, oci: Path) -> None:
    """The lowest layer of the image is the bootstrapped tar file itself."""
    if base.tool == REGISTRY:
        return
    lowest = layer_digests(oci)[0]
    if lowest != base.digest:
        raise UserError(
            f"the image was not built on its base: lowest layer {lowest}, base {base.digest}",
            action="snakemake images --forcerun bootstrap_base",
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
        digest=content.digest(destination),
        parent="oci",
        parent_digest=oci.digest,
        bytes=content.size_on_disk(destination),
        seconds=seconds,
        tool=version_of("umoci", "--version"),
        location=str(destination),
        recipe=oci.recipe,
    )
