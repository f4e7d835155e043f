"""Imported rows as an archive: what the analysis and the report make of planted numbers."""

import re
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from parity.analysis import analysis
from parity.analysis.analysis import analysed
from parity.analysis.dataset import load
from parity.command_line.main import main
from parity.core.errors import UserError
from parity.imports.dataset import import_rows
from parity.imports.rows import Row, checked
from parity.records.dataset import archived, broken_files, differing_tables
from parity.records.timed import case_times, session_seconds
from parity.report import texts, view
from parity.report.view import origin_of

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
METRICS = (("time", "s", "lower", 1), ("rate", "1/s", "higher", -1))
COSTS = {"native": 1.0, "again": 1.0, "podman": 1.1, "shifter": 1.0}


def planted(arms=("native", "again", "podman", "shifter"), blocks=12, together=True):
    """Times that are those of COSTS, with a scatter of 0.2 %, and rates that are their inverse."""
    scatter = np.random.default_rng(7).normal(0, 0.002, (blocks, len(arms)))
    rows = []
    for number, case in product(range(blocks), ("lammps", "gmx")):
        block, source = f"day {number}" if together else "", f"page {number}"
        for (place, arm), (metric, unit, better, power) in product(enumerate(arms), METRICS):
            value = float((10 * COSTS[arm] * np.exp(scatter[number, place])) ** power)
            rows.append(Row(block, case, arm, metric, value, unit, better, source=source))
    return rows


@pytest.fixture
def imported(tmp_path):
    """Imports rows, checked as the command checks them; gives the archive."""
    (tmp_path / "table.csv").write_text("rows\n")

    def make(rows, double="again", margin=0.02):
        of, pair, root = [tmp_path / "table.csv"], ("native", double), tmp_path / "archive"
        return import_rows(checked(rows), of, "mine", "My runs", pair, margin, root, NOW)

    return make


def concluded(archive):
    """Outcome and reason of each planned comparison, by arm and metric, of one case."""
    table = analysed(archive).analysis.comparisons
    rows = table[(table["case"] == "imported-lammps") & table["planned"]]
    return {(row.arm, row.metric): row for row in rows.itertuples()}


def test_planted_costs_are_found_in_both_directions(imported):
    archive = imported(planted())
    found = concluded(archive)
    for metric in ("time", "rate"):
        assert found["again", metric].outcome == "equivalent" and found["again", metric].control
        assert found["shifter", metric].outcome == "equivalent"
        assert found["podman", metric].outcome == "different"
        assert found["podman", metric].estimate == pytest.approx(1.1, rel=0.005)
    assert {row.identity for row in found.values()} == {"not recorded"}


def test_an_imported_archive_is_one_as_any_other(imported):
    archive = imported(planted())
    assert archive.name == "imported-mine-2026-11-22"
    assert archived(archive.parent) == {archive.name: ("imported", "mine")}
    assert broken_files(archive) == differing_tables(archive) == []
    dataset = analysed(archive).dataset
    assert len(dataset.plan.blocks) == 12 and dataset.kind.label == "imported"
    assert "order of runs not known to be random" in origin_of(archive).note
    (benchmark,) = dataset.plan.definitions.values()
    assert re.search(r"table\.csv \(SHA-256 \w{12}\)", benchmark.note)


def test_without_a_second_reference_nothing_is_concluded_and_the_report_says_so(imported):
    archive = imported(planted(("native", "podman", "shifter")), double="native")
    found = concluded(archive)
    assert {arm for arm, _ in found} == {"podman", "shifter"}
    assert {(row.outcome, row.reason) for row in found.values()} == {
        ("inconclusive", "no A/A pair")
    }
    (archive / "analysis").mkdir()
    analysis.write(analysis.analyse(load(archive)), archive / "analysis")
    seen = view.load(archive)
    text = texts.summary(seen, case_times(archive), session_seconds(archive))
    assert "A/A pair: none, so nothing is concluded" in text
    assert "order of runs not known to be random" in " ".join(text.split())
    assert "A/A pair" not in texts.overview(seen)
    assert r"\paritydefine{control}{none}" in texts.numbers(seen)


def test_without_a_margin_differences_are_reported_and_without_blocks_nothing_compared(imported):
    found = concluded(imported(planted(), margin=None))
    assert {row.outcome for row in found.values()} == {"reported"}
    assert found["podman", "time"].estimate == pytest.approx(1.0, abs=0.05)


def test_without_blocks_values_are_described_and_compared_with_nothing(imported):
    archive = imported(planted(together=False))
    found, rows = analysed(archive).analysis, concluded(archive).values()
    assert (len(found.values), len(found.pairs)) == (12 * 2 * 4 * 2, 0)
    assert {(row.outcome, row.blocks) for row in rows} == {("too-few-blocks", 0)}


def test_a_run_that_is_not_valid_is_lost_with_its_reason(imported):
    rows = planted()
    rows[0] = rows[0]._replace(valid=False)
    runs = analysed(imported(rows)).dataset.final_runs
    lost = runs[runs["stage"] != "valid"]
    assert list(lost["run"]) == ["imported-lammps.native"]
    assert list(lost["reason"]) == ["check-failed"]


def test_cases_of_other_metrics_are_benchmarks_of_their_own(imported):
    rows = [row for row in planted() if row.case == "lammps" or row.metric == "time"]
    plan = analysed(imported(rows)).dataset.plan
    assert {case.name: case.primary for case in plan.cases} == {
        "imported-1-lammps": ("time", "rate"),
        "imported-2-gmx": ("time",),
    }


def test_an_archive_is_never_overwritten_and_has_the_reference(imported):
    with pytest.raises(UserError, match="no row is of the arm bare") as error:
        imported(planted(), double="bare")
    assert "native, again, podman, shifter" in str(error.value)
    imported(planted())
    with pytest.raises(UserError, match="there already is an archive"):
        imported(planted())


def table(path):
    """The planted rows as a table of one's own."""
    lines = [
        f"{row.block},{row.case},{row.arm},{row.metric},{row.value!r},{row.unit},{row.better}\n"
        for row in planted()
    ]
    path.write_text("block,case,arm,metric,value,unit,better\n" + "".join(lines))
    return str(path)


def test_the_command_says_what_the_archive_lacks(tmp_path, capsys):
    words = [table(tmp_path / "t.csv"), "--study=mine", f"--out={tmp_path}/archive"]
    main(["import", *words])
    first, *lacks, last = capsys.readouterr().out.splitlines()
    assert first.startswith("archived 192 numbers of 4 arms as ")
    assert [line.split("(")[0].strip() for line in lacks] == [
        "the order of the runs is taken for not random, and the binaries for unknown",
        "no second reference arm",
        "no margin",
    ]
    assert last.startswith("draw them:  parity figures --archive imported-mine-")


def test_a_real_report_of_reframe_becomes_verdicts(compared, capsys):
    report = Path(__file__).parents[2] / "golden/imports/reframe.json"
    table = compared(report, words=["--margin=5"])
    assert "no second reference" not in capsys.readouterr().out
    rows = {(row.arm, row.metric): row for row in table.itertuples()}
    assert {arm for arm, _ in rows} == {"native-b", "bubblewrap"}
    metrics = ("total_time", "events_per_second")
    for metric in metrics:
        assert rows["native-b", metric].control and rows["bubblewrap", metric].blocks == 6
        assert rows["bubblewrap", metric].low95 < rows["bubblewrap", metric].high95
    # One is the other's inverse, so both cost the same.
    time, rate = (rows["bubblewrap", metric].estimate for metric in metrics)
    assert time == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize(("words", "said"), [
    (["--study=My study"], "'My study' is no name"),
    (["--margin=0"], "a margin of 0.0 %"),
    (["--better=time=less"], "unknown direction: less"),
    (["--better=speed=lower"], "unknown metric: speed"),
    (["--better=time=higher"], "the files say lower of time"),
    (["--reference=native", "--double=native"], "native is the reference itself"),
    (["--form=xml"], "unknown form: xml"),
    (["--reference=bare"], "no row is of the arm bare"),
])  # fmt: skip
def test_a_bad_command_is_one_message(tmp_path, refused, words, said):
    assert said in refused(table(tmp_path / "t.csv"), words=words)


def test_a_file_that_is_not_there_or_of_no_form_is_one_message(tmp_path, refused):
    (tmp_path / "other.json").write_text("{}")
    assert "there is no such file" in refused(tmp_path / "absent.csv")
    assert "the form of these results is not known" in refused(tmp_path / "other.json")
