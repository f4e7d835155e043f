"""Thousands of broken files: each is refused in words, or is read as what it was.

Mutations are drawn with a fixed seed, so a failure can be looked at again. A mutation of the
text may leave a file that is whole; then nothing is asked but that no traceback comes. One of
a value puts something there that no such place can hold; to read that is silent acceptance.
"""

import contextlib
import csv
import hashlib
import inspect
import io
import json
import math
import random
import shutil
import zlib
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml
from benchmark_help import GOLDEN, defaults
from broken import SEED, Seen, in_text, in_values, places, with_value
from golden_runs import golden_runs

from parity.analysis import dataset as analysis_dataset
from parity.analysis.dataset import load_exclusions
from parity.benchmarks import benchmarks, selfish, steps, traces
from parity.benchmarks.model import Outputs, Parsed
from parity.claims import published, registration, verdicts
from parity.claims.register import declared, load_register
from parity.command_line.main import commands, main
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.core.settings import load_checked
from parity.imports.rows import Options, Row, checked, converter_of
from parity.measure.documents import BLOCK, RECORD
from parity.plan.plan import read_plan
from parity.plan.study import load_study
from parity.plan.system import load_system
from parity.records import dataset
from parity.report.tables import published as published_values
from parity.software.images import read_images

CONFIG = Path(__file__).parents[3] / "config"
OF_A_TEXT, OF_AN_OUTPUT, OF_AN_IMPORT, OF_LINES = 110, 25, 45, 300

Load = Callable[[Path], Any]


def _of_ruiz(path: Path) -> Any:
    """Both tables of a study, one of which stands alone in its folder."""
    for name in {published.TABLE_1, published.FIGURES} - {path.name}:
        shutil.copy(CONFIG / "published" / name, path.parent)
    return published.published_tables(path.parent)


DECLARED = declared()
YAML_FILES: dict[str, Load] = {
    "config.yaml": lambda path: load_checked(path, "config"),
    "exclusions.yaml": load_exclusions,
    "claims.yaml": lambda path: load_register(path, CONFIG / "published/claims.csv", DECLARED),
    **{
        f"studies/{name}.yaml": lambda path: load_study(path, "smoke")
        for name in ("torrez2019", "scaling", "hpcg", "ladder", "libaio")
    },
    **{f"systems/{path.name}": load_system for path in sorted(CONFIG.glob("systems/*.yaml"))},
}
CSV_FILES: dict[str, tuple[Load, tuple[str, ...]]] = {
    "registration.csv": (registration.load, ("registered",)),
    "expected_verdicts.csv": (verdicts.load_expected, ()),
    "published/claims.csv": (published.load_published, ("value",)),
    "published/values.csv": (lambda path: published_values.load(path, "s"), ("published",)),
    "published/ruiz_figures.csv": (_of_ruiz, ("seconds",)),
    "published/statements.csv": (published.defects, ()),
    "published/ruiz_table1.csv": (_of_ruiz, ("percent", "time_ms")),
}
NO_WORDS = (
    "", "-1", "0", "nan", "inf", "1e999", "../x", "a/b", "a\x1b", "9" * 400, "{}", "[", "'",
    "\udc80", "x=y", "no-such-thing", "/no/such/file",
)  # fmt: skip
NO_CELLS = (
    "nan", "inf", "-Infinity", "1e999", "1_0", "٣", "0x1F", "a\x00b", "\x1b[2J", "x" * 140_000,
)  # fmt: skip


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


def _of_file(seen: Seen, load: Load, path: Path, name: str, content: bytes, broken: bool) -> None:
    """Read a mutated file, which is broken if nothing may be made of it."""
    path.write_bytes(content)
    seen.try_out(name, lambda: load(path), lambda made: broken)


def test_no_broken_file_is_read_silently_or_ends_in_a_traceback(tmp_path: Path) -> None:
    chance, seen = random.Random(SEED), Seen("configuration")
    for name, load in YAML_FILES.items():
        content, path = (CONFIG / name).read_bytes(), tmp_path / Path(name).name
        document = yaml.safe_load(content)
        # The register is read more slowly than all others.
        few = 3 if name == "claims.yaml" else 1
        for number in range(OF_A_TEXT // few):
            _of_file(seen, load, path, f"{name} {number}", in_text(content, chance), False)
            _of_file(seen, load, path, f"{name} {number}", in_values(document, chance), True)
    for name, (load, numbers) in CSV_FILES.items():
        content, path = (CONFIG / name).read_bytes(), tmp_path / Path(name).name
        for number in range(OF_A_TEXT):
            _of_file(seen, load, path, f"{name} {number}", in_text(content, chance), False)
            cells = _in_cells(content, numbers, chance)
            _of_file(seen, load, path, f"{name} {number}", cells, True)
    seen.end(2_000)


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
OF_A_DOCUMENT, OF_AN_ARCHIVE, OF_A_TRACE = 100, 120, 150
# What a benchmark's file is called, and how its head is laid out.
TRACES = {
    ("selfish", selfish.TRACE): traces.HEADS[traces.VERSION],
    ("steps", steps.FILE): traces.HEAD,
}
ODD = np.array([0, 1, -1, 2**62, math.nan, math.inf, -math.inf, 1e308, 5e-324])


def _of_archive(name: str) -> bytes:
    """A document of an archive; those of blocks and runs are in its tables."""
    if (ARCHIVE / name).exists():
        return (ARCHIVE / name).read_bytes()
    table = "blocks" if name == "block.json" else "raw"
    column = pq.read_table(ARCHIVE / f"records/{table}.parquet", columns=["record"])["record"]
    return str(column[0].as_py()).encode()


def test_no_broken_document_of_an_archive_does_either(tmp_path: Path) -> None:
    """What is checked is the reader itself: whoever broke the file may have signed it anew."""
    chance, seen = random.Random(SEED), Seen("documents of archives")
    for name, load in DOCUMENTS.items():
        content, path = _of_archive(name), tmp_path / name
        document = json.loads(content)
        facts = [place for place in places(document) if "parameters" not in place]
        for number in range(OF_A_DOCUMENT):
            _of_file(seen, load, path, f"{name} {number}", in_text(content, chance), False)
            place, fact = chance.choice(facts), chance.choice(NO_FACTS)
            text = json.dumps(with_value(document, place, fact)).encode()
            _of_file(seen, load, path, f"{name}, {place} = {fact}", text, True)
    seen.end(2 * OF_A_DOCUMENT * len(DOCUMENTS))


def test_no_broken_archive_does_either(tmp_path: Path) -> None:
    """One file of an archive is broken, and signed anew or not: it is read, and parsed again."""
    chance, seen = random.Random(SEED), Seen("archives")
    folder = tmp_path / "archive" / ARCHIVE.name
    shutil.copytree(ARCHIVE, folder, ignore=shutil.ignore_patterns("analysis", "figures"))
    sums = dataset.read_sums(folder)

    def parsed_again() -> None:
        analysis_dataset.load(folder)
        if differing := dataset.differing_tables(folder):
            raise UserError(f"parsing again gives other bytes: {differing}", where=str(folder))

    for number in range(OF_AN_ARCHIVE):
        name, is_signed = chance.choice(sorted(sums)), number % 2 == 1
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(broken := in_text(content, chance))
        if is_signed:
            dataset.write_sums(folder, sums | {name: hashlib.sha256(broken).hexdigest()})
        whole = is_signed or broken == content
        seen.try_out(f"{name} {number}", parsed_again, lambda made, whole=whole: not whole)
        (folder / name).write_bytes(content)
        dataset.write_sums(folder, sums)
    seen.end(OF_AN_ARCHIVE)


def _numbers(parsed: Parsed) -> list[float]:
    if not parsed.valid:
        raise UserError(parsed.detail)
    return [metric.value for metric in parsed.metrics]


def _cannot_be(numbers: list[float]) -> bool:
    return not all(math.isfinite(number) and number >= 0 for number in numbers)


def test_no_broken_output_gives_a_number_that_cannot_be() -> None:
    """Outputs of every benchmark that has golden ones."""
    chance, seen = random.Random(SEED), Seen("outputs of programs")
    for run in golden_runs():
        content = run.text.encode()
        for number in range(OF_AN_OUTPUT if content else 0):
            text = in_text(content, chance).decode(errors="replace")
            seen.try_out(f"{run} {number}", lambda t=text, r=run: _numbers(r.parse(t)), _cannot_be)
    seen.end(2_000)


def test_no_broken_trace_does_either() -> None:
    """Any bytes are changed, or a field of the head to what is odd, and the file signed anew."""
    chance, seen = random.Random(SEED), Seen("traces")
    for (name, file), head in TRACES.items():
        benchmark = benchmarks()[name]
        for path, number in product(sorted((GOLDEN / name).glob("real-*")), range(OF_A_TRACE)):
            content = path.read_bytes()
            broken, field = np.frombuffer(content, head, 1).copy(), chance.choice(head.names[2:])
            with np.errstate(invalid="ignore"):
                broken[field] = chance.choice(ODD).astype(head[field])
            signed = broken.tobytes() + content[head.itemsize : -4]
            signed += zlib.crc32(signed).to_bytes(4, "little")
            for made in (in_text(content, chance), signed):
                given = {"seconds": 0.1, "mode": path.stem.partition("-")[2]}
                asked = defaults(benchmark, **given)
                outputs = Outputs(files={file: as_text(made)}, parameters=asked)
                seen.try_out(
                    f"{path.name} {number}, {field}",
                    lambda b=benchmark, o=outputs: _numbers(b.parse(o)), _cannot_be,
                )  # fmt: skip
    seen.end(2 * OF_A_TRACE)


def test_no_broken_result_of_others_is_imported(tmp_path: Path) -> None:
    chance, seen = random.Random(SEED), Seen("imports")

    def imported(file: Path) -> list[Row]:
        converter = converter_of([file])
        return checked(list(converter.rows(file, Options("arm", {}))), converter.may_lack)

    def is_wrong(rows: list[Row]) -> bool:
        return not all(row.value is None or math.isfinite(row.value) for row in rows)

    for golden in sorted(path for path in (GOLDEN / "imports").rglob("*") if path.is_file()):
        content, path = golden.read_bytes(), tmp_path / golden.name
        for number in range(OF_AN_IMPORT):
            path.write_bytes(in_text(content, chance))
            seen.try_out(f"{golden.name} {number}", lambda path=path: imported(path), is_wrong)
    seen.end(1_000)


def test_no_odd_command_line_ends_in_a_traceback_or_well(tmp_path: Path, monkeypatch) -> None:
    """Commands of people, with words that none of their options can have, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    chance, seen = random.Random(SEED), Seen("command lines")
    people = ("measure", "diagnose", "import", "progress", "reparse", "figures")

    def called(words: list[str]) -> None:
        """Call it; that it ends with another status than 0 is its refusal."""
        with (
            contextlib.redirect_stderr(io.StringIO()) as said,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            try:
                main(words)
            except SystemExit as ended:
                if ended.code:
                    raise UserError(said.getvalue()[:1000]) from None

    for number in range(OF_LINES):
        name = chance.choice(people)
        options = list(inspect.signature(commands()[name].code).parameters)
        words = [name]
        for option in chance.sample(options, chance.randrange(len(options) + 1)):
            words += [f"--{option.replace('_', '-')}", chance.choice(NO_WORDS)]
        words += chance.sample(["--", "/no/such/program", "-x", "", "é", "--no-such-option"], 2)
        seen.try_out(f"{number}: {words}", lambda words=words: called(words), lambda made: True)
    seen.end(OF_LINES)
