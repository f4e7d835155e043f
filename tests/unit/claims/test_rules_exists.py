"""The rule about what happens, does not, or is refused."""

import math
from pathlib import Path

import claims_data as data
import pytest
from claims_data import judged

from parity.claims.rules.exists import Count, runs_needed

CONTROL = {"benchmark": "spin", "metric": "time", "arms": ["crate"]}


def of(folder: Path, seen: list, expect: bool | str, crate: list | None = None, **options):
    """The verdict on what was seen in the runs of `box`, and in those of `crate`."""
    values = data.quiet(blocks=len(seen)) | {("spin", "box"): seen}
    if crate is not None:
        values[("spin", "crate")] = crate
    failed = options.pop("failed", None)
    test = data.test_of("exists", expect=expect, **options)
    return judged(folder, test, values, kind="mechanism", failed=failed)


@pytest.mark.parametrize(
    "seen, expect, verdict",
    [
        ([1.0] * 6, True, "supported"),
        ([0.0] * 6, True, "contradicted"),
        ([0.0] * 6, False, "supported"),
        ([1.0] * 6, False, "contradicted"),
        ([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], True, "inconclusive"),
        # A run that failed counts against what should happen, and shows nothing of what should not.
        ([1.0, math.nan, 1.0, 1.0, 1.0], True, "inconclusive"),
        ([0.0, math.nan, 0.0, 0.0, 0.0, 0.0], False, "supported"),
        ([math.nan] * 6, False, "inconclusive"),
    ],
)
def test_exists(tmp_path: Path, seen: list, expect: bool, verdict: str) -> None:
    assert of(tmp_path, seen, expect).verdict == verdict


def test_two_of_two_are_no_law(tmp_path: Path) -> None:
    """Two runs that agree leave 22 % as the share of all; that was called supported."""
    found = of(tmp_path, [1.0, 1.0], True)
    assert found.verdict == "inconclusive"
    assert "more than 0.224" in found.reason and "takes 5 runs" in found.reason
    assert of(tmp_path, [1.0] * 5, True).verdict == "supported"
    assert of(tmp_path, [1.0] * 5, True, at_least=0.9).verdict == "inconclusive"
    assert of(tmp_path, [1.0] * 29, True, at_least=0.9).verdict == "supported"


def test_five_runs_contradict_nothing(tmp_path: Path) -> None:
    found = of(tmp_path, [0.0] * 5, True)
    assert found.verdict == "inconclusive" and found.reason.startswith("fewer than 6 blocks")


@pytest.mark.parametrize("limit", [0.3, 0.5, 0.8, 0.9, 0.95])
def test_the_runs_that_it_takes_are_the_fewest_that_do(limit: float) -> None:
    needed = runs_needed(limit)
    assert Count(needed, needed).bounds(0.90)[0] > limit
    assert Count(needed - 1, needed - 1).bounds(0.90)[0] <= limit


def test_what_the_control_shows_too_is_nobody_s_effect(tmp_path: Path) -> None:
    """Events that any container has are no effect of its shares."""
    quiet, busy = [0.0] * 8, [1.0] * 8
    assert of(tmp_path, busy, True, quiet, control=CONTROL).verdict == "supported"
    both = of(tmp_path, busy, True, busy, control=CONTROL)
    assert (both.verdict, both.control) == ("inconclusive", "inconclusive")
    assert both.reason.startswith("the control does not show the opposite")
    gone = dict(CONTROL, arms=["barrel"])
    assert of(tmp_path, busy, True, quiet, control=gone).verdict == "not-tested"


def test_a_refused_start_is_the_datum(tmp_path: Path) -> None:
    """A start that must be refused came out as a run that failed, which showed nothing."""
    refused, started = [math.nan] * 6, [1.0] * 6
    assert of(tmp_path, refused, "refused", started, control=CONTROL).verdict == "supported"
    assert of(tmp_path, started, "refused", started, control=CONTROL).verdict == "contradicted"
    nothing_starts = of(tmp_path, refused, "refused", refused, control=CONTROL)
    assert nothing_starts.verdict == "inconclusive"
    alone = of(tmp_path, refused, "refused")
    assert alone.verdict == "inconclusive" and "no control that starts" in alone.reason


def test_a_refused_limit_is_a_refused_start(tmp_path: Path) -> None:
    failed = {("spin", "box"): "limit-refused"}
    found = of(tmp_path, [math.nan] * 6, "refused", [1.0] * 6, control=CONTROL, failed=failed)
    assert found.verdict == "supported" and found.reason.startswith("refused in 6 of 6")


def test_a_run_that_was_stopped_was_not_refused(tmp_path: Path) -> None:
    failed = {("spin", "box"): "timeout"}
    found = of(tmp_path, [math.nan] * 6, "refused", [1.0] * 6, control=CONTROL, failed=failed)
    assert found.verdict == "inconclusive" and found.reason.startswith("too few")
