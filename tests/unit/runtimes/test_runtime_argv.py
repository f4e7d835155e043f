"""The exact command line of every arm, and all that it writes for a run: a snapshot.

`PARITY_SNAPSHOTS=1` writes it anew; what changed in it is then read.
"""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from parity.runtimes import apptainer, derived, engines, every_arm, ladder, qemu
from parity.runtimes.model import SCRATCH, Image, Launch

SNAPSHOT = Path(__file__).parents[2] / "golden/argv.txt"
INNER = ["/bin/echo", "a b", "$HOME", ""]
TREE = Path("/opt/parity/debian12")
FACTS = {"binds": (Path("/opt/view"),), "cpus": (1, 3), "limits": ("--cpu-shares=512",)}
# What stands for scripts and for paths of this machine.
SCRIPTS = {
    path.read_text(encoding="utf-8"): f"<{path.name}>"
    for path in Path(derived.__file__).parent.glob("*.sh")
}


@pytest.fixture
def anywhere(monkeypatch):
    """No fact of this machine is in a command line."""
    monkeypatch.setattr(apptainer.shutil, "which", lambda _name: None)
    monkeypatch.setattr(engines, "ulimits", lambda: ["--ulimit=nofile=5:5"])
    monkeypatch.setattr(ladder, "write_filter", lambda file: file.write_bytes(b"filter"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {4, 0})
    monkeypatch.setattr(qemu.psutil, "virtual_memory", lambda: SimpleNamespace(total=8 * 2**30))
    monkeypatch.setattr(os, "getgid", lambda: 5)
    for link_set in derived._SHOWN:
        monkeypatch.setitem(derived._SHOWN, link_set, lambda: (TREE,))


def described(name, uid, state):
    """The words of an arm and the files that it wrote, a line each."""
    arm = every_arm()[name]
    image = Image(arm.image_format, "/images/one", "sha256:1") if arm.image_format else None
    for launch in (
        Launch("b0001.sysbench", image, SCRATCH, state, host="n1"),
        Launch("b0001.sysbench", image, SCRATCH, state, host="n1", **FACTS),
    ):
        argv = arm.command(launch, INNER)
        assert argv[-len(INNER) :] == INNER and all(isinstance(word, str) for word in argv)
        words = [SCRIPTS.get(word, word) for word in argv[: -len(INNER)]]
        yield f"{name} {uid}: {words}"
    for file in sorted(path for path in state.rglob("*") if path.is_file()):
        yield f"    {file.name}: {file.read_text()!r}"


@pytest.mark.usefixtures("anywhere")
def test_every_command_line_is_as_it_was(tmp_path, monkeypatch):
    lines = []
    for uid in (0, 1000):
        monkeypatch.setattr(os, "getuid", lambda uid=uid: uid)
        for name in sorted(every_arm()):
            (state := tmp_path / f"{name}-{uid}").mkdir()
            told = "\n".join(described(name, uid, state)).replace(str(state), "{state}")
            lines.append(told.replace(sys.executable, "{python}"))
    same_as_root = {line.replace(" 0: ", " 1000: ") for line in lines}
    lines = [line for line in lines if " 1000: " not in line or line not in same_as_root]
    text = "\n".join(lines) + "\n"
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
