"""Planted truth: the pipeline recovers it, and a broken pipeline is found out."""

import dataclasses
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from planted_truth import (
    in_memory,
    looks,
    promises,
    report,
    trials,
)
from planted_truth.logs import plant
from planted_truth.runner import FAILING
from planted_truth.scenarios import log_scenarios, scenarios
from planted_truth.sketches import sketches
from planted_truth.study import PRINTERS, Misfortune, claims_of

from parity.analysis import contrast, decision, estimate, outcomes
from parity.analysis.dataset import Dataset
from parity.analysis.decision import Decision
from parity.analysis.sequential import ONE_LOOK
from parity.benchmarks import sysbench
from parity.claims import finding, judging
from parity.claims.rules import along, exists, rules
from parity.records import parse, schema

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
SEED = 20_260_101


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch) -> None:
    if Path("/dev/shm").is_dir():
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


def _small(scenario, cases: int = 25):
    made = trials.FromLogs(dataclasses.replace(scenario.trial.campaign, cases=cases))
    return dataclasses.replace(scenario, cases=cases, replicates=cases, trial=made)


def _unlucky(campaign, misfortune: Misfortune):
    effects = dataclasses.replace(campaign.effects, misfortune=misfortune)
    return dataclasses.replace(campaign, effects=effects)


def _tool():
    spec = importlib.util.spec_from_file_location("validate", ROOT / "tools/validate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(campaign) -> trials.Outcome:
    return trials.run_pipeline(campaign, claims_of(campaign), GOLDEN, SEED)


def _refuted(scenario, replicates: int) -> set[str]:
    effort = replicates / scenario.replicates
    results = trials.validate([scenario], GOLDEN, SEED, effort)
    return {result.measure.measured for result in results if result.holds == trials.NO}


@pytest.mark.long
def test_no_promise_is_broken() -> None:
    results = list(trials.validate(scenarios(), GOLDEN, SEED, effort=0.02, workers=2))
    assert len(results) == sum(len(scenario.measures) for scenario in scenarios())
    assert [result for result in results if result.holds == trials.NO] == []


def test_decisions_by_intervals_of_68_percent_are_found_out(monkeypatch) -> None:
    real = estimate.Mean.interval
    monkeypatch.setattr(estimate, "ALPHA", 0.16)
    monkeypatch.setattr(estimate.Mean, "interval", lambda mean, _: real(mean, 0.68))
    # The rank test alone would hide it from the claims.
    by_ranks = estimate.rank_interval
    monkeypatch.setattr(estimate, "rank_interval", lambda effects, _: by_ranks(effects, 0.68))
    found = _refuted(log_scenarios()["quiet"], 75)
    assert {"claim of a higher cost supported", "95 % interval holds the truth"} <= found
    # Where the A/A pair lies at the margin, equivalence hangs on its short interval alone.
    assert _refuted(log_scenarios()["pair at margin"], 150) == {"claim of equivalence supported"}


def test_a_missing_gate_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(judging, "gated", lambda found, proves_sameness: found)
    monkeypatch.setattr(judging, "_steady", lambda found, data: found)
    assert _refuted(log_scenarios()["spoiled pair"], 25) == {
        "claim of equivalence supported",
        "claim of equivalence contradicted",
        "claim of a higher cost supported",
        "verdict other than the analysis's outcome",
    }


def test_an_analysis_without_the_gate_is_found_out(monkeypatch, capsys) -> None:
    monkeypatch.setattr(Decision, "gated", lambda self, *controls: self)
    words = ["validate", "--only=spoiled pair", "--effort=0.025", "--workers=1"]
    monkeypatch.setattr(sys, "argv", words)
    assert _tool().main() == 1
    broken = [line for line in capsys.readouterr().out.splitlines() if line.endswith(trials.NO)]
    assert any("verdict other than the analysis's outcome" in line for line in broken)


def test_a_parser_that_takes_cut_off_output_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(sysbench, "require_complete", lambda text, begin, end: None)
    monkeypatch.setattr(sysbench, "_require_consistent", lambda *_: None)
    found = _refuted(log_scenarios()["failures"], 25)
    assert {"runs not counted once as such", "mean error of the estimate"} <= found


def test_counting_what_an_earlier_session_left_is_found_out(monkeypatch) -> None:
    often = Misfortune(absent=1.0, killed=1.0)
    campaign = _unlucky(_small(log_scenarios()["failures"], cases=6).trial.campaign, often)
    outcome = _run(campaign)
    assert trials.miscounted(outcome) == 0
    assert "other-session" in set(outcome.stages["reason"])
    monkeypatch.setattr(parse, "_newest_sessions", lambda runs: {})
    assert trials.miscounted(_run(campaign)) > 0


def test_every_rule_has_a_scenario() -> None:
    tried = {sketch.test["rule"] for sketch in sketches()}
    # An anchor never concludes anything.
    assert tried == rules().keys() - {"anchor"}


def _sketch(name: str):
    return next(each.scenario() for each in sketches() if each.name == name)


def test_a_missing_positive_control_is_found_out(monkeypatch) -> None:
    real = decision.objection_of
    monkeypatch.setattr(finding, "objection_of", lambda control, same, _assay: real(control, same))
    planted = {"not seen; the same", "a gain; the same", "lost in every block; the same"}
    assert _refuted_truths(_sketch("positive control")) == planted


def test_counting_what_losses_left_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(contrast, "objection_to_losses", lambda *_: "")
    assert "14 of 30 lost; +1 %" in _refuted_truths(_sketch("losses of slow runs"))


def test_a_difference_of_five_blocks_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(decision, "_objection", lambda outcome, robust, blocks: "")
    monkeypatch.setattr(finding, "FEWEST_FOR_A_DIFFERENCE", 0)
    assert _refuted_truths(_sketch("5 blocks")) == {"+5 %"}


def test_a_control_that_is_refused_itself_is_found_out(monkeypatch) -> None:
    holds = decision.Decision(14, outcome=outcomes.EQUIVALENT)
    monkeypatch.setattr(exists, "_control", lambda counts, limit: holds)
    planted = {"all, of the control half", "all, of the control, too"}
    assert _refuted_truths(_sketch("exists, refused")) == planted


def test_failures_inside_that_count_as_refused_are_found_out(monkeypatch) -> None:
    monkeypatch.setitem(in_memory.ENDINGS, "failed inside", in_memory.ENDINGS["refused"])
    assert _refuted_truths(_sketch("exists, not refused")) == {"all"}


def test_any_cell_in_the_place_of_most_is_found_out(monkeypatch) -> None:
    monkeypatch.setattr(judging, "p_of_most", lambda pool: 0.0)
    assert "one of three +5 %, the others the same" in _refuted_truths(_sketch("most"))


def test_an_order_within_groups_is_found_out(monkeypatch) -> None:
    real = along.tau
    monkeypatch.setattr(along, "tau", lambda losses, at: real(losses, np.arange(len(at))))
    planted = {"that order, within the groups its opposite", "that order, but for one pair of four"}
    assert _refuted_truths(_sketch("rank, groups")) == planted


def test_looks_at_the_level_of_one_are_found_out(monkeypatch) -> None:
    monkeypatch.setattr(Dataset, "levels", lambda *_: ONE_LOOK)
    assert _refuted(_looks(), 180) == {
        "ever called the same", "ever called different", "95 % interval holds the truth",
    }  # fmt: skip


def test_looks_that_stop_too_late_are_found_out(monkeypatch) -> None:
    real = looks.stops

    def late(plan, compared, before, most):
        seen = max(each.decision.blocks for each in compared)
        return real(plan, compared, before, most) if seen >= 25 else ()

    monkeypatch.setattr(looks, "stops", late)
    found = _refuted(_looks(), 40)
    assert found == {
        measure.measured for measure in _looks().measures if "blocks until" in measure.measured
    }


def _looks():
    """The first scenario with looks."""
    return looks.sequential()[0]


def _refuted_truths(sketch) -> set[str]:
    """The truths of which a promise is broken, of one study."""
    results = trials.validate([sketch], GOLDEN, SEED, effort=sketch.cases / sketch.replicates)
    return {result.measure.planted for result in results if result.holds == trials.NO}


def test_the_committed_report_is_of_these_scenarios_and_says_what_holds() -> None:
    found = json.loads((ROOT / "docs/validation.json").read_text())
    assert (ROOT / "docs/validation.md").read_text() == report.render(found)
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
    assert found["seed"] == _tool().SEED


def test_the_same_seed_gives_the_same_numbers_in_any_number_of_processes() -> None:
    scenario = _small(log_scenarios()["quiet"], cases=3)
    made = [
        trials.make_trials(scenario, GOLDEN, seed, effort=2, workers=workers).verdicts
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    ]
    assert made[0].equals(made[1])
    assert not made[0].equals(made[2])


def test_every_misfortune_happens_and_is_told_apart() -> None:
    often = Misfortune(0.3, truncated=0.1, other_work=0.1, absent=0.9, killed=0.9, lost=0.2)
    outcome = _run(_unlucky(log_scenarios()["failures"].trial.campaign, often))
    assert trials.miscounted(outcome) == 0
    assert set(outcome.stages["stage"]) == {"planned", "ran", "parsed", "valid", "analysed"}
    reasons = {"truncated", "wrong-size", "not-run", "no-pair", "other-session", *FAILING}
    assert reasons <= set(outcome.stages["reason"])


@pytest.mark.parametrize("name", PRINTERS)
def test_what_is_printed_differs_from_real_output_in_its_numbers_only(name: str) -> None:
    printer = PRINTERS[name]
    real = (GOLDEN / printer.golden).read_text().splitlines()
    planted = printer.text(GOLDEN, printer.case_parameters(0), 0.0).splitlines()
    assert [_words(line) for line in planted] == [_words(line) for line in real]


def _words(line: str) -> str:
    return re.sub(r" *[0-9.]+(e[+-][0-9]+)?", "#", line)


def test_records_have_the_keys_of_real_ones(tmp_path) -> None:
    planted = plant(
        _small(log_scenarios()["quiet"], cases=2).trial.campaign, GOLDEN, tmp_path, SEED
    )
    folder = planted.folders[0]
    archive = ROOT / "results/archive/machine-2026-11-20/records"
    raw = schema.read(schema.RAW, archive / "raw.parquet").slice(0, 1).to_pylist()[0]
    block = schema.read(schema.BLOCKS, archive / "blocks.parquet").slice(0, 1).to_pylist()[0]
    record = json.loads(next(folder.glob("runs/*/attempt-1/record.json")).read_text())
    assert record.keys() >= json.loads(raw["record"]).keys()
    ours, real = json.loads((folder / "block.json").read_text()), json.loads(block["record"])
    assert ours.keys() == real.keys()
    start, real_start = (each["sessions"][0]["start"] for each in (ours, real))
    assert start.keys() >= real_start.keys()
    assert start["binaries"][0].keys() == real_start["binaries"][0].keys()
    assert start["node"].keys() <= real_start["node"].keys()


def test_a_promise_needs_enough_replicates_to_hold() -> None:
    promise = promises.at_most(0.05)
    assert promise.holds_for(promises.share(200, 4000))
    assert not promise.holds_for(promises.share(2, 40))
    assert not promise.refuted_by(promises.share(2, 40))
    assert promise.refuted_by(promises.share(10, 40))
    assert promise.refuted_by(promises.share(280, 4000))


def test_the_interval_of_a_share_is_clopper_and_pearsons() -> None:
    # None of n: the upper bound is 1 - (alpha / 2) ** (1 / n).
    none = promises.share(0, 100)
    assert (none.low, none.high) == (0, pytest.approx(1 - 0.005 ** (1 / 100)))
    with pytest.raises(ValueError, match="nothing"):
        promises.share(0, 0)
