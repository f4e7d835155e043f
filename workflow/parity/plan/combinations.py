"""Parameters of which a study gives several values: every combination is a case."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any


def combinations(parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters with each combination of the values of those that have a list of them.

    Returns:
        By what the combination is called in the names of cases, such as `class_a-sack_false`:
        nothing where no parameter has a list.
    """
    lists = [
        [(name, value) for value in values]
        for name, values in parameters.items()
        if isinstance(values, list)
    ]
    return {
        "-".join(f"{name}_{value}".lower() for name, value in one): {**parameters, **dict(one)}
        for one in product(*lists)
    }
