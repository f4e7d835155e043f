"""The exact command line of every arm, and what the runtimes write for a run."""

import json
import os
import platform
import re
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from parity import runtimes
from parity.core.commands import Availability
from parity.core.package import modules_with
from parity.runtimes import apptainer, arms, engines, ladder, lxc, oci, qemu
from parity.runtimes.model import SCRATCH, Image, Launch
from parity.runtimes.namespaces import ENTER

INNER = ["/usr/bin/taskset", "-c", "0", "/bin/echo", "a b", "$HOME", ""]
DIGEST = f"sha256:{'1' * 64}"


def launch(state, image_format, location="/images/one"):
    image = Image(image_format, location, DIGEST) if image_format else None
    return Launch("campaign-b0001.sysbench", image, SCRATCH, state)


def test_every_arm_of_every_module_is_found_by_its_name():
    found = [arm for module in modules_with(runtimes, "ARMS") for arm in module]
    assert [arm.name for arm in found] == list(arms())
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in arms())


def test_native_is_the_program_itself(tmp_path):
    for name in ("native-a", "native-b"):
        assert arms()[name].command(launch(tmp_path, None), INNER) == INNER


def test_namespaces_command(tmp_path):
    argv = arms()["namespaces"].command(launch(tmp_path, "directory"), INNER)
    unshare = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
    enter = ["/bin/sh", "-euc", ENTER, "namespaces", "/images/one", "/tmp/parity"]
    assert argv == [*unshare, *enter, "--", *INNER]


@pytest.mark.parametrize(
    ("uid", "mapped", "isolates"),
    [(0, [], ("mnt",)), (1000, ["--map-root-user"], ("mnt", "user"))],
)
def test_a_chroot_is_a_mount_namespace_and_nothing_more(
    tmp_path, monkeypatch, uid, mapped, isolates
):
    monkeypatch.setattr(os, "getuid", lambda: uid)
    for name in ("chroot-a", "chroot-b"):
        arm = arms()[name]
        argv = arm.command(launch(tmp_path, "directory"), INNER)
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", "/images/one", "/tmp/parity"]
        assert argv == ["unshare", *mapped, "--mount", *enter, "--", *INNER]
        assert arm.isolates == isolates and arm.stands_in and not arm.is_native
        assert "native" not in f"{arm.title} {arm.runtime}".lower()


def test_charliecloud_commands(tmp_path):
    bind = "--bind=/tmp/parity:/tmp/parity"
    directory = arms()["charliecloud-dir"].command(launch(tmp_path, "directory"), INNER)
    assert directory == ["ch-run", bind, "/images/one", "--", *INNER]
    mount = f"--mount={tmp_path}/mount"
    squashed = arms()["charliecloud-sqfs"].command(launch(tmp_path, "squashfs"), INNER)
    assert squashed == ["ch-run", mount, bind, "/images/one", "--", *INNER]
    assert (tmp_path / "mount").is_dir()


def test_apptainer_command(tmp_path, monkeypatch):
    monkeypatch.setattr(apptainer.shutil, "which", lambda _name: None)
    argv = arms()["apptainer"].command(launch(tmp_path, "sif"), INNER)
    assert argv == [
        "/opt/parity/apptainer/usr/bin/apptainer",
        "--silent",
        "exec",
        "--userns",
        "--cleanenv",
        "--no-mount=home,tmp,cwd,bind-paths",
        "--bind=/tmp/parity,/etc/hosts",
        "/images/one",
        *INNER,
    ]


def test_apptainer_of_the_site_comes_first(monkeypatch):
    monkeypatch.setattr(apptainer.shutil, "which", lambda name: f"/site/bin/{name}")
    assert apptainer.program() == "/site/bin/apptainer"


def test_docker_command(tmp_path):
    argv = arms()["docker"].command(launch(tmp_path, "docker", DIGEST), INNER)
    assert argv == [
        "docker",
        "run",
        "--rm",
        "--name=campaign-b0001.sysbench",
        "--pull=never",
        "--log-driver=none",
        "--network=host",
        "--read-only",
        f"--user={os.getuid()}:{os.getgid()}",
        "--volume=/dev/shm:/dev/shm",
        "--volume=/tmp/parity:/tmp/parity",
        DIGEST,
        *INNER,
    ]


def test_podman_command(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "ulimits", lambda: ["--ulimit=nofile=5:5"])
    argv = arms()["podman"].command(launch(tmp_path, "podman", DIGEST), INNER)
    assert argv == [
        "podman",
        "--runtime=runc",
        "run",
        "--rm",
        "--name=campaign-b0001.sysbench",
        "--pull=never",
        "--log-driver=none",
        "--network=host",
        "--read-only",
        "--read-only-tmpfs=false",
        "--ulimit=nofile=5:5",
        "--volume=/dev/shm:/dev/shm",
        "--volume=/tmp/parity:/tmp/parity",
        DIGEST,
        *INNER,
    ]


@pytest.mark.parametrize(
    ("processes", "expected"), [(100, 100), (99999, 32768), (engines.resource.RLIM_INFINITY, 32768)]
)
def test_podman_asks_for_no_more_than_we_have(monkeypatch, tmp_path, processes, expected):
    pid_max = tmp_path / "pid_max"
    pid_max.write_text("32768\n")
    limits = {
        engines.resource.RLIMIT_NOFILE: (1024, 20000),
        engines.resource.RLIMIT_NPROC: (50, processes),
    }
    monkeypatch.setattr(engines, "_MOST_PROCESSES", pid_max)
    monkeypatch.setattr(engines.resource, "getrlimit", limits.__getitem__)
    assert engines.ulimits() == [
        "--ulimit=nofile=20000:20000",
        f"--ulimit=nproc={expected}:{expected}",
    ]


@pytest.mark.parametrize(("answers", "asked"), [([True], 1), ([False, True], 2), ([False] * 9, 3)])
def test_podman_is_asked_again_to_remove_what_was_about_to_end(
    answers, asked, monkeypatch, tmp_path
):
    seen = []

    def answer(words, seconds):
        seen.append(words)
        return answers[len(seen) - 1], "it is stopping"

    monkeypatch.setattr(engines, "answer_of", answer)
    monkeypatch.setattr(engines.time, "sleep", lambda _seconds: None)
    arms()["podman"].cleanup()
    assert seen == []
    arms()["podman"].cleanup(Launch("run-1", None, SCRATCH, tmp_path))
    assert seen == [["podman", "rm", "--force", "--ignore", "--time=0", "run-1"]] * asked


def test_podman_shares_the_namespaces_that_ranks_of_a_node_have_to_share(tmp_path):
    alone, shared = (arms()[name] for name in ("podman", "podman-shared"))
    words = set(shared.command(launch(tmp_path, "podman"), INNER))
    assert words - set(alone.command(launch(tmp_path, "podman"), INNER)) == {
        "--ipc=host",
        "--pid=host",
    }
    assert shared.isolates == ("mnt", "uts")
    assert alone.isolates == ("ipc", "mnt", "pid", "uts")


def test_lxc_command_and_configuration(tmp_path):
    argv = arms()["lxc"].command(launch(tmp_path, "directory"), INNER)
    file = tmp_path / "lxc.conf"
    name = "--name=campaign-b0001.sysbench"
    words = [name, f"--lxcpath={tmp_path}", f"--rcfile={file}"]
    words.append(f"--define=lxc.uts.name={platform.node()}")
    assert argv == ["lxc-execute", *words, "--", *INNER]
    assert file.read_text().splitlines() == [
        "lxc.rootfs.path = dir:/images/one",
        "lxc.rootfs.options = ro",
        "lxc.net.0.type = none",
        "lxc.mount.auto = proc:rw sys:rw",
        "lxc.mount.entry = /dev dev none rbind 0 0",
        "lxc.mount.entry = /tmp/parity tmp/parity none rbind,rw 0 0",
        "lxc.mount.entry = /etc/hosts etc/hosts none bind,ro 0 0",
    ]


def test_lxc_mount_entries_survive_a_space(tmp_path):
    spaced = Launch("x", Image("directory", "/i", DIGEST), Path("/tmp/a b"), tmp_path)
    assert "lxc.mount.entry = /tmp/a\\040b tmp/a\\040b none" in lxc.configuration(spaced)


def test_gvisor_command_and_bundle(tmp_path):
    run = replace(launch(tmp_path, "directory"), cpus=(1, 3))
    argv = arms()["gvisor"].command(run, INNER)
    assert argv[:5] == ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    assert argv[5:8] == ["/bin/sh", "-euc", oci.SANDBOX]
    assert argv[8:] == ["sandbox", str(tmp_path), "campaign-b0001.sysbench", "1,3", *INNER]
    assert arms()["gvisor"].command(launch(tmp_path, "directory"), INNER)[11] == ""
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["root"] == {"path": "/images/one", "readonly": True}
    mounts = {each["destination"]: each for each in config["mounts"]}
    assert mounts["/tmp/parity"]["options"] == ["rbind", "rw"]
    assert mounts["/etc/hosts"]["options"] == ["rbind", "ro"]


def test_guest_command(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {4, 0})
    memory = SimpleNamespace(total=8 * 2**30)
    monkeypatch.setattr(qemu.psutil, "virtual_memory", lambda: memory)
    run = replace(launch(tmp_path, "directory"), host="node", binds=(Path("/opt/tree"),))
    for name, accelerator, model in (("kvm", "kvm", "host"), ("qemu-tcg", "tcg", "max")):
        assert arms()[name].command(run, INNER) == [
            *("unshare", "--mount", "/bin/sh", "-euc", qemu.GUEST, "guest"),
            *(f"{tmp_path}/campaign-b0001.sysbench", "campaign-b0001.sysbench", "/images/one"),
            *("/tmp/parity", "node", accelerator, model, "0,4", "4096", "/opt/parity/qemu"),
            *("/etc/hosts", "/opt/tree", "--", *INNER),
        ]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A made-up kernel for guests, and a QEMU that says what a file says."""
    for name, text in (("release", "6.1.0"), ("boot", "this-boot\n"), ("said", "a guest is up\n")):
        (tmp_path / name).write_text(text)
    program = tmp_path / "bin/qemu-system-x86_64"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/said"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for name, path in (("PREFIX", tmp_path), ("BOOT_ID", tmp_path / "boot"), ("KVM", program)):
        monkeypatch.setattr(qemu, name, path)
    monkeypatch.setattr(qemu, "SERVER", program)
    monkeypatch.setattr(qemu.os, "getuid", lambda: 0)
    return tmp_path


def test_kvm_is_there_where_a_guest_was_seen_to_boot_since_the_machine_did(installed):
    kvm, emulated = arms()["kvm"], arms()["qemu-tcg"]
    assert kvm.probe().reason == "no guest was tried by KVM since this machine booted"
    assert emulated.probe().available
    qemu.try_kvm()
    assert kvm.probe() == Availability(True, version="a guest is up, guest 6.1.0")
    # It is tried once, and anew after the machine booted.
    (installed / "said").write_text("error: failed to set MSR\n")
    qemu.try_kvm()
    assert kvm.probe().available
    (installed / "boot").write_text("next-boot\n")
    assert "was tried" in kvm.probe().reason and kvm.probe().remedy
    qemu.try_kvm()
    refused = "KVM does not run a stock guest here: error: failed to set MSR"
    assert kvm.probe().reason == refused
    (installed / "release").unlink()
    assert kvm.probe().reason == emulated.probe().reason == "no kernel for a guest"


def test_a_guest_that_hangs_is_given_up(installed, monkeypatch):
    monkeypatch.setattr(qemu, "LONGEST_BOOT_SECONDS", 1)
    (installed / "bin/qemu-system-x86_64").write_text("#!/bin/sh\nexec sleep 60\n")
    qemu.try_kvm()
    assert qemu.problem_of_kvm().endswith("here: no word of it in 1 s")
    monkeypatch.setattr(qemu, "KVM", installed / "none")
    assert qemu.problem_of_kvm() == "no /dev/kvm"


def test_the_first_file_system_is_an_archive_of_four_byte_parts():
    """cpio(5), the format newc: a header of 110 bytes, name and content filled up to fours."""
    made = qemu.archive([("init", 0o100755, b"abcde"), ("dev", 0o40755, b"")])
    assert len(made) % 4 == 0
    assert made[:6] == b"070701" and made[110:115] == b"init\0"
    assert (int(made[14:22], 16), int(made[54:62], 16), int(made[94:102], 16)) == (0o100755, 5, 5)
    assert made[116:124] == b"abcde\0\0\0" and made[124:130] == b"070701"
    assert made.rstrip(b"\0").endswith(b"TRAILER!!!")


@pytest.fixture
def no_filter(monkeypatch):
    """No filter of system calls is made: its list is a file of a package."""
    monkeypatch.setattr(ladder, "write_filter", lambda file: file.write_bytes(b""))


@pytest.mark.usefixtures("no_filter")
@pytest.mark.parametrize("arm", arms().values(), ids=list(arms()))
def test_the_inner_words_are_the_last_and_untouched(arm, tmp_path):
    argv = arm.command(launch(tmp_path, arm.image_format), INNER)
    assert argv[-len(INNER) :] == INNER
    assert all(isinstance(word, str) for word in argv)


@pytest.mark.parametrize("arm", arms().values(), ids=list(arms()))
def test_a_bare_machine_is_a_reason_with_a_remedy(arm, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(apptainer, "PREFIX", tmp_path)
    if not arm.packages:  # the machine itself
        return
    presence = arm.probe()
    assert (presence.available, presence.reason) == (False, "not installed")
    assert presence.remedy


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((False, "permission denied while trying to connect"), "no access to the daemon"),
        ((False, "Cannot connect to the Docker daemon"), "daemon not running"),
    ],
)
def test_docker_says_why_it_does_not_answer(monkeypatch, answer, reason):
    monkeypatch.setattr(engines, "is_installed", lambda _program: True)
    monkeypatch.setattr(engines, "answer_of", lambda _argv: answer)
    assert arms()["docker"].probe().reason == reason


@pytest.mark.parametrize(
    ("content", "stays"), [("{own}", False), ("999999999", False), ("{daemon}", True)]
)
def test_a_pid_file_of_a_dead_docker_daemon_is_removed(tmp_path, monkeypatch, content, stays):
    monkeypatch.setattr(engines, "DAEMON_PID", tmp_path / "docker.pid")
    sleeper = tmp_path / "dockerd"
    sleeper.symlink_to(shutil.which("sleep"))
    with subprocess.Popen([sleeper, "60"]) as daemon:
        # The kernel names a process a moment after it lets its parent go on.
        while Path(f"/proc/{daemon.pid}/comm").read_text() != "dockerd\n":
            time.sleep(0.01)
        text = content.format(own=os.getpid(), daemon=daemon.pid)
        engines.DAEMON_PID.write_text(f"{text}\n")
        engines._forget_dead_daemon()
        daemon.kill()
    assert engines.DAEMON_PID.exists() == stays
    engines.DAEMON_PID.unlink(missing_ok=True)
    engines._forget_dead_daemon()  # No file is no error.


def test_docker_version_is_the_daemons(monkeypatch):
    monkeypatch.setattr(engines, "is_installed", lambda _program: True)
    monkeypatch.setattr(engines, "answer_of", lambda _argv: (True, "20.10.24"))
    assert arms()["docker"].probe() == Availability(True, version="Docker 20.10.24")


def test_lxc_needs_root(monkeypatch):
    monkeypatch.setattr(lxc, "is_installed", lambda _program: True)
    monkeypatch.setattr(lxc.os, "getuid", lambda: 1000)
    assert arms()["lxc"].probe().reason == "needs root"


def test_an_absent_image_has_no_digest(tmp_path):
    assert arms()["namespaces"].digest(str(tmp_path / "gone")) == ""
