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

from parity.analysis import tables
from parity.report.dashboard import page
from parity.report.dashboard.page import FIELDS, Content
from parity.report.formatting import ended_of
from parity.report.templating import WORDS
from parity.report.view import View


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    return synthetic.view(tmp_path_factory.mktemp("dataset"), synthetic.plan(4))


@pytest.fixture(scope="module")
def document(view: View) -> Content:
    return sample_claims.content(view)


def test_the_page_holds_it_all_loads_nothing_and_no_text_breaks_out(document, tmp_path) -> None:
    html = page.render(document)
    packed = re.search(r'id="content">(.*?)</script>', html, re.DOTALL)[1]
    held = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert held == json.loads(msgspec.json.encode(document))
    assert sample_claims.HOSTILE not in html
    assert html.count("<script") == html.count("</script>") == 2
    assert "default-src 'none'" in html
    own = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"<(?:link|img|iframe)|\ssrc=|@import|url\(|https?://", own)
    with pytest.raises(ValueError, match="</script"):
        page._inline("'</SCRIPT>'")
    # The same content gives the same file.
    page.write(document, tmp_path / "claims" / "dashboard.html")
    (made,) = (tmp_path / "claims").iterdir()
    assert made.name == "dashboard.html" and made.read_text("utf-8") == html


def test_every_planned_run_is_there_once_per_attempt(view: View, document: Content) -> None:
    places = [FIELDS.index(name) for name in ("block", "run")]
    both = (document.archives[0].runs[place] for place in places)
    found = [tuple(document.texts[number] for number in run) for run in zip(*both, strict=True)]
    assert set(found) == set(tables.tuples(view.dataset.planned, "block", "run"))
    assert len(found) == len(view.dataset.runs)


def test_every_comparison_is_there_and_says_how_it_ended(view: View, document: Content) -> None:
    (archive,) = document.archives
    key, columns = ["case", "metric", "arm"], archive.comparisons
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = {tuple(row[name] for name in key): row for row in rows}
    assert list(found) == list(tables.tuples(view.analysis.comparisons, *key))
    assert archive.natives == {
        f"{case}/{metric}": ("native-a", "native-b") for case, metric, _ in found
    }
    more = found["startup-cold", "start_seconds", "docker"]
    less = found["sysbench", "time", "docker"]
    assert more["verdict"] == "no-margin" and more["unit"] == "s" and more["margin"] is None
    assert less["unit"] == "ratio" and less["runtime"] == "docker" and not less["is_control"]
    control = found["sysbench", "time", view.plan.double]
    assert control["is_control"] and control["runtime"] == view.plan.double
    assert [row["is_counted"] for row in (less, more, control)] == [True, False, False]
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
    whole = synthetic.view(tmp_path, synthetic.plan(2))
    runs = whole.dataset.runs
    gone = runs.iloc[0]
    lacking = replace(whole, dataset=replace(whole.dataset, runs=runs.iloc[1:]))
    made = page.content([lacking], [sample_claims.judgement(whole)], {})
    last = {name: of[-1] for name, of in zip(FIELDS, made.archives[0].runs, strict=True)}
    assert made.texts[last["run"]] == gone["run"]
    assert made.texts[last["reason"]] == "not-run"
    assert last["attempt"] == 0 and not last["counts"]


def test_no_wording_takes_a_difference_not_found_for_sameness_and_each_has_its_mark() -> None:
    template = [path.read_text("utf-8") for path in page.TEMPLATE.iterdir()]
    said = json.dumps(WORDS["dashboard"]) + "".join(template)
    assert not re.search(r"significant(ly)? differ|no difference", said, re.IGNORECASE)
    said = [*WORDS["dashboard"]["verdicts"].items(), *WORDS["dashboard"]["outcomes"].items()]
    marks = [mark for name, (mark, _) in said if name != "cannot-tell"]  # as `inconclusive`
    assert len(set(marks)) == len(marks)
