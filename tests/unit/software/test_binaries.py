import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from parity.software.binaries import (
    Library,
    ProgramFile,
    audit_script,
    build_id,
    closure_digest,
    parse_audit,
)

PAGE = "7f 45 4c 46 02 01 01 00"
NOTE = "04 00 00 00 04 00 00 00 03 00 00 00 47 4e 55 00 de ad be ef ff ff"
TEXT = f"""\
a remark of a runtime
executable /usr/bin/one
sha256 1111  -
page  {PAGE}
page  {NOTE}
library libm.so.6 2222  -
library /lib64/ld.so 3333  -
library libgone.so.1 not-found
executable /usr/bin/none
"""


def test_rows_of_a_known_text():
    one, none = parse_audit(TEXT)
    libraries = (("ld.so", "3333"), ("libgone.so.1", "not-found"), ("libm.so.6", "2222"))
    assert one == ProgramFile(
        path="/usr/bin/one",
        sha256="1111",
        build_id="deadbeef",
        closure=tuple(Library(library=name, sha256=digest) for name, digest in libraries),
        closure_sha256=hashlib.sha256(
            b"ld.so 3333\nlibgone.so.1 not-found\nlibm.so.6 2222\n"
        ).hexdigest(),
    )
    assert none == ProgramFile(
        path="/usr/bin/none", sha256="", build_id="", closure=(), closure_sha256=""
    )


def test_a_text_that_is_no_audit_has_no_rows():
    assert parse_audit("") == parse_audit("library x y\npage ff\n") == []


def test_the_order_of_libraries_does_not_matter():
    a, b = Library(library="a", sha256="1"), Library(library="b", sha256="2")
    assert closure_digest([a, b]) == closure_digest([b, a]) != closure_digest([a])


def test_only_elf_files_have_a_build_id():
    note = NOTE.replace(" ", "")
    assert build_id("7f454c46" + note) == "deadbeef"
    assert build_id("23212f62" + note) == build_id("7f454c46") == build_id("") == ""


def audit(*paths):
    words = audit_script([str(path) for path in paths])
    return parse_audit(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def test_the_real_shell_on_this_machine():
    shell, absent = audit("/bin/sh", "/no such file")
    assert shell.sha256 == hashlib.sha256(Path("/bin/sh").read_bytes()).hexdigest()
    assert len(shell.build_id) == 40
    libraries = {library.library: library.sha256 for library in shell.closure}
    assert any(name.startswith("libc.so") for name in libraries)
    assert all(len(digest) == 64 for digest in libraries.values())
    assert (absent.path, absent.sha256) == ("/no such file", "")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_the_build_id_is_the_one_that_readelf_reads():
    (shell,) = audit("/bin/sh")
    notes = subprocess.run(["readelf", "-n", "/bin/sh"], capture_output=True, text=True, check=True)
    assert f"Build ID: {shell.build_id}\n" in notes.stdout


def test_one_changed_byte_is_seen(tmp_path):
    copy = tmp_path / "sh"
    shutil.copy("/bin/sh", copy)
    same, original = audit(copy, "/bin/sh")
    assert same.sha256 == original.sha256
    with copy.open("ab") as file:
        file.write(b"\0")
    (changed,) = audit(copy)
    assert changed.sha256 != original.sha256
    assert changed.closure_sha256 == original.closure_sha256


def test_names_are_words_never_shell(tmp_path):
    (row,) = audit(f"{tmp_path}/$(touch {tmp_path}/made); *")
    assert row.sha256 == ""
    assert list(tmp_path.iterdir()) == []
