"""What differs between two processes, and the exact words that make it on this machine."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from parity.command_line.main import main
from parity.core.errors import REFUSED
from parity.diagnose import surroundings
from parity.diagnose.steps import Setting, ladder_of
from parity.diagnose.surroundings import Surroundings, document, read
from parity.runtimes.ladder import CONTROL_GROUP
from parity.runtimes.limits import control_group_version

SPACES = {name: f"{name}:[1]" for name in surroundings.NAMESPACES}
NATIVE = Surroundings(
    cpus="0-1",
    quota=None,
    limits={"nofile": "100:100"},
    variables={"LANG": "C", "TOKEN": "secret"},
    namespaces=SPACES,
    filters=0,
    shared_memory=2**30,
    root="ext4",
    files={"/bin/solver": "a" * 64, "/lib/libc.so.6": "b" * 64, "/lib/libwork.so": "c" * 64},
    command=("/bin/solver", "in.dat"),
)


def titles(container: Surroundings, folder) -> list[str]:
    (folder / "code").mkdir(exist_ok=True)
    return [step.title for step in ladder_of(NATIVE, container, folder).steps]


def test_without_a_difference_there_is_no_step(tmp_path):
    assert titles(NATIVE, tmp_path) == []


def test_each_difference_is_a_step_in_a_fixed_order(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    code = tmp_path / "code"
    code.mkdir()
    for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libwork.so", "solver"):
        (code / name).touch()
    (tmp_path / "filter-0.bpf").touch()
    container = replace(
        NATIVE,
        cpus="0",
        quota=(5000, 10000),
        limits={"nofile": "10:10"},
        variables={"LANG": "C", "OMP": "1"},
        namespaces={**SPACES, "mnt": "mnt:[2]", "net": "net:[2]"},
        filters=1,
        shared_memory=65536,
        root="overlay",
        nice=5,
        huge_pages="0",
        files={name: "d" * 64 for name in NATIVE.files},
    )
    ladder = ladder_of(NATIVE, container, tmp_path)
    assert [step.title for step in ladder.steps] == [
        *("CPU binding", "CPU quota", "priority (nice)", "transparent huge pages"),
        *("resource limits", "environment", "namespaces"),
        *("network namespace", "size of /dev/shm", "seccomp filters", "C library of the image"),
        *("libraries of the image", "program file"),
    ]
    assert ladder.left_out == ("root file system: ext4 → overlay",)
    by_title = {step.title: step for step in ladder.steps}
    # A value may be a secret, so it is told nowhere.
    said = by_title["environment"]
    assert (said.native, said.container) == ("TOKEN", "OMP")
    assert "secret" not in str(document(NATIVE))
    assert ladder.secrets == {"PARITY_VARIABLE_0": "1"}
    assert by_title["size of /dev/shm"].container == "64 KiB"
    last = ladder.steps[-1].setting.words("group", ["/bin/solver", "in.dat"], NATIVE.command)
    quota = (
        ["cpu.cfs_period_us=10000", "cpu.cfs_quota_us=5000"]
        if control_group_version() == 1
        else ["cpu.max=5000 10000"]
    )
    opened = 'filters=$1; shift; exec "$@" 9< "$filters/filter-0.bpf"'
    pages = last[last.index("-c", last.index("nice")) + 1]
    assert last == [
        *("/bin/sh", "-euc", CONTROL_GROUP, "control-group", "group", *quota),
        *("taskset", "-c", "0", "nice", "-n", "5", sys.executable, "-c", pages, "1"),
        *("prlimit", "--nofile=10:10", "env", "-u", "TOKEN"),
        *("-u", "PARITY_VARIABLE_0", "-S", '"OMP=${PARITY_VARIABLE_0}"'),
        *("/bin/sh", "-euc", opened, "filtered", str(tmp_path)),
        *("bwrap", "--dev-bind", "/", "/"),
        *("--perms", "1777", "--size", "65536", "--tmpfs", "/dev/shm"),
        *("--unshare-net", "--add-seccomp-fd", "9"),
        *(str(code / "ld-linux-x86-64.so.2"), "--library-path", str(code)),
        *(str(code / "solver"), "in.dat"),
    ]
    of_c = Path(by_title["C library of the image"].setting.libraries)
    assert sorted(path.name for path in of_c.iterdir()) == ["ld-linux-x86-64.so.2", "libc.so.6"]


def test_what_only_root_can_make_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "code").mkdir()
    container = replace(NATIVE, quota=(1, 2), filters=2)
    ladder = ladder_of(NATIVE, container, tmp_path)
    assert ladder.steps == ()
    assert ladder.left_out == (
        "CPU quota: none → 1 of 2 us (needs root)",
        "seccomp filters: 0 → 2 (the kernel does not give them to us)",
    )


def test_a_plain_setting_is_the_program_itself(tmp_path):
    assert Setting(tmp_path).words("group", ["./a", "b"], ["/x/a", "b"]) == ["./a", "b"]
    assert Setting(tmp_path).start("group") == ["/bin/true"]


def test_our_own_surroundings_are_read():
    own = read(os.getpid())
    assert own.command[0].startswith("/") and own.cpus and own.root
    assert any(name.rpartition("/")[2].startswith("libc") for name in own.files)
    assert set(own.namespaces) == set(surroundings.NAMESPACES)


def test_a_step_has_the_priority_and_the_pages_that_it_says(tmp_path):
    for pages, nice in (("0", 3), ("1", 0)):
        setting = Setting(tmp_path, nice=nice, huge_pages=pages)
        asked = "nice; grep THP_enabled /proc/self/status"
        words = setting.words("group", ["/bin/sh", "-c", asked], ["/bin/sh"])
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert said == [str(os.nice(0) + nice), "THP_enabled:", pages]


def test_only_root_has_a_higher_priority(tmp_path, monkeypatch):
    (tmp_path / "code").mkdir()
    for user, titles in ((0, ["priority (nice)"]), (1000, [])):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        ladder = ladder_of(NATIVE, replace(NATIVE, nice=-5), tmp_path)
        assert [step.title for step in ladder.steps] == titles
        assert bool(ladder.left_out) == bool(user)


def test_a_name_leads_to_no_folder_of_others(tmp_path, monkeypatch, capfd) -> None:
    """What stood there was deleted when the look failed."""
    kept = tmp_path / "clone/x/file"
    kept.parent.mkdir(parents=True)
    kept.touch()
    monkeypatch.chdir(kept.parents[1])
    words = ["--container=/bin/false", "--name=a/../../x", "--", "/bin/sleep", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", *words])
    assert ended.value.code == REFUSED and "'a/../../x' is no name" in capfd.readouterr().err
    assert kept.exists()
