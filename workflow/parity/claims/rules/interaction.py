"""A factor makes the difference, and the container does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from parity.analysis import estimate, outcomes
from parity.analysis.statistics.factorial import TwoByTwo, two_by_two
from parity.claims import effects, terms
from parity.claims.cells import Absent, Cell, Scope
from parity.claims.finding import Finding, absent, control, described, margin_text
from parity.claims.rules.model import NAME, PERCENT, Options, Rule
from parity.claims.series import Series


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
                levels_missing = f"{factor} {terms.listed(missing)}"
                reason = f"the dataset holds no case of {first.benchmark} with {levels_missing}"
                found.append(absent(Absent(first.metric, first.arm, first.against, reason)))
                continue
            pair = Series(factor, tuple(cells[level] for level in levels))
            found += _look(pair, options["margin_percent"] / 100)
        return list(dict.fromkeys(found))


def _look(pair: Series, margin: float) -> list[Finding]:
    first = pair.cells[0]
    found = _effects(pair.cells, first.arm, first.against)
    if found is None or len(found.blocks) < 2:
        held = 0 if found is None else len(found.blocks)
        reason = f"too few blocks that hold both arms at both levels: {held} of 2"
        return [pair.finding(terms.INCONCLUSIVE, reason, blocks=held, strain=math.inf)]
    of_control = _effects(pair.cells, first.pair[1], first.pair[0])
    same = np.array([]) if of_control is None else of_control.interaction
    checked = control(same, math.log1p(margin), ratio=True)
    return [_interaction(pair, found, margin, checked), _main(pair, found, margin, checked)]


def _interaction(
    pair: Series, found: TwoByTwo, margin: float, checked: Mapping[str, Any]
) -> Finding:
    """Whether the container costs the same at both levels."""
    facts = _facts(found.interaction, margin) | checked
    outcome, limit = (
        estimate.outcome(found.interaction, margin),
        margin_text(margin, terms.RATIO),
    )
    said = f"interaction {terms.interval(facts['low95'], facts['high95'])}"
    if outcome == outcomes.EQUIVALENT:
        return pair.finding(terms.SUPPORTED, f"{said} is nothing within {limit}", **facts)
    if outcome == outcomes.DIFFERENT:
        return pair.finding(terms.CONTRADICTED, f"{said} lies outside {limit}", **facts)
    would = margin_text(facts["smallest_margin"], terms.RATIO)
    return pair.finding(terms.INCONCLUSIVE, f"{said}; {would} would pass", **facts)


def _main(pair: Series, found: TwoByTwo, margin: float, checked: Mapping[str, Any]) -> Finding:
    """Whether the factor has an effect of its own."""
    facts = _facts(found.second, margin) | checked
    metric = f"{pair.cells[0].metric} (factor)"
    bound = math.log1p(margin)
    facts |= {
        "metric": metric,
        "smallest_margin": None,
        "p_value": effects.p_outside(found.second, bound),
        # It contradicts if the factor does nothing.
        "p_against": estimate.equivalence_p(found.second, margin),
        "strain": 1.0,
    }
    low, high = facts["low95"], facts["high95"]
    said = f"effect of {pair.along} {terms.interval(low, high)}"
    if low > 1 + margin or high < 1 / (1 + margin):
        facts["strain"] = 0.0
        return pair.finding(terms.SUPPORTED, f"{said} is beyond the margin", **facts)
    if estimate.outcome(found.second, margin) == outcomes.EQUIVALENT:
        return pair.finding(terms.CONTRADICTED, f"{said} is nothing within the margin", **facts)
    return pair.finding(terms.INCONCLUSIVE, f"{said} is not shown to be beyond the margin", **facts)


def _facts(values: np.ndarray, margin: float) -> dict[str, Any]:
    smallest = estimate.smallest_margin(estimate.t_interval(values, 0.90))
    return {
        **described(values, ratio=True),
        "unit": terms.RATIO,
        "margin": margin,
        "smallest_margin": smallest,
        "p_value": estimate.equivalence_p(values, margin),
        "p_against": effects.p_outside(values, math.log1p(margin)),
        "blocks": len(values),
        "strain": smallest / margin,
    }


def _effects(cells: Iterable[Cell], arm: str, against: str) -> TwoByTwo | None:
    """Contrasts of two arms at both levels; None if no block holds all four values."""
    rows = [
        {"block": number, "first": side, "second": level, "log": log}
        for level, cell in zip(("low", "high"), cells, strict=True)
        for side in (against, arm)
        for number, log in cell.costs(side).items()
    ]
    frame = pd.DataFrame(rows, columns=["block", "first", "second", "log"])
    try:
        return two_by_two(frame, (against, arm), ("low", "high"))
    except ValueError:
        return None


RULE = Interaction()
