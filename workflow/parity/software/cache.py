"""What was built for a user before, for all clones and folders: in `$XDG_CACHE_HOME/parity/images`.

Each folder there is called by a digest of all that decides what the image is, and holds it beside
its record. The stores of Docker and Podman are their own caches; what of ours they hold, and
nothing else, `parity clean` removes as well.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from parity.core.commands import answer_of, is_installed, output_of
from parity.core.documents import read_document, write_document
from parity.core.errors import UserError
from parity.core.files import size_on_disk
from parity.software.images import ImageRecord, publish, remove

_CONTENT, _RECORD = "image", "made.json"
# What containers/Dockerfile says of each image, and how ours are called in stores.
_LABEL = "org.opencontainers.image.description=Benchmarks of the Parity study"
_OURS = re.compile(r"(localhost/)?(parity:[0-9a-f]{16}|parity-base:[0-9a-f]{12})")
_NAMELESS = "<none>:<none>"


def folder_of(*decides: str) -> Path:
    """Where the image is, or would be, that follows from these texts."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256("\0".join(decides).encode()).hexdigest()[:32]
    return Path(home) / "parity/images" / name


def take(folder: Path, place: Path) -> ImageRecord | None:
    """Copy what the folder holds to a place, and return its record; None if there is nothing."""
    if not (folder / _RECORD).exists():
        return None
    _copy(folder / _CONTENT, place)
    return read_document(folder / _RECORD, ImageRecord)


def keep(folder: Path, record: ImageRecord) -> None:
    """Keep an image in its folder; one for which there is no room is not kept, and it is said."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        part.mkdir(parents=True, mode=0o700)
        _copy(Path(record.location), part / _CONTENT)
        write_document(part / _RECORD, record)
        publish(part, folder)
    except OSError as error:
        print(f"{record.format} is not kept for other folders: {error.strerror}: {folder.parent}")
        shutil.rmtree(part, ignore_errors=True)


def _copy(source: Path, place: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True)
    else:
        shutil.copyfile(source, place)


class Kept(NamedTuple):
    """Something of ours that a user's stores hold: where, how it is called there, and its bytes."""

    store: str
    name: str
    size: int


def kept() -> Iterator[Kept]:
    """All of ours in the cache and in the stores of Docker and Podman, once each."""
    root = folder_of().parent
    for path in sorted(root.iterdir() if root.is_dir() else ()):
        yield Kept(str(root), path.name, size_on_disk(path))
    form = "--format={{.ID}} {{.Repository}}:{{.Tag}}"
    for program in filter(is_installed, ("docker", "podman")):
        if not answer_of([program, "images", "--quiet"])[0]:
            continue
        lines = output_of([program, "images", "--no-trunc", form]).splitlines()
        labelled = [program, "images", "--no-trunc", f"--filter=label={_LABEL}", form]
        nameless = {line for line in output_of(labelled).splitlines() if _NAMELESS in line}
        for line in dict.fromkeys(lines):
            identity, _, name = line.partition(" ")
            if _OURS.fullmatch(name) or line in nameless:
                name = identity if name == _NAMELESS else name
                size = output_of([program, "image", "inspect", "--format={{.Size}}", identity])
                yield Kept(program, name, int(size))


def forget(each: Kept) -> str:
    """Remove it; why it is still there, if a container runs from it, else nothing."""
    try:
        if each.store.startswith("/"):
            remove(Path(each.store) / each.name)
        else:
            output_of([each.store, "rmi", each.name])
    except UserError as error:
        return error.what.splitlines()[-1]
    return ""
