"""A look at a campaign that is being measured: analysed so far, and what that stops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parity.analysis import comparisons, exclusions, pairing
from parity.analysis.dataset import load
from parity.analysis.stopping import stops
from parity.plan.looks import Look, Stop


def look_at(
    folder: Path, number: int, before: Sequence[Stop], excluded: Sequence[dict[str, Any]], most: int
) -> Look:
    """What the blocks so far decide, in addition to what is stopped.

    Args:
        folder: their dataset.
        number: of the look, from 1.
        before: what is stopped.
        excluded: entries of config/exclusions.yaml.
        most: how many blocks of each node count there can be in the end.

    Raises:
        UserError: the dataset cannot be read.
    """
    seen = load(folder)
    left_out = exclusions.of_dataset(excluded, seen)
    numbers = pairing.numbers(pairing.counted_values(seen.metrics, left_out))
    table, _ = comparisons.conclude(seen, numbers)
    return Look(
        campaign=seen.plan.campaign,
        number=number,
        blocks=seen.plan.looks[number - 1],
        seen=len(seen.gathered),
        stops=stops(seen.plan, comparisons.of_table(table), before, most),
    )
