"""A factor makes the difference, and the container does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parity.analysis.conclusions import CROSSED, INTERACTION, LEVEL_OVERALL
from parity.analysis.contrast import weighted_sum
from parity.claims.finding import Finding, tested, too_few, untested
from parity.claims.judging_data import Cell
from parity.claims.rules.direction import directed
from parity.claims.rules.model import Rule
from parity.claims.selection import Scope
from parity.claims.series import Series
from parity.core import wording

FIRST, SECOND = "first-costs-more", "second-costs-more"


class Interaction(Rule):
    """A 2 x 2 factorial: arm and reference, at two levels of a factor (Box, Hunter & Hunter).

    Two things must hold for each arm. The interaction is equivalent to nothing: the
    container costs the same at both levels. And the factor itself, averaged over both arms,
    has an effect of the expected sign beyond the smallest one that counts, as in `direction`.
    """

    name = "interaction"
    version = 2
    one_sided = True
    proves_sameness = True

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """Two findings for each arm and pair of cases that differ in the factor only."""
        factor, levels = options["factor"], [str(level) for level in options["levels"]]
        grouped: dict[tuple[Any, ...], dict[str, Cell]] = {}
        for cell in scope.cells:
            rest = {k: str(v) for k, v in cell.parameters.items() if k != factor}
            level = str(cell.parameters.get(factor))
            grouped.setdefault((cell.arm, *sorted(rest.items())), {})[level] = cell
        found = []
        for cells in grouped.values():
            if missing := [level for level in levels if level not in cells]:
                first = next(iter(cells.values()))
                levels_missing = f"{factor} {wording.listed(missing)}"
                reason = f"the dataset holds no case of {first.benchmark} with {levels_missing}"
                found.append(untested(first, reason))
                continue
            pair = Series(factor, tuple(cells[level] for level in levels))
            found += _look(pair, options)
        return list(dict.fromkeys(found))


def _look(pair: Series, options: Mapping[str, Any]) -> list[Finding]:
    interaction, factor = _effects(pair, pair.arm, pair.against)
    if len(factor) < 2:
        reason = f"too few blocks that hold both arms at both levels: {len(factor)} of 2"
        return [too_few(pair, len(factor), reason)]
    reference, double = pair.cells[0].pair
    of_pair, _ = _effects(pair, double, reference)
    more, smallest = options["expect"] == SECOND, options["smallest_effect_percent"] / 100
    main = directed(pair, factor, of_pair, more, smallest)
    return [
        _interaction(pair, interaction, of_pair, options["margin_percent"] / 100),
        replace(
            main,
            metric=f"{pair.metric} (factor)",
            reason=f"effect of {pair.along}: {main.reason}",
        ),
    ]


def _interaction(
    pair: Series, interaction: np.ndarray, of_pair: np.ndarray, margin: float
) -> Finding:
    """Whether the container costs the same at both levels."""
    finding = tested(pair, interaction, of_pair, margin)
    decision = finding.decision
    said = f"interaction {wording.interval(*decision.interval95)}"
    return finding.concluded(
        same=f"{said} is nothing within {wording.margin(margin)}",
        different=f"{said} lies outside {wording.margin(margin)}",
        neither=f"{said}; {wording.margin(decision.smallest_margin)} would pass",
    )


def _effects(pair: Series, arm: str, against: str) -> tuple[np.ndarray, np.ndarray]:
    """Interaction, and effect of the factor, over what holds both arms at both levels."""

    def effects(form: str) -> np.ndarray:
        by_number = weighted_sum(
            (weight, cell.costs(side))
            for cell, weights in zip(pair.cells, CROSSED[form], strict=True)
            for side, weight in zip((against, arm), weights, strict=True)
        )
        return pair.independent(np.array(list(by_number.values())), by_number)

    return effects(INTERACTION), effects(LEVEL_OVERALL)


RULES = (Interaction(),)
