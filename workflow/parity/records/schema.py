"""The one registry of tables: Arrow types, units and a sentence for each column.

docs/data-dictionary.md is generated from here. A row with an unknown or a missing
key is refused, because `pyarrow.Table.from_pylist` would silently drop the one and
fill the other with null. The same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA_VERSION = "1"


def column(name: str, kind: pa.DataType, doc: str, unit: str = "", null: bool = False) -> pa.Field:
    """A column of a table, with what it holds and in which unit."""
    metadata = {"doc": doc} | ({"unit": unit} if unit else {})
    return pa.field(name, kind, nullable=null, metadata=metadata)


@dataclass(frozen=True)
class TableSchema:
    """A table: its columns and the columns it is sorted by."""

    name: str
    doc: str
    order: tuple[str, ...]
    columns: tuple[pa.Field, ...]

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, with the table's own sentence and the schema's version."""
        return pa.schema(
            self.columns,
            metadata={"table": self.name, "doc": self.doc, "schema_version": SCHEMA_VERSION},
        )


_S, _I, _F, _B = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_RUN_KEY = (
    column("campaign", _S, "Study and scale, such as torrez2019-smoke."),
    column("block", _S, "Block id: campaign, number and the digest of what the block does."),
    column("block_number", _I, "Number of the block, from 1."),
    column("run", _S, "Run id within the block: case and arm."),
    column("attempt", _I, "Attempt of this run, from 1; 0 when it was never started."),
)

RAW = TableSchema(
    "raw",
    "One row per attempt: everything it left, verbatim. Every other table is parsed from it.",
    ("block", "run", "attempt"),
    (
        *_RUN_KEY,
        column("record", _S, "The attempt's JSON record, verbatim; empty if it was interrupted."),
        column("stdout", pa.binary(), "Standard output, verbatim."),
        column("stderr", pa.binary(), "Standard error, verbatim, evidence lines included."),
        column("files", _S, "Collected files as a JSON object of name to text."),
        column("samples", _S, "Memory samples as JSON lines; empty without sampling."),
    ),
)

BLOCKS = TableSchema(
    "blocks",
    "One row per block: its JSON record, verbatim (order of runs, node before and after, audit).",
    ("block",),
    (
        column("campaign", _S, "Study and scale."),
        column("block", _S, "Block id."),
        column("block_number", _I, "Number of the block, from 1."),
        column("record", _S, "The block's JSON record, verbatim."),
    ),
)

RUNS = TableSchema(
    "runs",
    "One row per attempt of a planned run; a run that could not be made has one row, attempt 0.",
    ("campaign", "block", "run", "attempt"),
    (
        *_RUN_KEY,
        column("position", _I, "Position of the run in its block's random order, from 1."),
        column("benchmark", _S, "Benchmark."),
        column("case", _S, "Benchmark at one level of each factor, such as likwid-copy."),
        column("arm", _S, "Arm: one runtime in one variant."),
        column("runtime", _S, "Runtime of the arm."),
        column("parameters", _S, "Parameters and factor levels of the case, as sorted JSON."),
        column("final", _B, "Whether this is the attempt that counts (the last one)."),
        column(
            "session",
            _I,
            "Session of the runner that made it; good runs of a case share one.",
            null=True,
        ),
        column("stage", _S, "How far it came: planned, ran, parsed or valid."),
        column("reason", _S, "Reason code where it came no further; empty if valid."),
        column("detail", _S, "One sentence on the reason; empty if valid."),
        column("exit_code", _I, "Exit status; negative for a signal.", null=True),
        column("started", _S, "Start, UTC, ISO 8601; empty if never started."),
        column("wall_seconds", _F, "Outer clock from start to end of all starts.", "s", True),
        column("user_seconds", _F, "User CPU time of the process tree we waited for.", "s", True),
        column("system_seconds", _F, "System CPU time of that process tree.", "s", True),
        column("steal_fraction", _F, "CPU time stolen by the hypervisor meanwhile.", "1", True),
        column("load_before", _F, "One-minute load average just before.", "1", True),
        column("command", _S, "The exact command line, as a JSON list."),
        column(
            "environment_sha256",
            _S,
            "SHA-256 of the environment it was given; empty for bare starts.",
        ),
        column("evidence", _S, "What the process itself saw of where it ran, as sorted JSON."),
        column("image_digest", _S, "Digest of the image in the arm's format; empty if native."),
        column("binary_sha256", _S, "SHA-256 of the benchmark's main executable in this arm."),
        column("closure_sha256", _S, "SHA-256 over its resolved library closure in this arm."),
        column("stdout_sha256", _S, "SHA-256 of standard output; empty if never started."),
    ),
)

METRICS = TableSchema(
    "metrics",
    "One row per number that a parsed attempt gave.",
    ("campaign", "block", "run", "attempt", "metric"),
    (
        *_RUN_KEY,
        column("benchmark", _S, "Benchmark."),
        column("case", _S, "Benchmark at one level of each factor."),
        column("arm", _S, "Arm."),
        column("metric", _S, "Name of the number."),
        column("value", _F, "The number, in `unit`."),
        column("unit", _S, "Unit of `value`."),
        column("better", _S, "Direction: lower, higher or neither."),
        column("clock", _S, "internal: the program's own; external: the runner's."),
        column("primary", _B, "Whether the study compares arms by it."),
        column("valid", _B, "Whether the run passed its gates and its own check, and is final."),
    ),
)

SAMPLES = TableSchema(
    "samples",
    "One row per memory sample of a sampled run: the node as a whole, or one process.",
    ("campaign", "block", "run", "attempt", "seconds", "process", "pid"),
    (
        *_RUN_KEY,
        column("arm", _S, "Arm."),
        column("case", _S, "Benchmark at one level of each factor."),
        column("seconds", _F, "Time since the program's start; negative before it.", "s"),
        column("process", _S, "Process name; empty for the node as a whole."),
        column("pid", _I, "Process id on the host; 0 for the node."),
        column("node_used", _I, "MemTotal minus MemFree.", "B", True),
        column("node_available", _I, "MemAvailable.", "B", True),
        column("node_cached", _I, "Cached.", "B", True),
        column("node_shmem", _I, "Shmem.", "B", True),
        column(
            "node_free_per_cpu",
            _I,
            "Freed pages on the CPUs' own lists, which MemFree leaves out since Linux 6.7.",
            "B",
            True,
        ),
        column("private_writable", _I, "Private writable mappings, as `pmap -d`.", "B", True),
        column("private_dirty", _I, "Private_Dirty over all mappings.", "B", True),
    ),
)

NODES = TableSchema(
    "nodes",
    "One row per fact of a node, before and after each block.",
    ("campaign", "block", "phase", "fact", "node"),
    (
        column("campaign", _S, "Study and scale."),
        column("block", _S, "Block id."),
        column("node", _S, "Host name."),
        column("phase", _S, "before or after the block."),
        column("fact", _S, "Name of the fact, such as kernel or transparent_hugepage."),
        column("value", _S, "Its value as the node says it; empty where it has none."),
    ),
)

BINARIES = TableSchema(
    "binaries",
    "One row per executable and arm of a block: which binary and which libraries it resolves to.",
    ("campaign", "block", "session", "arm", "benchmark", "path"),
    (
        column("campaign", _S, "Study and scale."),
        column("block", _S, "Block id."),
        column("session", _I, "Session of the runner, from 1."),
        column("arm", _S, "Arm."),
        column("benchmark", _S, "Benchmark that runs it."),
        column("path", _S, "Path of the executable inside the arm."),
        column("sha256", _S, "SHA-256 of the executable."),
        column("build_id", _S, "ELF build-id; empty if it has none."),
        column("closure_sha256", _S, "SHA-256 over the sorted closure."),
        column(
            "closure",
            pa.list_(pa.struct([("library", pa.string()), ("sha256", pa.string())])),
            "Resolved libraries with the SHA-256 of each, sorted by name.",
        ),
    ),
)

IMAGES = TableSchema(
    "images",
    "One row per image format: the digest chain from the OCI manifest to each format.",
    ("campaign", "format"),
    (
        column("campaign", _S, "Study and scale; empty in results/images."),
        column("format", _S, "base, oci, directory, squashfs, sif, docker or podman."),
        column("digest", _S, "Content hash in this format; empty if it could not be made."),
        column("parent", _S, "Format that it was made from."),
        column("parent_digest", _S, "Content hash of that parent."),
        column("bytes", _I, "Size on disk; of the store's own answer for image stores.", "B", True),
        column("seconds", _F, "Time the conversion took.", "s", True),
        column("tool", _S, "Program and version that made it."),
        column("reason", _S, "Why it could not be made; empty otherwise."),
    ),
)

TABLES = {t.name: t for t in (RAW, BLOCKS, RUNS, METRICS, SAMPLES, NODES, BINARIES, IMAGES)}


def to_table(schema: TableSchema, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as a sorted Arrow table.

    Raises:
        ValueError: a row has an unknown key, lacks one, or holds null where the
            column does not allow it; the message names table, row and key.
    """
    names = {column.name for column in schema.columns}
    required = {column.name for column in schema.columns if not column.nullable}
    rows = list(rows)
    for number, row in enumerate(rows):
        wrong = sorted(names.symmetric_difference(row))
        wrong += sorted(key for key in required & row.keys() if row[key] is None)
        if wrong:
            raise ValueError(
                f"table {schema.name}, row {number}: unknown, missing or null: {wrong}"
            )
    table = pa.Table.from_pylist(rows, schema=schema.arrow)
    return table.sort_by([(key, "ascending") for key in schema.order])


def write(schema: TableSchema, rows: Iterable[Mapping[str, Any]], path: Path | str) -> None:
    """Write rows as Parquet; the same rows give the same bytes."""
    pq.write_table(to_table(schema, rows), path, compression="zstd", store_schema=True)


def read(schema: TableSchema, path: Path | str) -> pa.Table:
    """Read a table and refuse one of another schema version.

    Raises:
        ValueError: the file's schema is not this one; the message says both versions.
    """
    table = pq.read_table(path)
    version = (table.schema.metadata or {}).get(b"schema_version", b"none").decode()
    if version != SCHEMA_VERSION or not table.schema.equals(schema.arrow):
        raise ValueError(
            f"{path}: columns of table {schema.name} version {version}; "
            f"this program reads version {SCHEMA_VERSION}"
        )
    return table
