"""Trend and multiplicity: published examples and closed forms."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from parity.analysis import methods
from parity.analysis.conclusions import ARM_OVERALL, CROSSED, INTERACTION, LEVEL_OVERALL
from parity.analysis.contrast import weighted_sum


def _blocks(rows: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[2**position for position in range(len(rows[0]))])


def test_page_by_enumeration() -> None:
    rows = [[1, 3, 2], [1, 2, 3]]
    every = [
        sum((i + 1) * (a[i] + b[i]) for i in range(3))
        for a in itertools.permutations((1, 2, 3))
        for b in itertools.permutations((1, 2, 3))
    ]
    found = methods.page_trend(_blocks(rows))
    assert found == pytest.approx(np.mean([total >= 27 for total in every]))
    falling = methods.page_trend(_blocks([row[::-1] for row in rows]), methods.FALLING)
    assert falling == pytest.approx(found)


def test_page_counts_whole_blocks_only_and_slopes_are_per_doubling() -> None:
    table = _blocks([[math.nan, 2, 3], *[[1, 2, 3]] * 3])
    assert methods.page_trend(table) == methods.page_trend(_blocks([[1, 2, 3]] * 3))
    table = _blocks([[0.0, 0.1, 0.2], [1.0, 1.0, 1.0]])
    assert list(methods.slopes_per_doubling(table)) == pytest.approx([0.1, 0.0])


def test_holm_is_that_of_statsmodels_to_the_last_digit() -> None:
    assert methods.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert methods.holm([]) == () and methods.holm([0.04]) == (0.04,)
    random = np.random.default_rng(1979)
    for count in range(2, 12):
        values = random.random(count) ** 3
        # Ties as well.
        values[0] = values[-1]
        assert methods.holm(values) == tuple(multipletests(values, method="holm")[1])


@pytest.mark.parametrize("wrong", [
    lambda: methods.page_trend(_blocks([[1, 2, 3]])),
    lambda: methods.page_trend(_blocks([[1, 2], [1, 2]])),
    lambda: methods.page_trend(_blocks([[1, 2, math.nan]] * 3)),
    lambda: methods.page_trend(_blocks([[1, 2, 3]] * 3), "up"),
    lambda: methods.slopes_per_doubling(_blocks([[0.0]])),
    lambda: methods.holm([0.5, 1.5]), lambda: methods.holm([math.nan]),
])  # fmt: skip
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()


def test_a_crossing_by_hand() -> None:
    """Linking costs 1 on the host and 3 in the container; the container costs 5 and 7."""
    logs = {(0, 0): 0.0, (1, 0): 1.0, (0, 1): 5.0, (1, 1): 8.0}

    def effects(form: str, whole: tuple[str, ...] = ("x", "y")) -> dict[str, float]:
        return weighted_sum(
            (CROSSED[form][level][side], {block: log + ord(block) for block in blocks})
            for (level, side), log in logs.items()
            for blocks in [whole if (level, side) == (1, 1) else ("x", "y")]
        )

    assert effects(INTERACTION) == pytest.approx({"x": 2, "y": 2})
    assert effects(LEVEL_OVERALL) == pytest.approx({"x": 2, "y": 2})
    assert effects(ARM_OVERALL) == pytest.approx({"x": 6, "y": 6})
    # A block counts that holds all four; where none does, there is no effect.
    assert list(effects(INTERACTION, ("y",))) == ["y"] and effects(INTERACTION, ()) == {}
