"""Words, tables, sentences and numbers."""

import dataclasses
import hashlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib.text import Text
from msgspec.structs import replace

from parity.analysis.ledger import STAGES
from parity.core.errors import UserError
from parity.extensions.servers.benchmarks import usage
from parity.records import dataset
from parity.records.timed import CaseTime
from parity.report import answer, write
from parity.report.figures import specs, sums
from parity.report.tables import provenance_tables, published, result_tables, table
from parity.report.text import (
    artifact,
    campaign,
    captions,
    constants,
    formatting,
    numbers,
    questions,
    sentences,
)
from parity.report.text.summary import MOST, by_difference, summary
from parity.report.view import View, rows_of

ROOT = Path(__file__).parents[3]
PAPER = [ROOT / "paper/main.tex", *sorted((ROOT / "paper/studies").glob("*.tex"))]
MakeView = Callable[..., View]


@pytest.fixture
def make_view(tmp_path: Path) -> MakeView:
    """A view of a synthetic dataset with the plants given."""

    def make(
        blocks: int = 3,
        change: Callable[[dict[str, Any]], None] = lambda rows: None,
        **plants: Any,
    ) -> View:
        plan, folder = synthetic.plan(blocks), tmp_path / "live/synthetic-smoke"
        rows = synthetic.records(plan, **plants)
        change(rows)
        return synthetic.view(folder, plan, rows)

    return make


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(1.23456, 3, "1.235"), (-0.5, 1, "−0.5"), (-0.0001, 2, "0.00"), (None, 2, "–")],
)
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert formatting.number(value, digits) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.01, "1 %"), (0.015, "1.5 %"), (0.0042, "0.42 %"), (0.123, "12 %")]
)
def test_percent(fraction: float, text: str) -> None:
    assert formatting.percent(fraction).replace("\u2009", " ") == text


def test_a_bound_is_rounded_upwards() -> None:
    # 1.03 % would not pass at 1.0 %.
    assert formatting.percent(0.0103, up=True) == "1.1\u2009%"
    assert formatting.percent(0.02, up=True) == "2\u2009%"


def test_latex_is_escaped() -> None:
    assert formatting.latex(r"50 % of a_b & c\d ±1") == (
        r"50 \% of a\_b \& c\textbackslash{}d $\pm$1"
    )


def test_each_question_has_the_comparisons_that_answer_it(make_view: MakeView) -> None:
    view = make_view(30, effects={("sysbench", "docker"): 1.05}, absent={"lxc": "needs root"})
    said = questions.answers(view, "d-").replace(r"\,", " ").replace(r"$\pm$", "±")
    nothing, something, undecided, pair, differences, absent = said.split("\n")
    assert nothing.startswith(
        r"\point{What costs nothing beyond its margin?}Equivalent to Native in"
    )
    # A constant has no figure.
    assert r"Process memory (6, ratio 1.000, margin ±1 \%)" in nothing
    assert r"margin ±5 \%; Fig.~\ref{fig:d-hpl})" in nothing
    assert "In a part of them: SysBench CPU, computing time (5 of 6, ratios " in nothing
    assert re.search(
        r"SysBench CPU, computing time \(1 of 6, margin .* costs more: 1\.0\d+ \[", something
    )
    assert something.endswith("(Docker).")
    assert (
        "6 of 36 comparisons are undecided: 5 (A/A pair not equivalent) and 1 (hangs" in undecided
    )
    assert "The A/A pair is equivalent in 5 of 6 comparisons of one native with the other." in pair
    assert "Not so in LIKWID bandwidth: triad, bandwidth: 1.0" in pair
    assert re.search(
        r"Start-up time .*ms \(Namespaces, warm\) to .* ms \(Docker, cold\)", differences
    )
    assert absent == r"\point{What could not be tested?}LXC: needs root."


def test_the_table_of_answers_counts_every_measured_ratio_once(make_view: MakeView) -> None:
    view = make_view(30, effects={("sysbench", "docker"): 1.05, ("hpcc", "native-b"): 1.3})
    rows = {row[0]: row[3:8] for row in questions.table(view).rows}
    assert rows["SysBench CPU, computing time"] == ("7", "6", "1", "0", "0")
    assert rows["HPCC, HPL rate"] == ("7", "0", "0", "0", "7")
    assert all(int(row[0]) == sum(map(int, row[1:])) for row in rows.values())
    said = questions.answers(view)
    assert "equivalent in 4 of 6 comparisons" in said and "Not so in HPCC, HPL rate: 1.300 " in said
    assert "15 of 42 comparisons are undecided: 7 (A/A pair differs), 6 (A/A pair not equ" in said


def test_a_confounded_arm_is_named_so(make_view: MakeView) -> None:
    effects = {("sysbench", "docker"): 1.05}
    view = make_view(30, effects=effects, confounded=(("sysbench", "docker"),))
    assert "(Docker, confounded)" in questions.answers(view)
    rows = result_tables.results(view).rows
    outcome = {row[1]: row[-1] for row in rows if row[0].startswith("Sys")}
    assert outcome["Docker"] == "costs more; confounded: libraries differ"


def test_the_answer_of_several_datasets_counts_them_together(make_view: MakeView) -> None:
    view = make_view(30, effects={("sysbench", "docker"): 1.05}, absent={"lxc": "needs root"})
    ended = answer.of_dataset(view.plan, view.analysis.comparisons)
    assert answer.counts(ended) == {"equivalent": 29, "costs-more": 1, "costs-less": 0, "open": 6}
    said = answer.said([*ended, *ended], 2).replace("\u2009", " ")
    assert said.startswith(
        "Of 72 cost ratios in 2 campaigns, 58 are equivalent to native within the margin of the "
        "case (±1 % to ±5 %), 2 are dearer beyond it and 12 are undecided. Every arm that "
        "ran it is equivalent to native in HPCC (ratios 0.993 to 0.997) and Memory (ratio 1.000). "
    )
    assert re.search(r"The largest of these costs is 1\.0\d+ \[.*\]: Docker in SysBench CPU", said)
    assert "of 36 cost ratios the cost is below " in answer.bounds(ended)
    assert answer.bounds([]).startswith("No cost ratio of an arm without a network")
    alike = [each for each in ended if each.word == "equivalent"]
    assert "All 29 cost ratios in one campaign are equivalent to nat" in answer.said(alike, 1)
    assert answer.said(alike[:1], 1).startswith("The one cost ratio in one campaign is equivalent")
    beside = answer.without_ratios([(view.plan, view.analysis.comparisons)])
    assert re.fullmatch(
        r"Start-up time is .+ ms \(.+\) to .+ ms \(.+\) more than natively\.", beside
    )
    none = view.analysis.comparisons.assign(low95=0.0)
    assert answer.without_ratios([(view.plan, none)]) == answer.without_ratios([]) == ""
    assert answer.said([], 1) == "No cost ratio with a margin was measured."
    sums = [dataclasses.replace(e, row=e.row._replace(metric=usage.NETWORK.metric)) for e in ended]
    assert "of 36 cost ratios" in answer.bounds([*ended, *sums])
    beside = "Not counted as costs: 36 ratios of bytes summed over interfaces."
    assert answer.said([*ended, *sums], 1) == f"{answer.said(ended, 1)} {beside}"
    odd = [dataclasses.replace(e, row=e.row._replace(arm="podman-quota-1")) for e in ended]
    assert answer.said(odd, 1).startswith("Of 36 of arms with a network, a limit or a neighbour of")


def test_the_ledger_is_drawn_with_what_was_lost(make_view: MakeView) -> None:
    lost = {(1, "sysbench.docker"): ("ran", "timeout"), (2, "sysbench.docker"): ("ran", "timeout")}
    view = make_view(3, failures=lost)
    words = [text.get_text().strip() for text in sums.of_ledger(view).findobj(Text)]
    planned = str(view.analysis.ledger["planned"].sum())
    assert list(dict.fromkeys(word for word in words if word in STAGES)) == list(STAGES)
    assert "2: timeout" in words and planned in words
    rows = result_tables.ledger(view).rows
    others = len(view.arms) - 1
    assert [row[1:5] for row in rows[:2]] == [
        ("Docker", "3", "3", "1"),
        (f"the other {others}", "3", "3", "3"),
    ]
    assert rows[2][1] == f"all {others + 1}"
    many = pd.DataFrame({"stage": "ran", "reason": list("abcde"), "runs": [5, 4, 3, 2, 0]})
    stopped = make_view(3, failures={(1, "sysbench.docker"): ("ran", "stopped-time")})
    assert captions.of_ledger(stopped).endswith(" Stopped-time: the time was over.")
    assert "Stopped" not in captions.of_ledger(view)
    assert sums.lost_after(many) == {"ran": ["5: a", "4: b", "3: c", "and 1 more"]}


def test_the_abstract_counts_what_was_measured(make_view: MakeView) -> None:
    view = make_view(
        30, effects={("sysbench", "docker"): 1.05}, confounded=(("sysbench", "podman"),)
    )
    said = sentences.abstract(view)
    # Six cases have a margin; seven arms besides the A/A pair; Shifter is only declared.
    assert said.startswith("Of 42 measured comparisons with Native over 30 blocks, ")
    assert "1 is different beyond the margin" in said and "; 1 of them is confounded." in said
    assert "7 of the 42 compare constants." in said
    assert said.endswith("6 more comparisons could not be tested.")
    compared = view.analysis.comparisons
    one, other = list(rows_of(compared[compared["outcome"] == "equivalent"]))[:2]
    assert sentences.counts(view, [one]) == (
        "The one measured comparison with Native over 30 blocks is equivalent within the margin "
        "and not confounded."
    )
    assert ", both are equivalent within the margin; none" in sentences.counts(view, [one, other])


def test_what_is_the_same_in_all_runs_is_a_sentence_and_no_figure(
    make_view: MakeView, tmp_path: Path
) -> None:
    view = make_view(6)
    said = constants.constants(view)
    assert re.fullmatch(
        r"Memory of a process: process memory is [\d.]+ MiB in all 54 runs of 9 arms\.", said
    )
    assert f"process-memory: {said}" in write.draw(view, tmp_path)
    assert not list(tmp_path.glob("process-memory.*"))
    assert "process-memory" not in [spec.name for spec in constants.drawn(view)]


def test_a_caption_tells_of_the_marks_that_are_drawn(make_view: MakeView) -> None:
    few, many = make_view(3), make_view(30)
    spec = next(each for each in many.figures if each.densities and many.shown(each))
    points, curves = (captions.of_figure(view, spec) for view in (few, many))
    assert "every value is a point" in points and "the density of the values" not in points
    assert "the density of the values" in curves and "boxes" not in curves
    crowded = replace(spec, quantities=spec.quantities * 6, densities=False)
    assert "every value" not in captions.of_figure(few, crowded)


def test_few_blocks_are_said_to_be_few(make_view: MakeView) -> None:
    assert "the normality of few values" in numbers.values(make_view(3))["few-blocks"]
    assert numbers.values(make_view(10))["few-blocks"] == ""


def test_what_is_only_declared_is_said_once(make_view: MakeView) -> None:
    view = make_view(3)
    said = numbers.values(view)
    assert (
        said["declared"]
        == "The study declares Shifter and HPCG and does not run them in this campaign."
    )
    texts = [text for key, text in said.items() if key.startswith("text-")]
    assert not [text for text in texts if "Shifter" in text]
    assert "Shifter" not in {row[1] for row in result_tables.results(view).rows}
    expected = ("every benchmark", "Shifter", "not packaged for this system")
    assert expected in result_tables.not_tested(view).rows


# What a test that decides nothing must not be turned into.
BANNED = re.compile(r"signific|no difference|identical|indistinguishable", re.IGNORECASE)


@pytest.mark.parametrize(
    "plants",
    [
        {},
        {"effects": {("sysbench", "docker"): 1.05, ("hpcc", "native-b"): 1.3}},
        {"absent": {"lxc": "needs root"}, "confounded": (("hpcc", "docker"),)},
    ],
    ids=["nothing", "effects", "gaps"],
)
def test_absence_of_evidence_is_not_sold_as_evidence(
    make_view: MakeView, plants: dict[str, Any]
) -> None:
    view = make_view(3, **plants)
    texts = [*numbers.values(view).values(), summary(view), questions.answers(view)]
    texts += [cell for each in write.all_tables(view, []) for row in each.rows for cell in row]
    texts += [path.read_text() for path in PAPER]
    assert not [text for text in texts if BANNED.search(text)]


def test_the_setting_is_printed_for_people(make_view: MakeView) -> None:
    view = make_view(3)
    machine, environment = (
        dict(provenance_tables.machine(view).rows),
        dict(provenance_tables.environment(view).rows),
    )
    assert machine["System"] == "synthetic (vm)"
    assert environment["measured"] == "2026-01-01 00:00 to 01:30 UTC"
    assert environment["Docker"] == "version 1"
    assert (
        formatting.size(272629760) == "260 MiB" and formatting.size(24684092 * 1024) == "23.5 GiB"
    )


def test_the_paper_asks_only_for_values_that_exist(make_view: MakeView) -> None:
    view = make_view(1)
    known = numbers.values(view)
    shown = [spec.name for spec in constants.drawn(view)]
    for path in PAPER:
        source = path.read_text()
        asked = set(re.findall(r"\\parityvalue\{([^}#]+)\}", source))
        assert asked - {"key"} <= set(known)
        assert not re.findall(r"\\(?:fullfigure|finding)\{[^}#]+\}", source)
    for name in shown:
        assert f"caption-{name}" in known


def test_the_data_say_which_figures_the_paper_has(make_view: MakeView) -> None:
    view = make_view(1)
    shown = [spec for spec in specs.FIGURES if view.shown(spec)]
    written = numbers.to_latex(numbers.values(view), shown)
    names = [spec.name for spec in shown]
    assert re.findall(r"\\fullfigure\{([^}]+)\}", written) == names
    # What compares with the reference is told by question, and not figure by figure.
    assert not re.findall(r"\\finding\{[^}]+\}\{([^}]+)\}", written)
    empty = write.all_tables(view, [])
    assert r"\paritydefine{shows-exclusions}{0}" in numbers.of_dataset(view, empty)
    assert r"\paritydefine{shows-ledger}{1}" in numbers.of_dataset(view, empty)


def test_every_study_file_says_the_same_kinds_of_things() -> None:
    asked = set(re.findall(r"\\(study[a-z]+)", PAPER[0].read_text()))
    for path in PAPER[1:]:
        defined = re.findall(r"\\newcommand\{\\(study[a-z]+)\}", path.read_text())
        assert sorted(defined) == sorted(asked), path


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_the_paper_types_no_result_by_hand(path: Path) -> None:
    body = path.read_text().split(r"\begin{abstract}")[-1]
    body = re.sub(r"\\cite\{[^}]*\}|Table~1|^%.*", "", body, flags=re.MULTILINE)
    # The levels of the tests and the definition of the margin are the method's own.
    for known in (
        "90\\,\\%",
        "95\\,\\%",
        "5\\,\\%",
        "(1/(1+m),\\,1+m)",
        "\\tabcolsep}{3pt}",
        "\\tabcolsep}{4pt}",
        "<10\\baselineskip",
    ):
        body = body.replace(known, "")
    assert not re.findall(r"\d", body)


def test_tables_have_the_names_that_the_rules_expect(make_view: MakeView, tmp_path: Path) -> None:
    view = make_view(2)
    made = write.all_tables(view, [])
    assert sorted(each.name for each in made) == sorted(specs.TABLE_NAMES)
    for each in made:
        assert all(len(row) == len(each.head) for row in each.rows)
        table.write(each, tmp_path)
    assert (tmp_path / "ledger.csv").read_text().startswith("case,arms,planned,ran")


PUBLISHED = ROOT / "config/published/values.csv"


def published_rows(view: View) -> dict[str, tuple[str, ...]]:
    """The table of published values by quantity."""
    rows = published.table(view, published.load(PUBLISHED, "torrez2019")).rows
    return {row[0]: row for row in rows}


def test_a_spread_is_that_of_all_arms(make_view: MakeView) -> None:
    view = make_view(3)
    times = {arm: np.array(v) for arm, v in view.values("sysbench", "time").items()}
    medians = [np.median(values) for values in times.values()]
    runs = np.concatenate(list(times.values()))
    rows = published_rows(view)
    for quantity, numbers_of in (("spread of the environments' medians", medians),
                                 ("spread of all runs", runs)):  # fmt: skip
        expected = 100 * (max(numbers_of) / min(numbers_of) - 1)
        here = rows[f"CPU time: {quantity}"][2]
        assert here == f"{formatting.significant(expected, 2)} % (9 arms × 3)"
    assert rows["CPU time: spread of all runs"][1] == "0.4 %"


def test_added_memory_is_free_of_the_drift_between_blocks(make_view: MakeView) -> None:
    def drift(rows: dict[str, Any]) -> None:
        for row in rows["metrics"]:
            if row["metric"] == "node_used_median":
                added = 37.0 if row["arm"] == "apptainer" else 0.0
                row["value"] = 3000.0 + 1024.0 * row["block_number"] + added

    view = make_view(3, change=drift, failures={(1, "memory.native-a"): ("ran", "timeout")})
    rows = published_rows(view)
    ours = rows["Node memory over native, Singularity (ours: Apptainer)"]
    assert ours[1:3] == ("37 MiB", "37 MiB (2 blocks)")
    assert rows["Node memory over native, Shifter"][2] == "not measured"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("s,q,b,time,mode,,1,s,p", "unknown statistic 'mode'"),
        ("s,q,b,speed,spread-of-runs,,1,s,p", "unknown metric 'speed'"),
        ("s,q,b,time,spread-of-runs,lxc,1,s,p", "do not belong together"),
        ("s,q,b,time,paired-difference,,1,s,p", "do not belong together"),
        ("s,q,b,time,spread-of-runs,,about one,s,p", "not a number"),
        ("s,q,b,time,spread-of-runs", "5 cells instead of 9"),
    ],
)
def test_a_published_value_that_cannot_be_read_is_refused(
    tmp_path: Path, row: str, said: str
) -> None:
    path = tmp_path / "values.csv"
    path.write_text(",".join(published.COLUMNS) + f"\n{row}\n")
    with pytest.raises(UserError, match="line 2") as refused:
        published.load(path, "s")
    assert said in str(refused.value)


def test_a_plan_with_looks_says_when_they_are_and_what_they_stop(make_view: MakeView) -> None:
    view = make_view(3)
    assert "looked at" not in campaign.design(view)
    plan = replace(view.plan, looks=(2, 3), minutes=8)
    looked = dataclasses.replace(view, dataset=dataclasses.replace(view.dataset, plan=plan))
    said = campaign.design(looked)
    assert "looked at after 2 and 3\u00a0blocks, and is measured for 8\u00a0minutes at" in said
    assert "below 5\u00a0% to be decided, is not measured any more" in said


def test_the_summary_tells_where_the_time_went(make_view: MakeView) -> None:
    told, untold = CaseTime("spin", 6, 6.0, 8.0), CaseTime("stream", 3, 0.0, 2.0)
    text = summary(make_view(3), [told, CaseTime("start", 3, 2.0, 2.0)], 20.0)
    assert re.search(r"spin +6 +8 +6 +75 %", text)
    said = "8 s were timed: 80 % of the 10 s of all runs, 40 % of the 20 s of all sessions"
    assert said in " ".join(text.split())
    text = summary(make_view(3), [told, untold], 20.0)
    assert re.search(r"stream +3 +2 +– +not told", text) and "were timed" not in text


def test_the_ratios_follow_the_answer(make_view: MakeView) -> None:
    view = make_view(8)
    compared = view.analysis.comparisons
    wanted = compared[~compared["control"] & compared["planned"] & (compared["kind"] == "ratio")]
    head, *lines = summary(view).split("\n\n")[1].splitlines()
    assert head == "Cost against native-a: ratio, 95 % interval"
    assert sum(bool(re.match(r" {4}[a-z]", line)) for line in lines) == MOST < len(wanted)
    assert lines[-1] == f"  and {len(wanted) - MOST} more: tables/results.csv"


def test_what_differs_most_is_told_first() -> None:
    rows = [
        SimpleNamespace(arm=arm, outcome=outcome, estimate=estimate)
        for arm, outcome, estimate in (
            ("a", "equivalent", 1.0), ("b", "different", 1.2), ("c", "inconclusive", 3.0),
            ("d", "different", 0.5),
        )
    ]  # fmt: skip
    assert [row.arm for row in sorted(rows, key=by_difference)] == ["d", "b", "a", "c"]


def test_the_summary_holds_plan_ledger_and_control(make_view: MakeView) -> None:
    text = summary(make_view(3, failures={(1, "sysbench.docker"): ("ran", "timeout")}))
    assert "Plan synthetic-smoke" in text and max(map(len, text.splitlines())) <= 80
    answer = text.split("\n\n")[0]
    assert answer.startswith("Of ") and text.endswith(f"\n\n{answer}\n")
    assert "1 × timeout" in text
    assert re.search(r"A/A pair: native-b against native-a", text)


def test_the_answer_says_by_how_much_it_was_too_noisy() -> None:
    open_rows = [
        SimpleNamespace(outcome="inconclusive", smallest_margin=wide, margin=0.01)
        for wide in (0.025, 0.013, 0.008, math.nan)
    ]
    passed = SimpleNamespace(outcome="equivalent", smallest_margin=0.009, margin=0.01)
    assert sentences.too_noisy([passed, *open_rows]) == (
        "The scatter was too large for 2 inconclusive ones: margins 1.3 to 2.5 times as wide "
        "would pass."
    )
    assert "too large for one: a margin 1.3 times as wide" in sentences.too_noisy(open_rows[1:])
    assert sentences.too_noisy([passed]) == ""


def test_the_artifact_names_what_the_archive_holds_and_what_is_expected(tmp_path: Path) -> None:
    plan, folder = synthetic.plan(2), tmp_path / "kept/machine-synthetic-2026-01-01"
    view = synthetic.view(folder, plan, synthetic.records(plan))
    for name in dataset.FILES:
        if not (folder / name).exists():
            (folder / name).write_text("{}")
    (folder / dataset.CHECKSUMS).write_text("abc\n")
    expected = {("archive/machine", name): "order-ok" for name in "ab"} | {
        ("live/x", "a"): "differs"
    }
    step = artifact.Step(command="make figures", does="figures", seconds=61.4, bytes=3 << 20)
    effort = artifact.Effort(machine="a machine, 2 CPUs", day="2026-01-02", steps=(step,))
    text = artifact.appendix(folder, [folder], "archive/machine", expected, effort)
    digest = hashlib.sha256(b"abc\n").hexdigest()[:16]
    assert text.count(f"machine-synthetic-2026-01-01 & 2026-01-01 & {len(plan.blocks)} & ") == 1
    assert digest in text and "-{}-config archive=machine-synthetic-2026-01-01}" in text
    made = view.dataset.images
    size = formatting.size(int(made["bytes"].sum()))
    said = f"converting it: {made['seconds'].sum():.0f} s, {size} in all formats."
    assert said in text.replace("\n", " ")
    assert "Of 2 claims of archive/machine: 2 order-ok" in text
    assert artifact.verdicts("live/y", expected).startswith("Nothing is expected of live/y")
    assert view.origin.facts.programs[0].commit in text
    assert "took on a machine, 2 CPUs, 2026-01-02:" in text
    assert r"make figures & figures & 61 & 3.00 MiB \\" in text
    assert not re.search("<[a-z]+>", text)
