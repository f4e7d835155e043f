"""A dataset on disk: plan.json, images.json and records/*.parquet; parse, compare, archive."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.plan.plan import read_plan
from parity.records import schema
from parity.records.parse import parse_all
from parity.software.images import read_images

VERBATIM = ("raw", "blocks")
PARSED = ("runs", "metrics", "samples", "nodes", "binaries", "images")
CHECKSUMS = "SHA256SUMS"
PROVENANCE = "provenance.json"
# What an archived dataset consists of, beside its checksums.
FILES = sorted(
    ["plan.json", "images.json", PROVENANCE]
    + [f"records/{name}.parquet" for name in (*VERBATIM, *PARSED)]
)
# What it may hold beside them: the noise audit of the system that it was measured on, and
# the record of what Spack built for it, with the lock that it was built from.
OPTIONAL = ("harness.json", "native.json", "spack.yaml", "spack.lock", "lock.json")


def parse_dataset(dataset: Path, destination: Path) -> None:
    """Write every parsed table of a dataset into a folder."""
    tables = parse_all(
        read_plan(dataset / "plan.json"),
        schema.read(schema.RAW, dataset / "records/raw.parquet").to_pylist(),
        schema.read(schema.BLOCKS, dataset / "records/blocks.parquet").to_pylist(),
        read_images(dataset / "images.json"),
    )
    for name, rows in tables.items():
        schema.write(schema.TABLES[name], rows, destination / f"{name}.parquet")


def differing_tables(dataset: Path) -> list[str]:
    """Parse a dataset again; the parsed tables whose bytes differ from those it holds."""
    with tempfile.TemporaryDirectory() as folder:
        parse_dataset(dataset, Path(folder))
        return [
            name
            for name in PARSED
            if _sha256(Path(folder) / f"{name}.parquet")
            != _sha256(dataset / f"records/{name}.parquet")
        ]


def archive_dataset(live: Path, root: Path, system: str) -> Path:
    """Copy a live dataset into the archive, whole or not at all, with its checksums.

    Args:
        live: the dataset.
        root: the folder of all archived datasets.
        system: name of the system; the archive is called
            `<system>-<study>-<day of its last block>`.

    Returns:
        The archived dataset.

    Raises:
        UserError: there is an archive of this name already; it is never overwritten.
    """
    origin = provenance(live)
    study = read_plan(live / "plan.json").study
    archive = root / f"{system}-{study}-{origin['ended'][:10]}"
    if archive.exists():
        raise UserError(
            "there already is an archive of this system, study and day",
            where=str(archive),
            action="move it away yourself to replace it; archived data is never overwritten",
        )
    temporary = root / f".{archive.name}.part"
    shutil.rmtree(temporary, ignore_errors=True)
    (temporary / "records").mkdir(parents=True)
    names = files_of(live)
    for name in names:
        if name != PROVENANCE:
            shutil.copyfile(live / name, temporary / name)
    (temporary / PROVENANCE).write_text(json.dumps(origin, indent=1, sort_keys=True) + "\n")
    sums = [f"{_sha256(temporary / name)}  {name}\n" for name in names]
    (temporary / CHECKSUMS).write_text("".join(sums))
    temporary.rename(archive)
    return archive


def archived(root: Path) -> dict[str, tuple[str, str]]:
    """System and study of every archived dataset, by its name.

    The oldest are called `<system>-<day>`, without their study.
    """
    found = {}
    for path in sorted(root.glob("*/plan.json")):
        name, study = path.parent.name, read_plan(path).study
        found[name] = (name[: -len("-YYYY-MM-DD")].removesuffix(f"-{study}"), study)
    return found


def files_of(dataset: Path) -> list[str]:
    """What this dataset consists of: what every one has to, and what it has of the rest."""
    return sorted([*FILES, *(name for name in OPTIONAL if (dataset / name).exists())])


def provenance(dataset: Path) -> dict[str, Any]:
    """What a dataset came from: when, and with which state of the program and its environment.

    A campaign whose sessions ran different states of the program lists all of them.
    """
    blocks = schema.read(schema.BLOCKS, dataset / "records/blocks.parquet").to_pylist()
    sessions = [s for block in blocks for s in json.loads(block["record"])["sessions"]]
    programs = {canonical(session["start"]["program"]) for session in sessions}
    return {
        "began": min(session["start"]["started"] for session in sessions),
        "ended": max(session["end"]["ended"] for session in sessions if session["end"]),
        "blocks": len(blocks),
        "sessions": len(sessions),
        "programs": [json.loads(text) for text in sorted(programs)],
        "runtimes": {
            name: sorted({session["start"]["arms"][name]["version"] for session in sessions})
            for name in sessions[0]["start"]["arms"]
        },
    }


def broken_files(archive: Path) -> list[str]:
    """The files of an archived dataset that are missing, unlisted or differ from their checksum.

    Raises:
        OSError: there is no list of checksums.
    """
    lines = (archive / CHECKSUMS).read_text().splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    expected = sorted({*files_of(archive), *(sums.keys() & set(OPTIONAL))})
    unexpected = sorted(sums.keys() - set(expected))
    return unexpected + [
        name
        for name in expected
        if not (archive / name).is_file() or _sha256(archive / name) != sums.get(name)
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
