"""The programs that understand a Dockerfile, and how each is told what to build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import answer_of
from parity.software.build_context import Context


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


def find_builder(builders: Sequence[Builder] = BUILDERS) -> Builder | None:
    """The first builder that can be used here."""
    return next((builder for builder in builders if answer_of(builder.alive)[0]), None)


def build_command(
    builder: Builder, context: Context, base: str, recipe: str, identity: Path
) -> list[str]:
    """The command line that builds the context's stage.

    Args:
        base: a name of the base that `FROM` accepts.
        recipe: of `recipe_of`.
        identity: file for the id of the image.
    """
    arguments = {"BASE": base, "RECIPE": recipe, **context.arguments}
    words = [w for key, value in arguments.items() for w in ("--build-arg", f"{key}={value}")]
    file = context.folder / "Dockerfile"
    tail = ["--target", context.stage, "--iidfile", str(identity), "--file", str(file)]
    return [*builder.build, *words, *tail, str(context.folder)]


def in_store(builder: Builder, identity: str) -> str:
    """An image of the builder's store by its id, as skopeo names it."""
    if builder.store == "docker-daemon:":
        return f"{builder.store}{identity}"
    return f"{builder.store}@{identity.removeprefix('sha256:')}"
