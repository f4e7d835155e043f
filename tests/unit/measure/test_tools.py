"""What is around a program in a foreign image is one static program of the host, in all arms."""

import subprocess
from pathlib import Path

import pytest

from parity.benchmarks.model import Program
from parity.core.errors import UserError
from parity.measure import inner_command, places
from parity.measure.inner_command import evidence, witnessed
from parity.measure.places import WORK
from parity.software.binaries import audit_script

BUSYBOX = pytest.mark.skipif(not places.BUSYBOX.exists(), reason="busybox-static is not installed")


def test_only_a_foreign_image_needs_them() -> None:
    assert places.tools_for(["base", "oci"]) == ""
    assert places.tools_for(["foreign", "oci"]) == str(places.TOOLS)
    assert places.tool("", "/bin/sh") == ("/bin/sh",)
    assert places.tool("/t/busybox", "/usr/bin/env") == ("/t/busybox", "env")


def test_the_words_around_a_program_are_all_theirs() -> None:
    program = Program(("/opt/app", "1"), (3,))
    words = witnessed(program, tools="/t/busybox")
    fixed = [f"{k}={v}" for k, v in inner_command.program_environment(program).items()]
    assert words == [
        *("/t/busybox", "taskset", "-c", "3"),
        *("/t/busybox", "sh", "-c", inner_command.WITNESS, inner_command.EVIDENCE.strip()),
        *("/t/busybox", "sh", "-c", 'cd "$0" && exec "$@"', str(WORK)),
        *("/t/busybox", "env", "-i", *fixed),
        *("/opt/app", "1"),
    ]
    assert audit_script(["/opt/app"], ("/t/busybox", "sh"))[:3] == ["/t/busybox", "sh", "-c"]


@BUSYBOX
def test_the_static_tools_say_the_same_evidence_as_the_host_s(tmp_path: Path) -> None:
    def said(shell: tuple[str, ...], path: str) -> dict[str, str]:
        begin = inner_command.EVIDENCE.strip()
        words = [*shell, "-c", inner_command.WITNESS, begin, *shell, "-c", ":"]
        done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=True)
        return evidence(done.stderr)

    ours = said(("/bin/sh",), "/usr/bin:/bin")
    assert said((str(places.BUSYBOX), "sh"), str(tmp_path)) == ours
    assert {"root", "marker", "cpus_allowed", "namespace.mnt"} <= ours.keys()


def test_a_program_that_is_not_static_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "BUSYBOX", tmp_path / "busybox")
    place = tmp_path / "place"
    places.lay_out("")
    for text in (None, b"\x7fELF/lib64/ld-linux-x86-64.so.2"):
        if text:
            (tmp_path / "busybox").write_bytes(text)
        with pytest.raises(UserError, match="no static program"):
            places.lay_out(str(place))
    (tmp_path / "busybox").write_bytes(b"\x7fELF static")
    places.lay_out(str(place))
    assert place.read_bytes() == b"\x7fELF static"
