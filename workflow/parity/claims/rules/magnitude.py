"""An effect of the published size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.claims import terms
from parity.claims.cells import Absent, Cell, Scope
from parity.claims.finding import Finding, absent, control, described, in_cell
from parity.claims.published import Published
from parity.claims.rules.model import CellRule, Options

RATIO, DIFFERENCE = "ratio", "difference"
PERCENT_UNIT, FACTOR_UNIT = "percent", "factor"


class Magnitude(CellRule):
    """The published number beside our 95 % interval.

    What counts is what is added: a difference, or a ratio less one. With the sign of the
    published number shown (the interval leaves out nothing) and an estimate within a factor
    of two, the order is right; on a cluster, a published number inside of the interval is
    then supported. It differs if the interval has nothing within a factor of two.
    """

    name = "magnitude"
    options: ClassVar[Options] = {
        "published": {
            "description": "`<metric>/<runtime>` of a row of config/published/claims.csv.",
            "type": "string",
            "minLength": 3,
        },
        "scale": {"description": "How arms are compared.", "enum": [RATIO, DIFFERENCE]},
    }

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The comparison in one cell."""
        published, ratio = scope.values[options["published"]], options["scale"] == RATIO
        target = _added(published) if ratio else published.value
        if target is None or (not ratio and published.unit != cell.unit):
            reason = (
                f"published in {published.unit}, measured as {cell.unit if not ratio else RATIO}"
            )
            return absent(Absent(cell.metric, cell.arm, cell.against, reason))
        values = cell.effects(ratio)
        half = abs(target) / 2
        facts = {
            **described(values, ratio),
            **control(cell.control_effects(ratio), math.log1p(half) if ratio else half, ratio),
            "unit": terms.RATIO if ratio else cell.unit,
            "margin": None,
            "blocks": len(values),
        }
        shift = 1.0 if ratio else 0.0
        ours = [facts[name] - shift for name in ("estimate", "low95", "high95")]
        verdict, said = compare(target, *ours, cluster=scope.material.cluster)
        digits = terms.decimals(facts["low95"], facts["high95"], facts["unit"])
        mine = terms.interval(facts["low95"], facts["high95"], facts["unit"])
        theirs = f"{target + shift:g} {'' if ratio else cell.unit}".strip()
        reason = (
            f"published {theirs}, here {terms.number(facts['estimate'], digits)} {mine}: {said}"
        )
        return in_cell(cell, verdict, reason, **facts)


def compare(
    target: float, estimate: float, low: float, high: float, cluster: bool
) -> tuple[str, str]:
    """Verdict and words on a published effect beside our estimate and its 95 % interval.

    Args:
        target: the published effect; like the others zero for nothing, and not zero itself.
        cluster: whether ours was measured on a cluster, as theirs was.
    """
    if target < 0:
        target, estimate, low, high = -target, -estimate, -high, -low
    if high < target / 2 or low > 2 * target:
        return terms.DIFFERS, "nothing in the interval is within a factor of two"
    if low <= 0:
        return terms.INCONCLUSIVE, "the interval does not leave out nothing"
    if not target / 2 <= estimate <= 2 * target:
        return terms.INCONCLUSIVE, "same sign, but not within a factor of two"
    if cluster and low <= target <= high:
        return terms.SUPPORTED, "inside of the interval"
    return terms.ORDER_OK, "same sign and within a factor of two"


def _added(published: Published) -> float | None:
    """What a published ratio adds to one; None for another unit."""
    if published.unit == PERCENT_UNIT:
        return published.value / 100
    return published.value - 1 if published.unit == FACTOR_UNIT else None


RULE = Magnitude()
