"""A dataset on disk: plan.json, images.json and records/*.parquet; gather, parse, archive.

What blocks left on disk is gathered verbatim, into two tables; all others follow from those.
"""

import hashlib
import logging
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from parity.core import documents
from parity.core.errors import UserError, shown
from parity.core.files import files_below, sha256
from parity.core.private import Private, numbered
from parity.measure import documents as measured
from parity.measure.documents import BATCH, BLOCK, BLOCK_FOLDERS, BlockRecord
from parity.measure.places import attempts
from parity.measure.progress import left_in
from parity.plan.plan import PLAN, read_plan
from parity.records import schema
from parity.records.noise_audit import NOISE_AUDIT
from parity.records.parse import OF_BLOCKS, Row, image_rows, parsed_blocks
from parity.software.images import IMAGES, read_images, without_location, write_images
from parity.software.native import NATIVE
from parity.software.toolchain import LOCKED


def measured_blocks(batches: Iterable[Path]) -> list[Path]:
    """The folders of the blocks of these batches' records; UserError: one is broken, or gone."""
    folders = []
    for path in batches:
        for name in BATCH.read(path).measured:
            if not BLOCK.is_in(BLOCK_FOLDERS / name):
                problem = f"block {name} was measured, and is not there any more"
                action = "restore its folder; or delete this file, and it is measured anew"
                raise UserError(problem, where=str(path), action=action)
            folders.append(BLOCK_FOLDERS / name)
    return folders


def gather_records(folders: Sequence[Path], system: str, records: Path) -> None:
    """Write the RAW and BLOCKS tables of these blocks; raises UserError as the functions below."""
    schema.write_rows(schema.RAW, gather_raw(folders), records / "raw.parquet")
    schema.write_rows(schema.BLOCKS, gather_blocks(folders, system), records / "blocks.parquet")


def gather_blocks(folders: Iterable[Path], system: str) -> Iterator[Row]:
    """Rows of BLOCKS in order, for each folder; UserError: one is broken, or of another system."""
    for folder in sorted(folders, key=lambda folder: folder.name):
        text = documents.read_text(path := folder / BLOCK.file)
        block = BLOCK.parse(text, str(path))
        measured.refuse_another_system(folder, block.sessions, system)
        yield _key(block) | {"record": text}


def gather_raw(folders: Iterable[Path]) -> Iterator[Row]:
    """Rows of RAW in order, for each attempt, also interrupted; UserError: a block is broken."""
    for folder in sorted(folders, key=lambda folder: folder.name):
        key = _key(BLOCK.read_in(folder))
        for attempt in chain.from_iterable(map(attempts, sorted(folder.glob("runs/*")))):
            number = int(attempt.name.removeprefix("attempt-"))
            yield key | {"run": attempt.parent.name, "attempt": number} | left_in(attempt)


def _key(block: BlockRecord) -> Row:
    return {"campaign": block.campaign, "block": block.name, "block_number": block.number}


PARSED = tuple(name for name in schema.TABLES if name not in ("raw", "blocks"))
CHECKSUMS = "SHA256SUMS"
PROVENANCE = "provenance.json"
# What an archived dataset consists of, beside its checksums.
FILES = sorted([PLAN, IMAGES, PROVENANCE] + [f"records/{name}.parquet" for name in schema.TABLES])
# What it may hold beside them: the noise audit of its system, and what Spack built for it.
OPTIONAL = (NOISE_AUDIT, NATIVE, *LOCKED)


class Provenance(documents.Document, frozen=True, kw_only=True):
    """What a dataset came from: provenance.json of an archived one."""

    version: int = 2
    began: str  # the first session, UTC, ISO 8601, as the end of the last one
    ended: str
    blocks: int
    sessions: int
    programs: tuple[measured.ProgramIdentity, ...]  # the states of it that were run, usually one
    runtimes: dict[str, tuple[str, ...]]  # by arm, what the runtime said of itself


# The first were without a version, and otherwise the same.
_PROVENANCE = documents.Format(Provenance, (documents.adding(),), documents.said_from_2_on)


def read_sums(folder: Path) -> dict[str, str]:
    """SHA-256 of an archive's files, from sha256sum's list; UserError: none, or a file is twice."""
    sums, path = dict[str, str](), folder / CHECKSUMS
    for number, line in enumerate(documents.read_text(path).splitlines(), start=1):
        listed = re.fullmatch(r"([0-9a-f]+)  (\S.*)", line)
        if not listed or listed[2] in sums:
            problem = f"{shown(line)} is no checksum, or the second one of its file"
            raise UserError(problem, where=f"{path}, line {number}", action=documents.RESTORE)
        sums[listed[2]] = listed[1]
    return sums


def write_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Write the list beside its files."""
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def parse_dataset(dataset: Path, destination: Path) -> None:
    """Write every parsed table of a dataset into a folder; raises UserError: a file is broken."""
    # What a block ran it says itself; the plan's are most of it, and it goes along with each block.
    plan = msgspec.structs.replace(read_plan(dataset / PLAN), blocks=())
    with ExitStack() as files:
        writers = {}
        for name in OF_BLOCKS:
            writer = schema.Writer(schema.TABLES[name], destination / f"{name}.parquet")
            writers[name] = files.enter_context(writer)
        for tables in parsed_blocks(plan, dataset / "records"):
            for name, table in tables.items():
                writers[name].add(table)
    images = image_rows(plan.campaign, read_images(dataset / IMAGES))
    schema.write(schema.IMAGES, images, destination / "images.parquet")


def collect(plan: Path, folders: Sequence[Path], images: Path, system: str, dataset: Path) -> None:
    """Make a dataset in an empty folder of a campaign's blocks; raises as `gather_blocks`."""
    (dataset / "records").mkdir(parents=True)
    shutil.copyfile(plan, dataset / PLAN)
    write_images(dataset / IMAGES, without_location(read_images(images)))
    gather_records(folders, system, dataset / "records")
    parse_dataset(dataset, dataset / "records")


def differing_tables(dataset: Path) -> list[str]:
    """Parse a dataset again; the parsed tables whose bytes differ from those it holds."""
    with tempfile.TemporaryDirectory() as folder:
        parse_dataset(dataset, Path(folder))
        anew, kept = Path(folder), dataset / "records"
        files = {name: f"{name}.parquet" for name in PARSED}
        return [name for name, of in files.items() if sha256(anew / of) != sha256(kept / of)]


def archive_dataset(live: Path, root: Path, system: str) -> Path:
    """Keep a live dataset below `root`, whole or not at all, with its checksums; return its folder.

    It is called `<system>-<study>-<day of its last block>`, or by its campaign if another one of
    the study has that name. A system's name that archives of other hardware have gets a number, as
    what is called the same is judged together. Raises UserError: there is an archive of this
    campaign and day, which is never overwritten; or as `write_impersonal`.
    """
    origin = provenance(live)
    plan, day = read_plan(live / PLAN), origin.ended[:10]
    known = [root / name for name, (of, _) in archived(root).items() if of == system]
    here = _hardware(live)
    if known and not any(here & _hardware(other) for other in known):
        number = hashlib.sha256(documents.canonical(sorted(here)).encode()).hexdigest()[:4]
        system = f"{system}-{number}"
    archive = root / f"{system}-{plan.study}-{day}"
    if archive.exists() and read_plan(archive / PLAN).campaign != plan.campaign:
        archive = root / f"{system}-{plan.campaign}-{day}"
    if archive.exists():
        problem = "there already is an archive of this system, campaign and day"
        action = "move it away yourself to replace it; archived data is never overwritten"
        raise UserError(problem, where=str(archive), action=action)
    temporary = root / f".{archive.name}.part"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        write_impersonal(live, temporary)
        documents.write_document(temporary / PROVENANCE, origin)
        write_sums(temporary, {name: sha256(temporary / name) for name in files_of(temporary)})
        temporary.rename(archive)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return archive


def _hardware(dataset: Path) -> set[tuple[str, str, str]]:
    """Processor, number of CPUs and memory of each node that a dataset was measured on."""
    found = set()
    for facts in (node.facts for node in _nodes(dataset)):
        kilobytes = facts.get("memory_total", "").partition(" ")[0]
        # A kernel keeps some of it, another one a bit more.
        gigabytes = str(round(int(kilobytes) / 2**20)) if kilobytes.isdecimal() else ""
        found.add((facts.get("cpu_model", ""), facts.get("cpus_online", ""), gigabytes))
    return found


TEXTS = ("record", "stdout", "stderr", "files", "samples")  # of programs, nodes and the runner


def write_impersonal(dataset: Path, destination: Path) -> None:
    """Copy what was planned and measured into a new folder, with nothing of the machine in it.

    What stands for paths, the user and nodes `core.private` says. Tables are parsed anew from what
    is left. Raises UserError: as `parse_dataset`; or the numbers are others than before.
    """
    (destination / "records").mkdir(parents=True)
    paths, here = Private(), platform.node()
    # What was imported was measured on no node that is known.
    called = {
        (node.node_name, own) for node in _nodes(dataset) if (own := node.facts.get("hostname"))
    }
    nodes = {name: "{host}" for name in (here, here.partition(".")[0])} | numbered(called)
    # What a plan calls its arms names no machine, not even one that is called so.
    arms = read_plan(dataset / PLAN).arms
    names = Private({name: place for name, place in nodes.items() if name not in arms})
    for name in files_of(dataset):
        if name != PROVENANCE and not name.endswith(".parquet"):
            text = documents.read_text(dataset / name)
            (destination / name).write_text(paths.left_out(text), encoding="utf-8")
    for table in (schema.RAW, schema.BLOCKS):
        path = f"records/{table.name}.parquet"
        rows = (_impersonal(row, names) for row in schema.read_rows(table, dataset / path))
        schema.write_rows(table, rows, destination / path)
    parse_dataset(destination, destination / "records")
    numbers = "records/metrics.parquet"
    if sha256(destination / numbers) != sha256(dataset / numbers):
        problem = f"without {', '.join(names.known)} its outputs say other numbers"
        action = "one of these is a word that a program prints: measure as another user, or on a"
        action += " node of another name"
        raise UserError(problem, where=str(dataset), action=action)


def _impersonal(row: Row, names: Private) -> Row:
    def left_out(value: Any) -> Any:
        if isinstance(value, bytes):
            text = value.decode("utf-8", "surrogateescape")
            return names.left_out(text).encode("utf-8", "surrogateescape")
        return names.left_out(value)

    return row | {key: left_out(row[key]) for key in TEXTS if key in row}


def _nodes(dataset: Path) -> Iterator[measured.NodeState]:
    """What each node of a dataset said before each session of a block."""
    for block in block_records(dataset):
        for session in block.sessions:
            yield from (session.start, *session.start.other_nodes)


def archived(root: Path) -> dict[str, tuple[str, str]]:
    """System and study of every archived dataset, by its name.

    The oldest are called `<system>-<day>`, without their study. A folder whose plan is broken is
    named and left out, because only what needs it should fail.
    """
    origins = {}
    for path in sorted(root.glob(f"[!.]*/{PLAN}")):
        try:
            plan = read_plan(path)
        except UserError as error:
            logging.getLogger(__name__).warning("%s is left out: %s", path.parent, error.what)
            continue
        name = path.parent.name
        system = name[: -len("-YYYY-MM-DD")].removesuffix(f"-{plan.campaign}")
        origins[name] = (system.removesuffix(f"-{plan.study}"), plan.study)
    return origins


def refuse_copies(archives: Sequence[Path]) -> None:
    """Refuse archives with the same outputs: judged together, they would count twice."""
    known = dict[str, Path]()
    for archive in (each for each in archives if (each / CHECKSUMS).exists()):
        digest = read_sums(archive).get("records/raw.parquet", str(archive))
        if first := known.get(digest):
            problem = f"{first.name} holds the same outputs"
            action = "move one of both out of the folder of archives"
            raise UserError(problem, where=str(archive), action=action)
        known[digest] = archive


def files_of(dataset: Path) -> list[str]:
    """What this dataset consists of: what every one has to, and what it has of the rest."""
    return sorted([*FILES, *(name for name in OPTIONAL if (dataset / name).exists())])


def block_records(dataset: Path) -> Iterator[BlockRecord]:
    """The blocks of a dataset; raises UserError."""
    path = dataset / "records/blocks.parquet"
    for row in schema.read_rows(schema.BLOCKS, path):
        yield BLOCK.parse(row["record"], f"{path}: {row['block']}")


class _Start(msgspec.Struct):
    scale_label: str


class _Session(msgspec.Struct):
    start: _Start


class _Sessions(msgspec.Struct):
    sessions: tuple[_Session, ...]


def scale_labels(dataset: Path) -> set[str]:
    """What the systems of a dataset call their kind; nothing else of its blocks is read.

    Raises ValueError: a block does not say it; UserError: the table cannot be read.
    """
    rows = schema.read_rows(schema.BLOCKS, dataset / "records/blocks.parquet")
    blocks = (msgspec.json.decode(row["record"], type=_Sessions) for row in rows)
    return {session.start.scale_label for block in blocks for session in block.sessions}


def provenance(dataset: Path) -> Provenance:
    """What a dataset came from; an archived one has it in a file; UserError: a file is broken."""
    if (dataset / PROVENANCE).exists():
        return _PROVENANCE.read(dataset / PROVENANCE)
    # Of blocks with thousands of nodes no more than this is kept.
    began, ended, blocks = list[str](), list[str](), 0
    programs: dict[str, measured.ProgramIdentity] = {}
    versions: dict[str, set[str]] = {}
    for block in block_records(dataset):
        blocks += 1
        for session in block.sessions:
            began.append(session.start.started)
            ended += [session.end.ended] if session.end else []
            programs[documents.canonical(session.start.program)] = session.start.program
            for name, state in session.start.arms.items():
                versions.setdefault(name, set()).add(state.version)
    return Provenance(
        began=min(began), ended=max(ended), blocks=blocks, sessions=len(began),
        programs=tuple(programs[text] for text in sorted(programs)),
        runtimes={name: tuple(sorted(said)) for name, said in versions.items()},
    )  # fmt: skip


def broken_files(archive: Path) -> list[str]:
    """The files of an archived dataset that are missing, unlisted or differ from their checksum.

    So is a link that leads out of it. Raises UserError: there is no list of checksums.
    """
    sums = read_sums(archive)
    expected = sorted({*files_of(archive), *(sums.keys() & set(OPTIONAL))})
    # Beside them lies what was analysed and drawn from them.
    there = {str(path.relative_to(archive)) for path in files_below(archive / "records")}
    unexpected = sorted((sums.keys() | there) - set(expected))
    inside = archive.resolve()
    return unexpected + [
        name for name in expected
        if not ((path := archive / name).is_file() and path.resolve().is_relative_to(inside))
        or sha256(path) != sums.get(name)
    ]  # fmt: skip
