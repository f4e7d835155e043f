"""Words, tables, sentences and numbers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from parity.analysis import analysis, dataset
from parity.errors import UserError
from parity.present import numbers, published, sentences, specs, tables, words
from parity.present.summary import summary
from parity.present.view import View

ROOT = Path(__file__).parents[2]
MakeView = Callable[..., View]


@pytest.fixture
def make_view(tmp_path: Path) -> MakeView:
    """A view of a synthetic dataset with the plants given."""

    def make(blocks: int = 3, **plants: Any) -> View:
        plan = synthetic.plan(blocks)
        folder = synthetic.write(tmp_path / "data", plan, synthetic.records(plan, **plants))
        loaded = dataset.load(folder)
        return View(loaded, analysis.analyse(loaded))

    return make


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(1.23456, 3, "1.235"), (-0.5, 1, "−0.5"), (-0.0001, 2, "0.00"), (None, 2, "–")],
)
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert words.number(value, digits) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.01, "1 %"), (0.015, "1.5 %"), (0.0042, "0.42 %"), (0.123, "12 %")]
)
def test_percent(fraction: float, text: str) -> None:
    assert words.percent(fraction).replace("\u2009", " ") == text


def test_a_bound_is_rounded_upwards() -> None:
    # 1.03 % would not pass at 1.0 %.
    assert words.percent(0.0103, up=True) == "1.1\u2009%"
    assert words.percent(0.02, up=True) == "2\u2009%"


def test_latex_is_escaped() -> None:
    assert words.latex(r"50 % of a_b & c\d ±1") == (r"50 \% of a\_b \& c\textbackslash{}d $\pm$1")


def test_sentences_follow_the_outcomes(make_view: MakeView) -> None:
    view = make_view(30, effects={("sysbench", "docker"): 1.05}, absent={"lxc": "needs root"})
    said = sentences.of_comparison(view, "sysbench", "time")
    assert "Docker costs more (ratio 1.05" in said
    assert re.search(r"equivalent to Native: Namespaces, .* and Podman \(30 blocks\)", said)
    figure = next(spec for spec in specs.FIGURES if spec.name == "bandwidth")
    assert sentences.of_figure(view, figure).count("LXC (needs root)") == 1
    assert "The A/A pair gives 1.00" in said
    assert "significant" not in said


def test_a_confounded_arm_is_named_so(make_view: MakeView) -> None:
    view = make_view(30, confounded=(("sysbench", "docker"),))
    assert "Docker (confounded)" in sentences.of_comparison(view, "sysbench", "time")
    outcome = {row[1]: row[-1] for row in tables.results(view).rows if row[0].startswith("Sys")}
    assert outcome["Docker"] == "equivalent; confounded: libraries differ"


def test_nothing_ever_says_no_significant_difference(make_view: MakeView) -> None:
    texts = " ".join(numbers.values(make_view(3)).values())
    texts += (ROOT / "paper/main.tex").read_text()
    assert "significant difference" not in texts.lower()


def test_the_paper_asks_only_for_values_that_exist(make_view: MakeView) -> None:
    known = numbers.values(make_view(1))
    source = (ROOT / "paper/main.tex").read_text()
    asked = set(re.findall(r"\\parityvalue\{([^}#]+)\}", source))
    figures = re.findall(r"\\fullfigure\{([^}]+)\}", source)
    asked |= {f"caption-{name}" for name in figures} | {f"text-{name}" for name in figures}
    asked -= {"key"}
    assert asked <= set(known)
    assert set(figures) == {spec.name for spec in specs.FIGURES}


def test_the_paper_types_no_result_by_hand() -> None:
    body = (ROOT / "paper/main.tex").read_text().split(r"\begin{abstract}")[1]
    body = body.split(r"\begin{thebibliography}")[0]
    # The levels of the tests and the definition of the margin are the method's own.
    for known in ("95\\,\\%", "5\\,\\%", "(1/(1+m),\\,1+m)", "torrez2019", "schuirmann1987",
                  "hoefler2015", "kalibera2013", "\\tabcolsep}{3pt}"):  # fmt: skip
        body = body.replace(known, "")
    assert not re.findall(r"\d", body)


def test_tables_have_the_names_that_the_rules_expect(make_view: MakeView, tmp_path: Path) -> None:
    view = make_view(2)
    made = [*tables.all_tables(view), published.table(view, [])]
    assert sorted(table.name for table in made) == sorted(specs.TABLE_NAMES)
    for table in made:
        assert all(len(row) == len(table.head) for row in table.rows)
        tables.write(table, tmp_path)
    assert (tmp_path / "ledger.csv").read_text().startswith("case,arm,planned,ran")


def test_published_values_stand_beside_ours(make_view: MakeView) -> None:
    values = published.load(ROOT / "config/published/values.csv", "torrez2019")
    rows = {row[0]: row for row in published.table(make_view(3), values).rows}
    spread = rows["CPU time: spread of all runs"]
    assert spread[1] == "0.4 %"
    assert float(spread[2].split()[0]) > 0


def test_a_published_value_of_unknown_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text(",".join(published.COLUMNS) + "\ns,q,b,m,mode,,1,s,p\n")
    with pytest.raises(UserError, match="line 2"):
        published.load(path, "s")


def test_the_summary_holds_plan_ledger_and_control(make_view: MakeView) -> None:
    text = summary(make_view(3, failures={(1, "sysbench.docker"): ("ran", "timeout")}))
    assert "Plan synthetic-smoke" in text
    assert "1 × timeout" in text
    assert re.search(r"A/A pair: native-b against native-a", text)
