"""What is printed of a run in which native differs from itself, or that is too short."""

import re
from pathlib import Path

import pytest
import synthetic

from parity.claims import terms
from parity.claims.cells import JudgingData
from parity.claims.register import load_register
from parity.claims.verdicts import judge
from parity.report import claims, formatting, texts
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
