"""No archive and no golden file names a clone, a home folder, a user or a host."""

import platform
import re
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parity.core.private import Private
from parity.records.crate import CRATE
from parity.records.dataset import CHECKSUMS, files_of

ROOT = Path(__file__).parents[3]
# What tells of a machine, whichever it was.
TELLING = {
    "a folder of somebody": r"(?<![\w}])/(?:home|root|Users|work)/[\w.-]+",
    "a clone": r"(?<![\w}])/[\w.-]+[\w./-]*/results/(?:blocks|images|live|archive)",
    "a clone that was made to try": r"/(?:tmp|var/tmp)/[\w.-]+/results",
    "an address of hardware": r"(?<![\w:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![\w:])",
    "an address of a network": r"(?<![\w.-])(?!127\.|10\.|0\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])",
}
HOST = platform.node().partition(".")[0]
# A host that is called by a plain word, or as an archive's nodes, is called as what programs print.
NAMES = {} if re.fullmatch(r"[A-Za-z]*|n\d|node\d+", HOST) else dict.fromkeys(
    (platform.node(), HOST), "{host}"
)  # fmt: skip


def committed(archive: Path) -> list[Path]:
    """What is kept of an archive: beside it lies what was analysed and drawn from it."""
    return [archive / name for name in (*files_of(archive), CHECKSUMS, CRATE)]


GOLDEN = {
    path.name: [each for each in (path, *path.rglob("*")) if each.is_file()]
    for path in (ROOT / "tests/golden").iterdir()
}
ARCHIVES = {path.name: committed(path) for path in (ROOT / "results/archive").iterdir()}


def lines(files: Iterable[Path]) -> set[str]:
    """Each different line of what these files hold, in the columns of tables, too."""
    found: set[str] = set()
    for path in files:
        if path.suffix != ".parquet":
            found.update(path.read_bytes().decode("utf-8", "replace").splitlines())
            continue
        for column in pq.read_table(path).columns:
            if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
                for value in column.unique().to_pylist():
                    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                    # Outputs stand in JSON, too.
                    found.update(text.replace("\\n", "\n").splitlines())
    return found


def told(files: Iterable[Path]) -> set[tuple[str, str]]:
    here, found = Private(NAMES), set()
    for line in lines(files):
        named = ((kind, re.search(pattern, line)) for kind, pattern in TELLING.items())
        found |= {(kind, match[0]) for kind, match in named if match}
        if here.left_out(line) != line:
            found.add(("a name of this machine", line[:200]))
    return found


@pytest.mark.parametrize("name", sorted({**ARCHIVES, **GOLDEN}))
def test_nothing_tells_of_a_machine(name: str) -> None:
    assert told((ARCHIVES | GOLDEN)[name]) == set()


@pytest.mark.parametrize("line", [
    "/home/me/a", "at /work/me", "/data/results/images/x", "/tmp/x/results", "192.168.0.7",
    "0a:1b:2c:3d:4e:5f", "on a-host-7-", "[a-host-7:12]",
])  # fmt: skip
def test_what_tells_of_a_machine_is_found(line: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "a-host-7", "{host}")
    path = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"number": [1], "stdout": [f"a\n{line}\n".encode()]}), path)
    assert bool(told([path])) == (not line.endswith("-"))
