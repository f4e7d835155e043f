"""What extensions count of runs beside what programs tell, and what they let a study ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import parity.benchmarks
from parity.benchmarks.metrics import Metric, Quantity
from parity.core.registry import extensions_with


class Counted(NamedTuple):
    """What one extension counts; a module of its `benchmarks` exports one as `COUNTED`.

    Attributes:
        metrics_of: the metrics of a run by its evidence and its parameters.
        parameters: JSON schema of what cases on allocations may ask for, without a default.
        placed: what may be counted of any benchmark on allocations.
        in_words: a level of those parameters, such as `era_2015`, as people write it; as it is if
            it is none of them.
    """

    metrics_of: Callable[[Mapping[str, str], Mapping[str, Any]], tuple[Metric, ...]]
    parameters: Mapping[str, Mapping[str, Any]] = {}
    placed: tuple[Quantity, ...] = ()
    in_words: Callable[[str], str] = str


@cache
def counted() -> tuple[Counted, ...]:
    """What all extensions count."""
    return tuple(extensions_with(parity.benchmarks, "COUNTED"))


def placed_parameters() -> dict[str, Mapping[str, Any]]:
    """What cases on allocations may ask for of extensions."""
    return {name: schema for each in counted() for name, schema in each.parameters.items()}


def placed_metrics() -> tuple[Quantity, ...]:
    """What extensions may count of any benchmark on allocations."""
    return tuple(quantity for each in counted() for quantity in each.placed)


def metrics_counted(
    evidence: Mapping[str, str], parameters: Mapping[str, Any]
) -> tuple[Metric, ...]:
    """All that was counted of a run, by its evidence and its parameters."""
    return tuple(m for each in counted() for m in each.metrics_of(evidence, parameters))
