"""The tails are the same, quantile by quantile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.analysis.decision import Decision, outcome_of
from parity.analysis.statistics.quantiles import (
    p_quantiles_apart,
    quantile_ratio_interval,
    values_needed,
)
from parity.claims.finding import Finding, about, control, too_few
from parity.claims.judging_data import Cell
from parity.claims.rules.model import Rule
from parity.claims.selection import Scope
from parity.core import wording


class QuantileRatio(Rule):
    """Ratio of each quantile over blocks, from order statistics, which assume no distribution.

    Supported if the 90 % interval of every quantile lies within the margin; contradicted if
    a 95 % interval lies wholly outside. A quantile with too few blocks for two bounds stays
    open: the 99.9th percentile needs thousands of values.
    """

    name = "quantile-ratio"
    version = 2
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
    ours, theirs = (np.exp(list(cell.costs(arm).values())) for arm in (cell.arm, cell.against))
    fewest, needed = min(len(ours), len(theirs)), values_needed(quantile, 0.975)
    metric = f"{cell.metric} (quantile {quantile:g})"
    if fewest < needed:
        reason = f"quantile {quantile:g} needs {needed} blocks for an interval, {fewest} are there"
        return too_few(cell, fewest, reason, metric=metric)
    wide = quantile_ratio_interval(ours, theirs, quantile, 0.95)
    narrow = quantile_ratio_interval(ours, theirs, quantile, 0.90)
    outer, inner = (wide.low, wide.high), (narrow.low, narrow.high)
    smallest = math.expm1(max(math.log(narrow.high), -math.log(narrow.low)))
    finding = about(
        cell,
        Decision(
            blocks=fewest,
            estimate=wide.estimate,
            interval95=outer,
            interval90=inner,
            margin=margin,
            smallest_margin=smallest,
            outcome=outcome_of(inner, outer, (1 / (1 + margin), 1 + margin)),
        ),
        metric=metric,
        unit=wording.RATIO,
        # The A/A pair is asked about its mean, which needs no thousands of blocks.
        control=control(cell.effects(control=True), margin),
        p_against=p_quantiles_apart(ours, theirs, quantile, margin),
        strain=smallest / margin,
    )
    limit, of_quantile = wording.margin(margin), f"of quantile {quantile:g}"
    would = wording.margin(smallest)
    return finding.concluded(
        same=f"90 % interval {wording.interval(*inner)} {of_quantile} lies within {limit}",
        different=f"95 % interval {wording.interval(*outer)} {of_quantile} lies outside {limit}",
        neither=f"quantile {quantile:g} not shown within {limit}; {would} would pass",
    )


RULES = (QuantileRatio(),)
