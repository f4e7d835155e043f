"""The namespace ladder: what its steps are, and each step on the real kernel."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from benchmark_help import running, wait_for

from parity.core.errors import UserError
from parity.runtimes import arms, ladder
from parity.runtimes.ladder import CONTROL_GROUP, MECHANISMS, Rule, rules
from parity.runtimes.model import NAMESPACES, SCRATCH, Launch

NAME = f"ladder-{os.getpid()}"
STEPS = [f"ladder-{each}" for each in MECHANISMS]


def command(step, state, inner):
    return arms()[step].command(Launch(NAME, None, SCRATCH, state), inner)


def test_steps_come_in_their_order():
    assert [arm for arm in arms() if arm.startswith("ladder-")] == STEPS
    assert [arms()[step].title for step in STEPS] == [f"+{each}" for each in MECHANISMS]
    assert [arms()[step].image_format for step in STEPS] == [None] * 7 + ["squashfs"]
    assert arms()["ladder-squashfs"].root_filesystem == "fuse"
    namespaces = ("mnt", "pid", "ipc", "user", "net")
    counts = (0, 1, 2, 3, 4, 5, 5, 5)
    assert [arms()[step].isolates for step in STEPS] == [namespaces[:count] for count in counts]


def test_what_is_missing_is_a_reason_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(ladder, "is_installed", lambda _program: True)
    monkeypatch.setattr(ladder, "no_user_namespaces", lambda: None)
    monkeypatch.setattr(ladder.os, "getuid", lambda: 1000)
    for step in ("mount", "pid", "ipc"):
        presence = arms()[f"ladder-{step}"].probe()
        assert (presence.available, presence.reason) == (False, "needs root")
        assert "user namespace" in presence.remedy
    monkeypatch.setattr(ladder, "answer_of", lambda _argv: (False, "mkdir: Permission denied"))
    presence = arms()["ladder-cgroup"].probe()
    assert presence.reason == "cannot start: mkdir: Permission denied"
    assert "delegated" in presence.remedy
    monkeypatch.setattr(ladder, "PROFILE", tmp_path / "gone.json")
    assert "golang-github-containers-common" in arms()["ladder-seccomp"].probe().remedy
    with pytest.raises(UserError, match=r"gone\.json"):
        ladder.write_filter(tmp_path / "filter")


def test_a_step_that_another_container_s_end_broke_is_tried_again(monkeypatch):
    answers = iter([(False, "bwrap: Unable to apply mount flags"), (True, ""), (True, "0.8.0")])
    monkeypatch.setattr(ladder, "is_installed", lambda _program: True)
    monkeypatch.setattr(ladder.os, "getuid", lambda: 0)
    monkeypatch.setattr(ladder, "answer_of", lambda _argv: next(answers))
    assert arms()["ladder-mount"].probe().version == "0.8.0"


ALLOW, REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"
ALLOWED, REFUSED = 0x7FFF_0000, 0x0005_0001
NOT_9 = {"index": 2, "value": 9, "valueTwo": 0, "op": "SCMP_CMP_NE"}


@pytest.mark.parametrize(("action", "more", "expected"), [
    (ALLOW, {"names": ["read", "write"]}, [Rule("read", ALLOWED), Rule("write", ALLOWED)]),
    (REFUSE, {"errnoRet": 22}, [Rule("read", 0x0005_0016)]),
    (REFUSE, {}, [Rule("read", REFUSED)]),
    (ALLOW, {"includes": {"arches": ["arm64"]}}, []),
    (ALLOW, {"includes": {"arches": ["amd64"]}}, [Rule("read", ALLOWED)]),
    (ALLOW, {"excludes": {"arches": ["amd64"]}}, []),
    (ALLOW, {"includes": {"caps": ["CAP_SYS_ADMIN"]}}, []),
    (REFUSE, {"excludes": {"caps": ["CAP_SYS_ADMIN"]}}, [Rule("read", REFUSED)]),
    (ALLOW, {"includes": {"caps": ["CAP_SYS_CHROOT"]}}, [Rule("read", ALLOWED)]),
    (ALLOW, {"excludes": {"caps": ["CAP_SYS_CHROOT"]}}, []),
    (ALLOW, {"args": [NOT_9]}, [Rule("read", ALLOWED, ((2, 1, 9, 0),))]),
])  # fmt: skip
def test_the_profile_is_read_for_a_container_on_this_machine(action, more, expected):
    entry = {"names": ["read"], "action": action} | more
    assert list(rules({"syscalls": [entry]}, "amd64")) == expected
    with pytest.raises(UserError, match="SCMP_ACT_TRACE"):
        list(rules({"syscalls": [{"names": ["read"], "action": "SCMP_ACT_TRACE"}]}, "amd64"))


# What follows runs on the real kernel.

FACTS = """
for each in cgroup ipc mnt net pid user uts; do stat -L -c "$each=%i" "/proc/self/ns/$each"; done
awk '/^(Seccomp|NoNewPrivs):/ {print $1 $2}' /proc/self/status | tr : =
awk -F: '{print "group." $1 "=" $3}' /proc/self/cgroup
echo "links=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort | tr '\\n' ' ')"
echo "processes=$(ls /proc | grep -c '^[0-9]')"
"""


def ready(step):
    presence = arms()[step].probe()
    if not presence.available:
        pytest.skip(f"{step}: {presence.reason}")


def run(words):
    return subprocess.run(words, capture_output=True, text=True, timeout=30)


def groups_left():
    return [folder for folder, below, _ in os.walk("/sys/fs/cgroup") if NAME in below]


def runs(*words):
    """The processes that were started with these words and no others before them."""
    return running(lambda line: line[: len(words)] == list(words))


@pytest.mark.system
@pytest.mark.parametrize("step", STEPS[:-1])
def test_exactly_the_mechanisms_of_a_step_are_on_in_control_groups_that_go_after_it(step, tmp_path):
    ready(step)
    # They go after one that fails, too.
    done = run(command(step, tmp_path, ["/bin/sh", "-c", f"{FACTS}exit 7"]))
    assert done.returncode == 7, done.stderr
    seen, arm = dict(line.split("=", 1) for line in done.stdout.splitlines()), arms()[step]
    host = {name: Path(f"/proc/self/ns/{name}").stat().st_ino for name in NAMESPACES}
    assert {name for name in NAMESPACES if int(seen[name]) != host[name]} == set(arm.isolates)
    assert seen["Seccomp"] == ("2" if "seccomp" in arm.mechanisms else "0")
    # Bubblewrap's own, and the reason why its step is called by its name.
    assert seen["NoNewPrivs"] == ("1" if "mount" in arm.mechanisms else "0")
    assert (seen["links"].split() == ["lo"]) == ("net" in arm.mechanisms)
    # A small machine may have as few processes itself.
    assert int(seen["processes"]) < 10 or "pid" not in arm.mechanisms
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    ours = {number: path for number, _, path in (line.split(":", 2) for line in lines)}
    inside = {key.removeprefix("group."): path for key, path in seen.items() if "group." in key}
    assert inside.keys() == ours.keys()
    for number, path in inside.items():
        above = ours[number] if number != "0" else ours[number].rpartition("/")[0]
        # Where no hierarchy of version 2 is mounted, nobody can make a group in it.
        if number == "0" and path == ours[number]:
            assert not Path("/sys/fs/cgroup/cgroup.procs").exists()
            assert not Path("/sys/fs/cgroup/unified").exists()
        else:
            assert path == f"{above.rstrip('/')}/{NAME}"
    assert groups_left() == []


def in_group(mounted, own, folder, *words):
    """Words in a control group of their own, on a machine whose hierarchies are mounted there."""
    (lines := folder / "cgroup").write_text(f"{own}\n")
    script = CONTROL_GROUP
    changes = {"mounted=/sys/fs/cgroup": f"mounted={mounted}", "/proc/$$/cgroup": str(lines)}
    for place, new in changes.items():
        assert place in script
        script = script.replace(place, new)
    return run(["/bin/sh", "-euc", script, "control-group", NAME, *words])


@pytest.mark.system
def test_version_2_alone_gets_a_group_beside_the_own_one(tmp_path):
    ready("ladder-cgroup")
    unified = Path("/sys/fs/cgroup/unified")
    if not unified.is_dir():
        pytest.skip("version 2 is not beside version 1 here")
    (parent := unified / f"{NAME}-parent").mkdir()
    try:
        own = f"0::/{parent.name}/own"
        done = in_group(unified, own, tmp_path, "grep", "^0:", "/proc/self/cgroup")
        assert done.stdout == f"0::/{parent.name}/{NAME}\n", done.stderr
    finally:
        parent.rmdir()


@pytest.mark.system
def test_a_machine_without_control_groups_is_refused(tmp_path):
    done = in_group(tmp_path, "0::/", tmp_path, "/bin/echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no control groups here" in done.stderr


# Numbers of x86-64, with arguments that no kernel can serve.
CALLS = {
    "kexec_load": (246, 0, 0, 0, 0), "bpf": (321, 0, 0, 0), "vmsplice": (278, -1, 0, 0, 0),
    "perf_event_open": (298, 0, 0, 0, 0, 0), "getpid": (39,), "unheard-of": (999,),
}  # fmt: skip
MAKE_CALLS = f"""
import ctypes, errno
library = ctypes.CDLL(None, use_errno=True)
for name, words in {CALLS!r}.items():
    ctypes.set_errno(0)
    library.syscall(*words)
    print(name, errno.errorcode.get(ctypes.get_errno(), "done"))
"""


@pytest.mark.system
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of calls are x86-64's")
def test_the_filter_refuses_what_engines_refuse_and_the_step_before_does_not(tmp_path):
    ready("ladder-seccomp")
    ladder.write_filter(file := tmp_path / "filter")
    # `struct sock_filter` has eight bytes.
    assert file.stat().st_size > 1000 and file.stat().st_size % 8 == 0
    seen = {}
    for step in ("ladder-net", "ladder-seccomp"):
        done = run(command(step, tmp_path, [sys.executable, "-c", MAKE_CALLS]))
        seen[step] = dict(line.split() for line in done.stdout.splitlines())
    refused = dict.fromkeys(("kexec_load", "bpf", "vmsplice", "perf_event_open"), "EPERM")
    assert seen["ladder-seccomp"] == refused | {"getpid": "done", "unheard-of": "ENOSYS"}
    assert "EPERM" not in (seen["ladder-net"]["vmsplice"], seen["ladder-net"]["bpf"])


@pytest.mark.system
def test_a_killed_run_s_group_and_processes_end_with_cleanup(tmp_path):
    ready("ladder-cgroup")
    # A process in a session of its own, which nothing but the control group holds.
    asleep = ("sleep", f"9876.{os.getpid()}")
    inner = ["/usr/bin/setsid", "--fork", "/bin/sh", "-c", f"{' '.join(asleep)} & wait"]
    stay = ["/bin/sh", "-c", '"$@"; sleep 60', "stay", *inner]
    process = subprocess.Popen(command("ladder-cgroup", tmp_path, stay), start_new_session=True)
    wait_for(lambda: runs(*asleep))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert runs(*asleep) and groups_left()
    arms()["ladder-cgroup"].cleanup(Launch(NAME, None, SCRATCH, tmp_path))
    assert not runs(*asleep) and not groups_left()
