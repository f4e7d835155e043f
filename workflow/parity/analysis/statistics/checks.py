"""What every function here asks of its arguments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def finite(values: Iterable[float], at_least: int, name: str = "values") -> np.ndarray:
    """The values as a vector of floats.

    Raises:
        ValueError: there are fewer than `at_least` of them, or one is no finite number.
    """
    array = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=float)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one row of numbers, not of shape {array.shape}")
    if len(array) < at_least:
        raise ValueError(f"{name}: {len(array)} given, at least {at_least} needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers")
    return array


def positive(values: Iterable[float], at_least: int, name: str = "values") -> np.ndarray:
    """Like `finite`, and every value above zero, so that it has a logarithm."""
    array = finite(values, at_least, name)
    if (array <= 0).any():
        raise ValueError(f"{name} must be above zero")
    return array


def paired(first: Iterable[float], second: Iterable[float], at_least: int) -> np.ndarray:
    """Two rows of equally many finite numbers, shape (2, n)."""
    rows = [finite(first, at_least, "first values"), finite(second, at_least, "second values")]
    if len(rows[0]) != len(rows[1]):
        raise ValueError(f"pairs need equally many values, not {len(rows[0])} and {len(rows[1])}")
    return np.vstack(rows)


def share(**numbers: float) -> None:
    """Refuse any of the named numbers that does not lie strictly between 0 and 1."""
    for name, number in numbers.items():
        if not 0 < number < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {number}")
