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

WORK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
double work(long);
static int fits(void) {
  static char page[65536];
  int file = open("/dev/shm/parity-diagnosed", O_CREAT | O_RDWR, 0600), whole = 1;
  for (int i = 0; i < 16; i++) whole &= write(file, page, sizeof page) == sizeof page;
  close(file);
  unlink("/dev/shm/parity-diagnosed");
  return whole;
}
int main(int count, char **words) {
  long n = atol(words[2]);
  if (!strcmp(words[1], "calls")) while (n--) syscall(SYS_getppid, 0);
  else if (!strcmp(words[1], "memory")) work(fits() ? n : 5 * n);
  else if (!strcmp(words[1], "priority")) work(setpriority(PRIO_PROCESS, 0, -5) ? 5 * n : n);
  else if (!strcmp(words[1], "two")) {
    if (fork()) { work(n); wait(0); } else { work(n); _exit(0); }
  } else work(n);
  return 0;
}
"""
LIBRARY = """
double work(long n) { volatile double x = 1; for (n *= TIMES; n--;) x = x * 1.0000001; return x; }
"""
# The argument of one call is looked up among so many, none of which it is.
SLOW = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [
        {
            "names": ["getppid"],
            "action": "SCMP_ACT_ERRNO",
            "args": [{"index": 0, "value": 10**6 + number, "op": "SCMP_CMP_EQ"}],
        }
        for number in range(900)
    ],
}
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
    (made / "work.c").write_text(WORK)
    (made / "library.c").write_text(LIBRARY)
    (made / "slow.json").write_text(json.dumps(SLOW))
    for where, times in ((".", 1), ("slow", 5)):
        words = ["gcc", "-O1", f"-DTIMES={times}", "-shared", "-fPIC", "library.c"]
        subprocess.run([*words, "-o", f"{where}/libwork.so"], cwd=made, check=True)
    # Copies out of an image are by name.
    shutil.copy(made / "slow/libwork.so", made / "slow/libslow.so")
    words = ["gcc", "-O1", "work.c", "-o", "work", "-L.", "-lwork", f"-Wl,-rpath,{made}"]
    subprocess.run(words, cwd=made, check=True)
    return made


def container(folder: Path, options: str) -> str:
    """The words of a container with these options, whose root is this machine's."""
    engine = ("podman --runtime=runc run --rm --network=host", *ulimits())
    return " ".join([*engine, f"-v {folder}:{folder}", options, "--rootfs /:O"])


def diagnosed(folder: Path, options: str, *program: str, name: str, words: str = "") -> str:
    """The answer on a container with these options; a longer look where a first decides nothing."""
    outer = words or container(folder, options)
    said = looked(folder, outer, *program, name=name, minutes=0.05)
    if said.startswith(("Undecided", "No answer", "The container costs")):
        said = looked(folder, outer, *program, name=f"{name}-longer", minutes=0.5)
    return said


def looked(folder: Path, outer: str, *program: str, name: str, minutes: float) -> str:
    """One answer on a container that is started by these words."""
    words = ["--container", outer, "--margin", "40", "--name", name]
    words += ["--minutes", str(minutes)]
    done = subprocess.run(
        [sys.executable, "-m", "parity", "diagnose", *words, "--", f"{folder}/work", *program],
        cwd=folder,
        # Each variable that only one side has would be measured.
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept = folder / f"parity-diagnose-{name}"
    assert (kept / "answer.txt").read_text() in done.stdout
    runs = [path.read_text() for path in kept.glob("runs/blocks/*/runs/program.*/*/record.json")]
    assert len(runs) >= 6 * 3 and all(json.loads(text)["reason"] == "" for text in runs)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("cause", "options", "program"),
    [
        pytest.param(
            "size of /dev/shm",
            "--shm-size=64k",
            ("memory", "60000000"),
            id="memory",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "seccomp filters",
            "--security-opt=seccomp={folder}/slow.json",
            ("calls", "1500000"),
            id="filter",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "libraries of the image",
            "-v {folder}/slow/libwork.so:{folder}/libwork.so",
            ("work", "60000000"),
            id="library",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "CPU binding",
            "--cpuset-cpus=0",
            ("two", "60000000"),
            id="binding",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "capabilities",
            "--cap-drop=SYS_NICE",
            ("priority", "60000000"),
            id="capability",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "environment: LD_PRELOAD",
            "-v {folder}/slow:/opt/tool -e LD_PRELOAD=/opt/tool/libslow.so",
            ("work", "60000000"),
            id="preload",
            marks=pytest.mark.long,
        ),
        pytest.param("CPU quota", "--cpus=0.3", ("work", "60000000"), id="quota"),
    ],
)
def test_a_planted_cause_is_named(folder, cause, options, program, request):
    name = request.node.callspec.id
    said = diagnosed(folder, options.format(folder=folder), *program, name=name)
    assert said.startswith(f"Cause: {cause}. The container costs "), said


def test_without_a_cause_it_says_that_there_is_none(folder):
    said = diagnosed(folder, "", "work", "100000000", name="none")
    assert said.startswith("No difference within ±40 %, so there is no cause"), said


@pytest.mark.long
def test_a_site_s_script_in_front_of_the_container_is_not_the_program(folder):
    script = folder / "site-run.sh"
    lines = ["#!/bin/bash", "sleep 0.1", f'{container(folder, "--cpuset-cpus=0")} "$@"']
    script.write_text("\n".join(lines))
    script.chmod(0o755)
    said = diagnosed(folder, "", "two", "60000000", name="script", words=str(script))
    assert said.startswith("Cause: CPU binding. The container costs "), said


def test_a_launcher_in_the_container_s_words_is_refused_before_anything_is_measured(folder):
    said = subprocess.run(
        [
            *(sys.executable, "-m", "parity", "diagnose", "--name=ranks"),
            *("--pattern", "has ([0-9]+)", "--container", "/bin/sh -c '\"$@\"; \"$@\"' twice"),
            *("--", "/bin/sh", "-c", "sleep 0.5; echo it has 7"),
        ],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode and "2 lines match the pattern" in said.stderr, said.stderr
    assert "--launcher" in said.stderr and not (folder / "parity-diagnose-ranks").exists()


def test_a_program_that_is_not_in_the_container_is_one_message(folder):
    container = f"podman --runtime=runc run --rm {' '.join(ulimits())} --rootfs /:O"
    words = ["parity", "diagnose", "--container", container, "--name", "absent"]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--", f"{folder}/nothing"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode and "Traceback" not in done.stderr
    assert f"there is no program {folder}/nothing" in done.stderr


def test_a_container_that_cannot_be_looked_into_leaves_no_folder(folder):
    words = ["parity", "diagnose", "--container", "/bin/false", "--name", "dark"]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--", f"{folder}/work", "work", "1"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode and done.stderr.startswith("parity: "), done.stderr
    assert not (folder / "parity-diagnose-dark").exists()
