"""Controls: a native that differs from itself, and more work, which is a gate and never an arm."""

import re
from pathlib import Path

import numpy as np
import pytest
import synthetic
from plans import changed

from parity.analysis import outcomes
from parity.analysis.decision import ASSAY
from parity.claims import terms
from parity.claims.cells import JudgingData
from parity.claims.register import load_register
from parity.claims.verdicts import judge
from parity.report import answer, claims, formatting, texts
from parity.report.figures import specs, style
from parity.report.figures.figures import draw
from parity.report.tables import results
from parity.report.view import View

CONFIG = Path(__file__).parents[3] / "config"
# A difference said in words, of anything but the A/A pair itself.
SAID = re.compile(
    r"contradicted|\bdiffers\b(?! from itself)|costs? (?:more|less)(?: than|:)|: costs "
    r"|different beyond|dearer|cheaper"
    r"|[1-9]\d* beyond the margin|does not contain|No arm reaches",
    re.IGNORECASE,
)
PLANS = {"torrez2019": synthetic.plan, "hpcg": synthetic.hpcg_plan,
         "ladder": synthetic.ladder_plan}  # fmt: skip


def noisy(folder: Path, study: str, blocks: int, double: float = 1.0) -> View:
    """A dataset whose containers cost half as much again, and whose double costs so much."""
    plan = PLANS[study](blocks)
    of_arm = dict.fromkeys(plan.arms, 1.5) | {plan.reference: 1.0, plan.double: double}
    effects = {(case.name, arm): cost for case in plan.cases for arm, cost in of_arm.items()}
    return synthetic.view(folder / study, plan, effects=effects)


def printed(view: View) -> str:
    """All that is said of results, without published statements and the A/A pair's own numbers."""
    register = load_register(CONFIG / "claims.yaml", CONFIG / "published/claims.csv")
    found = judge(register, [JudgingData(view.dataset, view.analysis)], ()).verdicts
    found["statement"], found["published"], found["proxy"] = "A claim.", "nothing", ""
    found.loc[found["verdict"] == terms.NOT_TESTED, "reason"] = "not here."
    tables = (results.results(view), results.factorial(view), results.steps(view))
    pair = formatting.arm_title(view.plan, view.plan.double)
    rows = ["; ".join(row) for table in tables for row in table.rows if pair not in row]
    said = [
        re.sub(r"A/A pair: .*?\n\n", "", texts.summary(view), flags=re.DOTALL),
        *("; ".join(row) for row in claims.tested(found, view.dataset.name).rows),
        claims.to_text(found, width=1000),
        *rows,
    ]
    text = " ".join(" ".join(said).split()).replace("A/A pair differs", "A/A pair fails")
    return re.sub(r"The A/A pair gives [^:(]*(?:: |\()[\w ]+", "", text)


@pytest.mark.parametrize("study", list(PLANS))
@pytest.mark.parametrize("blocks", [3, 8])
def test_a_failed_control_or_few_blocks_let_no_difference_be_printed(tmp_path, study, blocks):
    """HPL in native was 0.82 of itself over three blocks, and `Contradicted` stood below."""
    text = printed(noisy(tmp_path, study, blocks, 0.82))
    assert [text[max(0, m.start() - 80) : m.end() + 40] for m in SAID.finditer(text)] == []


@pytest.mark.parametrize("study", list(PLANS))
def test_with_a_control_that_holds_the_same_differences_are_printed(tmp_path: Path, study: str):
    view = noisy(tmp_path, study, 8)
    assert SAID.search(printed(view))
    assert "differs from itself" not in texts.summary(view)


def test_where_native_differs_from_itself_the_summary_says_so(tmp_path: Path) -> None:
    said = " ".join(texts.summary(noisy(tmp_path, "hpcg", 8, 0.82)).split())
    assert re.match(r"CONTROL FAILED in HPCG[^.]*: native differs from itself, and nothing", said)


PLUS = "native-plus"
CASES = ("sysbench-libaio-linked", "sysbench-libaio-absent")


def _view(folder: Path, ratio: float) -> View:
    """A study of two cases whose positive control costs so much."""
    plan = synthetic.spack_plan("libaio", CASES, 20, {PLUS: "native"})
    more = {case: {"events": 2912} for case in CASES}
    control = {"arm": PLUS, "work_percent": 4, "parameters": more}
    titles = plan.arm_titles | {PLUS: "Native, 4 % more work"}
    plan = changed(plan, positive_control=control, arm_titles=titles)
    effects = {(case, PLUS): ratio for case in CASES}
    return synthetic.view(folder / "live/libaio-synthetic", plan, effects=effects)


def _outcomes(view: View) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for row in view.analysis.comparisons.itertuples():
        if row.planned and row.blocks:
            found.setdefault(row.arm, set()).add((row.outcome, row.reason))
    return found


def test_equivalence_needs_that_the_extra_work_was_seen(tmp_path) -> None:
    seen = _outcomes(_view(tmp_path / "seen", 1.04))
    assert seen[PLUS] == {(outcomes.DIFFERENT, "")}
    assert seen["docker"] == {(outcomes.EQUIVALENT, "")}
    blind = _outcomes(_view(tmp_path / "blind", 1.0))
    assert blind[PLUS] == blind["docker"] == {(outcomes.INCONCLUSIVE, ASSAY)}


# By a program's name: what it prints as its rate and the seconds that it takes, where there is so
# many times the work and the run scatters by so much.
PROGRAMS = {
    "measures": lambda work, scatter: (20 * scatter, work / scatter),
    "prints one number": lambda work, scatter: (20.0, work / scatter),
    "prints one number and does nothing": lambda work, scatter: (20.0, 1 / scatter),
    "makes numbers up and does nothing": lambda work, scatter: (20 * scatter, 1 / scatter),
    "says nothing of its time": lambda work, scatter: (20 * scatter, None),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_rate_says_the_same_only_where_the_extra_work_shows_in_time(program, tmp_path) -> None:
    case, random = "likwid-copy", np.random.default_rng(1)
    plan = synthetic.spack_plan("rates", (case,), 20, {PLUS: "native"})
    cases = [{"case": case, "benchmark": "likwid", "parameters": {"iterations": 100},
              "margin": 0.02, "primary": ["bandwidth"]}]  # fmt: skip
    control = {"arm": PLUS, "work_percent": 10, "parameters": {case: {"iterations": 110}}}
    plan = changed(plan, cases=cases, positive_control=control)
    rows = synthetic.records(plan)
    for run, metric in zip(rows["runs"], rows["metrics"], strict=True):
        amount = 1.1 if run["arm"] == PLUS else 1.0
        printed, run["wall_seconds"] = PROGRAMS[program](amount, random.normal(1, 0.003))
        metric["value"] = printed / amount
    seen = _outcomes(synthetic.view(tmp_path / "live/rates-synthetic", plan, rows))
    if program == "measures":
        assert seen[PLUS] == {(outcomes.DIFFERENT, "")}
        assert seen["docker"] == {(outcomes.EQUIVALENT, "")}
    else:
        assert seen["docker"] == {(outcomes.INCONCLUSIVE, ASSAY)}


def test_it_is_no_arm_of_those_that_are_counted_and_drawn_with_its_name(tmp_path) -> None:
    view = _view(tmp_path, 1.04)
    assert PLUS not in set(view.analysis.factorial["arm"])
    containers = [arm for arm in view.arms if not arm.startswith("native")]
    measured = answer.measured((view.plan, view.analysis.comparisons))
    assert len(measured) == len(CASES) * len(containers)
    figure = draw(view, next(spec for spec in specs.FIGURES if spec.name == "sysbench-libaio"))
    labels = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    assert any("4 % more work" in label for label in labels)
    looks = style.arm_styles(view.plan)
    assert looks[PLUS].marker != looks["native-a"].marker
