"""Texts of the page, each kept once: two thousand command lines repeat the same few words."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Texts:
    """A list of distinct texts; rows of the page hold their numbers instead."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text, a new one if it is not in the list yet."""
        return self.numbers.setdefault(text, len(self.numbers))

    @property
    def listed(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self.numbers)
