"""The tails are the same, quantile by quantile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from parity.analysis.statistics.quantiles import quantile_ratio_interval, values_needed
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, control, in_cell, margin_text
from parity.claims.rules.model import PERCENT, Options, Rule


class QuantileRatio(Rule):
    """Ratio of each quantile over blocks, from order statistics, which assume no distribution.

    Supported if the 90 % interval of every quantile lies within the margin; contradicted if
    a 95 % interval lies wholly outside. A quantile with too few blocks for two bounds stays
    open: the 99.9th percentile needs thousands of values.
    """

    name = "quantile-ratio"
    options: ClassVar[Options] = {
        "quantiles": {
            "description": "Shares, such as 0.5 for the median.",
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        },
        "margin_percent": {"description": "Margin of every ratio, in %.", **PERCENT},
    }
    proves_sameness = True

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell and quantile."""
        margin = options["margin_percent"] / 100
        return [
            _look(cell, quantile, margin)
            for cell in scope.cells
            for quantile in options["quantiles"]
        ]


def _look(cell: Cell, quantile: float, margin: float) -> Finding:
    sides = [np.exp(list(cell.costs(arm).values())) for arm in (cell.arm, cell.against)]
    fewest, needed = min(map(len, sides)), values_needed(quantile, 0.975)
    metric = f"{cell.metric} (quantile {quantile:g})"
    if fewest < needed:
        reason = f"quantile {quantile:g} needs {needed} blocks for an interval, {fewest} are there"
        return in_cell(
            cell, terms.INCONCLUSIVE, reason, metric=metric, blocks=fewest, strain=math.inf
        )
    wide, narrow = (quantile_ratio_interval(*sides, quantile, share) for share in (0.95, 0.90))
    smallest = math.expm1(max(math.log(narrow.high), -math.log(narrow.low)))
    facts = {
        "metric": metric,
        "blocks": fewest,
        "estimate": wide.estimate,
        "low95": wide.low,
        "high95": wide.high,
        "low90": narrow.low,
        "high90": narrow.high,
        "unit": terms.RATIO,
        "margin": margin,
        "smallest_margin": smallest,
        # The A/A pair is asked about its mean, which needs no thousands of blocks.
        **control(cell.control_effects(), math.log1p(margin), ratio=True),
        "strain": smallest / margin,
    }
    limit = margin_text(margin, terms.RATIO)
    if smallest < margin:
        inside = terms.interval(narrow.low, narrow.high)
        reason = f"90 % interval {inside} of quantile {quantile:g} lies within {limit}"
        return in_cell(cell, terms.SUPPORTED, reason, **facts)
    if wide.low > 1 + margin or wide.high < 1 / (1 + margin):
        outside = terms.interval(wide.low, wide.high)
        reason = f"95 % interval {outside} of quantile {quantile:g} lies outside {limit}"
        return in_cell(cell, terms.CONTRADICTED, reason, **facts)
    would = margin_text(smallest, terms.RATIO)
    reason = f"quantile {quantile:g} not shown within {limit}; {would} would pass"
    return in_cell(cell, terms.INCONCLUSIVE, reason, **facts)


RULE = QuantileRatio()
