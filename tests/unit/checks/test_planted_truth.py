"""Planted truth: the pipeline recovers it, and a broken pipeline is found out."""

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import validate
from msgspec.structs import replace
from planted_truth import in_memory, looks, promises, trials
from planted_truth.logs import FAILING, plant
from planted_truth.scenarios import log_scenarios, scenarios
from planted_truth.sketches import sketches
from planted_truth.study import GOLDEN, PRINTERS, Misfortune, claims_of

from parity.analysis import contrast, decision, estimate, outcomes
from parity.analysis.dataset import Dataset
from parity.analysis.decision import Decision
from parity.analysis.sequential import ONE_LOOK
from parity.benchmarks import reading, sysbench
from parity.claims import finding, judging
from parity.claims.cells import JudgingData
from parity.claims.rules import along, exists, rules
from parity.records import parse, schema

ROOT = Path(__file__).parents[3]
SEED = 20_260_101
LOGS = log_scenarios()


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch) -> None:
    if Path("/dev/shm").is_dir():
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


def _run(campaign) -> trials.Outcome:
    return trials.run_pipeline(campaign, claims_of(campaign), SEED)


def _refuted(scenario, replicates: int) -> set[str]:
    """What is broken of a scenario."""
    results = trials.validate([scenario], SEED, replicates / scenario.replicates)
    return {result.measure.measured for result in results if result.holds == trials.NO}


def _refuted_truths(name: str) -> set[str]:
    """The truths of which a promise is broken, of one study."""
    sketch = next(each.scenario() for each in sketches() if each.name == name)
    results = trials.validate([sketch], SEED, sketch.cases / sketch.replicates)
    return {result.measure.planted for result in results if result.holds == trials.NO}


@pytest.mark.long
def test_no_promise_is_broken() -> None:
    results = list(trials.validate(scenarios(), SEED, effort=0.02, workers=2))
    assert len(results) == sum(len(scenario.measures) for scenario in scenarios())
    assert [result for result in results if result.holds == trials.NO] == []


def test_decisions_by_intervals_of_68_percent_are_found_out(monkeypatch) -> None:
    real = estimate.Typical.interval
    monkeypatch.setattr(estimate, "ALPHA", 0.16)
    monkeypatch.setattr(estimate.Typical, "interval", lambda centre, _: real(centre, 0.68))
    found = _refuted(LOGS["quiet"].scenario(), 75)
    assert "claim of a higher cost supported" in found


def test_a_missing_gate_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(judging, "gated", lambda found, proves_sameness: found)
    monkeypatch.setattr(JudgingData, "unsteady", frozenset())
    assert _refuted(LOGS["spoiled pair"].scenario(), 25) == {
        "claim of equivalence contradicted",
        "claim of a higher cost supported",
        "verdict other than the analysis's outcome",
    }


def test_an_analysis_without_the_gate_is_found_out(monkeypatch, capsys) -> None:
    monkeypatch.setattr(Decision, "gated", lambda self, *controls: self)
    words = ["validate", "--only=spoiled pair", "--effort=0.025", "--workers=1"]
    monkeypatch.setattr(sys, "argv", words)
    assert validate.main() == 1
    broken = [line for line in capsys.readouterr().out.splitlines() if line.endswith(trials.NO)]
    assert any("verdict other than the analysis's outcome" in line for line in broken)


def test_a_parser_that_takes_cut_off_output_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(reading, "require_complete", lambda text, begin, end: None)
    monkeypatch.setattr(sysbench, "_require_consistent", lambda *_: None)
    found = _refuted(LOGS["failures"].scenario(), 25)
    assert "runs not counted once as such" in found


def test_counting_what_an_earlier_session_left_is_found_out(monkeypatch) -> None:
    often = Misfortune(absent=1.0, killed=1.0)
    campaign = replace(LOGS["failures"], cases=6, misfortune=often).campaign
    outcome = _run(campaign)
    assert trials.miscounted(outcome) == 0
    assert "other-session" in set(outcome.stages["reason"])
    monkeypatch.setattr(parse, "OTHER_SESSION", "")
    assert trials.miscounted(_run(campaign)) > 0


def test_every_rule_has_a_scenario() -> None:
    tried = {sketch.test["rule"] for sketch in sketches()}
    # An anchor never concludes anything.
    assert tried == rules().keys() - {"anchor"}


ASKED, KENDALL, ENDED = decision.objection_of, along.tau, exists._ended
MEAN, ENDINGS = estimate.mean_of, in_memory.ENDINGS


@pytest.mark.parametrize(("sketch", "broken", "truths"), [
    # A missing positive control.
    ("positive control",
     [(finding, "objection_of", lambda control, same, _assay: ASKED(control, same))],
     {"not seen; the same", "a gain; the same", "lost in every block; the same"}),
    # Counting what losses left.
    ("losses of slow runs", [(contrast, "objection_to_losses", lambda *_: "")],
     {"14 of 30 lost; +1 %"}),
    # A difference of five blocks.
    ("5 blocks",
     [(estimate.Typical, "interval", lambda of, share: MEAN(of.rows[0]).interval(share)),
      (estimate.Typical, "p_outside", lambda *_: 0.0),
      (decision, "FEWEST_FOR_A_DIFFERENCE", 0), (finding, "FEWEST_FOR_A_DIFFERENCE", 0)],
     {"+5 %"}),
    # A control that is refused itself.
    ("exists, refused",
     [(exists, "_ended", lambda found, reason, expect, _: ENDED(
         found, reason, expect, decision.Decision(14, outcome=outcomes.EQUIVALENT)))],
     {"all, of the control half", "all, of the control, too"}),
    # Failures inside that count as refused.
    ("exists, not refused",
     [(in_memory, "ENDINGS", ENDINGS | {"failed inside": ENDINGS["refused"]})], {"all"}),
    # Any cell in the place of most.
    ("most", [(judging, "p_of_most", lambda pool: 0.0)],
     {"one of three +5 %, the others the same"}),
    # An order within groups.
    ("rank, groups",
     [(along, "tau", lambda losses, at: KENDALL(losses, np.arange(len(at))))],
     {"that order, within the groups its opposite", "that order, but for one pair of four"}),
])  # fmt: skip
def test_a_rule_without_what_it_hangs_on_is_found_out(monkeypatch, sketch, broken, truths) -> None:
    for where, name, instead in broken:
        monkeypatch.setattr(where, name, instead)
    found = _refuted_truths(sketch)
    assert truths <= found and (found == truths or sketch in ("losses of slow runs", "most"))


def test_looks_at_the_level_of_one_are_found_out(monkeypatch) -> None:
    monkeypatch.setattr(Dataset, "levels", lambda *_: ONE_LOOK)
    # Of the A/A pair, which is held against one native: two that have to agree err less often.
    at_margin = next(each for each in looks.sequential() if each.name == "looks, pair at margin")
    assert "ever called the same" in _refuted(at_margin, 180)


def test_looks_that_stop_too_late_are_found_out(monkeypatch) -> None:
    real, first = looks.stops, looks.sequential()[0]

    def late(plan, compared, before):
        seen = max(each.decision.blocks for each in compared)
        return real(plan, compared, before) if seen >= 25 else ()

    monkeypatch.setattr(looks, "stops", late)
    words = {measure.measured for measure in first.measures}
    assert _refuted(first, 40) == {word for word in words if "blocks until" in word}


def test_the_committed_report_is_of_these_scenarios_and_says_what_holds() -> None:
    found = json.loads((ROOT / "docs/validation.json").read_text())
    assert (ROOT / "docs/validation.md").read_text() == validate.render(found)
    assert (ROOT / "docs/validation.csv").read_text() == validate.as_csv(found)
    promised = [(scenario.name, each) for scenario in scenarios() for each in scenario.measures]
    keys = ("scenario", "planted", "measured", "promised")
    said = [(name, one.planted, one.measured, one.promise.text) for name, one in promised]
    assert [tuple(row[key] for key in keys) for row in found["results"]] == said
    for (name, measure), row in zip(promised, found["results"], strict=True):
        observed = promises.Observed(row["replicates"], row["value"], row["low"], row["high"])
        assert row["holds"] == trials.Result(name, measure, observed).holds
    # What does not hold, or is not shown to, is named here with the reason.
    others = [row for row in found["results"] if row["holds"] not in (trials.YES, trials.SHOWN)]
    assert others == []
    assert found["seed"] == validate.SEED


def test_the_same_seed_gives_the_same_numbers_in_any_number_of_processes() -> None:
    scenario = replace(LOGS["quiet"], cases=3, replicates=3).scenario()
    made = [
        trials.make_trials(scenario, seed, effort=2, workers=workers).verdicts
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    ]
    assert made[0].equals(made[1])
    assert not made[0].equals(made[2])


def test_every_misfortune_happens_and_is_told_apart() -> None:
    often = Misfortune(failing=0.3, truncated=0.1, other_work=0.1, absent=0.9, killed=0.9, lost=0.2)
    outcome = _run(replace(LOGS["failures"], misfortune=often).campaign)
    assert trials.miscounted(outcome) == 0
    assert set(outcome.stages["stage"]) == {"planned", "ran", "parsed", "valid", "analysed"}
    reasons = {"truncated", "wrong-size", "not-run", "no-pair", "other-session", *FAILING}
    assert reasons <= set(outcome.stages["reason"].str.partition(":")[0])


@pytest.mark.parametrize("name", PRINTERS)
def test_what_is_printed_differs_from_real_output_in_its_numbers_only(name: str) -> None:
    printer, number = PRINTERS[name], re.compile(r" *[0-9.]+(e[+-][0-9]+)?")
    real = (GOLDEN / printer.golden).read_text()
    planted = printer.text(printer.case_parameters(0), 0.0)
    assert number.sub("#", planted).splitlines() == number.sub("#", real).splitlines()


def test_records_have_the_keys_of_real_ones(tmp_path) -> None:
    folder = plant(replace(LOGS["quiet"], cases=2).campaign, tmp_path, SEED).folders[0]
    archive = ROOT / "results/archive/machine-2026-11-20/records"
    raw, block = (
        json.loads(schema.read(table, archive / name).slice(0, 1).to_pylist()[0]["record"])
        for table, name in ((schema.RAW, "raw.parquet"), (schema.BLOCKS, "blocks.parquet"))
    )
    record = json.loads(next(folder.glob("runs/*/attempt-1/record.json")).read_text())
    assert record.keys() >= raw.keys()
    ours = json.loads((folder / "block.json").read_text())
    assert ours.keys() == block.keys()
    start, real_start = (each["sessions"][0]["start"] for each in (ours, block))
    assert start.keys() >= real_start.keys()
    assert start["binaries"][0].keys() == real_start["binaries"][0].keys()
    assert start["node"].keys() <= real_start["node"].keys()


def test_a_promise_needs_enough_replicates_to_hold() -> None:
    promise = promises.at_most(0.05)
    for good, replicates, holds, is_refuted in (
        (200, 4000, True, False), (2, 40, False, False), (10, 40, False, True),
        (280, 4000, False, True),
    ):  # fmt: skip
        seen = promises.share(good, replicates)
        assert (promise.holds_for(seen), promise.refuted_by(seen)) == (holds, is_refuted)


def test_the_interval_of_a_share_is_clopper_and_pearsons() -> None:
    # None of n: the upper bound is 1 - (alpha / 2) ** (1 / n).
    none = promises.share(0, 100)
    assert (none.low, none.high) == (0, pytest.approx(1 - 0.005 ** (1 / 100)))
    with pytest.raises(ValueError, match="nothing"):
        promises.share(0, 0)
