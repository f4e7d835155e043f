"""Programs and their libraries are told as they are: from a known answer, and by the real shell."""

import hashlib
import io
import shutil
import subprocess
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.software import binaries
from parity.software.binaries import Library, ProgramFile, audit_script, read_audit

NOTE = bytes.fromhex("0400000004000000 03000000 474e5500 deadbeef ffff")
ONE, MATHS, LOADER = b"\x7fELF\x02\x01\x01\x00" + NOTE, b"two\ncontents\n", b""
TEXT = f"""\
a remark of a runtime
file system: a remark as well
executable /usr/bin/one
library libm.so.6 /lib/libm.so.6
library /lib64/ld.so /lib64/ld.so
library libgone.so.1
executable /usr/bin/none
file {len(LOADER)} /lib64/ld.so
file {len(MATHS)} /lib/libm.so.6
file {len(ONE)} /usr/bin/one
"""
ANSWER = TEXT.encode() + b"contents\n" + LOADER + MATHS + ONE + b"end of contents\n"
AFTER = "executable of a runtime\nanswered everything\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_rows_of_a_known_answer_and_none_of_one_that_ends_too_early():
    (one, none), text = read_audit(io.BytesIO(ANSWER + AFTER.encode()))
    loader, maths = digest(LOADER), digest(MATHS)
    libraries = (("ld.so", loader), ("libgone.so.1", "not-found"), ("libm.so.6", maths))
    of_all = digest(f"ld.so {loader}\nlibgone.so.1 not-found\nlibm.so.6 {maths}\n".encode())
    closure = tuple(Library(library=name, sha256=sha256) for name, sha256 in libraries)
    assert one == ProgramFile("/usr/bin/one", digest(ONE), "deadbeef", closure, of_all)
    assert none == ProgramFile("/usr/bin/none", "", "", (), "")
    assert text == TEXT + AFTER
    # The order of libraries does not matter.
    assert binaries.closure_digest(reversed(closure)) == of_all
    for end in range(len(ANSWER)):
        with pytest.raises(UserError):
            read_audit(io.BytesIO(ANSWER[:end]))


@pytest.mark.parametrize(
    ("old", "new"),
    [(MATHS, b""), (MATHS, b"two\ncontents\n more"), (b"file 13 /lib/libm.so.6\n", b"")],
    ids=["shorter", "longer", "not told"],
)
def test_a_file_that_changed_or_is_not_told_is_refused(old, new):
    answer = ANSWER.replace(old, new)
    with pytest.raises(UserError):
        read_audit(io.BytesIO(answer if old == MATHS else answer.replace(MATHS, b"")))


@pytest.mark.parametrize("page", ["23212f62" + NOTE.hex(), "7f454c46", ""])
def test_only_elf_files_with_a_note_have_a_build_id(page):
    assert binaries.build_id(page) == ""


def audit(*paths):
    words = audit_script([str(path) for path in paths])
    answer = subprocess.run(words, capture_output=True, check=True).stdout
    return read_audit(io.BytesIO(answer)).programs, answer


def test_the_real_shell_on_this_machine_reads_a_file_once_and_a_folder_never(tmp_path):
    (shell, absent, folder, other), answer = audit(
        "/bin/sh", "/bin/sh", "/no such file", tmp_path, "/bin/true"
    )
    assert shell.sha256 == digest(Path("/bin/sh").read_bytes()) and other.sha256
    assert any(library.library.startswith("libc.so") for library in shell.closure)
    assert all(len(library.sha256) == 64 for library in shell.closure)
    assert (absent.path, absent.sha256, folder.sha256) == ("/no such file", "", "")
    libraries = {*shell.closure, *other.closure}
    assert answer.partition(b"\ncontents\n")[0].count(b"\nfile ") == 2 + len(libraries)
    if shutil.which("readelf"):
        words = ["readelf", "-n", "/bin/sh"]
        notes = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert f"Build ID: {shell.build_id}\n" in notes and len(shell.build_id) == 40


def test_names_are_words_never_shell_and_one_changed_byte_is_seen(tmp_path):
    (row,), _ = audit(f"{tmp_path}/$(touch {tmp_path}/made); *")
    assert row.sha256 == "" and list(tmp_path.iterdir()) == []
    shutil.copy("/bin/sh", copy := tmp_path / "sh")
    (same, original), _ = audit(copy, "/bin/sh")
    assert same.sha256 == original.sha256
    with copy.open("ab") as file:
        file.write(b"\0")
    (changed,), _ = audit(copy)
    assert changed.sha256 != original.sha256
    assert changed.closure_sha256 == original.closure_sha256
