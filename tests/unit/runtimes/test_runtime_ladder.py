"""The namespace ladder: its command lines, and each step on the real kernel."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trials import wait_for

from parity.core.errors import UserError
from parity.runtimes import arms, ladder
from parity.runtimes.ladder import CONTROL_GROUP, MECHANISMS, Rule, rules
from parity.runtimes.model import NAMESPACES, SCRATCH, Image, Launch

INNER = ["/bin/echo", "a b", "$HOME", ""]
DIGEST = f"sha256:{'1' * 64}"
STEPS = [f"ladder-{each}" for each in MECHANISMS]
WITHOUT_IMAGE = STEPS[:-1]
HOST = {name: Path(f"/proc/self/ns/{name}").stat().st_ino for name in NAMESPACES}


def command(step, state, inner=INNER, name="ladder-run", **facts):
    image = Image("squashfs", "/images/one", DIGEST) if arms()[step].image_format else None
    return arms()[step].command(Launch(name, image, SCRATCH, state, **facts), inner)


def test_steps_come_in_their_order():
    assert [arm for arm in arms() if arm.startswith("ladder-")] == STEPS
    assert {arms()[step].runtime for step in STEPS} == {"ladder"}
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


def facts(step, folder):
    """What a process sees of itself in a step."""
    done = run(command(step, folder, ["/bin/sh", "-c", FACTS], f"ladder-{os.getpid()}"))
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def groups_left(name):
    return [folder for folder, below, _ in os.walk("/sys/fs/cgroup") if name in below]


def host_groups():
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return {number: path for number, _, path in (line.split(":", 2) for line in lines)}


@pytest.mark.system
@pytest.mark.parametrize("step", WITHOUT_IMAGE)
def test_exactly_the_mechanisms_of_a_step_are_on(step, tmp_path):
    ready(step)
    seen, arm = facts(step, tmp_path), arms()[step]
    other = {name for name in NAMESPACES if int(seen[name]) != HOST[name]}
    assert other == set(arm.isolates)
    assert seen["Seccomp"] == ("2" if "seccomp" in arm.mechanisms else "0")
    # Bubblewrap's own, and the reason why its step is called by its name.
    assert seen["NoNewPrivs"] == ("1" if "mount" in arm.mechanisms else "0")
    assert (seen["links"].split() == ["lo"]) == ("net" in arm.mechanisms)
    # A small machine may have as few processes itself.
    assert int(seen["processes"]) < 10 or "pid" not in arm.mechanisms


@pytest.mark.system
@pytest.mark.parametrize("step", WITHOUT_IMAGE)
def test_every_control_group_is_the_run_s_own_and_gone_after_it(step, tmp_path):
    ready(step)
    name, seen, host = f"ladder-{os.getpid()}", facts(step, tmp_path), host_groups()
    inside = {key.removeprefix("group."): path for key, path in seen.items() if "group." in key}
    assert inside.keys() == host.keys()
    for number, path in inside.items():
        above = host[number] if number != "0" else host[number].rpartition("/")[0]
        # Where no hierarchy of version 2 is mounted, nobody can make a group in it.
        if number == "0" and path == host[number]:
            assert not Path("/sys/fs/cgroup/cgroup.procs").exists()
            assert not Path("/sys/fs/cgroup/unified").exists()
        else:
            assert path == f"{above.rstrip('/')}/{name}"
    assert groups_left(name) == []


@pytest.mark.system
def test_version_2_alone_gets_a_group_beside_the_own_one(tmp_path):
    ready("ladder-cgroup")
    unified = Path("/sys/fs/cgroup/unified")
    if not unified.is_dir():
        pytest.skip("version 2 is not beside version 1 here")
    name = f"ladder-{os.getpid()}"
    (parent := unified / f"{name}-parent").mkdir()
    lines = tmp_path / "cgroup"
    # A process of /parent/own, on a machine that has nothing but version 2.
    lines.write_text(f"0::/{parent.name}/own\n")
    script = CONTROL_GROUP.replace("/proc/$$/cgroup", str(lines))
    script = script.replace("mounted=/sys/fs/cgroup", f"mounted={unified}")
    assert str(lines) in script and str(unified) in script
    try:
        group = ["/bin/sh", "-euc", script, "control-group", name]
        done = run([*group, "grep", "^0:", "/proc/self/cgroup"])
        assert done.stdout == f"0::/{parent.name}/{name}\n", done.stderr
    finally:
        parent.rmdir()


@pytest.mark.system
def test_a_machine_without_control_groups_is_refused(tmp_path):
    script = CONTROL_GROUP.replace("mounted=/sys/fs/cgroup", f"mounted={tmp_path}")
    script = script.replace("/proc/$$/cgroup", str(lines := tmp_path / "cgroup"))
    lines.write_text("0::/\n")
    done = run(["/bin/sh", "-euc", script, "control-group", "run", "/bin/echo", "ran"])
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
    words = [sys.executable, "-c", MAKE_CALLS]
    ladder.write_filter(file := tmp_path / "filter")
    # `struct sock_filter` has eight bytes.
    assert file.stat().st_size > 1000 and file.stat().st_size % 8 == 0
    seen = {}
    for step in ("ladder-net", "ladder-seccomp"):
        done = run(command(step, tmp_path, words))
        seen[step] = dict(line.split() for line in done.stdout.splitlines())
    assert seen["ladder-seccomp"] == {
        **dict.fromkeys(("kexec_load", "bpf", "vmsplice", "perf_event_open"), "EPERM"),
        "getpid": "done",
        "unheard-of": "ENOSYS",
    }
    refused = [name for name, answer in seen["ladder-net"].items() if answer == "EPERM"]
    assert "vmsplice" not in refused and "bpf" not in refused


@pytest.mark.system
@pytest.mark.parametrize("step", WITHOUT_IMAGE)
def test_status_and_words_pass_through(step, tmp_path):
    ready(step)
    script = 'printf "<%s>" "$@"; exit 7'
    done = run(command(step, tmp_path, ["/bin/sh", "-c", script, "script", *INNER]))
    assert (done.returncode, done.stdout) == (7, "</bin/echo><a b><$HOME><>")
    assert groups_left("ladder-run") == []


@pytest.mark.system
def test_a_killed_run_s_group_and_processes_end_with_cleanup(tmp_path):
    ready("ladder-cgroup")
    name = f"ladder-{os.getpid()}"
    # A process in a session of its own, which nothing but the control group holds.
    seconds = f"9876.{os.getpid()}"
    inner = ["/usr/bin/setsid", "--fork", "/bin/sh", "-c", f"sleep {seconds} & wait"]
    stay = ["/bin/sh", "-c", '"$@"; sleep 60', "stay", *inner]
    words = command("ladder-cgroup", tmp_path, stay, name)
    process = subprocess.Popen(words, start_new_session=True)
    found = re.compile(rf"sleep\0{re.escape(seconds)}".encode())
    wait_for(lambda: any_process(found))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert any_process(found) and groups_left(name)
    arms()["ladder-cgroup"].cleanup(Launch(name, None, SCRATCH, tmp_path))
    assert not any_process(found) and not groups_left(name)


def any_process(pattern):
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if pattern.match((folder / "cmdline").read_bytes()):
                return True
        except OSError:
            continue
    return False


@pytest.fixture
def squashed(tmp_path):
    """An image of nothing but names: its programs are the host's, which are shown in it."""
    ready("ladder-squashfs")
    if not shutil.which("mksquashfs") or not Path("/bin").is_symlink():
        pytest.skip("no mksquashfs, or a host whose programs are not all in /usr")
    root = tmp_path / "root"
    for folder in ("dev", "proc", "sys", "etc", "usr", f"{SCRATCH}"[1:]):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/hosts").touch()
    SCRATCH.mkdir(exist_ok=True)
    file = tmp_path / "image.squashfs"
    subprocess.run(["mksquashfs", root, file, "-quiet"], check=True, capture_output=True)
    (state := tmp_path / "state").mkdir()
    image, name = Image("squashfs", str(file), DIGEST), f"ladder-{os.getpid()}"
    return Launch(name, image, SCRATCH, state, binds=(Path("/usr"),))


@pytest.mark.system
def test_the_root_is_the_image_and_nothing_of_its_mount_stays(squashed):
    script = """
    grep -E '^[0-9]+ [0-9]+ [0-9:]+ [^ ]+ (/|/usr) ' /proc/self/mountinfo | cut -d' ' -f5,6,8
    ls /; ( : > /new ) || ( : > /usr/new ) || ( : > /etc/hosts ) || exit 5
    """
    done = run(arms()["ladder-squashfs"].command(squashed, ["/bin/sh", "-c", script]))
    root, shown, *names = done.stdout.splitlines()
    assert re.fullmatch(r"/ ro,\S+ fuse.squashfuse_ll", root), done.stderr
    assert shown.startswith("/usr ro,")
    assert names == ["bin", "dev", "etc", "lib", "lib64", "proc", "sys", "tmp", "usr"]
    assert done.returncode == 5 and done.stderr.count("Read-only file system") == 3
    assert str(squashed.state) not in Path("/proc/mounts").read_text()
    server = re.compile(rf"squashfuse_ll\0{re.escape(squashed.image.location)}".encode())
    wait_for(lambda: not any_process(server))
    assert groups_left(squashed.name) == []
