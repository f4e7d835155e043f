"""The positive control as a gate of claims: what cannot see a difference finds no sameness."""

import claims_data as data
import numpy as np
import pytest

from parity.analysis import outcomes
from parity.analysis.decision import ASSAY, CONTROL_DIFFERS, Decision
from parity.analysis.evidence import LOSSES
from parity.claims.cells import JudgingData

PLUS = "native-plus"
ARMS = {**data.ARMS, PLUS: "native"}


def test_a_pair_whose_difference_is_only_withheld_still_gates() -> None:
    """Lost runs let nobody claim that native B costs 4 % more; nor is anything else then."""
    values = data.quiet(box=1.3)
    values["spin", "native-b"] = [np.nan] * 8 + data.around(1.04, 9, blocks=22)
    found = JudgingData(*data.dataset(values, margin=0.01))
    control = found.compared["spin", "time", "native-b"].decision
    assert control.outcome == outcomes.INCONCLUSIVE and control.reason.startswith(LOSSES)
    assert control.as_control == outcomes.DIFFERENT and found.unsteady == {"spin"}
    gated = Decision(blocks=10, outcome=outcomes.DIFFERENT).gated(control.as_control)
    assert (gated.outcome, gated.reason) == (outcomes.INCONCLUSIVE, CONTROL_DIFFERS)


def test_a_pair_whose_own_test_is_no_comparison_of_means_still_gates() -> None:
    """Of scatter, trends and orders only the outcome is known, and an objection erased it."""
    control = Decision(blocks=30, outcome=outcomes.DIFFERENT).without_claim(LOSSES)
    assert (control.outcome, control.as_control) == (outcomes.INCONCLUSIVE, outcomes.DIFFERENT)
    same = Decision(blocks=30, outcome=outcomes.EQUIVALENT).without_claim(LOSSES)
    assert same.as_control == outcomes.INCONCLUSIVE


@pytest.mark.parametrize("plus", [1.04, 1.0])
def test_steps_and_crossings_need_it_as_well(plus) -> None:
    """They said `equivalent` whatever the positive control had shown."""
    cases = [
        {"case": f"spin-{level}", "benchmark": "spin", "parameters": {"library": level}}
        for level in ("absent", "linked")
    ]
    values = {}
    for case, ratio in zip(cases, (1.04, plus), strict=True):
        values |= data.quiet(case["case"], spread=0.003)
        values[case["case"], PLUS] = data.around(ratio, 77)
    arms = {**ARMS, "box": "ladder"}
    found = data.dataset(values, cases, arms=arms, positive=PLUS, margin=0.01)[1]
    expected = {""} if plus > 1 else {ASSAY}
    crossed, steps = found.factorial, found.rungs[found.rungs["case"] == "spin-linked"]
    for rows in (crossed[crossed["arm"] == "crate"], steps[steps["arm"] == "crate"]):
        assert len(rows) and set(rows["reason"]) == expected


def test_a_series_needs_it_at_every_level(tmp_path) -> None:
    values, cases = data.levels(1.0, 1.0, 1.0)
    values |= {(case["case"], PLUS): data.around(1.04, 77) for case in cases}
    test = data.test_of("slope", along="nodes", margin_percent=1)
    seen = data.dataset(values, cases, arms=ARMS, positive=PLUS)
    assert data.row_of(tmp_path, test, seen).verdict == "supported"
    values["spin-2", PLUS] = data.around(1.0, 77)
    blind = data.dataset(values, cases, arms=ARMS, positive=PLUS)
    assert ASSAY in data.row_of(tmp_path, test, blind).reason
