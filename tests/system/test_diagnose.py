"""Causes that are planted in a container are named by `parity diagnose`, and none where none is.

Needs: podman, bubblewrap, a compiler, and root, who alone may ask for filters and set quotas.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parity.core.commands import is_installed
from parity.runtimes import arms
from parity.runtimes.engines import ulimits

WORK = Path(__file__).parents[1] / "support/programs/work.c"
LIBRARY = """
double work(long n) { volatile double x = 1; for (n *= TIMES; n--;) x = x * 1.0000001; return x; }
"""
# The argument of one call is looked up among so many, none of which it is.
SLOW = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
    {"names": ["getppid"], "action": "SCMP_ACT_ERRNO",
     "args": [{"index": 0, "value": 10**6 + number, "op": "SCMP_CMP_EQ"}]}
    for number in range(900)
]}  # fmt: skip
pytestmark = [
    pytest.mark.system,
    pytest.mark.alone,
    pytest.mark.skipif(
        os.geteuid() != 0
        or not all(map(is_installed, ("gcc", "bwrap", "prlimit", "taskset")))
        or not arms()["podman"].probe().available,
        reason="needs root, podman, bubblewrap and gcc",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The program, its library, a slower one of these, and the slow filter."""
    made = tmp_path_factory.mktemp("diagnosed")
    (made / "slow").mkdir()
    shutil.copy(WORK, made)
    (made / "library.c").write_text(LIBRARY)
    (made / "slow.json").write_text(json.dumps(SLOW))
    for where, times in ((".", 1), ("slow", 5)):
        words = ["gcc", "-O1", f"-DTIMES={times}", "-shared", "-fPIC", "library.c"]
        subprocess.run([*words, "-o", f"{where}/libwork.so"], cwd=made, check=True)
    words = ["gcc", "-O1", "work.c", "-o", "work", "-L.", "-lwork", f"-Wl,-rpath,{made}"]
    subprocess.run(words, cwd=made, check=True)
    return made


# By its name, where a cost is planted: the step, the container's options, the program's words.
CAUSES = {
    "quota": ("CPU quota", "--cpus=0.3", "work 60000000"),
    "none": ("", "", "work 100000000"),
    "memory": ("size of /dev/shm", "--shm-size=64k", "memory 60000000"),
    "filter": ("seccomp filters", "--security-opt=seccomp={folder}/slow.json", "calls 1500000"),
    "library": (
        "libraries of the image",
        "-v {folder}/slow/libwork.so:{folder}/libwork.so",
        "work 60000000",
    ),
    # A library of the same name, which the program loads as well.
    "preload": (
        "environment: LD_PRELOAD",
        "-v {folder}/slow:/opt/tool -e LD_PRELOAD=/opt/tool/libwork.so",
        "work 60000000",
    ),
    # Behind a site's script, which is not the program.
    "script": ("CPU binding", "--cpuset-cpus=0", "two 60000000"),
    "capability": ("capabilities", "--cap-drop=SYS_NICE", "priority 60000000"),
    "processes": ("limit of processes", "--pids-limit=20", "crowd 60000000"),
    "large": ("memory limit", "--memory=64m", "large 60000000"),
}
# A step that costs by itself would be named beside the quota, as it would where there is no cause.
OFTEN = "quota"
# A launcher that starts it twice, behind the container's own words.
TWICE = """--container=/bin/sh -c '"$@"; "$@"' twice"""


def said_by(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `parity diagnose` says; each variable that only one side had would be measured."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    command = [sys.executable, "-m", "parity", "diagnose", *words]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)


def looked(folder: Path, outer: str, program: str, name: str, minutes: float) -> str:
    """One answer on a container that is started by these words."""
    words = ["--container", outer, "--margin=40", f"--name={name}", f"--minutes={minutes}"]
    done = said_by(folder, *words, "--", f"{folder}/work", *program.split())
    assert done.returncode == 0, done.stderr
    kept = folder / f"parity-diagnose-{name}"
    assert (kept / "answer.txt").read_text() in done.stdout and not (kept / "image").exists()
    runs = [path.read_text() for path in kept.glob("runs/blocks/*/runs/program.*/*/record.json")]
    assert len(runs) >= 6 * 3 and all(json.loads(text)["reason"] == "" for text in runs)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if x == OFTEN else pytest.mark.long) for x in CAUSES]
)
def test_a_planted_cause_is_named(folder, name):
    cause, options, program = CAUSES[name]
    engine = ("podman --runtime=runc run --rm --network=host", *ulimits())
    # Its root is this machine's.
    words = [*engine, f"-v {folder}:{folder}", options.format(folder=folder), "--rootfs /:O"]
    outer = " ".join(words)
    if name == "script":
        script = folder / "site-run.sh"
        script.write_text(f'#!/bin/bash\nsleep 0.1\n{outer} "$@"')
        script.chmod(0o755)
        outer = str(script)
    said = looked(folder, outer, program, name, minutes=0.05)
    if said.startswith(("Undecided", "No answer", "The container costs")):
        # A longer look where a first decides nothing.
        said = looked(folder, outer, program, f"{name}-longer", minutes=0.5)
    none = "No difference within ±40 %, so there is no cause"
    assert said.startswith(f"Cause: {cause}. The container costs " if cause else none), said


@pytest.mark.parametrize(("words", "problem"), [
    (
        ["--pattern=has ([0-9]+)", TWICE, "--", "/bin/sh", "-c", "sleep 0.5; echo it has 7"],
        ("2 lines match the pattern", "--launcher"),
    ),
    (["--container=podman run --rootfs /:O", "--", "./nothing"], ("there is no program",)),
    # It cannot be looked into.
    (["--container=/bin/false", "--", "./work", "work", "60000000"], ("ended with status 1",)),
])  # fmt: skip
def test_what_cannot_be_diagnosed_is_one_message_and_leaves_no_folder(folder, words, problem):
    done = said_by(folder, "--name=refused", *words)
    assert done.returncode and done.stderr.startswith("parity: "), done.stderr
    assert all(part in done.stderr for part in problem), done.stderr
    assert not (folder / "parity-diagnose-refused").exists()
