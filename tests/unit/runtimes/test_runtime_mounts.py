"""An image mounted in each way: the command lines, and each on the real kernel."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from parity.runtimes import arms, namespaces

WAYS = {
    "mount-directory": ("directory", "directory", ""),
    "mount-squashfs": ("squashfs", "squashfs", "squashfs"),
    "mount-squashfuse": ("squashfuse", "squashfs", "fuse"),
    "mount-squashfuse-ll": ("squashfuse_ll", "squashfs", "fuse"),
    "mount-overlay": ("overlay", "directory", "overlay"),
    "mount-fuse-overlayfs": ("fuse-overlayfs", "directory", "fuse"),
}
each = pytest.mark.parametrize("name", WAYS)


def test_there_is_an_arm_for_each_way():
    assert [arm.name for arm in arms().values() if arm.runtime == "mounts"] == list(WAYS)


@each
def test_it_says_what_is_missing(name, monkeypatch):
    def reason(user=0, kernel="ext4 fuse overlay squashfs", installed=True):
        monkeypatch.setattr(namespaces.os, "getuid", lambda: user)
        monkeypatch.setattr(namespaces, "is_installed", lambda _program: installed)
        monkeypatch.setattr(namespaces.Path, "read_text", lambda *_, **__: kernel)
        return arms()[name].probe().reason

    filesystem = WAYS[name][2]
    assert reason(user=1000) == "needs root"
    if filesystem:
        assert reason(kernel="ext4") == f"no {filesystem} in the kernel"
    if filesystem == "fuse":
        assert reason(installed=False) == "not installed"
        assert WAYS[name][0].startswith(arms()[name].packages[-1])


@pytest.fixture
def image(tmp_path):
    """A made-up image in both formats, by format."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "said").write_text("in the image\n")
    words = ["mksquashfs", folder, file, "-noappend", "-no-progress"]
    subprocess.run(words, check=True, capture_output=True)
    return {"directory": folder, "squashfs": file}


def run(name, image, tmp_path, script) -> subprocess.CompletedProcess[str]:
    """A script of the host's with the image mounted at $1, where this machine can."""
    if not (presence := arms()[name].probe()).available:
        pytest.skip(f"{name}: {presence.reason}")
    way, image_format, _ = WAYS[name]
    words = namespaces.mounted(way, str(image[image_format]), tmp_path / "mount")
    line = ["unshare", "--mount", *words, "/bin/sh", "-c", script, "script", tmp_path / "mount"]
    return subprocess.run(line, capture_output=True, text=True, timeout=30)


@each
def test_the_words_see_the_image_and_their_status_passes_through(name, image, tmp_path):
    done = run(name, image, tmp_path, 'cat "$1/said"; stat -f -c %T "$1"; echo err >&2; exit 7')
    said, kind = done.stdout.splitlines()
    assert (done.returncode, done.stderr, said) == (7, "err\n", "in the image")
    expected = {"": kind, "fuse": "fuseblk", "overlay": "overlayfs"}
    assert kind == expected.get(WAYS[name][2], WAYS[name][2])
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


@each
def test_what_is_mounted_upon_it_goes_with_it(name, image, tmp_path):
    mount = 'mount --bind "$1" "$1"; mount -t tmpfs none "$1"; '
    done = run(name, image, tmp_path, f'{mount}stat -f -c %T "$1"')
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
    done = run("mount-squashfuse-ll", image, tmp_path, script)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(map(int, done.stdout.split()))
    assert ticks > 1, done.stderr
    all_of_it = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert all_of_it > ticks / os.sysconf("SC_CLK_TCK") - 0.01


@pytest.mark.parametrize("name", ["mount-squashfuse", "mount-squashfuse-ll", "mount-squashfs"])
def test_an_image_that_cannot_be_mounted_is_told(name, image, tmp_path):
    image["squashfs"].write_bytes(b"no image")
    done = run(name, image, tmp_path, "echo never")
    assert done.returncode and done.stderr and not done.stdout
