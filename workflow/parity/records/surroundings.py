"""Rows about what surrounds the runs of a block: nodes, binaries, images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]


def main_binaries(block: Mapping[str, Any]) -> dict[tuple[int, str, str], Row]:
    """The first audited executable of each benchmark is the one that is measured."""
    found: dict[tuple[int, str, str], Row] = {}
    for session in block["sessions"]:
        for row in session["start"]["binaries"]:
            found.setdefault((session["number"], row["arm"], row["benchmark"]), row)
    return found


def node_rows(block: Mapping[str, Any]) -> Iterable[Row]:
    """Rows of the NODES table: the facts before and after each session of a block."""
    for session in block["sessions"]:
        suffix = f"-{session['number']}" if session["number"] > 1 else ""
        for phase, part in (("before", session["start"]), ("after", session["end"])):
            for fact, value in (part["node"] if part else {}).items():
                yield {
                    "campaign": block["campaign"],
                    "block": block["block"],
                    "node": session["start"]["node_name"],
                    "phase": phase + suffix,
                    "fact": fact,
                    "value": value,
                }


def binary_rows(block: Mapping[str, Any]) -> Iterable[Row]:
    """Rows of the BINARIES table: what each session of a block audited."""
    for session in block["sessions"]:
        shared = {
            "campaign": block["campaign"],
            "block": block["block"],
            "session": session["number"],
        }
        for row in session["start"]["binaries"]:
            yield shared | row


def image_rows(campaign: str, images: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Rows of the IMAGES table: the digest chain."""
    columns = ("digest", "parent", "parent_digest", "bytes", "seconds", "tool", "reason")
    return [
        {"campaign": campaign, "format": name} | {column: record[column] for column in columns}
        for name, record in images.items()
    ]
