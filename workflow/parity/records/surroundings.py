"""Rows about what surrounds the runs of a block: nodes, binaries, images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from parity.measure.documents import Binary, BlockRecord
from parity.software.images import ImageRecord

Row = dict[str, Any]


def measured_binary(audited: Sequence[Binary], command: Sequence[str]) -> Binary | None:
    """The executable that a run measured: the first that is a word of its command line.

    A benchmark may have several, one for each level of a factor; and one that a script
    starts need not be a word, so the first stands for it. None if none was audited.
    """
    named = [binary for binary in audited if binary.path in command]
    return next(iter([*named, *audited]), None)


def all_binaries(audited: Sequence[Binary]) -> Binary | None:
    """Several executables as one that is another if any of them is; None if one is not there."""
    if len(audited) < 2 or not all(binary.sha256 for binary in audited):
        return next((binary for binary in audited if len(audited) == 1), None)
    digests = (
        hashlib.sha256("".join(f"{getattr(each, field)}\n" for each in audited).encode())
        for field in ("sha256", "closure_sha256")
    )
    one, closure = (digest.hexdigest() for digest in digests)
    return replace(audited[0], sha256=one, closure_sha256=closure)


def node_sizes(facts: Mapping[str, str]) -> dict[str, int]:
    """Last-level cache and memory of a node in bytes, from its facts; 0 where it does not tell."""
    names = {"last_level_cache": "last_level_cache", "memory": "memory_total"}
    return {size: _bytes(facts.get(fact, "")) for size, fact in names.items()}


def _bytes(text: str) -> int:
    number, _, unit = text.partition(" ")
    return int(number) * {"B": 1, "kB": 1024}.get(unit, 0) if number.isdecimal() else 0


def node_rows(block: BlockRecord) -> Iterable[Row]:
    """Rows of the NODES table: the facts before and after each session of a block.

    What the batch system says of the allocation stands with the first node, on which the
    block's job runs; the other nodes are asked before the block only.
    """
    for session in block.sessions:
        start, suffix = session.start, f"-{session.number}" if session.number > 1 else ""
        states = [(start.node_name, "before", start.facts | start.allocation)]
        states += [(other.node_name, "before", other.facts) for other in start.other_nodes]
        states += [(start.node_name, "after", session.end.facts)] if session.end else []
        for node, phase, facts in states:
            for fact, value in facts.items():
                yield {
                    "campaign": block.campaign,
                    "block": block.name,
                    "node": node,
                    "phase": phase + suffix,
                    "fact": fact,
                    "value": value,
                }


def binary_rows(block: BlockRecord) -> Iterable[Row]:
    """Rows of the BINARIES table: what each session of a block audited on its first node.

    An arm whose binaries are others on another node cannot be used in that block, so the
    first node's speak for all.
    """
    for session in block.sessions:
        shared = {"campaign": block.campaign, "block": block.name, "session": session.number}
        for binary in session.start.binaries:
            yield shared | to_builtins(binary)


def image_rows(campaign: str, images: Mapping[str, ImageRecord]) -> list[Row]:
    """Rows of the IMAGES table: the digest chain."""
    columns = ("digest", "parent", "parent_digest", "bytes", "seconds", "tool", "reason")
    return [
        {"campaign": campaign, "format": name} | {key: getattr(record, key) for key in columns}
        for name, record in images.items()
    ]
