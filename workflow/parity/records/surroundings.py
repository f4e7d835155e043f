"""Rows about what surrounds the runs of a block: nodes, binaries, images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parity.software.images import ImageRecord

Row = dict[str, Any]


def audited_binaries(block: Mapping[str, Any]) -> dict[tuple[int, str, str], list[Row]]:
    """The audited executables by session, arm and benchmark, in the benchmark's order."""
    found: dict[tuple[int, str, str], list[Row]] = {}
    for session in block["sessions"]:
        for row in session["start"]["binaries"]:
            found.setdefault((session["number"], row["arm"], row["benchmark"]), []).append(row)
    return found


def measured_binary(audited: Sequence[Row], command: Sequence[str]) -> Row:
    """The executable that a run measured: the first that is a word of its command line.

    A benchmark may have several, one for each level of a factor; and one that a script
    starts need not be a word, so the first stands for it. Empty if none was audited.
    """
    named = [row for row in audited if row["path"] in command]
    return next(iter([*named, *audited]), {})


def node_sizes(block: Mapping[str, Any], number: int) -> dict[str, int]:
    """Last-level cache and memory in bytes of a session's first node; 0 where it does not tell."""
    start = next(each["start"] for each in block["sessions"] if each["number"] == number)
    facts = {"last_level_cache": "last_level_cache", "memory": "memory_total"}
    return {size: _bytes(start["node"].get(fact, "")) for size, fact in facts.items()}


def _bytes(text: str) -> int:
    number, _, unit = text.partition(" ")
    return int(number) * {"B": 1, "kB": 1024}.get(unit, 0) if number.isdecimal() else 0


def node_rows(block: Mapping[str, Any]) -> Iterable[Row]:
    """Rows of the NODES table: the facts before and after each session of a block.

    What the batch system says of the allocation stands with the first node, on which the
    block's job runs; the other nodes are asked before the block only.
    """
    for session in block["sessions"]:
        start, suffix = session["start"], f"-{session['number']}" if session["number"] > 1 else ""
        first = start["node_name"]
        seen = [(first, "before", start["node"] | start.get("allocation", {}))]
        seen += [(other["node_name"], "before", other["node"]) for other in _others(start)]
        seen += [(first, "after", session["end"]["node"])] if session["end"] else []
        for node, phase, facts in seen:
            for fact, value in facts.items():
                yield {
                    "campaign": block["campaign"],
                    "block": block["block"],
                    "node": node,
                    "phase": phase + suffix,
                    "fact": fact,
                    "value": value,
                }


def _others(start: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return start.get("other_nodes", ())


def binary_rows(block: Mapping[str, Any]) -> Iterable[Row]:
    """Rows of the BINARIES table: what each session of a block audited on its first node.

    An arm whose binaries are others on another node cannot be used in that block, so the
    first node's speak for all.
    """
    for session in block["sessions"]:
        shared = {
            "campaign": block["campaign"],
            "block": block["block"],
            "session": session["number"],
        }
        for row in session["start"]["binaries"]:
            yield shared | row


def image_rows(campaign: str, images: Mapping[str, ImageRecord]) -> list[Row]:
    """Rows of the IMAGES table: the digest chain."""
    columns = ("digest", "parent", "parent_digest", "bytes", "seconds", "tool", "reason")
    return [
        {"campaign": campaign, "format": name} | {key: getattr(record, key) for key in columns}
        for name, record in images.items()
    ]
