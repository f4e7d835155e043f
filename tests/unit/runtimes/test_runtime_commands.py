"""What arms are and say of a machine, and what they write, ask and load; with made-up programs."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from trials import wait_for

from parity.core.commands import Availability
from parity.runtimes import apptainer, arms, derived, engines, every_arm, model, qemu, udocker
from parity.runtimes.model import HOST_MPI, LINK_SETS, OWN, SCRATCH, SHARED, Image, Launch

INNER = ["/bin/echo", "a b", "$HOME", ""]
RUN = "campaign-b0001.sysbench"
# Of sites: what they need is no package of Debian's.
ADAPTERS = ("cscs-engine", "enroot", "podman-hpc", "pyxis", "sarus", "shifter")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts a program on PATH that writes its words into a file, then does what it is told."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    def make(name, *lines):
        program = tmp_path / "bin" / name
        saves = f'printf "%s\\n" "{name} $*" >> "{tmp_path}/said"'
        program.write_text("\n".join(["#!/bin/sh", saves, *lines]) + "\n")
        program.chmod(0o755)
        return tmp_path / "said"

    return make


def command(name, state, location="/images/one", scratch=SCRATCH):
    """The words of an arm for a run that is shown a folder of the host's."""
    image = Image(arms()[name].image_format, location, f"sha256:{'1' * 64}")
    launch = Launch(RUN, image, scratch, state, host="n1", binds=(Path("/opt/tree"),))
    return arms()[name].command(launch, INNER)


def converted(name, folder: Path, digest: str = "ab" * 32) -> str:
    """The location of an arm's image, made of as much of an OCI layout as names one."""
    (oci := folder / "oci").mkdir(parents=True, exist_ok=True)
    index = {"manifests": [{"digest": f"sha256:{digest}"}]}
    (oci / "index.json").write_text(json.dumps(index))
    return arms()[name].convert(oci, folder / "root", folder / "image")


def test_every_container_arm_comes_with_every_link_set() -> None:
    for name in (name for name, arm in arms().items() if arm.image_format):
        own, tree, mpi = (every_arm()[f"{name}{end}"] for end in ("", "-shared-tree", "-host-mpi"))
        assert (own.link_set, tree.link_set, mpi.link_set) == (OWN, SHARED, HOST_MPI) == LINK_SETS
        for attribute in ("runtime", "isolates", "image_format"):
            assert len({getattr(arm, attribute) for arm in (own, tree, mpi)}) == 1
        assert not tree.is_native and tree.title == f"{own.title} (native tree)"


def test_without_a_native_build_there_is_nothing_to_show(monkeypatch) -> None:
    monkeypatch.setitem(derived._SHOWN, SHARED, tuple)
    arm = every_arm()["charliecloud-dir-shared-tree"]
    monkeypatch.setattr(type(arm.base), "probe", lambda _self: Availability(True, version="1"))
    presence = arm.probe()
    assert (presence.available, presence.remedy) == (False, "snakemake native")
    monkeypatch.setitem(derived._SHOWN, SHARED, lambda: (Path("/opt/parity/tree"),))
    assert arm.probe() == Availability(True, version="1")
    monkeypatch.setattr(type(arm.base), "probe", lambda _self: Availability(False, reason="gone"))
    assert arm.probe().reason == "gone"


def test_the_mpi_that_is_shown_has_no_symbolic_links(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "libmpi.so.40.30.4").touch()
    (tmp_path / "libmpi.so.40").symlink_to("libmpi.so.40.30.4")
    (tmp_path / "openmpi").mkdir()
    monkeypatch.setattr(derived, "_MPI", ((tmp_path, ("openmpi", "libmpi*.so.*")),))
    assert derived.host_mpi() == (tmp_path / "libmpi.so.40.30.4", tmp_path / "openmpi")


@pytest.mark.parametrize(("uid", "isolates"), [(0, ("mnt",)), (1000, ("mnt", "user"))])
def test_a_chroot_is_a_mount_namespace_and_nothing_more(monkeypatch, uid, isolates):
    monkeypatch.setattr(os, "getuid", lambda: uid)
    for arm in (arms()["chroot-a"], arms()["chroot-b"]):
        assert arm.isolates == isolates and arm.stands_in and not arm.is_native
        assert "native" not in f"{arm.title} {arm.runtime}".lower()
    # Those that ranks of a node have to share.
    assert arms()["podman-shared"].isolates == ("mnt", "uts")
    assert arms()["podman"].isolates == ("ipc", "mnt", "pid", "uts")


@pytest.mark.parametrize("arm", arms().values(), ids=list(arms()))
def test_a_bare_machine_is_a_reason_with_a_remedy(arm, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(apptainer, "PREFIX", tmp_path)
    if not arm.packages and arm.name not in ADAPTERS:  # the machine itself
        return
    presence = arm.probe()
    assert not presence.available and presence.reason and presence.remedy
    assert presence.reason == "not installed" or not arm.packages


def test_lxc_needs_root_and_an_absent_image_has_no_digest(monkeypatch, tmp_path):
    monkeypatch.setattr(model, "is_installed", lambda _program: True)
    monkeypatch.setattr(model.os, "getuid", lambda: 1000)
    assert arms()["lxc"].probe().reason == "needs root"
    assert arms()["namespaces"].digest(str(tmp_path / "gone")) == ""


def test_lxc_mount_entries_survive_a_space(tmp_path):
    command("lxc", tmp_path, scratch=Path("/tmp/a b"))
    entry = "lxc.mount.entry = /tmp/a\\040b tmp/a\\040b none"
    assert entry in (tmp_path / "lxc.conf").read_text()


def test_runc_starts_the_words_of_its_own_rank(tmp_path, fake):
    said = fake("runc")
    assert subprocess.run(command("runc", tmp_path)).returncode == 0
    assert said.read_text() == f"runc --root={tmp_path}/runc run --bundle={tmp_path / RUN} {RUN}\n"
    config = json.loads((tmp_path / RUN / "config.json").read_text())
    assert config["process"]["args"] == INNER


def test_apptainer_of_the_site_comes_first(monkeypatch):
    monkeypatch.setattr(apptainer.shutil, "which", lambda name: f"/site/bin/{name}")
    assert apptainer.program() == "/site/bin/apptainer"


@pytest.mark.parametrize(("proot", "asked", "reason"), [
    ("exit 0", "echo version: 1.3.17", ""),
    ("exit 1", "echo version: 1.3.17", "PRoot cannot trace programs here"),
    ("exit 0", "exit 1", "not installed"),
    ("", "echo version: 1.3.17", "not installed"),
])  # fmt: skip
def test_udocker_is_there_where_proot_can_trace(proot, asked, reason, fake, monkeypatch):
    if proot:
        fake("proot", proot)
    monkeypatch.setattr(udocker, "_PROOT", "proot" if proot else "no-proot")
    monkeypatch.setattr(udocker, "_words", lambda _store: ["sh", "-c", asked])
    found = arms()["udocker"].probe()
    assert found.reason == reason and found.available == (not reason)
    assert found.version == ("udocker 1.3.17" if found.available else "")


def test_two_clones_of_one_campaign_have_no_container_of_one_name(tmp_path, monkeypatch):
    """An engine has one list of names, and both may be process 7, in turn or in containers."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.chdir(tmp_path)
    run = "results/blocks/b0001/runs/x.podman/attempt-1"
    clones = [tmp_path / clone / run for clone in ("one", "two")]
    names = {model.name_in(folder) for folder in (*clones, clones[0].with_name("attempt-2"))}
    assert len(names) == 3 and all(re.fullmatch(r"parity-7-[0-9a-f]{8}", name) for name in names)
    assert model.name_in(clones[0]) == model.name_in(Path("one", run))


# Engines.


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
    answer = Mock(side_effect=[(answered, "it is stopping") for answered in answers])
    monkeypatch.setattr(engines, "answer_of", answer)
    monkeypatch.setattr(engines.time, "sleep", lambda _seconds: None)
    arms()["podman"].cleanup()
    assert not answer.called
    arms()["podman"].cleanup(Launch("run-1", None, SCRATCH, SCRATCH))
    words = ["podman", "rm", "--force", "--ignore", "--time=0", "run-1"]
    assert answer.call_args_list == [call(words, seconds=60)] * asked


PODMAN = "case $1 in --version) echo podman version 5 ;; info) echo {} ;; esac"


@pytest.mark.parametrize(("name", "program", "says", "expected"), [
    ("docker", "docker", "echo 20.10.24", "Docker 20.10.24"),
    ("docker", "docker", "echo permission denied while it; exit 1", "no access to the daemon"),
    ("docker", "docker", "echo Cannot connect to the daemon; exit 1", "daemon not running"),
    ("podman", "podman", PODMAN.format("vfs"), f"podman version 5; {engines.COPIES}"),
    ("podman", "podman", PODMAN.format("overlay"), "podman version 5"),
    ("pyxis", "srun", "echo fatal: no configuration source >&2; exit 1", "no Slurm answers"),
    ("pyxis", "srun", "echo Usage: srun", "srun knows no --container-image"),
    ("pyxis", "srun", "echo --container-image=…", "--container-image=…"),
    ("cscs-engine", "srun", "echo Usage: srun", "srun knows no --environment"),
    ("cscs-engine", "srun", "echo --environment=…", "--environment=…"),
])  # fmt: skip
def test_a_runtime_says_its_version_or_why_it_is_not_here(
    name, program, says, expected, fake, monkeypatch
):
    fake("runc")
    fake(program, says)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    found = arms()[name].probe()
    assert expected == (found.version if found.available else found.reason)


@pytest.mark.parametrize(
    ("content", "stays"), [("{own}", False), ("999999999", False), ("{daemon}", True)]
)
def test_a_pid_file_of_a_dead_docker_daemon_is_removed(tmp_path, monkeypatch, content, stays):
    monkeypatch.setattr(engines, "DAEMON_PID", tmp_path / "docker.pid")
    sleeper = tmp_path / "dockerd"
    sleeper.symlink_to(shutil.which("sleep"))
    with subprocess.Popen([sleeper, "60"]) as daemon:
        # The kernel names a process a moment after it lets its parent go on.
        wait_for(lambda: Path(f"/proc/{daemon.pid}/comm").read_text() == "dockerd\n")
        text = content.format(own=os.getpid(), daemon=daemon.pid)
        engines.DAEMON_PID.write_text(f"{text}\n")
        engines._forget_dead_daemon()
        daemon.kill()
    assert engines.DAEMON_PID.exists() == stays
    engines.DAEMON_PID.unlink(missing_ok=True)
    engines._forget_dead_daemon()  # No file is no error.


# Guests.


@pytest.fixture
def installed(tmp_path, fake, monkeypatch):
    """A made-up kernel for guests, and a QEMU that says what a file says."""
    said = "warning: x\na guest is up\n"
    for name, text in (("release", "6.1.0"), ("boot", "this-boot\n"), ("is", said)):
        (tmp_path / name).write_text(text)
    fake("qemu-system-x86_64", f'cat "{tmp_path}/is"')
    program = tmp_path / "bin/qemu-system-x86_64"
    places = {"PREFIX": tmp_path, "BOOT_ID": tmp_path / "boot", "KVM": program, "SERVER": program}
    for name, path in places.items():
        monkeypatch.setattr(qemu, name, path)
    monkeypatch.setattr(model.os, "getuid", lambda: 0)
    return tmp_path


def test_kvm_is_there_where_a_guest_was_seen_to_boot_since_the_machine_did(installed):
    kvm, emulated = arms()["kvm"], arms()["qemu-tcg"]
    assert kvm.probe().reason == "no guest was tried by KVM since this machine booted"
    assert emulated.probe().available
    qemu.try_kvm()
    assert kvm.probe() == Availability(True, version="warning: x, guest 6.1.0")
    # It is tried once, and anew after the machine booted.
    (installed / "is").write_text("error: failed to set MSR\n")
    qemu.try_kvm()
    assert kvm.probe().available
    (installed / "boot").write_text("next-boot\n")
    assert "was tried" in kvm.probe().reason and kvm.probe().remedy
    qemu.try_kvm()
    refused = "KVM does not run a stock guest here: error: failed to set MSR"
    assert kvm.probe().reason == refused
    (installed / "release").unlink()
    assert kvm.probe().reason == emulated.probe().reason == "no kernel for a guest"


def test_a_guest_that_hangs_is_given_up(installed, fake, monkeypatch):
    monkeypatch.setattr(qemu, "LONGEST_BOOT_SECONDS", 1)
    told = 'echo "qemu-system-x86_64: terminating on signal 15 from pid 7 (timeout)" >&2'
    # It may be ended before it sleeps.
    ended = f"kill $! 2> /dev/null; {told}; exit 1"
    for hanging in ("exec sleep 60", f"trap '{ended}' TERM; sleep 60 & wait"):
        fake("qemu-system-x86_64", hanging)
        (installed / "kvm").unlink(missing_ok=True)
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


# Runtimes of sites, and stores of images.


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The configuration of Shifter's gateway."""
    (file := tmp_path / "udiRoot.conf").write_text(
        "# gateway\nsystem=mycluster\nimageGateway=http://gateway:5000\n"
    )
    monkeypatch.setattr("parity.runtimes.sites.CONFIGURATION", file)


@pytest.mark.parametrize("name", ["docker", "podman", "podman-hpc", "sarus", "shifter"])
@pytest.mark.usefixtures("site")
def test_clones_that_build_one_study_leave_each_other_s_images_in_a_store(name, tmp_path, fake):
    """The stores belong to the node: a tag that both use would be the image of the last build."""
    programs = ("skopeo", "docker", "podman", "podman-hpc", "sarus", "mksquashfs", "munge", "curl")
    for program in (*programs, "shifterimg"):
        fake(program, "echo sha256:22")

    def names_given(clone: str, digest: str) -> set[str]:
        (tmp_path / "said").write_text("")
        location = converted(name, tmp_path / clone, digest)
        said = f"{(tmp_path / 'said').read_text()} {location}"
        return set(re.findall(r"\bparity:\w+", said.replace(f"{tmp_path / clone}/oci:parity", "")))

    first, second = names_given("first", "a" * 64), names_given("second", "b" * 64)
    assert (first, second) == ({f"parity:{'a' * 16}"}, {f"parity:{'b' * 16}"})
    # The same image has the same name in both.
    assert names_given("second", "a" * 64) == first


def test_the_engine_of_cscs_gets_an_environment_of_its_own(tmp_path):
    command("cscs-engine", tmp_path, '/images/"one"')
    assert tomllib.loads((tmp_path / "environment.toml").read_text()) == {
        "image": '/images/"one"',
        "mounts": ["/tmp/parity:/tmp/parity", "/etc/hosts:/etc/hosts:ro", "/opt/tree:/opt/tree:ro"],
        "writable": False,
        "entrypoint": False,
    }


@pytest.mark.parametrize(("told", "size"), [
    ("47.04MB", 47_040_000), ("1.2GB", 1_200_000_000), ("3.5KB", 3500), ("812B", 812),
])  # fmt: skip
def test_what_sarus_loads(told, size, tmp_path, fake):
    said, sarus = fake("skopeo"), arms()["sarus"]
    fake(
        "sarus",
        "echo 'REPOSITORY           TAG               IMAGE ID      CREATED     SIZE     SERVER'",
        f"echo 'load/library/parity  abababababababab  2fe79f06fa6d  2018-01-31  {told}  load'",
    )
    location = converted("sarus", tmp_path)
    copy, load = said.read_text().splitlines()
    assert copy.startswith(f"skopeo copy oci:{tmp_path}/oci:parity docker-archive:{tmp_path}/")
    assert load.startswith(f"sarus load --temp-dir={tmp_path}/")
    assert (sarus.digest(location), sarus.size(location)) == ("sha256:2fe79f06fa6d", size)
    assert sarus.digest("load/library/another:study") == ""


def test_what_shifter_imports(tmp_path, fake, site):
    said = fake("mksquashfs")
    for name, line in (("munge", "echo MUNGE:x:"), ("curl", ":"), ("shifterimg", "echo 0a1b")):
        fake(name, line)
    folder = tmp_path / 'a "clone"'  # which JSON has to escape
    location = converted("shifter", folder)
    assert said.read_text().splitlines() == [
        f"mksquashfs {folder}/root {folder}/image -noappend -no-progress -no-xattrs",
        "munge -n",
        f'curl --fail --data={{"filepath": "{tmp_path}/a \\"clone\\"/image", '
        '"format": "squashfs"} '
        "--header=authentication: MUNGE:x: "
        "http://gateway:5000/api/doimport/mycluster/custom/parity:abababababababab/",
        "shifterimg lookup custom:parity:abababababababab",
    ]
    assert arms()["shifter"].digest(location) == "fasthash:0a1b"


def test_what_podman_hpc_loads_and_moves(tmp_path, fake):
    said = fake("skopeo")
    fake("podman-hpc", "echo sha256:22")
    location = converted("podman-hpc", tmp_path)
    asked = [line.split()[1] for line in said.read_text().splitlines()]
    assert (location, asked) == ("sha256:22", ["copy", "load", "migrate", "image"])
    assert arms()["podman-hpc"].digest(location) == "sha256:22"
