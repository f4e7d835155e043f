"""A factor makes the difference, and the container does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pandas as pd

from parity.analysis import outcomes
from parity.analysis.statistics.factorial import TwoByTwo, two_by_two
from parity.claims import terms
from parity.claims.finding import Finding, absent, tested, too_few
from parity.claims.judging_data import Absent, Cell, Scope
from parity.claims.rules.model import NAME, PERCENT, Options, Rule
from parity.claims.series import Series
from parity.core import wording


class Interaction(Rule):
    """A 2 x 2 factorial: arm and reference, at two levels of a factor (Box, Hunter & Hunter).

    Two things must hold for each arm. The interaction is equivalent to nothing: the
    container costs the same at both levels. And the factor itself has an effect beyond the
    margin; it is contradicted if that, too, is equivalent to nothing.
    """

    name = "interaction"
    options: ClassVar[Options] = {
        "factor": {"description": "The parameter that is the other factor.", **NAME},
        "levels": {
            "description": "Its two levels.",
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "uniqueItems": True,
            "items": {"$ref": "#/$defs/level"},
        },
        "margin_percent": {"description": "Margin of the ratio, in %.", **PERCENT},
    }
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
                found.append(absent(Absent(first.metric, first.arm, first.against, reason)))
                continue
            pair = Series(factor, tuple(cells[level] for level in levels))
            found += _look(pair, options["margin_percent"] / 100)
        return list(dict.fromkeys(found))


def _look(pair: Series, margin: float) -> list[Finding]:
    found = _effects(pair.cells, pair.arm, pair.against)
    held = len(found.blocks)
    if held < 2:
        reason = f"too few blocks that hold both arms at both levels: {held} of 2"
        return [too_few(pair, held, reason)]
    reference, double = pair.cells[0].pair
    of_pair = _effects(pair.cells, double, reference).interaction
    return [
        _interaction(pair, tested(pair, found.interaction, of_pair, margin), margin),
        _main(pair, tested(pair, found.second, of_pair, margin)),
    ]


def _interaction(pair: Series, finding: Finding, margin: float) -> Finding:
    """Whether the container costs the same at both levels."""
    decision = finding.decision
    said = f"interaction {wording.interval(*decision.interval95)}"
    return finding.concluded(
        same=f"{said} is nothing within {wording.margin(margin)}",
        different=f"{said} lies outside {wording.margin(margin)}",
        neither=f"{said}; {wording.margin(decision.smallest_margin)} would pass",
    )


def _main(pair: Series, same: Finding) -> Finding:
    """Whether the factor has an effect of its own; `same` tests that it has none."""
    decision = same.decision
    differs = decision.outcome == outcomes.DIFFERENT
    finding = replace(
        same,
        metric=f"{pair.metric} (factor)",
        decision=replace(decision, smallest_margin=math.nan),
        p_value=same.p_against,
        # It contradicts if the factor does nothing.
        p_against=same.p_value,
        strain=0.0 if differs else 1.0,
    )
    said = f"effect of {pair.along} {wording.interval(*decision.interval95)}"
    if differs:
        return finding.ended(terms.SUPPORTED, f"{said} is beyond the margin")
    if decision.outcome == outcomes.EQUIVALENT:
        return finding.ended(terms.CONTRADICTED, f"{said} is nothing within the margin")
    return finding.ended(terms.INCONCLUSIVE, f"{said} is not shown to be beyond the margin")


def _effects(cells: Iterable[Cell], arm: str, against: str) -> TwoByTwo:
    """Contrasts of two arms at both levels, over the blocks that hold all four values."""
    rows = [
        (number, side, level, log)
        for level, cell in zip(("low", "high"), cells, strict=True)
        for side in (against, arm)
        for number, log in cell.costs(side).items()
    ]
    frame = pd.DataFrame(rows, columns=["block", "first", "second", "log"])
    return two_by_two(frame, (against, arm), ("low", "high"))


RULES = (Interaction(),)
