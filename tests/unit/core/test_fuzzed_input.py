"""Thousands of broken files: each is refused in words, or is read as what it was.

Mutations are drawn with a fixed seed, so a failure can be looked at again. A mutation of the
text may leave a file that is whole; then nothing is asked but that no traceback comes. One of
a value puts something there that no such place can hold; to read that is silent acceptance.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from parity.analysis.dataset import load_exclusions
from parity.claims import published, registration, verdicts
from parity.claims.register import load_register
from parity.core.errors import UserError
from parity.core.settings import load_checked
from parity.measure.documents import BLOCK, RECORD
from parity.plan.plan import read_plan
from parity.plan.study import load_study
from parity.plan.system import load_system
from parity.records import dataset
from parity.report.tables import published as published_values
from parity.software.images import read_images

CONFIG = Path(__file__).parents[3] / "config"
SEED, OF_A_TEXT, OF_VALUES = 20261121, 110, 110
MOST_SECONDS, MOST_SECONDS_IN_ALL = 2, 60
LONGEST_MESSAGE = 6_000

Load = Callable[[Path], Any]

YAML_FILES: dict[str, Load] = {
    "config.yaml": lambda path: load_checked(path, "config"),
    "exclusions.yaml": load_exclusions,
    "claims.yaml": lambda path: load_register(path, CONFIG / "published/claims.csv"),
    **{
        f"studies/{name}.yaml": lambda path: load_study(path, "smoke")
        for name in ("torrez2019", "scaling", "hpcg", "ladder", "libaio")
    },
    **{
        f"systems/{name}.yaml": load_system
        for name in ("machine", "slurm", "flux", "pbs", "epyc", "epyc2", "epyc3")
    },
}
CSV_FILES: dict[str, tuple[Load, tuple[str, ...]]] = {
    "registration.csv": (registration.load, ("registered",)),
    "expected_verdicts.csv": (verdicts.load_expected, ()),
    "published/claims.csv": (published.load_published, ("value",)),
    "published/values.csv": (lambda path: published_values.load(path, "s"), ("published",)),
    "published/ruiz_figures.csv": (published.figures, ("seconds",)),
    "published/statements.csv": (published.defects, ()),
    "published/ruiz_table1.csv": (published.table_1, ("percent", "time_ms")),
}
# No place of any of these files can hold one of them.
NO_VALUES = (
    float("nan"), float("inf"), -float("inf"), 2**80, -(10**40), [[[]]], {"no such key": 1},
    "a\x00b", "\x1b[2J", "a\x7f", b"bytes", [float("nan")],
)  # fmt: skip
NO_CELLS = (
    "nan", "inf", "-Infinity", "1e999", "1_0", "٣", "0x1F", "a\x00b", "\x1b[2J", "x" * 140_000,
)  # fmt: skip
PIECES = (
    b"\x00", b"\xff\xfe", b"\xc3", b"\t", b"\n", b"- ", b": ", b"{", b"[" * 400, b"*a", b"&a ",
    b"!!bool ", b"!!python/none ", b".nan", b"9" * 5000, b"'", b'"', b"|\n", b"%", b"---\n", b",",
    b"\x1b", b"1:1:1:1", b"2026-13-45", b"<<: ", b"? ", b"\xe2\x80\xa8", b"\xf0\x9f\x92\xa9",
)  # fmt: skip


def _in_text(content: bytes, chance: random.Random) -> bytes:
    """A text with a piece put in, cut out, doubled or moved."""
    at = chance.randrange(len(content))
    end = min(len(content), at + chance.choice((1, 2, 10, 200)))
    match chance.randrange(4):
        case 0:
            return content[:at] + chance.choice(PIECES) + content[at:]
        case 1:
            return content[:at] + content[end:]
        case 2:
            return content[:end] + content[at:]
        case _:
            return content[:at] + chance.choice(PIECES) + content[end:]


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document has values."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _places(value, (*path, key))


def _with(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _in_values(document: Any, chance: random.Random) -> bytes:
    """A document with a value in it that no such place can hold."""
    place = chance.choice(list(_places(document)))
    return yaml.safe_dump(_with(document, place, chance.choice(NO_VALUES))).encode()


def _in_cells(content: bytes, numbers: tuple[str, ...], chance: random.Random) -> bytes:
    """A table with a cell in it that is no number, or a row of too few or too many cells."""
    head, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    row = chance.choice(rows)
    match chance.randrange(3 if numbers else 2):
        case 0:
            row.append("more")
        case 1:
            row.pop()
        case _:
            row[head.index(chance.choice(numbers))] = chance.choice(NO_CELLS)
    text = io.StringIO(newline="")
    csv.writer(text).writerows([head, *rows])
    return text.getvalue().encode()


@dataclass
class Seen:
    """What came of all mutations."""

    counts: Counter[str] = field(default_factory=Counter)
    tracebacks: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    longest: float = 0.0

    def try_out(self, load: Load, path: Path, content: bytes, name: str, *, broken: bool) -> None:
        """Read a mutated file, and note what comes of it."""
        path.write_bytes(content)
        began = time.process_time()
        try:
            load(path)
        except UserError as error:
            self.counts["refused"] += 1
            assert len(str(error)) < LONGEST_MESSAGE, name
        except Exception as error:
            self.tracebacks.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        else:
            self.counts["read"] += 1
            if broken:
                self.accepted.append(name)
        self.counts["tried"] += 1
        self.longest = max(self.longest, time.process_time() - began)


def test_no_broken_file_is_read_silently_or_ends_in_a_traceback(tmp_path: Path) -> None:
    chance, seen, began = random.Random(SEED), Seen(), time.process_time()
    for name, load in YAML_FILES.items():
        content, path = (CONFIG / name).read_bytes(), tmp_path / Path(name).name
        document = yaml.safe_load(content)
        # The register is read more slowly than all others.
        few = 3 if name == "claims.yaml" else 1
        for number in range(OF_A_TEXT // few):
            told = f"{name}, text {number}"
            seen.try_out(load, path, _in_text(content, chance), told, broken=False)
        for number in range(OF_VALUES // few):
            told = f"{name}, value {number}"
            seen.try_out(load, path, _in_values(document, chance), told, broken=True)
    for name, (load, numbers) in CSV_FILES.items():
        content, path = (CONFIG / name).read_bytes(), tmp_path / Path(name).name
        for number in range(OF_A_TEXT):
            told = f"{name}, text {number}"
            seen.try_out(load, path, _in_text(content, chance), told, broken=False)
            told = f"{name}, cell {number}"
            seen.try_out(load, path, _in_cells(content, numbers, chance), told, broken=True)
    seconds = time.process_time() - began
    print(
        f"{seen.counts['tried']} tried, {seen.counts['refused']} refused, "
        f"{seen.counts['read']} still whole, {len(seen.tracebacks)} tracebacks, "
        f"{len(seen.accepted)} silent acceptances, longest {seen.longest:.2f} s, "
        f"{seconds:.0f} s in all"
    )
    assert not seen.tracebacks
    assert not seen.accepted
    assert seen.counts["tried"] >= 2_000
    assert seen.longest < MOST_SECONDS
    assert seconds < MOST_SECONDS_IN_ALL


ARCHIVE = CONFIG.parent / "results/archive/slurm-2026-11-21"
DOCUMENTS: dict[str, Load] = {
    "plan.json": read_plan,
    "images.json": read_images,
    "provenance.json": lambda path: dataset.provenance(path.parent),
    "block.json": BLOCK.read,
    "record.json": RECORD.read,
}
# No place of a document can hold one of them but the parameters of a case, which are its
# benchmark's own; and what programs said may be any text.
NO_FACTS = (float("nan"), float("inf"), [[[]]], {"no such key": 1})
OF_A_DOCUMENT = 100


def _of_archive(name: str) -> bytes:
    """A document of an archive; those of blocks and runs are in its tables."""
    if (ARCHIVE / name).exists():
        return (ARCHIVE / name).read_bytes()
    table = "blocks" if name == "block.json" else "raw"
    column = pq.read_table(ARCHIVE / f"records/{table}.parquet", columns=["record"])["record"]
    return str(column[0].as_py()).encode()


def test_no_broken_document_of_an_archive_does_either(tmp_path: Path) -> None:
    """What is checked is the reader itself: whoever broke the file may have signed it anew."""
    chance, seen = random.Random(SEED), Seen()
    for name, load in DOCUMENTS.items():
        content, path = _of_archive(name), tmp_path / name
        document = json.loads(content)
        places = [place for place in _places(document) if "parameters" not in place]
        for number in range(OF_A_DOCUMENT):
            told = f"{name}, text {number}"
            seen.try_out(load, path, _in_text(content, chance), told, broken=False)
            place, fact = chance.choice(places), chance.choice(NO_FACTS)
            text = json.dumps(_with(document, place, fact)).encode()
            seen.try_out(load, path, text, f"{name}, {place} = {fact}", broken=True)
    assert not seen.tracebacks
    assert not seen.accepted
    assert seen.counts["tried"] == 2 * OF_A_DOCUMENT * len(DOCUMENTS)
    assert seen.longest < MOST_SECONDS
