"""The virtual cluster as tests use and disturb it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import benchmark_help
import psutil
import pytest
from virtual_cluster import layout, processes
from virtual_cluster.layout import Node

ROOT = Path(__file__).parents[2]

TOOL = [sys.executable, str(ROOT / "tools/virtual_cluster")]
# Snakemake's looks at its jobs are up to three minutes apart.
LONGEST_SECONDS = 300
# Slurm's programs that are asked burden the machine that it waits for.
wait_for = partial(benchmark_help.wait_for, seconds=LONGEST_SECONDS, every=0.1)


def run(*words: str | Path) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_SECONDS)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def cluster(*words: str) -> str:
    return run(*TOOL, *words)


def jobs(folder: Path | None = None) -> list[str]:
    """The jobs in Slurm's queue; only those that were submitted in `folder`, if it is given."""
    lines = run("squeue", "--noheader", "--format=%A %Z").splitlines()
    pairs = [line.split(maxsplit=1) for line in lines]
    return [job for job, submitted in pairs if folder is None or Path(submitted) == folder]


def wait_until_quiet() -> None:
    """Wait until nothing of any job runs on the nodes.

    Snakemake's handler of SIGTERM takes locks that the interrupted code may hold (9.27.1,
    `exit_gracefully`), and then never ends. Slurm ends all of a job that is in its control
    group, but `proctrack/linuxproc` loses what the batch script leaves when it ends first. So
    such a Snakemake is ended here; anything else that goes on is a fault.
    """
    wait_for(lambda: not any(_must_end(*each) for each in strays()), "the job's processes go on")
    hung = psutil.wait_procs([process for process, _ in strays()], timeout=20)[1]
    processes.end(hung)


def wait_until_idle() -> None:
    """Wait until Slurm has work for every node, those that were away before, too."""
    states = ("sinfo", "--noheader", "--format=%T")
    wait_for(lambda: {*run(*states).split()} == {"idle"}, "a node does not come back")


def strays() -> list[tuple[psutil.Process, str]]:
    """What runs on the nodes beside their daemons."""
    found = []
    for process in processes.on_nodes():
        with suppress(psutil.NoSuchProcess):
            words = process.cmdline()
            if words and words != ["sleep", "infinity"] and words[0] != "slurmd":
                found.append((process, f"{process.pid} {process.status()} {' '.join(words)}"))
    return found


def _must_end(process: psutil.Process, words: str) -> bool:
    """Whether it is more than a Snakemake without children, whose batch script has ended."""
    with suppress(psutil.NoSuchProcess):
        on_nodes = {each.pid for each in processes.on_nodes()}
        waits = " -m snakemake " in words and not process.children()
        return not waits or process.ppid() in on_nodes
    return False


def named(name: str) -> list[psutil.Process]:
    """The processes of that name on the nodes."""
    found = []
    for process in processes.on_nodes():
        with suppress(psutil.NoSuchProcess):
            found += [process] if process.name() == name else []
    return found


def of_a_cluster_of_their_own() -> list[pytest.MarkDecorator]:
    """Marks of tests that bring a cluster up, and look for what it leaves on the whole machine.

    Made when they are collected: `end_a_dead_one` comes before.
    """
    is_up = layout.STATE.exists() or os.path.lexists(layout.SYSTEM_CONFIGURATION)
    why = "a cluster is up on this machine, or the machine belongs to one"
    not_root = pytest.mark.skipif(os.geteuid() != 0, reason="the virtual cluster needs root")
    return [pytest.mark.alone, not_root, pytest.mark.skipif(is_up, reason=why)]


def belongs_to_a_cluster() -> bool:
    """Whether this machine has a Slurm that is not the virtual cluster."""
    conf = layout.SYSTEM_CONFIGURATION
    return os.path.lexists(conf) and not layout.STATE.exists()


def end_a_dead_one() -> None:
    """End a cluster that was killed to the last daemon, as with a session that ended.

    Nobody can use it, and its files would keep every test of a cluster from running. One
    of which anything runs is somebody's, and stays.
    """
    if layout.STATE.exists() and not processes.daemons() and not processes.on_nodes():
        cluster("down")


@contextmanager
def the_cluster() -> Iterator[None]:
    """The virtual cluster: the one that is up, or one that is started and ended here."""
    was_up = layout.STATE.exists()
    if not was_up:
        cluster("up")
    try:
        yield
    finally:
        if not was_up:
            cluster("down")


def wait_until_saved(job: str) -> None:
    """Wait until the controller has saved that a job runs.

    It saves what changed within seconds, and may have saved the job before its start: after
    a crash it would then start the job once more, drain the node and cancel the job.
    """
    changed = time.time()
    run("scontrol", "update", f"jobid={job}", "comment=saved")
    state = layout.CONTROLLER / "job_state"
    wait_for(lambda: state.stat().st_mtime > changed, "the controller saves nothing", seconds=60)


@contextmanager
def paused(name: str) -> Iterator[Callable[[], None]]:
    """Stop a program on the nodes, so that it hangs, until the function given is called."""
    # Its output begins before the program does: a shell and others come first.
    with stopped(wait_for(lambda: named(name), f"{name} does not run", seconds=20)) as go_on:
        yield go_on


@contextmanager
def stopped(what: Sequence[psutil.Process]) -> Iterator[Callable[[], None]]:
    """Stop processes, as daemons, which answer nobody, until the function given is called."""
    assert what, "no such process runs"

    def go_on() -> None:
        for process in what:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    for process in what:
        process.suspend()
    try:
        yield go_on
    finally:
        go_on()


def node_of(name: str) -> Node:
    return Node(int(name.removeprefix("n")))


@contextmanager
def _until_undone(
    do: Sequence[str | Path], undo: Sequence[str | Path]
) -> Iterator[Callable[[], None]]:
    """What a command does, until the function given is called: by another command."""
    run(*do)
    with ExitStack() as undone:
        undone.callback(run, *undo)
        yield undone.close


# What takes something away, until the function given is called.
Away = AbstractContextManager[Callable[[], None]]


def link_down(node: str) -> Away:
    """Take a node from the network, until the function given is called."""
    link = ("ip", "-netns", node_of(node).namespace, "link", "set", "eth0")
    return _until_undone([*link, "down"], [*link, "up"])


def another_processor(node: str, text: Path) -> Away:
    """Let a node tell that its processors are others, until the function given is called.

    Args:
        text: a file to write what it tells into.
    """
    told = Path("/proc/cpuinfo").read_text()
    text.write_text(re.sub(r"(?m)^model name\t: .*$", "model name\t: Another Processor", told))
    holder = (node_of(node).folder / "holder.pid").read_text().strip()
    inside = ("nsenter", f"--target={holder}", "--mount")
    mount = [*inside, "mount", "--bind", text, "/proc/cpuinfo"]
    return _until_undone(mount, [*inside, "umount", "--lazy", "/proc/cpuinfo"])


@contextmanager
def killed_controller() -> Iterator[None]:
    """Kill slurmctld as a crash would, and start it again from its saved state."""
    processes.end(processes.daemons("slurmctld"))
    try:
        yield
    finally:
        cluster("restart-controller")


def killed_slurmd(node: str) -> Away:
    """Kill a node's slurmd, until the function given is called."""
    return _until_undone([*TOOL, "kill-node", node], [*TOOL, "start-node", node])


@contextmanager
def on_a_small_disk(folder: Path, mebibytes: int = 64) -> Iterator[None]:
    """Move a folder to a small file system of its own, which host and nodes share."""
    moved = folder.rename(folder.with_name("moved"))
    folder.mkdir()
    image = folder.with_name("disk.img")
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    run("mkfs.ext4", "-q", "-m", "0", image)
    device = run("losetup", "--find", "--show", image).strip()
    holders = [path.read_text().strip() for path in layout.STATE.glob("nodes/*/holder.pid")]
    places = [[], *(["nsenter", f"--target={holder}", "--mount"] for holder in holders)]
    try:
        for place in places:
            run(*place, "mount", device, folder)
        shutil.copytree(moved, folder, symlinks=True, dirs_exist_ok=True)
        yield
    finally:
        for place in places:
            run(*place, "umount", "--lazy", folder)
        run("losetup", "--detach", device)


def filled(folder: Path) -> Path:
    """Fill the folder's file system to the last byte, with a file that is returned."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler
