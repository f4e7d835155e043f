"""How much work takes as long as it should on a node: what a pilot found, and keeps."""

from __future__ import annotations

from parity.core.documents import Content, Document, Format


class Pilot(Document, frozen=True, kw_only=True):
    """What a pilot found on a node: pilot.json.

    Attributes:
        cpu_model: as the node tells it; empty if it does not.
        amounts: by benchmark, the parameter that sizes it and its value.
        seconds: by benchmark, the shortest timed section of the runs with that amount.
        walls: by benchmark, the shortest of these runs as a whole, in seconds.
        left_out: by benchmark, why it has no amount: it cannot run on this node.
    """

    version: int = 2
    node: str
    cpu_model: str
    amounts: dict[str, dict[str, int]]
    seconds: dict[str, float]
    walls: dict[str, float]
    left_out: dict[str, str]


def _with_walls(content: Content) -> Content:
    """A pilot of version 1 did not keep what its runs took beside what is timed."""
    return content | {"walls": content["seconds"]}


PILOT = "pilot.json"
read_pilot = Format(Pilot, (_with_walls,)).read
