"""Makes the image: what a builder is sent, the base, the OCI layout, and each format of it.

All that a stage is built from is copied into one folder, since that is the one way to hand files
to a build which docker, podman and buildah share.
"""

import dataclasses
import hashlib
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from parity.benchmarks.programs import COMPILED, source_paths
from parity.core import files
from parity.core.commands import FULL, answer_of, is_installed, output_of
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.runtimes.model import Arm, manifest_digest
from parity.software import cache, images
from parity.software.debian_packages import debian_sources, releases_of
from parity.software.images import TAG, ImageRecord, config_digest, image_configuration
from parity.software.native import read_origin
from parity.software.spack import Spack, write_scope
from parity.software.toolchain import LOCKED, Toolchain, installed_packages

# The parts of Spack that it runs from; the others are its history, tests and caches. Its
# packages are part of it before 1.0 only.
SPACK_PARTS = ("bin", "etc", "lib", "share", "var/spack/repos")
_PACKAGES = Path("/spack/builtin/repos/spack_repo/builtin")  # where a build has them from 1.0 on
# Copies a part of Spack or of a toolchain, without what Python compiled of it.
_COMPILED = shutil.ignore_patterns("__pycache__", "*.pyc")
_copy = partial(shutil.copytree, symlinks=True, ignore=_COMPILED)
# No file of the base is newer than the day Debian 12 came out: the same packages, the same bytes.
SOURCE_DATE_EPOCH = "1686355200"
REGISTRY = "registry"  # the tool of a base that was not bootstrapped
# What a build sees of our environment: how its tool finds its programs, store, daemon and the
# network. All else, such as a site's tokens, is kept from the programs that a build runs.
BUILD_VARIABLES = tuple(Path(__file__).with_name("build_variables.txt").read_text("utf-8").split())


@dataclass(frozen=True)
class Context:
    """A build's input: what is sent to the builder, Dockerfile and all, and the stage to build."""

    folder: Path
    stage: str
    arguments: Mapping[str, str]  # those apart from BASE and RECIPE
    made_from: str  # changes with what the image is made from, apart from the base and them


def recipe_of(context: Context, base_digest: str) -> str:
    """SHA-256 (hexadecimal) over all that decides what the image is."""
    arguments = [f"{key}={value}" for key, value in sorted(context.arguments.items())]
    text = "\0".join([context.stage, context.made_from, base_digest, *arguments])
    return hashlib.sha256(text.encode()).hexdigest()


def system_context(containers: Path, packages: Sequence[str]) -> Context:
    """The image of Debian's packages (`name=version`), from the folder of the Dockerfile."""
    # Names and contents of all files that a Dockerfile may copy.
    found = ((path.relative_to(containers), path) for path in files.files_below(containers))
    texts = [f"{name}\0{path.read_text(encoding='latin-1')}" for name, path in found]
    return Context(containers, "system", {"PACKAGES": " ".join(packages)}, "\0".join(texts))


def compiled_context(
    containers: Path, packages: Sequence[str], sources: Sequence[str], compiler: Sequence[str],
    folder: Path,
) -> Context:  # fmt: skip
    """The same in an empty folder, and on top programs that are compiled from our own sources."""
    # The packages (`name=version`) of the compiler compile them natively as well.
    shutil.copytree(containers, folder, dirs_exist_ok=True)
    added = Path(__file__).with_name("compiled.Dockerfile").read_text(encoding="utf-8")
    # Its first stage, without those that are built on it.
    system, _, _ = (file := folder / "Dockerfile").read_text("utf-8").partition("\nFROM system")
    file.write_text(system + added, encoding="utf-8")
    (folder / "sources").mkdir()
    for path in source_paths(sources):
        shutil.copy(path, folder / "sources")
    context = system_context(folder, packages)
    own = {"COMPILER": " ".join(compiler), "SOURCES": " ".join(sources), "FOLDER": str(COMPILED)}
    return dataclasses.replace(context, stage="compiled", arguments={**context.arguments, **own})


def spack_context(
    containers: Path, packages: Sequence[str], toolchain: Toolchain, spack: Spack, sources: Path,
    folder: Path,
) -> Context:  # fmt: skip
    """The same in an empty folder, and on top what Spack builds of a lock and all its sources."""
    # Natively the same versions compile, so the same bytes can come out.
    debian = installed_packages(toolchain)
    _copy(containers, folder, dirs_exist_ok=True)
    # Spack as it is used natively, without what it compiled of itself.
    for part in SPACK_PARTS:
        if (origin := spack.program.parents[1] / part).is_dir():
            _copy(origin, folder / "spack" / part)
    if spack.packages:
        _copy(spack.packages, folder / _PACKAGES.relative_to("/"))
    # The toolchain's own files, and the recipes within: this is what the image shows of them.
    _copy(toolchain.recipes, folder / "toolchain/recipes")
    for name in LOCKED:
        shutil.copy(toolchain.folder / name, folder / "toolchain")
    _copy(sources, folder / "sources", ignore=None)
    site = dataclasses.replace(spack.site, sources="file:///sources")
    packages_there = _PACKAGES if spack.packages else None
    write_scope(site, spack.home, spack.home / "recipes", packages_there, folder / "scope")
    lock, texts = read_origin(toolchain.origin), system_context(containers, ()).made_from
    arguments = {
        "PACKAGES": " ".join(sorted({*packages, *debian.run})),
        "BUILD_PACKAGES": " ".join(debian.build), "PREFIX": str(spack.site.prefix),
        "TOOLCHAIN": toolchain.name, "LOCK": lock.lock, "RECIPES": lock.recipes,
    }  # fmt: skip
    made_from = "\0".join([texts, canonical(lock), spack.version, spack.commit])
    return Context(folder, "spack", arguments, made_from)


class Builder(NamedTuple):
    """A program that understands a Dockerfile."""

    program: str
    alive: tuple[str, ...]  # succeeds where it can be used, and then says its version
    isolation: tuple[str, ...]  # words for a build; `chroot` needs no privilege
    store: str  # transport of its image store, as skopeo names it; `image` is before an id
    image: str


_VERSION = "--format=docker version {{.Server.Version}}"
_ISOLATION = ("--isolation=chroot",)
BUILDERS = (
    Builder("docker", ("docker", "version", _VERSION), (), "docker-daemon:", "sha256:"),
    Builder("podman", ("podman", "--version"), _ISOLATION, "containers-storage:", "@"),
    Builder("buildah", ("buildah", "--version"), _ISOLATION, "containers-storage:", "@"),
)


def build_command(
    builder: Builder, context: Context, base: str, recipe: str, identity: Path
) -> list[str]:
    """The command line that builds a stage on a base that `FROM` accepts; its id goes in a file."""
    # The host's network is the one that reaches the mirror.
    begin = [builder.program, "build", *builder.isolation, "--network=host"]
    arguments = {"BASE": base, "RECIPE": recipe, **context.arguments}
    words = [w for key, value in arguments.items() for w in ("--build-arg", f"{key}={value}")]
    tail = ["--iidfile", str(identity), "--file", str(context.folder / "Dockerfile")]
    return [*begin, *words, "--target", context.stage, *tail, str(context.folder)]


def made(
    empty: ImageRecord, make: Callable[[Path], str | None], destination: Path, tool: Sequence[str],
    log: Path | None, *, decides: Sequence[str] = (),
    digest: Callable[[str], str] = lambda location: files.digest(Path(location)),
    size: Callable[[str], int] = lambda location: files.size_on_disk(Path(location)),
) -> ImageRecord:  # fmt: skip
    """A format that is made beside its place, and given its name as soon as it is whole.

    What is known of it before (`empty`) is left at that if it has a reason. `make` writes to the
    path that it is given, or returns an id in an image store; `tool` is a command that says its
    version. With `decides`, all that decides what comes out, it is made once for a user, and taken
    from the cache by the next folder. `digest` and `size` are of what is at a location. The message
    of a failure goes to the log, and the record has a reason: one format that cannot be made keeps
    nobody from measuring the others. Without a log, UserError is raised.
    """
    if empty.reason:
        return empty
    part = destination.with_name(f".{destination.name}.part")
    images.remove(part)
    kept = cache.folder_of(empty.format, *decides) if decides else None
    if kept and (known := cache.take(kept, part)):
        if digest(str(part)) == known.digest:
            images.publish(part, destination)
            print(f"{empty.format} was made before, and is taken from {kept}")
            return replace(known, parent_digest=empty.parent_digest, location=str(destination))
        images.remove(part)
    try:
        start = time.monotonic()
        location = make(part) or str(part)
        seconds = round(time.monotonic() - start, 3)
        if is_here := location == str(part):
            images.publish(part, destination)
            location = str(destination)
        found = {"digest": digest(location), "bytes": size(location), "location": location}
        record = replace(empty, **found, seconds=seconds, tool=answer_of(tool)[1])
        if kept and is_here:
            cache.keep(kept, record)
        return record
    except UserError as error:
        # What was made for want of room is made anew at the next start.
        if not log or error.what.startswith(FULL):
            raise
        with log.open("a") as file:
            file.write(f"{error}\n")
        print(f"parity: {empty.format} could not be made: {error}")
        return replace(empty, reason=f"making it failed: {error.what.splitlines()[0]}")


def _missing(*programs: str) -> str:
    absent = [program for program in programs if not is_installed(program)]
    return f"{' and '.join(absent)} not installed" if absent else ""


def base_image(named: str, destination: Path, log: Path) -> ImageRecord:
    """A minimal Debian as a tar file, from this machine's own mirror, or a registry's image."""
    if named != "bootstrap":  # It is a name with a digest: `load_system` refuses any other.
        return ImageRecord("base", digest=named.partition("@")[2], tool=REGISTRY, location=named)
    if reason := _missing("mmdebstrap"):
        return ImageRecord("base", reason=reason)
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    sources = debian_sources(suite)

    def bootstrap(part: Path) -> None:
        argv = ["mmdebstrap", "--variant=minbase", "--format=tar", suite, str(part), *sources]
        when = {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
        output_of(argv, environment=when, inherited=BUILD_VARIABLES, log=log)

    no_mirror = "" if sources else "apt knows no Debian mirror for this release"
    empty, tool = ImageRecord("base", reason=no_mirror), ("mmdebstrap", "--version")
    # What the mirror had when apt was last asked to look: packages are of that state, too.
    decides = (answer_of(tool)[1], SOURCE_DATE_EPOCH, *sources, *releases_of(suite))
    return made(empty, bootstrap, destination, tool, log, decides=decides)


def build_image(base: ImageRecord, context: Context, destination: Path, log: Path) -> ImageRecord:
    """Build the image and leave it as an OCI image layout, tagged `parity`."""
    empty = ImageRecord("oci", parent="base", parent_digest=base.digest)
    reason = base.reason or _missing("skopeo", "umoci")
    builder = next((builder for builder in BUILDERS if answer_of(builder.alive)[0]), None)
    if reason or not builder:
        return replace(empty, reason=reason or "no image builder: docker, podman or buildah")
    recipe = recipe_of(context, base.digest)

    def build(part: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            reference = base.location
            if base.tool != REGISTRY:
                # What `FROM` is to accept is put into the builder's store first.
                reference = f"localhost/parity-base:{base.digest.removeprefix('sha256:')[:12]}"
                layout = f"{folder}/base"
                image = ["--image", f"{layout}:{TAG}"]
                output_of(["umoci", "init", "--layout", layout])
                output_of(["umoci", "new", *image])
                output_of(["umoci", "raw", "add-layer", *image, base.location], log=log)
                named = f"{builder.store}{reference}"
                output_of(["skopeo", "copy", f"oci:{layout}:{TAG}", named], log=log)
            identity = Path(folder) / "id"
            try:
                argv = build_command(builder, context, reference, recipe, identity)
                output_of(argv, inherited=BUILD_VARIABLES, log=log)
            except UserError as error:
                # The command line alone would be a screen.
                what = f"{builder.program} cannot build it, see {log}\n{error.what}"
                raise UserError(what) from None
            built = identity.read_text().strip().removeprefix("sha256:")
        image_there = f"{builder.store}{builder.image}{built}"
        output_of(["skopeo", "copy", image_there, f"oci:{part}:{TAG}"], log=log)
        lowest = image_configuration(part)["rootfs"]["diff_ids"][0]
        if base.tool != REGISTRY and lowest != base.digest:
            problem = "the image was not built on its base: lowest layer"
            problem = f"{problem} {lowest}, base {base.digest}"
            raise UserError(problem, action="snakemake images --forcerun bootstrap_base")

    empty, tool = replace(empty, recipe=recipe), builder.alive
    return made(empty, build, destination, tool, log, decides=(recipe,), digest=manifest_digest)


def _of(parent: ImageRecord, image_format: str, reason: str = "") -> ImageRecord:
    record = ImageRecord(image_format, "", parent.format, parent.digest, recipe=parent.recipe)
    return replace(record, reason=reason or parent.reason)


def unpack_image(oci: ImageRecord, destination: Path, rootless: bool, log: Path) -> ImageRecord:
    """Unpack the image into a directory; `rootless` if we are not root: then all files are ours."""

    def unpack(part: Path) -> None:
        words = ["umoci", "raw", "unpack", *(["--rootless"] if rootless else [])]
        output_of([*words, "--image", f"{oci.location}:{TAG}", part], log=log)
        if rootless:
            # Else we could neither read nor remove what is root's alone in some images.
            output_of(["chmod", "-R", "u+rwX", part], log=log)

    return made(_of(oci, "directory"), unpack, destination, ("umoci", "--version"), log)


def make_format(
    arm: Arm, oci: ImageRecord, directory: ImageRecord, destination: Path, log: Path
) -> ImageRecord:
    """Make the arm's format from the image."""

    def convert(part: Path) -> str:
        layout = Path(oci.location)
        location = arm.convert(layout, Path(directory.location), part)
        # An image store's id is the digest of the image's configuration or of its manifest.
        expected = (config_digest(layout), manifest_digest(layout))
        if location.startswith("sha256:") and location not in expected:
            problem = f"{arm.image_format} holds another image than {layout}: its id is {location}"
            problem = f"{problem}, expected {' or '.join(expected)}"
            raise UserError(problem, action="snakemake images --forcerun build_image")
        return location

    parent = directory if arm.made_from == "directory" else oci
    empty = _of(parent, str(arm.image_format), parent.reason or arm.probe().reason)
    # In a store it lies once for all already.
    decides = () if not oci.recipe else (oci.digest, parent.digest, answer_of(arm.converter)[1])
    return made(
        empty, convert, destination, arm.converter, log, decides=decides, digest=arm.digest,
        size=arm.size,
    )  # fmt: skip
