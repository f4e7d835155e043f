"""The levels of a factor lose in the published order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis.decision import WITHOUT_CONTROL, Decision
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.claims import terms
from parity.claims.finding import Finding, about, absent, too_few
from parity.claims.judging_data import Absent, Cell, Scope
from parity.claims.rules.model import NAME, Options, Rule
from parity.core.wording import interval, listed, number

RESAMPLES, SEED = 999, 20191118


class Rank(Rule):
    """Kendall's tau of the mean log ratios and the published order, resampled over blocks.

    Supported if at least 95 % of the resampled studies reach the tau that was asked for,
    contradicted if at most 5 % do. If the A/A pair loses in that order, too, nothing is
    concluded: its own differences should have no order.
    """

    name = "rank"
    version = 2
    options: ClassVar[Options] = {
        "along": {"description": "The parameter whose levels are ranked.", **NAME},
        "order": {
            "description": "Its levels, the one that loses most first.",
            "type": "array",
            "minItems": 3,
            "uniqueItems": True,
            "items": {"$ref": "#/$defs/level"},
        },
        "minimum_tau": {
            "description": "Least tau of the same order.",
            "type": "number",
            "exclusiveMinimum": -1,
            "maximum": 1,
        },
    }

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each arm."""
        by_arm: dict[str, dict[str, Cell]] = {}
        for cell in scope.cells:
            level = str(cell.parameters.get(options["along"]))
            by_arm.setdefault(cell.arm, {})[level] = cell
        return [_look(cells, options) for cells in by_arm.values()]


def _look(cells: Mapping[str, Cell], options: Mapping[str, Any]) -> Finding:
    order, along = [str(level) for level in options["order"]], options["along"]
    first, minimum = next(iter(cells.values())), options["minimum_tau"]
    if missing := [level for level in order if level not in cells]:
        levels = f"{along} {listed(missing)}"
        reason = f"the dataset holds no case of {first.benchmark} with {levels}"
        return absent(Absent(first.metric, first.arm, first.against, reason))
    in_order = [cells[level] for level in order]
    case = " + ".join(cell.case for cell in in_order)
    table = _table(in_order)
    if len(table) < 2:
        reason = f"too few blocks that hold every level: {len(table)} of 2"
        return too_few(first, len(table), reason, case=case)
    drawn = resampled_tau(table)
    reached = float(np.mean(drawn >= minimum))
    low95, high95, low90, high90 = np.quantile(drawn, [0.025, 0.975, 0.05, 0.95]).tolist()
    ours = tau(table.mean(axis=0))
    finding = about(
        first,
        Decision(len(table), ours, (low95, high95), (low90, high90), minimum),
        case=case,
        unit="tau",
        control=_control(in_order, minimum),
        strain=(1 - reached) / 0.05,
    )
    said = f"tau {number(ours)} {interval(low95, high95)}"
    if reached >= 0.95:
        return finding.ended(terms.SUPPORTED, f"{said}: the published order")
    if reached <= 0.05:
        return finding.ended(terms.CONTRADICTED, f"{said}: another order")
    return finding.ended(terms.INCONCLUSIVE, f"{said} leaves the order open")


def _table(cells: Sequence[Cell], control: bool = False) -> np.ndarray:
    """One row for each block that holds every level, one column for each level."""
    columns = [pd.Series(cell.logs_by_number(control)) for cell in cells]
    return pd.DataFrame(columns).T.dropna().to_numpy()


def _control(cells: Sequence[Cell], minimum: float) -> Decision:
    """Whether the A/A pair alone would support the published order."""
    table = _table(cells, control=True)
    if len(table) < 2:
        return WITHOUT_CONTROL
    reached = float(np.mean(resampled_tau(table) >= minimum))
    return Decision(len(table), outcome=DIFFERENT if reached >= 0.95 else INCONCLUSIVE)


def tau(means: np.ndarray) -> float:
    """Tau-b of overheads given in the published order; equal overheads have no order: 0."""
    if np.ptp(means) == 0:
        return 0.0
    return float(stats.kendalltau(means, -np.arange(len(means))).statistic)


def resampled_tau(table: np.ndarray) -> np.ndarray:
    """Tau of studies whose blocks are drawn with replacement from these (shape: blocks, levels)."""
    random = np.random.default_rng(SEED)
    drawn = random.integers(len(table), size=(RESAMPLES, len(table)))
    return np.array([tau(table[rows].mean(axis=0)) for rows in drawn])


RULES = (Rank(),)
