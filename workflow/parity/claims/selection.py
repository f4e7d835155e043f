"""Which comparisons a test looks at, as the register says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONTAINERS = "containers"


@dataclass(frozen=True)
class Selection:
    """The `cells` of a test.

    Attributes:
        parameters: values of a case's parameters; each of them has to be there.
        arms: names, or None for every arm whose runtime is not the reference's.
        against: the arm to compare with; empty for the plan's reference.
    """

    benchmark: str
    metric: str
    parameters: Mapping[str, tuple[Any, ...]]
    arms: tuple[str, ...] | None
    against: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Selection:
        """The selection of a checked entry of the register."""
        listed = {
            name: tuple(value) if isinstance(value, list) else (value,)
            for name, value in entry.get("parameters", {}).items()
        }
        return cls(
            benchmark=entry["benchmark"],
            metric=entry["metric"],
            parameters=listed,
            arms=None if entry["arms"] == CONTAINERS else tuple(entry["arms"]),
            against=entry.get("against", ""),
        )
