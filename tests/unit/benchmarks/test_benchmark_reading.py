import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.reading import (
    Printed,
    Refused,
    printed,
    require_agreement,
    require_at_most,
    require_complete,
    said_by,
)


def reason(call, *arguments):
    """Why it refuses; empty if it does not."""
    try:
        call(*arguments)
    except Refused as refused:
        return refused.reason
    return ""


@pytest.mark.parametrize(
    ("text", "value", "error"),
    [("43768.9", 43768.9, 0.05), ("4.5e-03", 4.5e-3, 5e-5), ("50", 50, 0.5), ("0.00", 0, 0.005)],
)
def test_a_number_is_known_to_half_a_unit_of_its_last_digit(text, value, error):
    assert printed(text, "it") == Printed(value, pytest.approx(error))


@given(st.text())
def test_any_text_is_a_number_or_refused(text):
    try:
        number = printed(text, "it")
    except Refused:
        return
    assert number.value >= 0
    assert number.error >= 0


@pytest.mark.parametrize("text", ["0e999999999", "1e-999999999", "nan", "inf", "-1", "1_0x"])
def test_a_strange_number_is_no_error(text):
    test_any_text_is_a_number_or_refused.hypothesis.inner_test(text)


formats = st.sampled_from([".1f", ".2f", ".6f", ".4e", "g", ".9g"])
size = st.floats(1e-3, 1e9)


@given(rate=size, time=size, formats=st.tuples(formats, formats))
def test_what_belongs_together_agrees_however_it_is_rounded(rate, time, formats):
    one, other = (f"{value:{how}}" for value, how in zip((rate, time), formats, strict=True))
    require_agreement(printed(one, "rate") * printed(other, "time"), Printed(rate * time), "both")
    require_agreement(printed(one, "rate") + printed(other, "time"), Printed(rate + time), "both")


@given(rate=size, time=size)
def test_a_thousandth_more_contradicts_what_is_printed_with_five_digits(rate, time):
    work = printed(f"{rate:.5e}", "rate") * printed(f"{time:.5e}", "time")
    for factor in (0.999, 1.001):
        assert reason(require_agreement, work, Printed(rate * time * factor), "both") == (
            "contradictory"
        )


def test_a_part_is_not_more_than_the_whole():
    assert reason(require_at_most, Printed(1.05, 0.05), Printed(1.0), "both") == ""
    assert reason(require_at_most, Printed(1.06, 0.05), Printed(1.0), "both") == "contradictory"


RUN = "begin\nvalue = 3\nend of 7\n"


@pytest.mark.parametrize(("text", "expected"), [
    (RUN + RUN, "several-runs"), ("begin\nvalue = 2\n" + RUN, "several-runs"),
    (RUN.replace("begin", "") + "\n", "unparsable"),
    ("begin\n" + "end of 7\n" * 2, "several-runs"), (RUN + "more", "truncated"),
    (RUN[:-3], "truncated"),
    # Blanks at the end mean nothing.
    (RUN, ""), (RUN.rstrip(), ""), (RUN + "\n\n", ""),
])  # fmt: skip
def test_a_text_is_one_whole_run_or_refused(text, expected):
    assert reason(require_complete, text, "begin", "end of [0-9]") == expected


def test_a_line_is_there_once():
    lines = {"value": r"^value = ([0-9])$", "other": r"^other = ([0-9])$"}
    assert said_by(lines, RUN)["value"] == "3"
    assert reason(said_by(lines, RUN * 2).__getitem__, "value") == "unparsable"
    assert reason(said_by(lines, RUN).__getitem__, "other") == "unparsable"
