"""Verdicts beside those that are expected, and the table of verdicts in its forms."""

import re
from pathlib import Path
from xml.dom import minidom

import claims_data as data
import pandas as pd
import pytest

from parity.claims import terms, verdicts
from parity.core.errors import UserError
from parity.report import claims as shown

HOSTILE = 'a <b> & "c" | 50 % of x_y^z ~ \\input{#1} $'


@pytest.fixture
def judged(tmp_path: Path) -> pd.DataFrame:
    """Three claims: one supported, one open for want of an arm, one with awkward words."""
    claims = [
        data.claim(data.same(), name="first"),
        data.claim(data.same({"arms": ["barrel"]}), name="arm"),
        {k: v for k, v in data.claim(name="last").items() if k != "tests"}
        | {"not_tested": HOSTILE, "claim": HOSTILE},
    ]
    return data.verdicts(data.register(tmp_path, *claims), data.dataset(data.quiet())).verdicts


def test_what_was_accepted_is_expected(tmp_path: Path, judged: pd.DataFrame) -> None:
    path = tmp_path / "expected.csv"
    path.write_text("dataset,claim,verdict\narchive/other,first,differs\n")
    verdicts.accept(verdicts.load_expected(path), judged, path)
    known = verdicts.load_expected(path)
    assert known["archive/other", "first"] == "differs"
    assert known["live/planted-smoke", "first"] == "supported"
    assert "all 3 verdicts" in verdicts.as_expected(known, str(path), judged)
    once = path.read_text()
    verdicts.accept(known, judged, path)
    assert path.read_text() == once


def test_every_difference_is_named(judged: pd.DataFrame) -> None:
    wanted = dict(zip(judged["claim"], judged["verdict"], strict=True))
    wanted |= {"first": "contradicted", "gone": "supported"}
    del wanted["arm"]
    dataset = {("live/planted-smoke", claim): verdict for claim, verdict in wanted.items()}
    with pytest.raises(UserError, match="3 verdicts of live/planted-smoke not as expected") as told:
        verdicts.as_expected(dataset, "here", judged)
    first, gone, arm = str(told.value).splitlines()[1:4]
    assert first.startswith("  first: expected contradicted, found supported (90 % interval")
    assert gone == "  gone: expected supported, no such claim"
    assert arm.startswith("  arm: expected nothing, found not-tested")
    with pytest.raises(UserError, match="no verdicts are expected of live/planted-smoke"):
        verdicts.as_expected({("archive/x", "first"): "supported"}, "here", judged)


def test_all_forms_are_written_with_the_same_bytes(tmp_path: Path, judged: pd.DataFrame) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    files = [shown.write(judged, folder) for folder in folders]
    assert {path.suffix for path in files[0]} == {".parquet", ".csv", ".md", ".tex", ".html"}
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert len(pd.read_csv(folders[0] / "claims.csv")) == len(judged)


def written(judged: pd.DataFrame, folder: Path, form: str) -> str:
    """One of the forms in which verdicts are written."""
    shown.write(judged, folder)
    return (folder / f"claims.{form}").read_text()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_terminal_shows_what_was_tested_and_the_counts_first_and_last(judged, width) -> None:
    text = shown.to_text(judged, width)
    assert max(map(len, text.splitlines())) <= width
    said, tested = re.sub(r"\s+", " ", text), judged[judged["verdict"] != terms.NOT_TESTED]
    for row in judged.itertuples():
        assert said.count(f"({row.claim})") == (row.claim in set(tested["claim"]))
    assert re.search(
        r"supported\+ .*1.000 \[0.99\d, 1.00\d\], margin ±1 %, 30 blocks: 90.*\(first\)", said
    )
    counted = "3 claims: 1 supported, 2 not-tested."
    assert said.count(counted) == 2 and said.endswith(counted)
    assert f"{counted} Rules: 3 unregistered (+)" in said and "1 of 3 claims tested" in said
    assert "Claims of own.yaml, not published ones, by x" in shown.to_text(
        judged.assign(register="own", judged="x"), 1000
    )


def test_the_page_is_well_formed_and_nothing_breaks_out(judged: pd.DataFrame, tmp_path: Path):
    page = written(judged, tmp_path, "html")
    rows = minidom.parseString(page).getElementsByTagName("tr")
    assert len(rows) == 1 + len(judged)
    cells = [td.firstChild for td in rows[-1].getElementsByTagName("td")]
    assert cells[-2].data == HOSTILE
    assert "<b>" not in page and "script" not in page


def test_latex_and_markdown_are_escaped(judged: pd.DataFrame, tmp_path: Path) -> None:
    latex = written(judged, tmp_path, "tex")
    assert r"x\_y\textasciicircum{}z" in latex and r"\textbackslash{}input\{\#1\}" in latex
    markdown = written(judged, tmp_path, "md")
    rows = [line for line in markdown.splitlines() if line.startswith("| last")]
    assert len(rows) == 1 and len(re.findall(r"(?<!\\)\|", rows[0])) == len(shown.HEAD) + 1
    assert "<b>" not in markdown


def test_the_matrix_has_a_column_for_each_system_that_tested_any(judged: pd.DataFrame) -> None:
    nothing = judged.assign(verdict=terms.NOT_TESTED)
    made = shown.matrix({"one": judged, "idle": nothing, "two": judged})
    assert made.count(r"\rotatebox{90}{one}") == made.count(r"\rotatebox{90}{two}") == shown.PARTS
    assert "idle" not in made and all(claim in made for claim in judged["claim"])
