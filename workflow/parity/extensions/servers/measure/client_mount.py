"""The client's mount of a file system that services serve: made with patience, ended in any case.

Whoever waits for a file system in user space whose servers are silent cannot even be killed. So
each question to it has a time limit, and an end: without its daemon all who wait get an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from parity.extensions.network_namespace import ask_kernel, end_left_networks
from parity.extensions.servers.benchmarks.service import Served
from parity.extensions.servers.measure.client_link import ClientLink
from parity.measure.companions import Attempt, NotStarted
from parity.measure.documents import Gate
from parity.measure.inner_command import WORK
from parity.measure.timed_process import kill_group, launch_environment

MOUNT_SECONDS = 30.0
ANSWER_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
# <sys/mount.h>
_MNT_DETACH = 2
TABLE = Path("/proc/self/mountinfo")


@contextmanager
def client_mount(attempt: Attempt, served: Served, link: ClientLink) -> Iterator[list[Gate]]:
    """Mount what the program works on; nothing for a program without a mount.

    What the commands say goes to the attempt's `mount.log`.

    Yields:
        A list that holds the gate of the mount after the body: whether the program wrote to it.

    Raises:
        NotStarted: it cannot be mounted in time, or has no room.
    """
    found: list[Gate] = []
    if not served.mount:
        yield found
        return
    point, log = WORK / served.mount_point, attempt.folder / "mount.log"
    point.mkdir(parents=True)
    try:
        _mount(served, link, log)
        _wait_for_room(attempt.order.program.least_free_bytes, served.mount_point, link, log)
        yield found
        told = _answer(["ls", "-A", str(point)], link, log)
        found.append(Gate("mount", bool(told), "" if told else "nothing was written to the mount"))
    finally:
        _unmount(point, link, log)
        # Not empty where a container did not see the mount and wrote beside it.
        shutil.rmtree(point, ignore_errors=True)


def _mount(served: Served, link: ClientLink, log: Path) -> None:
    deadline = time.monotonic() + MOUNT_SECONDS
    for words in filter(None, (served.mount, served.mounted)):
        while _answer([*link.namespace.words, *words], link, log, deadline) is None:
            if time.monotonic() >= deadline:
                said = log.read_text(errors="replace").strip()[-600:]
                raise NotStarted(f"{words[0]} did not succeed in {MOUNT_SECONDS:.0f} s: {said}")
            time.sleep(_PAUSE_SECONDS)


def _wait_for_room(least_free_bytes: int, point: str, link: ClientLink, log: Path) -> None:
    """Wait until servers have told each other how much they have."""
    deadline = time.monotonic() + MOUNT_SECONDS
    words = ["stat", "--file-system", "--format=%a %S", point]
    while True:
        blocks, size = map(int, (_answer(words, link, log, deadline) or "0 0").split())
        if blocks * size > least_free_bytes:
            return
        if time.monotonic() >= deadline:
            raise NotStarted(
                f"the mounted file system has {blocks * size} bytes free, and the program "
                f"needs {least_free_bytes}"
            )
        time.sleep(_PAUSE_SECONDS)


def _answer(
    words: Sequence[str], link: ClientLink, log: Path, deadline: float | None = None
) -> str | None:
    """What a command that touches the mount says; None if it fails, or has to be stopped."""
    left = max(0.1, deadline - time.monotonic()) if deadline else ANSWER_SECONDS
    answer = log.with_suffix(".answer")
    with log.open("ab") as said, answer.open("wb") as out:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
            env=launch_environment(os.environ),
            cwd=WORK,
            start_new_session=True,
        )
        try:
            status = process.wait(left)
        except subprocess.TimeoutExpired:
            said.write(f"stopped after {left:.1f} s: {' '.join(words)}\n".encode())
            let_go(link)
            kill_group(process.pid)
            process.wait()
            status = -1
    text = answer.read_text(errors="replace")
    answer.unlink()
    return text if status == 0 else None


def let_go(link: ClientLink) -> None:
    """End the mount's daemon: whoever waits for the file system gets an error."""
    link.namespace.empty(0)


def _unmount(point: Path, link: ClientLink, log: Path) -> None:
    if point in mounts_below(point):
        _answer(["umount", str(point)], link, log)
    # Its daemon has nothing left to do, and takes its time.
    let_go(link)
    unmount_below(point)


def unmount_below(folder: Path) -> None:
    """Unmount, lazily, all that is mounted at a folder or below; nothing there is touched.

    Raises:
        OSError: the kernel refuses it.
    """
    for point in mounts_below(folder):
        ask_kernel("umount2", os.fsencode(point), _MNT_DETACH)


def mounts_below(folder: Path) -> list[Path]:
    """The mount points at or below a folder, the last mounted first."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    points = (Path(line.split()[4].encode().decode("unicode_escape")) for line in lines)
    return [point for point in points if point.is_relative_to(folder)][::-1]


def sweep() -> None:
    """Let nobody wait for the mount of a dead runner, and end its daemon."""
    unmount_below(WORK)
    end_left_networks()


SWEEP = sweep
