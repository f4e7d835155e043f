"""The dashboard's file: what it holds, and that nothing in it can break out of its place."""

import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import sample_claims
import synthetic

from parity.report.dashboard import content, page
from parity.report.dashboard.content import Content
from parity.report.dashboard.runs import FIELDS
from parity.report.view import View
from parity.report.wording import DASHBOARD


def _synthetic(folder: Path, blocks: int) -> View:
    plan = synthetic.plan(blocks)
    return synthetic.view(folder, plan, synthetic.records(plan))


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    return _synthetic(tmp_path_factory.mktemp("dataset"), blocks=4)


@pytest.fixture(scope="module")
def document(view: View) -> Content:
    return content.content(view, *sample_claims.tables(view), sample_claims.STUDIES)


@pytest.fixture(scope="module")
def html(document: Content) -> str:
    return page.render(document)


def _held(html: str) -> dict:
    return json.loads(re.search(r'id="content">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_holds_the_document_whole(html: str, document: Content) -> None:
    assert _held(html) == json.loads(msgspec.json.encode(document))


def test_no_text_can_end_the_script_that_holds_it(html: str) -> None:
    assert sample_claims.HOSTILE not in html
    assert html.count("<script") == html.count("</script>") == 4


def test_markup_in_the_head_is_text(document: Content) -> None:
    head = msgspec.structs.replace(document.dataset, title="<b>title</b>")
    changed = msgspec.structs.replace(document, dataset=head)
    assert "<h1>&lt;b&gt;title&lt;/b&gt;</h1>" in page.render(changed)


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    assert "default-src 'none'" in html
    own = html.replace(str(page._inline(page.get_plotlyjs())), "")
    assert not re.findall(r"<(?:link|img|iframe)|\ssrc=|@import|url\(|https?://", _without_svg(own))


def _without_svg(text: str) -> str:
    return text.replace("http://www.w3.org/2000/svg", "")


def test_every_planned_run_is_there_once_per_attempt(view: View, document: Content) -> None:
    texts = document.texts
    block, run = FIELDS.index("block"), FIELDS.index("run")
    found = [(texts[row[block]], texts[row[run]]) for row in document.runs]
    planned = view.dataset.planned[["block", "run"]].itertuples(index=False, name=None)
    assert set(found) == set(planned)
    assert len(found) == len(view.dataset.runs)


def test_the_natives_of_every_ratio_are_those_of_the_analysis(
    view: View, document: Content, tmp_path: Path
) -> None:
    # An A/A pair cannot pass in four blocks; in ten it does where little scatters.
    known = set(view.analysis.comparisons[["case", "metric"]].itertuples(index=False, name=None))
    assert document.natives == {f"{case}/{metric}": ("native-a",) for case, metric in known}
    longer = _synthetic(tmp_path, blocks=10)
    natives = content.content(longer, *sample_claims.tables(longer), {}).natives
    assert natives["sysbench/time"] == ("native-a", "native-b")
    assert natives["startup-cold/start_seconds"] == ("native-a",)


def test_a_run_without_a_record_is_there_as_not_run(tmp_path: Path) -> None:
    whole = _synthetic(tmp_path, blocks=2)
    runs = whole.dataset.runs
    gone = runs.iloc[0]
    lacking = replace(whole, dataset=replace(whole.dataset, runs=runs.iloc[1:]))
    made = content.content(lacking, *sample_claims.tables(whole), {})
    last = dict(zip(FIELDS, made.runs[-1], strict=True))
    assert made.texts[last["run"]] == gone["run"]
    assert made.texts[last["reason"]] == "not-run"
    assert last["attempt"] == 0 and not last["counts"]


def test_the_same_content_gives_the_same_file(document: Content, html: str, tmp_path: Path) -> None:
    page.write(document, tmp_path / "claims" / "dashboard.html")
    assert (tmp_path / "claims" / "dashboard.html").read_text("utf-8") == html
    assert len(list((tmp_path / "claims").iterdir())) == 1


def test_the_licence_of_the_plotting_library_comes_with_it(html: str) -> None:
    assert "Permission is hereby granted" in page.plotting_licence()
    assert "Permission is hereby granted" in html


def test_what_is_put_in_as_it_stands_cannot_close_its_own_element() -> None:
    with pytest.raises(ValueError, match="</script"):
        page._inline("'</SCRIPT>'")


def test_no_wording_takes_a_difference_not_found_for_sameness() -> None:
    template = [path.read_text("utf-8") for path in page.TEMPLATE.iterdir()]
    said = json.dumps(DASHBOARD) + "".join(template)
    assert not re.search(r"significant(ly)? differ|no difference", said, re.IGNORECASE)


def test_each_verdict_has_a_mark_of_its_own() -> None:
    marks = [mark for mark, _ in DASHBOARD["verdicts"].values()]
    assert len(set(marks)) == len(marks)
