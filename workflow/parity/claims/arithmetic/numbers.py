"""The published numbers, as config/published/ holds them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.claims.published import load_published
from parity.core.errors import UserError


@dataclass(frozen=True)
class Numbers:
    """The published numbers.

    Attributes:
        facts: value by claim and `<metric>/<runtime>`, from claims.csv.
        profile: milliseconds and per cent by configuration, component and code, from
            Table 1 of Ruiz et al.
    """

    facts: Mapping[tuple[str, str], float]
    profile: Mapping[tuple[str, str, str], tuple[float, float]]

    def __getitem__(self, key: tuple[str, str]) -> float:
        return self.facts[key]

    def every(self, claim: str, metric: str) -> list[float]:
        """One metric of a claim, of each runtime.

        Raises:
            KeyError: there is none.
        """
        found = [
            value
            for (of, key), value in self.facts.items()
            if of == claim and key.startswith(f"{metric}/")
        ]
        if not found:
            raise KeyError((claim, metric))
        return found

    @property
    def codes(self) -> list[str]:
        """The codes of Table 1, in its order."""
        return list(dict.fromkeys(code for _, _, code in self.profile))

    def milliseconds(self, configuration: str, component: str, code: str) -> float:
        """One time of Table 1."""
        return self.profile[configuration, component, code][0]

    def total(self, configuration: str, code: str) -> float:
        """Milliseconds of all components together."""
        components = dict.fromkeys(component for _, component, _ in self.profile)
        return sum(self.milliseconds(configuration, part, code) for part in components)

    def over(self, one: str, other: str, code: str) -> float:
        """By how many per cent the total of one configuration exceeds the other's."""
        return 100 * (self.total(one, code) / self.total(other, code) - 1)


def read(folder: Path) -> Numbers:
    """The published numbers in `folder` (config/published).

    Raises:
        UserError: a file is missing, or has a row that is no number.
    """
    facts = {
        (claim, key): published.value
        for claim, of_claim in load_published(folder / "claims.csv").items()
        for key, published in of_claim.items()
    }
    try:
        with (folder / "ruiz_table1.csv").open(newline="", encoding="utf-8") as file:
            profile = {
                (row["configuration"], row["component"], row["benchmark"]): (
                    float(row["time_ms"]),
                    float(row["percent"]),
                )
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"the published numbers cannot be read: {error}", where=str(folder)
        ) from error
    return Numbers(facts, profile)
