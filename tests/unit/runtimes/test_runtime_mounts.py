"""An image mounted in each way: what is missing, and each way on the real kernel."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from parity.runtimes import arms, namespaces

ARMS = {arm.name: arm for arm in arms().values() if arm.runtime == "mounts"}
each = pytest.mark.parametrize("arm", ARMS.values(), ids=list(ARMS))


def filesystem(arm):
    """What the kernel has to know for it: that of programs, unless it mounts the image itself."""
    return {"directory": "", "overlay": "overlay", "squashfs": "squashfs"}.get(arm.way, "fuse")


@each
def test_it_says_what_is_missing(arm, monkeypatch):
    def reason(user=0, kernel="ext4 fuse overlay squashfs", installed=True):
        monkeypatch.setattr(namespaces.os, "getuid", lambda: user)
        monkeypatch.setattr(namespaces, "is_installed", lambda _program: installed)
        monkeypatch.setattr(namespaces.Path, "read_text", lambda *_, **__: kernel)
        return arm.probe().reason

    needed = filesystem(arm)
    assert reason(user=1000) == "needs root"
    if needed:
        assert reason(kernel="ext4") == f"no {needed} in the kernel"
    if needed == "fuse":
        assert reason(installed=False) == "not installed"
        assert arm.way.startswith(arm.packages[-1])


@pytest.fixture
def image(tmp_path):
    """A made-up image in both formats, by format."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "said").write_text("in the image\n")
    words = ["mksquashfs", folder, file, "-noappend", "-no-progress"]
    subprocess.run(words, check=True, capture_output=True)
    return {"directory": folder, "squashfs": file}


def run(arm, image, tmp_path, script) -> subprocess.CompletedProcess[str]:
    """A script of the host's with the image mounted at $1, where this machine can."""
    if not (presence := arm.probe()).available:
        pytest.skip(f"{arm.name}: {presence.reason}")
    words = namespaces.mounted(arm.way, str(image[arm.image_format]), tmp_path / "mount")
    line = ["unshare", "--mount", *words, "/bin/sh", "-c", script, "script", tmp_path / "mount"]
    return subprocess.run(line, capture_output=True, text=True, timeout=30)


@each
def test_the_words_see_the_image_and_their_status_passes_through(arm, image, tmp_path):
    done = run(arm, image, tmp_path, 'cat "$1/said"; stat -f -c %T "$1"; echo err >&2; exit 7')
    said, kind = done.stdout.splitlines()
    assert (done.returncode, done.stderr, said) == (7, "err\n", "in the image")
    needed = filesystem(arm)
    assert kind == {"": kind, "fuse": "fuseblk", "overlay": "overlayfs"}.get(needed, needed)
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


@each
def test_what_is_mounted_upon_it_goes_with_it(arm, image, tmp_path):
    mount = 'mount --bind "$1" "$1"; mount -t tmpfs none "$1"; '
    done = run(arm, image, tmp_path, f'{mount}stat -f -c %T "$1"')
    assert (done.returncode, done.stdout) == (0, "tmpfs\n"), done.stderr
    words = ["pgrep", "--full", "--list-full", str(tmp_path / "mount")]
    assert not subprocess.run(words, capture_output=True, text=True).stdout


def test_the_cpu_time_of_a_server_becomes_that_of_the_words(image, tmp_path):
    # Hexadecimal digits are compressed, so the server has something to do.
    (image["directory"] / "large").write_text(os.urandom(10_000_000).hex())
    subprocess.run(["mksquashfs", *image.values(), "-noappend"], check=True, capture_output=True)
    pid = """$(pgrep --full "^squashfuse_ll -f .* $1\\$")"""
    script = f"""cat "$1/large" > /dev/null; cut -d" " -f14,15 "/proc/{pid}/stat" """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(ARMS["mount-squashfuse-ll"], image, tmp_path, script)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(map(int, done.stdout.split()))
    assert ticks > 1, done.stderr
    all_of_it = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert all_of_it > ticks / os.sysconf("SC_CLK_TCK") - 0.01


@pytest.mark.parametrize("name", ["mount-squashfuse", "mount-squashfuse-ll", "mount-squashfs"])
def test_an_image_that_cannot_be_mounted_is_told(name, image, tmp_path):
    image["squashfs"].write_bytes(b"no image")
    done = run(ARMS[name], image, tmp_path, "echo never")
    assert done.returncode and done.stderr and not done.stdout
