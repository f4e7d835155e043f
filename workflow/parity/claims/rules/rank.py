"""The levels of a factor lose in the published order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.statistics.trend import rank_correlation
from parity.claims import terms
from parity.claims.cells import Absent, Cell, Scope
from parity.claims.finding import NO_CONTROL, Finding, absent, in_cell
from parity.claims.rules.model import NAME, Options, Rule

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
    first = next(iter(cells.values()))
    if missing := [level for level in order if level not in cells]:
        levels = f"{along} {terms.listed(missing)}"
        reason = f"the dataset holds no case of {first.benchmark} with {levels}"
        return absent(Absent(first.metric, first.arm, first.against, reason))
    table = _table(cells[level].logs_by_number() for level in order)
    facts = {"case": " + ".join(cells[level].case for level in order), "blocks": len(table)}
    if len(table) < 2:
        reason = f"too few blocks that hold every level: {len(table)} of 2"
        return in_cell(first, terms.INCONCLUSIVE, reason, **facts, strain=math.inf)
    drawn = resampled_tau(table)
    reached = float(np.mean(drawn >= options["minimum_tau"]))
    drawn_ends = np.quantile(drawn, [0.025, 0.975, 0.05, 0.95]).tolist()
    ends = dict(zip(("low95", "high95", "low90", "high90"), drawn_ends, strict=True))
    facts |= {
        **ends,
        "estimate": tau(table.mean(axis=0)),
        "unit": "tau",
        "margin": options["minimum_tau"],
        "control": _control([cells[level] for level in order], options["minimum_tau"]),
        "strain": (1 - reached) / 0.05,
    }
    said = f"tau {terms.number(facts['estimate'])} {terms.interval(ends['low95'], ends['high95'])}"
    if reached >= 0.95:
        return in_cell(first, terms.SUPPORTED, f"{said}: the published order", **facts)
    if reached <= 0.05:
        return in_cell(first, terms.CONTRADICTED, f"{said}: another order", **facts)
    return in_cell(first, terms.INCONCLUSIVE, f"{said} leaves the order open", **facts)


def _table(columns: Iterable[Mapping[int, float]]) -> np.ndarray:
    """One row for each block that holds every level, one column for each level."""
    return pd.DataFrame([pd.Series(column) for column in columns]).T.dropna().to_numpy()


def _control(cells: Sequence[Cell], minimum: float) -> str:
    """Whether the A/A pair alone would support the published order."""
    table = _table(cell.control_logs() for cell in cells)
    if len(table) < 2:
        return NO_CONTROL
    reached = float(np.mean(resampled_tau(table) >= minimum))
    return outcomes.DIFFERENT if reached >= 0.95 else outcomes.INCONCLUSIVE


def tau(means: np.ndarray) -> float:
    """Tau of overheads given in the published order; equal overheads have no order: 0."""
    if np.ptp(means) == 0:
        return 0.0
    return rank_correlation(means, -np.arange(len(means))).tau


def resampled_tau(table: np.ndarray) -> np.ndarray:
    """Tau of studies whose blocks are drawn with replacement from these (shape: blocks, levels)."""
    random = np.random.default_rng(SEED)
    drawn = random.integers(len(table), size=(RESAMPLES, len(table)))
    return np.array([tau(table[rows].mean(axis=0)) for rows in drawn])


RULE = Rank()
