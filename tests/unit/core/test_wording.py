"""Counts, lists and numbers as sentences for people say them."""

import pytest

from parity.core import wording


@pytest.mark.parametrize(("low", "high", "limit", "unit", "said"), [
    (0.98, 1.03, 1.02, wording.RATIO, "interval [0.980, 1.030] holds 1.02"),
    (1.03, 1.05, 1.02, wording.RATIO, "interval [1.030, 1.050] lies above 1.02"),
    (0.121, 0.159, 2, "%", "interval [0.121, 0.159] % lies below 2 %"),
])  # fmt: skip
def test_an_interval_holds_a_limit_or_lies_beside_it(low, high, limit, unit, said) -> None:
    assert wording.stands(low, high, limit, unit) == said


def test_a_sentence_begins_with_a_capital_and_keeps_the_rest() -> None:
    assert [wording.capital(text) for text in ("", "hPL rate", "Up")] == ["", "HPL rate", "Up"]


def test_a_list_of_things_with_commas_is_parted_by_semicolons() -> None:
    assert wording.listed("abc") == "a, b and c"
    assert wording.listed(["a (1, 2)", "b [3, 4]", "c"]) == "a (1, 2), b [3, 4] and c"
    assert wording.listed(["a, 5 ms", "b", "c"]) == "a, 5 ms; b and c"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.05, "±5 %"),
        (0.01161, "±1.17 %"),
        (0.0994, "±9.94 %"),
        (0.1, "±10 %"),
        (0.13105, "±14 %"),
        (0.1304, "±13.04 %"),
    ],
)
def test_a_margin_that_would_pass_is_never_said_smaller_and_a_registered_one_not_larger(
    value: float, shown: str
) -> None:
    assert wording.margin(value) == shown
