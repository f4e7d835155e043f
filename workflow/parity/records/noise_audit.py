"""harness.json, beside a dataset's plan: what the harness costs, as the noise audit found it."""

from pathlib import Path
from typing import Any

from parity.core.documents import Content, Document, Format, said_from_2_on

NOISE_AUDIT = "harness.json"
NOISE_AUDIT_VERSION = 2


class PairTimes(Document, frozen=True):
    """What the two sides of a pair took, in seconds, one number for each start."""

    pair: int
    block: str
    bare_first: bool
    # By the program's own clock, under the bare script and in the block.
    bare: tuple[float, ...]
    inside: tuple[float, ...]
    # From just before the start to the end: by a shell, and by the runner with the words around it.
    bare_outer: tuple[float, ...]
    inside_outer: tuple[float, ...]


class LostPair(Document, frozen=True):
    """A pair of which a side failed, and why."""

    pair: int
    block: str
    reason: str


class TimeRatio(Document, frozen=True):
    """Geometric mean of the blocks' times over the bare ones, with two of its intervals."""

    ratio: float
    low95: float
    high95: float
    low90: float
    high90: float


class NoiseAudit(Document, frozen=True):
    """The noise audit of one system."""

    version: int
    program: str  # that both sides ran, with the parameters
    parameters: dict[str, Any]
    campaign: str  # names the audit's own blocks
    seed: int
    planned: int  # how many pairs there were to be
    lost: tuple[LostPair, ...]
    own: TimeRatio  # by the program's own clock
    outer: TimeRatio  # by the clocks around it, with what the words around it take before it starts
    values: tuple[PairTimes, ...]
    system: str
    scale_label: str
    measured: str  # when it began, UTC, ISO 8601


def read_noise_audit(folder: Path) -> NoiseAudit | None:
    """The audit beside a dataset's plan; None if nobody measured it there; raises UserError."""
    return AUDIT.read_in(folder) if AUDIT.is_in(folder) else None


def _with_ratios(content: Content) -> Content:
    """1, or none, to 2: each clock's ratio is a part of its own; pairs are counted by values."""
    kept = {key: value for key, value in content.items() if key != "pairs"}
    for clock, prefix in (("own", ""), ("outer", "outer_")):
        moved = {name: f"{prefix}{name}" for name in TimeRatio.__struct_fields__}
        kept[clock] = {name: kept.pop(key) for name, key in moved.items() if key in kept}
    return kept


AUDIT = Format(NoiseAudit, (_with_ratios,), said_from_2_on, file=NOISE_AUDIT)
