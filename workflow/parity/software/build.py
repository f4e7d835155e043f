"""Makes the image: what a builder is sent, the base, the OCI layout, and each format of it.

All that a stage is built from is copied into one folder, since that is the one way to hand files
to a build which docker, podman and buildah share.
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from parity.benchmarks.programs import COMPILED, source_paths
from parity.core import files
from parity.core.commands import answer_of, is_installed, output_of
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.core.files import files_below
from parity.runtimes.model import Arm, manifest_digest
from parity.software.debian_packages import debian_sources
from parity.software.images import (
    TAG,
    ImageRecord,
    config_digest,
    image_configuration,
    publish,
    remove,
)
from parity.software.native import read_origin
from parity.software.spack import Spack, write_scope
from parity.software.toolchain import LOCKED, Toolchain, installed_packages

# The parts of Spack that it runs from; the others are its history, tests and caches. Its
# packages are part of it before 1.0 only.
SPACK_PARTS = ("bin", "etc", "lib", "share", "var/spack/repos")
# Where the build stage has the source mirror, and Spack's packages from 1.0 on.
_SOURCES = "file:///sources"
_PACKAGES = Path("/spack/builtin/repos/spack_repo/builtin")
_COMPILE = Path(__file__).with_name("compiled.Dockerfile")
_BYTECODE = shutil.ignore_patterns("__pycache__", "*.pyc")
# Debian packages that building and unpacking take, beyond those of the runtimes, and the static
# tools around programs in a foreign image (measure/places.py).
PACKAGES = ("buildah", "busybox-static", "mmdebstrap", "skopeo", "uidmap", "umoci")
# No file of the base is newer than the day Debian 12 came out: the same packages give
# the same bytes.
SOURCE_DATE_EPOCH = "1686355200"
# The tool of a base that was not bootstrapped.
REGISTRY = "registry"
# What a build sees of our environment: how its tool finds its programs, store, daemon and the
# network. All else, such as a site's tokens, is kept from the programs that a build runs.
BUILD_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
    "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
    "DOCKER_BUILDKIT", "REGISTRY_AUTH_FILE", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
    "CONTAINERS_REGISTRIES_CONF", "STORAGE_DRIVER", "STORAGE_OPTS",
    "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


@dataclass(frozen=True)
class Context:
    """A build's input.

    Attributes:
        folder: what is sent to the builder; the Dockerfile is in it.
        stage: stage of the Dockerfile that is the image.
        arguments: build arguments, apart from BASE and RECIPE.
        made_from: text that changes with what the image is made from, apart from the base
            and the arguments.
    """

    folder: Path
    stage: str
    arguments: Mapping[str, str]
    made_from: str


def recipe_of(context: Context, base_digest: str) -> str:
    """SHA-256 (hexadecimal) over all that decides what the image is."""
    arguments = [f"{key}={value}" for key, value in sorted(context.arguments.items())]
    text = "\0".join([context.stage, context.made_from, base_digest, *arguments])
    return hashlib.sha256(text.encode()).hexdigest()


def system_context(containers: Path, packages: Sequence[str]) -> Context:
    """The image of Debian's packages (`name=version`), from the folder of the Dockerfile."""
    # Names and contents of all files that a Dockerfile may copy.
    texts = [
        f"{path.relative_to(containers)}\0{path.read_text(encoding='latin-1')}"
        for path in files_below(containers)
    ]
    return Context(containers, "system", {"PACKAGES": " ".join(packages)}, "\0".join(texts))


def compiled_context(
    containers: Path,
    packages: Sequence[str],
    sources: Sequence[str],
    compiler: Sequence[str],
    folder: Path,
) -> Context:
    """The same image with, on top, the programs that are compiled from our own sources.

    Args:
        compiler: packages (`name=version`) that compile them, natively as well.
        folder: an empty folder that becomes the context.
    """
    shutil.copytree(containers, folder, dirs_exist_ok=True)
    dockerfile = folder / "Dockerfile"
    # Its first stage, without those that are built on it.
    system, _, _ = dockerfile.read_text(encoding="utf-8").partition("\nFROM system")
    dockerfile.write_text(system + _COMPILE.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "sources").mkdir()
    for path in source_paths(sources):
        shutil.copy(path, folder / "sources")
    context = system_context(folder, packages)
    own = {
        "COMPILER": " ".join(compiler),
        "SOURCES": " ".join(sources),
        "FOLDER": str(COMPILED),
    }
    return dataclasses.replace(context, stage="compiled", arguments={**context.arguments, **own})


def spack_context(
    containers: Path,
    packages: Sequence[str],
    toolchain: Toolchain,
    spack: Spack,
    sources: Path,
    folder: Path,
) -> Context:
    """The image that has, on top, what Spack builds from the toolchain's lock.

    Args:
        sources: source mirror that has all sources of the lock.
        folder: an empty folder that becomes the context.
    """
    # Natively the same versions compile, so the same bytes can come out.
    debian = installed_packages(toolchain)
    shutil.copytree(containers, folder, dirs_exist_ok=True, ignore=_BYTECODE)
    # Spack as it is used natively, without what it compiled of itself.
    for part in SPACK_PARTS:
        origin, copy = spack.program.parents[1] / part, folder / "spack" / part
        if origin.is_dir():
            shutil.copytree(origin, copy, symlinks=True, ignore=_BYTECODE)
    if spack.packages:
        builtin = folder / _PACKAGES.relative_to("/")
        shutil.copytree(spack.packages, builtin, symlinks=True, ignore=_BYTECODE)
    # The toolchain's own files, and the recipes within: this is what the image shows of them.
    shutil.copytree(toolchain.recipes, folder / "toolchain/recipes", ignore=_BYTECODE)
    for name in LOCKED:
        shutil.copy(toolchain.folder / name, folder / "toolchain")
    shutil.copytree(sources, folder / "sources", symlinks=True)
    site = dataclasses.replace(spack.site, sources=_SOURCES)
    packages_there = _PACKAGES if spack.packages else None
    write_scope(site, spack.home, spack.home / "recipes", packages_there, folder / "scope")
    lock = read_origin(toolchain.origin)
    arguments = {
        "PACKAGES": " ".join(sorted({*packages, *debian.run})),
        "BUILD_PACKAGES": " ".join(debian.build),
        "PREFIX": str(spack.site.prefix),
        "TOOLCHAIN": toolchain.name,
        "LOCK": lock.lock,
        "RECIPES": lock.recipes,
    }
    texts = system_context(containers, ()).made_from
    made_from = [texts, canonical(lock), spack.version, spack.commit]
    return Context(folder, "spack", arguments, "\0".join(made_from))


@dataclass(frozen=True)
class Builder:
    """A program that understands a Dockerfile.

    Attributes:
        alive: command that succeeds where it can be used, and then says its version.
        build: words that begin a build. The host's network is used because that is
            the one that reaches the mirror; `chroot` needs no privilege.
        store: transport of its image store, as skopeo names it; `image` is before an id.
    """

    program: str
    alive: tuple[str, ...]
    build: tuple[str, ...]
    store: str
    image: str


BUILDERS = (
    Builder(
        "docker",
        ("docker", "version", "--format=docker version {{.Server.Version}}"),
        ("docker", "build", "--network=host"),
        "docker-daemon:",
        "docker-daemon:sha256:",
    ),
    *(
        Builder(
            program,
            (program, "--version"),
            (program, "build", "--isolation=chroot", "--network=host"),
            "containers-storage:",
            "containers-storage:@",
        )
        for program in ("podman", "buildah")
    ),
)


def build_command(
    builder: Builder, context: Context, base: str, recipe: str, identity: Path
) -> list[str]:
    """The command line that builds the context's stage.

    Args:
        base: a name of the base that `FROM` accepts.
        identity: file for the id of the image.
    """
    arguments = {"BASE": base, "RECIPE": recipe, **context.arguments}
    words = [w for key, value in arguments.items() for w in ("--build-arg", f"{key}={value}")]
    file = context.folder / "Dockerfile"
    tail = ["--target", context.stage, "--iidfile", str(identity), "--file", str(file)]
    return [*builder.build, *words, *tail, str(context.folder)]


def registry_base(reference: str) -> ImageRecord:
    """A base image of a registry, given by digest (`load_system` refuses any other)."""
    digest = reference.partition("@")[2]
    return ImageRecord("base", digest=digest, tool=REGISTRY, location=reference)


def made(
    empty: ImageRecord,
    make: Callable[[Path], str | None],
    destination: Path,
    tool: Sequence[str],
    *,
    digest: Callable[[str], str] = lambda location: files.digest(Path(location)),
    size: Callable[[str], int] = lambda location: files.size_on_disk(Path(location)),
) -> ImageRecord:
    """A format that is made beside its place, and given its name as soon as it is whole.

    Args:
        empty: what is known of it before.
        make: writes to the path that it is given, or returns an id in an image store.
        tool: command that says the version of what makes it.
        digest: from a location to `sha256:…` of what is there.
        size: from a location to bytes.
    """
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    start = time.monotonic()
    location = make(part)
    seconds = round(time.monotonic() - start, 3)
    if location is None or location == str(part):
        publish(part, destination)
        location = str(destination)
    return replace(
        empty,
        digest=digest(location),
        bytes=size(location),
        seconds=seconds,
        tool=answer_of(tool)[1],
        location=location,
    )


def bootstrap_base(destination: Path, log: Path) -> ImageRecord:
    """A minimal Debian as a tar file, from this machine's own mirror."""
    if not is_installed("mmdebstrap"):
        return ImageRecord("base", reason="mmdebstrap not installed")
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    sources = debian_sources(suite)
    if not sources:
        return ImageRecord("base", reason="apt knows no Debian mirror for this release")

    def bootstrap(part: Path) -> None:
        argv = ["mmdebstrap", "--variant=minbase", "--format=tar", suite, str(part), *sources]
        when = {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
        output_of(argv, environment=when, inherited=BUILD_VARIABLES, log=log)

    return made(ImageRecord("base"), bootstrap, destination, ("mmdebstrap", "--version"))


def build_image(base: ImageRecord, context: Context, destination: Path, log: Path) -> ImageRecord:
    """Build the image and leave it as an OCI image layout, tagged `parity`.

    Raises UserError if a program that is here fails, or the image is not on that base.
    """
    missing = [program for program in ("skopeo", "umoci") if not is_installed(program)]
    reason = base.reason or (f"{' and '.join(missing)} not installed" if missing else "")
    builder = next((builder for builder in BUILDERS if answer_of(builder.alive)[0]), None)
    if reason or not builder:
        reason = reason or "no image builder: docker, podman or buildah"
        return ImageRecord("oci", parent="base", parent_digest=base.digest, reason=reason)
    recipe = recipe_of(context, base.digest)

    def build(part: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            reference = _base_reference(base, builder, Path(folder), log)
            identity = Path(folder) / "id"
            try:
                argv = build_command(builder, context, reference, recipe, identity)
                output_of(argv, inherited=BUILD_VARIABLES, log=log)
            except UserError as error:
                # The command line alone would be a screen.
                what = f"{builder.program} cannot build it, see {log}\n{error.what}"
                raise UserError(what) from None
            image = f"{builder.image}{identity.read_text().strip().removeprefix('sha256:')}"
        output_of(["skopeo", "copy", image, f"oci:{part}:{TAG}"], log=log)
        lowest = image_configuration(part)["rootfs"]["diff_ids"][0]
        if base.tool != REGISTRY and lowest != base.digest:
            raise UserError(
                f"the image was not built on its base: lowest layer {lowest}, base {base.digest}",
                action="snakemake images --forcerun bootstrap_base",
            )

    empty = ImageRecord("oci", parent="base", parent_digest=base.digest, recipe=recipe)
    return made(empty, build, destination, builder.alive, digest=lambda o: manifest_digest(Path(o)))


def _base_reference(base: ImageRecord, builder: Builder, folder: Path, log: Path) -> str:
    """A name of the base that `FROM` accepts; a bootstrapped one is put into the store first."""
    if base.tool == REGISTRY:
        return base.location
    name = f"localhost/parity-base:{base.digest.removeprefix('sha256:')[:12]}"
    layout = folder / "base"
    image = f"{layout}:{TAG}"
    output_of(["umoci", "init", "--layout", layout])
    output_of(["umoci", "new", "--image", image])
    output_of(["umoci", "raw", "add-layer", "--image", image, base.location], log=log)
    output_of(["skopeo", "copy", f"oci:{image}", f"{builder.store}{name}"], log=log)
    return name


def unpack_image(oci: ImageRecord, destination: Path, rootless: bool, log: Path) -> ImageRecord:
    """Unpack the image into a directory; `rootless` if we are not root: then all files are ours."""
    if oci.reason:
        return ImageRecord("directory", parent="oci", reason=oci.reason)

    def unpack(part: Path) -> None:
        words = ["umoci", "raw", "unpack", *(["--rootless"] if rootless else [])]
        output_of([*words, "--image", f"{oci.location}:{TAG}", part], log=log)

    empty = ImageRecord("directory", parent="oci", parent_digest=oci.digest, recipe=oci.recipe)
    return made(empty, unpack, destination, ("umoci", "--version"))


def make_format(
    arm: Arm, oci: ImageRecord, directory: ImageRecord, destination: Path
) -> ImageRecord:
    """Make the arm's format from the image; where that is impossible the record says why.

    Raises UserError if a program that is here fails, or the result is another image.
    """
    parent = directory if arm.made_from == "directory" else oci
    empty = ImageRecord(str(arm.image_format), parent=parent.format)
    if reason := parent.reason or arm.probe().reason:
        return replace(empty, reason=reason)

    def convert(part: Path) -> str:
        return arm.convert(Path(oci.location), Path(directory.location), part)

    empty = replace(empty, parent_digest=parent.digest, recipe=oci.recipe)
    record = made(empty, convert, destination, arm.converter, digest=arm.digest, size=arm.size)
    # An image store's id is the digest of the image's configuration or of its manifest.
    expected = (config_digest(Path(oci.location)), manifest_digest(Path(oci.location)))
    if record.location == record.digest and record.digest not in expected:
        raise UserError(
            f"{record.format} holds another image than {oci.location}: "
            f"its id is {record.digest}, expected {' or '.join(expected)}",
            action="snakemake images --forcerun build_image",
        )
    return record
