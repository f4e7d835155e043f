"""The dashboard's file: what it holds, and that nothing in it can break out of its place."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import sample_claims
import synthetic

from parity.report.dashboard import page
from parity.report.dashboard.page import FIELDS, Content
from parity.report.formatting import ended_of
from parity.report.templating import WORDS
from parity.report.view import View


def _synthetic(folder: Path, blocks: int) -> View:
    plan = synthetic.plan(blocks)
    return synthetic.view(folder, plan, synthetic.records(plan))


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    return _synthetic(tmp_path_factory.mktemp("dataset"), blocks=4)


@pytest.fixture(scope="module")
def document(view: View) -> Content:
    return page.content([view], [sample_claims.judgement(view)], sample_claims.STUDIES)


@pytest.fixture(scope="module")
def html(document: Content) -> str:
    return page.render(document)


def _held(html: str) -> dict:
    packed = re.search(r'id="content">(.*?)</script>', html, re.DOTALL)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_page_holds_the_document_whole(html: str, document: Content) -> None:
    assert _held(html) == json.loads(msgspec.json.encode(document))


def test_no_text_can_end_the_script_that_holds_it(html: str) -> None:
    assert sample_claims.HOSTILE not in html
    assert html.count("<script") == html.count("</script>") == 2


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    assert "default-src 'none'" in html
    own = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"<(?:link|img|iframe)|\ssrc=|@import|url\(|https?://", own)


def test_every_planned_run_is_there_once_per_attempt(view: View, document: Content) -> None:
    texts = document.texts
    block, run = FIELDS.index("block"), FIELDS.index("run")
    found = [(texts[row[block]], texts[row[run]]) for row in document.archives[0].runs]
    planned = view.dataset.planned[["block", "run"]].itertuples(index=False, name=None)
    assert set(found) == set(planned)
    assert len(found) == len(view.dataset.runs)


def test_the_natives_of_every_comparison_are_those_of_the_analysis(view: View, document: Content):
    known = set(view.analysis.comparisons[["case", "metric"]].itertuples(index=False, name=None))
    assert document.archives[0].natives == {
        f"{case}/{metric}": ("native-a", "native-b") for case, metric in known
    }


def test_every_comparison_is_there_and_says_how_it_ended(view: View, document: Content) -> None:
    (archive,) = document.archives
    table = view.analysis.comparisons
    key = ["case", "metric", "arm"]
    found = {tuple(row[name] for name in key): row for row in archive.comparisons}
    assert list(found) == list(table[key].itertuples(index=False, name=None))
    more = found["startup-cold", "start_seconds", "docker"]
    less = found["sysbench", "time", "docker"]
    assert more["verdict"] == "no-margin" and more["unit"] == "s" and more["margin"] is None
    assert less["unit"] == "ratio" and less["runtime"] == "docker" and not less["is_control"]
    control = found["sysbench", "time", view.plan.double]
    assert control["is_control"] and control["runtime"] == view.plan.double
    assert {row["arm"] for row in archive.comparisons if not row["is_asked"]} == {view.plan.double}
    assert less["control_estimate"] == control["estimate"]
    # What is only reported has no planned A/A pair.
    assert found["hpcc", "single_stream_triad", "docker"]["control"] == "none"


@pytest.mark.parametrize(("answer", "word"), [
    *((word, word) for word in ("costs", "saves", "at-most", "cannot-tell", "not-tested")),
    ("reported", "no-margin"),
])  # fmt: skip
def test_an_answer_is_one_of_the_words_that_the_page_explains(view: View, answer: str, word: str):
    row = next(view.analysis.comparisons.itertuples(index=False))
    assert ended_of(row._replace(answer=answer)) == word
    assert word in {**WORDS["dashboard"]["outcomes"], **WORDS["dashboard"]["verdicts"]}


def test_a_run_without_a_record_is_there_as_not_run(tmp_path: Path) -> None:
    whole = _synthetic(tmp_path, blocks=2)
    runs = whole.dataset.runs
    gone = runs.iloc[0]
    lacking = replace(whole, dataset=replace(whole.dataset, runs=runs.iloc[1:]))
    made = page.content([lacking], [sample_claims.judgement(whole)], {})
    last = dict(zip(FIELDS, made.archives[0].runs[-1], strict=True))
    assert made.texts[last["run"]] == gone["run"]
    assert made.texts[last["reason"]] == "not-run"
    assert last["attempt"] == 0 and not last["counts"]


def test_the_same_content_gives_the_same_file(document: Content, html: str, tmp_path: Path) -> None:
    page.write(document, tmp_path / "claims" / "dashboard.html")
    assert (tmp_path / "claims" / "dashboard.html").read_text("utf-8") == html
    assert len(list((tmp_path / "claims").iterdir())) == 1


def test_what_is_put_in_as_it_stands_cannot_close_its_own_element() -> None:
    with pytest.raises(ValueError, match="</script"):
        page._inline("'</SCRIPT>'")


def test_no_wording_takes_a_difference_not_found_for_sameness() -> None:
    template = [path.read_text("utf-8") for path in page.TEMPLATE.iterdir()]
    said = json.dumps(WORDS["dashboard"]) + "".join(template)
    assert not re.search(r"significant(ly)? differ|no difference", said, re.IGNORECASE)


def test_each_outcome_and_verdict_has_a_mark_of_its_own() -> None:
    said = [*WORDS["dashboard"]["verdicts"].items(), *WORDS["dashboard"]["outcomes"].items()]
    marks = [mark for name, (mark, _) in said if name != "cannot-tell"]  # as `inconclusive`
    assert len(set(marks)) == len(marks)
