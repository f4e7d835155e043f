"""What the paper says about published claims follows from the verdicts, row by row."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from plans import plan_of

from parity.claims import tables
from parity.claims.published import Defect
from parity.claims.register import load_register
from parity.report.text import adjudication
from parity.report.text.paper import BANNED, refuse_banned

ROOT = Path(__file__).parents[3]
STUDIES = {
    "first2019": {"title": "A", "authors": "One, Two", "venue": "Here", "year": 2019},
    "second2021": {"title": "B", "authors": "Other", "venue": "There & then", "year": 2021},
}
DEFECTS = (
    Defect("first2019", "Table 1", "1 + 1 = 3", "2", False, "One and one are 2, not 3."),
    Defect("second2021", "II", "5 % of 20 = 1", "1", True, "It comes out."),
)


def _row(position: int, claim: str, verdict: str, **changes: Any) -> dict[str, Any]:
    return {
        "position": position,
        "register": "claims",
        "claim": claim,
        "study": "first2019",
        "kind": "equivalence",
        "statement": "Computing costs nothing_more.",
        "where": "IV-A",
        "published": "0.07 %",
        "scale": "vm",
        "capability": "full",
        "verdict": verdict,
        "reason": "all 2 cells lie within the margin",
        "estimate": 1.0034,
        "low95": 0.9971,
        "high95": 1.0102,
        "unit": "ratio",
        "margin": 0.02,
        "smallest_margin": 0.011,
        "blocks": 30,
        "cells": 2,
        "control": "equivalent",
        "p_value": 0.001,
        "p_adjusted": None,
        "proxy": "",
        "registration": "after-data",
        "fingerprint": "f",
        "plan_sha256": "p",
        "coverage": "",
        "judged": "archive/x",
        "dataset": "archive/x",
        "datasets": "archive/x",
    } | changes


def _untested(position: int, claim: str, reason: str, **changes: Any) -> dict[str, Any]:
    blank = dict.fromkeys(("estimate", "low95", "high95", "margin", "smallest_margin"))
    nothing = {"unit": "", "blocks": 0, "cells": 0, "control": "none", "p_value": None}
    return _row(position, claim, "not-tested", reason=reason, **blank | nothing | changes)


@pytest.fixture
def verdicts() -> pd.DataFrame:
    rows = [
        _row(1, "a", "supported"),
        _row(2, "b", "inconclusive", proxy="HPL for HPCG", reason="±1.1 % would pass"),
        _row(3, "c", "contradicted", registration="amended"),
        _row(4, "d", "differs", unit="MiB", estimate=-7.123, low95=-33.1, high95=18.0, margin=None,
             judged="archive/m", dataset="archive/m-x", datasets="archive/m-x; archive/m-y"),
        _untested(5, "e", "no case of hpcg"),
        _untested(6, "f", "no case of hpcg", study="second2021"),
        _untested(7, "g", "no case of hpcg", study="second2021"),
        _untested(8, "h", "needs two hosts", study="second2021", registration="unregistered"),
        _row(9, "i", "holds-in-part", study="second2021", reason="1 of 10 node counts; it passes"),
    ]  # fmt: skip
    columns = [column.name for column in tables.VERDICTS.columns]
    return pd.DataFrame(rows)[columns]


def test_what_a_verdict_says(verdicts) -> None:
    said = [adjudication.finding(row) for row in verdicts.itertuples(index=False)]
    assert said[0] == (
        "Computing costs nothing_more (IV-A; 0.07 %). Here: 1.003 [0.997, 1.010], margin "
        "±2\u2009%, n = 30, A/A pair equivalent. All 2 cells lie within the margin."
    )
    assert said[1].endswith("±1.1 % would pass. HPL for HPCG.")
    # Of several datasets that were judged together, the one that decides is named.
    assert "Here (m-x): −7.12 [−33.1, 18.0] MiB, n = 30" in said[3]


def test_every_claim_is_counted_once(verdicts) -> None:
    assert adjudication.counts(verdicts) == (
        "Of 9 claims 1 is contradicted, 1 differs, 1 is supported, 1 holds in part, "
        "1 is inconclusive and 4 were not tested."
    )
    second = verdicts[verdicts["study"] == "second2021"]
    assert adjudication.untested(second).rows == [
        ("No case of hpcg.", "f, g", "2"),
        ("Needs two hosts.", "h", "1"),
    ]
    assert adjudication.counts(second[:3]) == "None of 3 claims was tested."
    assert adjudication.counts(second[:1]) == "The one claim was not tested."


def test_rules_are_counted_by_when_they_were_fixed(verdicts) -> None:
    """One rule that nobody registered made `all rules were registered` untrue."""
    assert adjudication.registered(verdicts) == (
        "Of 9 rules 7 were registered after the data and not changed since, 1 is amended "
        "(it or its plan differs from what was first registered) and 1 was never registered."
    )
    early = verdicts.assign(registration="before-data")
    assert adjudication.registered(early) == "All 9 rules were registered before the data."
    table = adjudication.register(verdicts)
    assert [row[0] for row in table.rows] == ["a", "b", "c", "d", "i"]
    assert table.rows[2][2] == "contradicted (amended)"


def test_datasets_that_were_judged_together_are_named(verdicts) -> None:
    assert adjudication.rest_on(verdicts).endswith("these hold cells of them: m-x, m-y and x.")
    assert adjudication.rest_on(verdicts[:3]) == ""


def test_sections_hold_one_subsection_for_each_study(verdicts) -> None:
    text = adjudication.sections(verdicts, STUDIES)
    assert text.count(r"\subsection{") == 2
    assert r"Other, There \& then 2021" in text
    assert r"nothing\_more" in text
    assert r"\point{Contradicted (amended).}" in text
    first = text.index("Contradicted"), text.index("Differs"), text.index("Supported")
    assert list(first) == sorted(first)
    assert "registered after the data" in text
    assert not BANNED.search(text)


def test_the_discussion_holds_what_does_not_come_out(verdicts, tmp_path) -> None:
    adjudication.write(verdicts, STUDIES, DEFECTS, tmp_path)
    text = (tmp_path / "discussion.tex").read_text()
    assert text == r"\point{One et al. 2019.} One and one are 2, not 3 (Table 1)."
    assert (tmp_path / "defects.csv").read_text().count("\n") == 3
    assert (tmp_path / "claims-register.csv").read_text().count("\n") == 6
    for path in tmp_path.glob("*.tex"):
        refuse_banned(path)


def test_data_that_follow_no_study_of_the_register_say_nothing_of_it(verdicts, tmp_path) -> None:
    plans = [plan_of({"reproduces": said}) for said in ("none", "One: A title (2019)")]
    studies = {"first2019": {**STUDIES["first2019"], "title": "A title"}}
    assert [adjudication.follows([plan], studies) for plan in plans] == [False, True]
    adjudication.write(verdicts, {}, (), tmp_path)
    assert (tmp_path / "claims.tex").read_text() == ""
    shows = re.findall(r"shows-([a-z-]+)}{(\d)}", (tmp_path / "register.tex").read_text())
    assert shows == [("studies", "0"), ("claims-register", "0"), ("defects", "0")]


def test_our_studies_name_what_they_are_after_by_its_title() -> None:
    known = load_register(ROOT / "config/claims.yaml", ROOT / "config/published/claims.csv").studies
    for path in (ROOT / "config/studies").glob("*.yaml"):
        after = yaml.safe_load(path.read_text())["reproduces"]
        assert after == "none" or any(facts["title"] in after for facts in known.values()), path
