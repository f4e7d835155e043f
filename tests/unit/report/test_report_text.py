"""Words, tables, texts and numbers."""

import json
import math
import os
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

from parity.analysis import outcomes
from parity.analysis.descriptive import STAGES
from parity.core import wording
from parity.core.errors import UserError
from parity.plan.plan import PositiveControl
from parity.records.timed import CaseTime
from parity.report import answer, formatting, texts, write
from parity.report.figures import figures
from parity.report.figures.specs import FIGURES, LEDGER, OVERVIEW
from parity.report.tables import measured, published, results
from parity.report.templating import latex
from parity.report.texts import by_difference
from parity.report.view import View

ROOT = Path(__file__).parents[3]
MakeView = Callable[..., View]


@pytest.fixture
def make_view(tmp_path: Path) -> MakeView:
    def make(blocks: int = 3, change: Any = lambda rows: None, **plants: Any) -> View:
        plan = synthetic.plan(blocks)
        change(rows := synthetic.records(plan, **plants))
        return synthetic.view(tmp_path / "live/synthetic-smoke", plan, rows)

    return make


def test_the_ledger_is_drawn_with_what_was_lost(make_view: MakeView) -> None:
    lost = {(1, "sysbench.docker"): ("ran", "timeout"), (2, "sysbench.docker"): ("ran", "timeout")}
    view = make_view(failures=lost)
    words = [text.get_text().strip() for text in figures.of_ledger(view).findobj(Text)]
    planned = str(view.analysis.ledger["planned"].sum())
    assert list(dict.fromkeys(word for word in words if word in STAGES)) == list(STAGES)
    assert "2: timeout" in words and planned in words
    docker, rest, whole = results.ledger(view).rows[:3]
    assert docker[1:5] == ("Docker", "3", "3", "1")
    assert rest[1:5] == (f"the other {len(view.arms) - 1}", "3", "3", "3")
    assert whole[1] == f"all {len(view.arms)}" and "Stopped" not in texts.ledger(view)
    stopped = make_view(3, failures={(1, "sysbench.docker"): ("ran", "stopped-time")})
    assert texts.ledger(stopped).endswith(" Stopped-time: the time was over.")
    many = pd.DataFrame({"stage": "ran", "reason": list("abcde"), "runs": [5, 4, 3, 2, 0]})
    assert figures.lost_after(many) == {"ran": ["5: a", "4: b", "3: c", "and 1 more"]}


def test_a_caption_tells_of_the_marks_that_are_drawn(make_view: MakeView, monkeypatch) -> None:
    few, many = make_view(3), make_view(30)
    spec = next(each for each in many.figures if each.densities and many.shown(each))
    points, curves = (texts.caption(view, spec) for view in (few, many))
    assert "every value is a point" in points and "the density of the values" not in points
    assert "the density of the values" in curves and "boxes" not in curves
    crowded = replace(spec, quantities=spec.quantities * 6, densities=False)
    assert "every value" not in texts.caption(few, crowded)
    # Values above comparisons, of more arms than there is room for twice.
    doubled = replace(spec, in_rows=False, densities=False)
    assert "every value is a point" in texts.caption(few, doubled)
    monkeypatch.setattr("parity.report.figures.page.PAGE", 2.0)
    assert "every value" not in texts.caption(few, doubled)


def test_the_setting_is_printed_for_people(make_view: MakeView) -> None:
    view = make_view(3)
    assert dict(measured.machine(view).rows)["System"] == "synthetic (vm)"
    environment = dict(measured.environment(view).rows)
    assert environment["measured"] == "2026-01-01 00:00 to 01:30 UTC"
    assert environment["Docker"] == "version 1"
    assert wording.size(272629760) == "260 MiB" and wording.size(24684092 * 1024) == "23.5 GiB"


@pytest.mark.parametrize("name", ["main", "dataset", "method"])
def test_the_paper_types_no_result_by_hand(name: str) -> None:
    body = (ROOT / f"paper/{name}.tex").read_text().split(r"\begin{document}")[-1]
    # What a key, a file, a system or a length is called is no number that is read.
    body = re.sub(r"(?m)^%.*|L\{[^}]*\}|(epyc|xeon)\d+|slurm-\w{4}|\[4pt\]", "", body)
    body = re.sub(
        r"\\(?!textit|emph|point|caption|section)\w+\*?(\[[^]]*\])?(\{[^{}]*\})+", "", body
    )
    # The levels of the tests and the definition of the margin are the method's own.
    known = (r"10\,\%", r"90\,\%", r"95\,\%", r"5\,\%", r"(1/(1+m),\,1+m)")
    assert not re.search(r"\d", re.sub("|".join(map(re.escape, known)), "", body))


def test_the_paper_of_all_archives_sorts_every_program_that_the_readme_bounds() -> None:
    bounds = json.loads((ROOT / "docs/found.json").read_text())["bounds"]
    text = (ROOT / "paper/main.tex").read_text()
    sorted_there = set(re.findall(r"\\bysystem\{([^}#]+)\}", text))
    assert sorted_there == {each["program"] for of_kind in bounds.values() for each in of_kind}


PUBLISHED = ROOT / "config/published/values.csv"


def published_rows(view: View) -> dict[str, tuple[str, ...]]:
    rows = published.table(view, published.load(PUBLISHED, "torrez2019")).rows
    return {row[0]: row for row in rows}


def test_a_spread_is_that_of_all_arms(make_view: MakeView) -> None:
    view = make_view(3)
    times, rows = [*view.values("sysbench", "time").values()], published_rows(view)
    for quantity, numbers_of in (("spread of the environments' medians", np.median(times, axis=1)),
                                 ("spread of all runs", np.ravel(times))):  # fmt: skip
        expected = 100 * (max(numbers_of) / min(numbers_of) - 1)
        here = rows[f"CPU time: {quantity}"][2]
        assert here == f"{wording.significant(expected, 2)} % (9 arms × 3)"
    # An arm that does more work is no environment.
    control = PositiveControl("docker", 4.0, {})
    controlled = synthetic.replanned(view, positive_control=control)
    assert "(8 arms × 3)" in published_rows(controlled)["CPU time: spread of all runs"][2]
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


@pytest.mark.parametrize(("row", "said"), [
    ("s,q,b,time,mode,,1,s,p", "unknown statistic 'mode'"),
    ("s,q,b,speed,spread-of-runs,,1,s,p", "unknown metric 'speed'"),
    ("s,q,b,time,spread-of-runs,lxc,1,s,p", "do not belong together"),
    ("s,q,b,time,paired-difference,,1,s,p", "do not belong together"),
    ("s,q,b,time,spread-of-runs,,about one,s,p", "not a number"),
    ("s,q,b,time,spread-of-runs", "5 cells instead of 9"),
])  # fmt: skip
def test_a_published_value_that_cannot_be_read_is_refused(tmp_path: Path, row: str, said: str):
    path = tmp_path / "values.csv"
    path.write_text(",".join(published.COLUMNS) + f"\n{row}\n")
    with pytest.raises(UserError, match="line 2") as refused:
        published.load(path, "s")
    assert said in str(refused.value)
    text = PUBLISHED.read_text()
    path.write_text(text + text.splitlines()[-1] + "\n")
    with pytest.raises(UserError, match="is there twice"):
        published.load(path, "torrez2019")


def test_what_differs_most_is_told_first_and_latex_is_escaped() -> None:
    ended = [("at-most", 1.0), ("costs", 1.2), ("cannot-tell", 3.0), ("saves", 0.5)]
    rows = [SimpleNamespace(answer=answer, estimate=ratio) for answer, ratio in ended]
    assert [row.estimate for row in sorted(rows, key=by_difference)] == [0.5, 1.2, 1.0, 3.0]
    assert latex("> 10⁶") == r"\textgreater{} 10\textsuperscript{6}"
    said = latex(r"50 % of a_b & c\d ±1")
    assert said == r"50\,\% of a\_b \& c\textbackslash{}d $\pm$1" and latex(said) is said


# What a test that decides nothing must not be turned into.
BANNED = re.compile(r"signific|no difference|identical|indistinguishable", re.IGNORECASE)
SITUATIONS: dict[str, dict[str, Any]] = {
    "short": {"blocks": 3},
    "effects": {"blocks": 30, "effects": {("sysbench", "docker"): 1.05}, "absent": {"lxc": "root"},
                "confounded": (("sysbench", "docker"),)},
    "control fails": {"blocks": 30, "effects": {("hpcc", "native-b"): 1.3}},
}  # fmt: skip
SNAPSHOT = Path(__file__).with_name("texts.txt")


def test_the_texts_of_whole_datasets_are_those_of_the_snapshot(make_view: MakeView) -> None:
    """Written anew where `PARITY_SNAPSHOTS` is set; read it before it is committed."""
    times = [CaseTime("spin", 6, 6.0, 8.0), CaseTime("stream", 3, 0.0, 2.0)]
    parts = []
    for name, plants in SITUATIONS.items():
        view = make_view(**plants)
        made = write.all_tables(view, [])
        said = [texts.summary(view, times, 20.0), texts.numbers(view)]
        rows = [f"{t.name}: {row}" for t in made if t.name in SHOWN for row in t.rows]
        for text in (*said, *(cell for t in made for row in t.rows for cell in row)):
            assert not BANNED.search(text)
        parts += [f"==== {name}", *said, *rows]
    text = re.sub(r"/\S+(?=/tables/results\.csv)", "{folder}", "\n".join(parts) + "\n")
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert SNAPSHOT.read_text() == text


SHOWN = ("answers", "results", "differences", "ledger", "losses", "not-tested", "sensitivity")


def test_the_answer_of_several_datasets_counts_them_together(make_view: MakeView) -> None:
    view = make_view(30, effects={("sysbench", "docker"): 1.05}, absent={"lxc": "needs root"})
    data = (view.plan, view.analysis.comparisons)
    ended = answer.measured(data)
    counts = answer.tallied(ratio.row for ratio in ended)
    assert sum(counts[word] for word in answer.ANSWERS) == len(ended)
    said = answer.said([data, data])
    # What is the same in every block is no cost.
    costs = [ratio.row for ratio in answer.counted(data)]
    assert len(costs) == 30 < len(ended)
    assert "60 cost ratios of runtimes as a site offers them to native in 2 campaigns" in said
    told, rest = answer.tallied(costs), "LXC (needs root)"
    assert f"{2 * told['costs']} cost something" in said and told["costs"] >= 1 and rest in said
    assert f"{2 * told['same']} are the same within the margin" in said
    starts = answer.to_start(data, data)
    warm = view.comparisons("startup-warm", "start_seconds")
    assert starts["Podman"] == warm["podman"].high90 and "LXC" not in starts
    assert answer.said([]) == "No cost ratio with a margin was measured."


def test_a_constant_is_no_cost_even_where_a_look_s_level_leaves_no_interval(make_view) -> None:
    view = make_view(6)
    table = view.analysis.comparisons.copy()
    is_hpl = (table["case"] == "hpcc") & (table["metric"] == "hpl") & (table["arm"] == "docker")

    def counted() -> set[str]:
        ratios = answer.counted((view.plan, table))
        return {ratio.row.arm for ratio in ratios if ratio.row.case == "hpcc"}

    assert {"docker", "podman"} <= counted()
    table.loc[is_hpl, ["low95", "high95"]] = np.nan
    table.loc[is_hpl, ["estimate", "low90", "high90"]] = 0.998
    assert "docker" not in counted() and "podman" in counted()


def test_only_a_rate_that_is_a_time_again_counts_once(make_view) -> None:
    """Three of STREAM's four kernels were left out where two were alike to a thousandth."""
    view = make_view(12)
    table = view.analysis.comparisons
    is_one = (table["case"] == "sysbench") & (table["arm"] == "docker") & table["planned"]

    def more(better: str) -> int:
        again = table[is_one].assign(metric="again", better=better)
        return len(answer.measured((view.plan, pd.concat([table, again]))))

    assert more("lower") == more("higher") + 1


@pytest.mark.parametrize(("numbers", "said"), [
    # From the bound, from an end that has to pass nothing, and one block more at least.
    ((1.0, 0.8, 1.25, 1.2), "about 22 blocks, or longer runs"),
    ((1.182, 0.971, 1.337, 1.3), "about 9 blocks, or longer runs"),
    ((1.09, 0.9999, 1.2, 1.15), "about 7 blocks, or longer runs"),
    ((1.099, 0.2, 2.0, 1.9), "longer runs"), ((1.1, 0.5, 2.0, math.nan), "6 blocks at least"),
])  # fmt: skip
def test_what_would_help_is_more_than_there_was(numbers, said) -> None:
    names = ("estimate", "low95", "high95", "high90")
    row = dict(zip(names, numbers, strict=True)) | {"answer": outcomes.CANNOT_TELL, "blocks": 6}
    assert formatting.lever(SimpleNamespace(barred=False, **row)) == said


def test_most_blocks_tell_what_a_runtime_costs_and_of_equals_the_largest_bound(make_view) -> None:
    """Datasets of one campaign on two machines are two, each with its own blocks."""
    dearer = make_view(12, effects={("hpcc", "docker"): 1.3})
    views = (make_view(6), make_view(12), dearer)
    few, many, other = ((view.plan, view.analysis.comparisons) for view in views)

    def bound(*datasets: answer.Compared) -> answer.Bound:
        found = {(b.program, b.runtime): b for b in answer.at_most(*datasets)}
        return found["HPCC", "Docker"]

    assert (bound(few).blocks, bound(few, many).blocks) == (6, 12)
    assert bound(few, many) == bound(many, few) == bound(many)
    assert bound(many, other) == bound(other, many) == bound(other)
    assert bound(other).bound > 0.2 > bound(many).bound
    paired = replace(many[0], pairs=("hpcc",)), many[1]
    assert "HPCC, CPU time" in {each.program for each in answer.at_most(paired)}
    (said,) = (line for line in answer.in_short(other) if line.startswith("HPCC: "))
    assert f"Docker ≤ {math.ceil(100 * bound(other).bound)} %, " in said


def test_what_has_no_rows_is_not_written_and_what_is_not_drawn_is_listed(make_view, tmp_path):
    write.write(make_view(6), [], tmp_path)
    made, as_latex, drawn, pictures = (
        {path.stem for path in tmp_path.glob(files)}
        for files in ("tables/*.csv", "tables/*.tex", "figures/*.pdf", "figures/*.png")
    )
    assert {"results", "ledger"} <= made and "exclusions" not in made and "rungs" not in made
    assert (as_latex, pictures) == (made, drawn)
    lines = (tmp_path / "not-drawn.txt").read_text().splitlines()
    listed = dict(line.split(": ", 1) for line in lines)
    assert listed["hpcg"] == "comes with a later study"
    assert listed["process-memory"] == "the same in all runs" and not drawn & set(listed)
    assert drawn | set(listed) == {spec.name for spec in FIGURES} | {OVERVIEW, LEDGER}


def test_the_paper_of_a_dataset_asks_only_for_values_that_exist(make_view: MakeView) -> None:
    known = set(re.findall(r"paritydefine{([^}]+)}", texts.numbers(make_view(1))))
    asked = set(re.findall(r"\\parityvalue\{([^}#]+)\}", (ROOT / "paper/dataset.tex").read_text()))
    assert asked - {"key"} <= known


def test_a_plan_with_looks_says_when_they_are_and_what_they_stop(make_view: MakeView) -> None:
    view = make_view(3)
    said = texts.numbers(synthetic.replanned(view, looks=(2, 3), minutes=8))
    assert "looked at after 2 and 3 blocks, and is measured for 8 minutes at most" in said
    assert "looked at" not in texts.numbers(view)


@pytest.mark.parametrize(("ratio", "said"), [
    (0.98, "0.0 %"), (1.01, "1.0 %"), (1.0100001, "1.1 %"), (1.0084, "0.84 %"), (1.0314, "3.2 %"),
    (1.00042, "0.042 %"), (1.1, "10 %"), (1.3333, "34 %"), (2.04, "2.1 times"), (2.5, "2.5 times"),
])  # fmt: skip
def test_an_upper_bound_is_rounded_upwards(ratio: float, said: str) -> None:
    assert formatting.at_most(ratio) == said
