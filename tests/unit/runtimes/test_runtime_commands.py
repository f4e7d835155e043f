"""The exact command line of every arm, and what the runtimes write for a run."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from parity import runtimes
from parity.core.commands import Availability
from parity.core.package import modules_with
from parity.runtimes import apptainer, arms, engines, model, qemu
from parity.runtimes.model import SCRATCH, Image, Launch

DIGEST = f"sha256:{'1' * 64}"


def test_every_arm_of_every_module_is_found_by_its_name():
    found = [arm for module in modules_with(runtimes, "ARMS") for arm in module]
    assert [arm.name for arm in found] == list(arms())
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in arms())


@pytest.mark.parametrize(("uid", "isolates"), [(0, ("mnt",)), (1000, ("mnt", "user"))])
def test_a_chroot_is_a_mount_namespace_and_nothing_more(monkeypatch, uid, isolates):
    monkeypatch.setattr(os, "getuid", lambda: uid)
    for arm in (arms()["chroot-a"], arms()["chroot-b"]):
        assert arm.isolates == isolates and arm.stands_in and not arm.is_native
        assert "native" not in f"{arm.title} {arm.runtime}".lower()
    # Those that ranks of a node have to share.
    assert arms()["podman-shared"].isolates == ("mnt", "uts")
    assert arms()["podman"].isolates == ("ipc", "mnt", "pid", "uts")


def test_apptainer_of_the_site_comes_first(monkeypatch):
    monkeypatch.setattr(apptainer.shutil, "which", lambda name: f"/site/bin/{name}")
    assert apptainer.program() == "/site/bin/apptainer"


@pytest.mark.parametrize(
    ("processes", "expected"), [(100, 100), (99999, 32768), (engines.resource.RLIM_INFINITY, 32768)]
)
def test_podman_asks_for_no_more_than_we_have(monkeypatch, tmp_path, processes, expected):
    (pid_max := tmp_path / "pid_max").write_text("32768\n")
    resource = engines.resource
    hard = {resource.RLIMIT_NOFILE: (1024, 20000), resource.RLIMIT_NPROC: (50, processes)}
    monkeypatch.setattr(engines, "_MOST_PROCESSES", pid_max)
    monkeypatch.setattr(resource, "getrlimit", hard.__getitem__)
    files = "--ulimit=nofile=20000:20000"
    assert engines.ulimits() == [files, f"--ulimit=nproc={expected}:{expected}"]


@pytest.mark.parametrize(("answers", "asked"), [([True], 1), ([False, True], 2), ([False] * 9, 3)])
def test_podman_is_asked_again_to_remove_what_was_about_to_end(answers, asked, monkeypatch):
    seen = []

    def answer(words, seconds):
        seen.append(words)
        return answers[len(seen) - 1], "it is stopping"

    monkeypatch.setattr(engines, "answer_of", answer)
    monkeypatch.setattr(engines.time, "sleep", lambda _seconds: None)
    arms()["podman"].cleanup()
    assert seen == []
    arms()["podman"].cleanup(Launch("run-1", None, SCRATCH, SCRATCH))
    assert seen == [["podman", "rm", "--force", "--ignore", "--time=0", "run-1"]] * asked


@pytest.mark.parametrize(("driver", "is_slow"), [("vfs", True), ("overlay", False)])
def test_podman_names_a_storage_driver_that_copies(monkeypatch, driver, is_slow) -> None:
    monkeypatch.setattr(engines, "is_installed", lambda _name: True)
    says = {"--version": "podman version 5", "info": driver}
    monkeypatch.setattr(engines, "answer_of", lambda words: (True, says[words[1]]))
    monkeypatch.setattr(os, "getuid", lambda: 0)
    version = arms()["podman"].probe().version
    assert version == f"podman version 5{f'; {engines.COPIES}' if is_slow else ''}"


def test_two_clones_of_one_campaign_have_no_container_of_one_name(tmp_path, monkeypatch):
    """An engine has one list of names, and both may be process 7, in turn or in containers."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.chdir(tmp_path)
    run = "results/blocks/b0001/runs/x.podman/attempt-1"
    clones = [tmp_path / clone / run for clone in ("one", "two")]
    names = {model.name_in(folder) for folder in (*clones, clones[0].with_name("attempt-2"))}
    assert len(names) == 3 and all(re.fullmatch(r"parity-7-[0-9a-f]{8}", name) for name in names)
    assert model.name_in(clones[0]) == model.name_in(Path("one", run))


def test_lxc_mount_entries_survive_a_space(tmp_path):
    spaced = Launch("x", Image("directory", "/i", DIGEST), Path("/tmp/a b"), tmp_path)
    arms()["lxc"].command(spaced, [])
    entry = "lxc.mount.entry = /tmp/a\\040b tmp/a\\040b none"
    assert entry in (tmp_path / "lxc.conf").read_text()


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
    monkeypatch.setattr(model.os, "getuid", lambda: 0)
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


@pytest.mark.parametrize("arm", arms().values(), ids=list(arms()))
def test_a_bare_machine_is_a_reason_with_a_remedy(arm, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(apptainer, "PREFIX", tmp_path)
    if not arm.packages:  # the machine itself
        return
    presence = arm.probe()
    assert (presence.available, presence.reason) == (False, "not installed")
    assert presence.remedy


def test_docker_says_its_daemon_s_version_or_why_it_does_not_answer(monkeypatch):
    monkeypatch.setattr(engines, "is_installed", lambda _program: True)
    for (answered, answer), expected in {
        (True, "20.10.24"): Availability(True, version="Docker 20.10.24"),
        (False, "permission denied while trying to connect"): "no access to the daemon",
        (False, "Cannot connect to the Docker daemon"): "daemon not running",
    }.items():
        monkeypatch.setattr(engines, "answer_of", lambda _argv, a=(answered, answer): a)
        presence = arms()["docker"].probe()
        assert expected in (presence, presence.reason)


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


def test_lxc_needs_root_and_an_absent_image_has_no_digest(monkeypatch, tmp_path):
    monkeypatch.setattr(model, "is_installed", lambda _program: True)
    monkeypatch.setattr(model.os, "getuid", lambda: 1000)
    assert arms()["lxc"].probe().reason == "needs root"
    assert arms()["namespaces"].digest(str(tmp_path / "gone")) == ""
