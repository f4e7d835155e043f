"""The folders that a measurement works in on a node: whose they are, and what lies in them.

What all arms are to see (the host's files that a program needs, static tools beside a foreign
image) lies as a copy below the working folder, which is the same in all arms, native ones too.
"""

import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import psutil

from parity.benchmarks.model import Program
from parity.core.commands import FULL
from parity.core.errors import MAKE_ROOM, UserError
from parity.core.files import digest
from parity.measure.node import node_name
from parity.plan.plan import Plan
from parity.runtimes.model import SCRATCH
from parity.software.images import FOREIGN

OWN = SCRATCH / f"{os.geteuid()}"  # each user's; the same on all nodes of an allocation
WORK, NEEDS, TOOLS = OWN / "work", OWN / "needs", OWN / "busybox"
# Memory that ranks share has a name that is unique on a node. A container of several ranks is one
# to them, and all containers see the host's memory, so each has a folder of its own in here.
SHARED_MEMORY = Path(f"/dev/shm/parity-{os.geteuid()}")
BUSYBOX = Path("/bin/busybox")
LONGEST_END_SECONDS, LEAST_FREE_BYTES = 10, 1 << 20
_WORKING = "the working folder of measured programs"
# What to do when what stopped a block is mended.
GO_ON = "start Snakemake again: nothing is lost, and it goes on with this block"


def attempts(run_folder: Path) -> list[Path]:
    """The folders of a run's attempts, first to last."""
    folders = run_folder.glob("attempt-*")
    return sorted(folders, key=lambda folder: int(folder.name.removeprefix("attempt-")))


def new_attempt(run_folder: Path) -> Path:
    """Make the folder of the next attempt; existing ones are never touched."""
    folder = run_folder / f"attempt-{len(attempts(run_folder)) + 1}"
    (folder / "state").mkdir(parents=True)
    return folder


def make_places(scratch: Path) -> None:
    """Make the folder in which all users of this node measure, and our own place in it.

    Root's is for all, as /tmp is; anybody else's is for them alone, who could take what others have
    in it away. Ranks find their places under one name on all nodes, so each node needs a file
    system of its own there. Raises UserError: as `private_folder`; or our place is another node's.
    """
    private_folder(scratch, root_may=True)
    if os.geteuid() == 0:
        scratch.chmod(0o1777)
    mark = private_folder(scratch / f"{os.geteuid()}") / "node"
    if not (mark.exists() and mark.stat().st_size):
        # Written once and whole: others may read it at any time, and the first one is right.
        with NamedTemporaryFile("w", encoding="utf-8", dir=mark.parent, prefix="node-") as whole:
            whole.write(node_name())
            whole.flush()
            with suppress(FileExistsError):
                os.link(whole.name, mark)
            if not mark.stat().st_size:
                # Of a runner that was killed while it wrote, as earlier versions did.
                again = Path(f"{whole.name}-again")
                again.hardlink_to(whole.name)
                again.replace(mark)
    if (other := mark.read_text(encoding="utf-8")) != node_name():
        problem = f"{mark.parent} is the place of node {other}"
        action = f"give each node its own {scratch}; if this one was called so, remove {mark}"
        raise UserError(problem, where=_WORKING, action=action)


def private_folder(folder: Path, *, root_may: bool = False, mode: int = 0o755) -> Path:
    """Make a folder, of `mode`, under a shared one such as /tmp, and be sure that it is ours.

    Raises UserError: it cannot be made, is no folder, a link, another user's, or others may write
    to it. `root_may`: whether it may be root's, who may let others make what is theirs in it.
    """
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}", where=_WORKING) from None
    facts = folder.lstat()
    owners = {os.geteuid(), 0} if root_may else {os.geteuid()}
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in owners:
        problem = f"{folder} is a link or belongs to another user, or is no folder"
        ask = f"ask its owner to remove {folder}, or root to make it for all users, with mode 1777"
        raise UserError(problem, where=_WORKING, action=f"{ask}; or measure on another node")
    for_all = root_may and facts.st_mode & stat.S_ISVTX
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not for_all:
        problem = f"others may write to {folder}"
        action = f"see what they left there, and remove {folder}: it is made anew"
        raise UserError(problem, where=_WORKING, action=action)
    return folder


def remove_own(folder: Path) -> None:
    """Remove a folder and all in it, if it is one and ours; nothing of anybody else is touched."""
    with suppress(FileNotFoundError):
        if folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(_opened(folder), ignore_errors=True)


def emptied(folder: Path) -> Path:
    """The folder, existing and empty."""
    if folder.exists():
        shutil.rmtree(_opened(folder))
    folder.mkdir()
    return folder


def _opened(folder: Path) -> Path:
    """The folder, with all folders in it that are ours writable, so that it can be removed."""
    if folder.is_symlink():
        return folder
    with suppress(OSError):
        folder.chmod(0o700)
    for above, names, _ in os.walk(folder):
        for path in (Path(above, name) for name in names):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    return folder


@contextmanager
def only_one(folder: Path, other: str) -> Iterator[None]:
    """Hold a folder's lock, which ends with us; wait for `other`. UserError: it cannot be had."""
    with _own_file(folder / "lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for {other} to end", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            problem = f"files cannot be locked here: {error.strerror}"
            action = "use a file system with flock, or mount this one so that it has it"
            raise UserError(problem, where=str(folder), action=action) from error
        yield


@contextmanager
def _own_file(path: Path) -> Iterator[int]:
    # A link is not followed, it may be anybody's.
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            file = os.open(path, flags | os.O_RDWR | os.O_CREAT, 0o644)
        except PermissionError:
            # Another user's: on one machine reading is enough to wait for it.
            file = os.open(path, flags | os.O_RDONLY)
    except OSError as error:
        raise UserError(f"the lock cannot be opened: {error.strerror}", where=str(path)) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UserError("the lock is no regular file", where=str(path), action="remove it")
        yield file
    finally:
        os.close(file)


def refuse_when_full(folder: Path) -> None:
    """Refuse, by a UserError, to go on where a full disk may have cut a program's output off."""
    if shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
        raise UserError(FULL, where=str(folder), action=MAKE_ROOM)


def end_processes_in(folder: Path) -> None:
    """End every process that still works below a folder: what a killed runner left behind.

    Only runtimes and programs work there, also ranks and helpers in sessions and namespaces of
    their own. What they started elsewhere (what serves an image's files: in the root) ends, too.
    """
    deadline = time.monotonic() + LONGEST_END_SECONDS
    while (left := list(processes_in(folder))) and time.monotonic() < deadline:
        for process in left:
            with suppress(psutil.Error):
                for each in (*process.children(recursive=True), process):
                    with suppress(psutil.Error):
                        each.kill()
        time.sleep(0.01)


def processes_in(folder: Path) -> Iterator[psutil.Process]:
    """Processes that have their working directory below a folder, we ourselves excepted."""
    if not folder.exists():
        return
    # Of this node's alone: nodes that share a machine have the folder on file systems of their own.
    ours = folder.stat()
    for process in psutil.process_iter(["pid"]):
        with suppress(psutil.Error, OSError):
            seen = Path(f"/proc/{process.pid}/cwd").stat()
            # Under a root of its own a process has the folder under another name.
            there = os.path.samestat(seen, ours) or Path(process.cwd()).is_relative_to(folder)
            if there and seen.st_dev == ours.st_dev and process.pid != os.getpid():
                yield process


def now() -> str:
    """The time, UTC, ISO 8601, as every document has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def tools_for(formats: Container[str]) -> str:
    """Path of the static tools for images of these formats; empty for the image's own programs."""
    # A foreign image may have no shell, and another `env`. Then all arms, native ones included,
    # are bound, witnessed and audited by one static program of the host.
    return str(TOOLS) if FOREIGN in formats else ""


def lay_out(tools: str) -> None:
    """Put static tools where all arms see them, if asked for; UserError: none are installed."""
    if not tools:
        return
    # A program that is linked dynamically names its loader where it begins.
    if not BUSYBOX.exists() or b"ld-linux" in BUSYBOX.read_bytes()[:4096]:
        problem = f"{BUSYBOX} is no static program, and an image of your own may have no tools"
        raise UserError(problem, action="as root: apt-get install busybox-static")
    part = Path(f"{tools}.part")
    shutil.copy(BUSYBOX, part)
    part.rename(tools)


def tool(tools: str, path: str) -> tuple[str, ...]:
    """The words of a program that every Linux has, such as /bin/sh."""
    return (tools, Path(path).name) if tools else (path,)


def stage(needs: Mapping[str, str]) -> None:
    """Copy the host's files that programs need to where all arms see them, and only we.

    Not every runtime can make a place for them in an image that it must not change. Their content
    is a part of the case; where a copy was changed all are made anew. `needs`: by absolute path of
    a file or folder, its digest. Raises UserError: one cannot be read, or is not what was planned.
    """
    copies = {path: Path(staged(path, needs)) for path in sorted(needs)}
    if not all(copy.exists() and digest(copy) == needs[path] for path, copy in copies.items()):
        remove_own(NEEDS)
        if os.path.lexists(NEEDS):
            raise UserError(f"{NEEDS} cannot be removed", where=_WORKING, action="remove it")
    for path, copy in copies.items():
        try:
            private_folder(NEEDS, mode=0o700).chmod(0o700)
            if copy.exists():  # as it should be, or as a part of a folder that is
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            if Path(path).is_dir():
                shutil.copytree(path, copy, symlinks=True)
            else:
                shutil.copy2(path, copy)
            seen = digest(copy)
        except (OSError, shutil.Error) as error:
            raise UserError(f"it cannot be copied: {error}", where=path) from None
        if seen != needs[path]:
            problem = f"its content is not what was planned with: {seen}, expected {needs[path]}"
            action = "start Snakemake again: with other content it is another case"
            raise UserError(problem, where=path, action=action)


def remove_copies() -> None:
    """Remove what `stage` copied, unless somebody else measures here by now, who does it then."""
    if not NEEDS.exists():
        return
    with _own_file(SCRATCH / "lock") as file, suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_own(NEEDS)


def staged(word: str, needs: Mapping[str, str]) -> str:
    """A word with the copy's path for each path of `needs` in it, and for those below one."""
    for path in sorted(needs, key=len, reverse=True):
        word = re.sub(rf"(?<![\w./-]){re.escape(path)}(?![\w.-])", f"{NEEDS}{path}", word)
    return word


def staged_program(program: Program, needs: Mapping[str, str]) -> Program:
    """The program, and what is beside it, with the copies' paths in its words and variables."""
    if not needs:
        return program
    variables = {name: staged(text, needs) for name, text in program.environment.items()}
    lines = (program.argv, program.check, *program.then)
    argv, check, *then = (tuple(staged(word, needs) for word in words) for words in lines)
    beside = program.beside.reworded(lambda word: staged(word, needs))
    return replace(program, argv=argv, then=(*then,), check=check, environment=variables,
                   beside=beside)  # fmt: skip


def binaries_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The programs of a plan's benchmarks as its provider installs them, where arms see them."""
    return {
        name: tuple(staged(path, each.needs) for path in each.provided_by(plan.provider).binaries)
        for name, each in plan.definitions.items()
    }
