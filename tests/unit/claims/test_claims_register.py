"""The register: what it accepts and refuses, what its digest is about, and findings of our own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import claims_data as data
import pytest
import yaml

from parity.analysis import decision
from parity.claims import rules as rule_modules
from parity.claims.register import FINDINGS, declared, load_register, load_users_claims
from parity.claims.rules import rules
from parity.core.errors import UserError
from parity.report.claims import to_text

EQUIVALENCE = data.same()


def test_names_are_held_against_what_is_declared(tmp_path: Path) -> None:
    known = declared()
    data.register(tmp_path, data.claim(EQUIVALENCE | {"waits_for": ["spin", "box"]}))
    path, published = tmp_path / "claims.yaml", tmp_path / "claims.csv"
    assert load_register(path, published, known).claims[0].tests[0].waits_for == ("spin", "box")
    for waits_for, words in (
        ([], "nothing declares spin, box"),
        (["spin", "box", "lxc"], "waits for lxc, which is there"),
    ):
        test = EQUIVALENCE | ({"waits_for": waits_for} if waits_for else {})
        data.register(tmp_path, data.claim(test))
        with pytest.raises(UserError, match=words) as caught:
            load_register(path, published, known)
        assert "claims.yaml: one: tests.1" in str(caught.value)


@pytest.mark.parametrize("test, words", [
    (data.test_of("guess"), "unknown rule: guess"),
    (data.test_of("equivalence"), "missing key: margin_percent"),
    (EQUIVALENCE | {"margin": 2}, "unknown key: margin"),
    (data.test_of("equivalence", margin_percent=-1), "less than or equal to the minimum"),
    (data.test_of("equivalence", {"arm": "box"}, margin_percent=1), "unknown key: arm"),
    (data.test_of("direction", expect="up", smallest_effect_percent=1), "not known here"),
    (data.test_of("magnitude", published="a/b", scale="ratio"), "no published number"),
    (data.test_of("equivalence", {"against": ["crate", "cask"]}, margin_percent=1), "2 arms"),
])  # fmt: skip
def test_a_wrong_test_is_refused_with_its_place(tmp_path: Path, test: dict, words: str) -> None:
    with pytest.raises(UserError) as caught:
        data.register(tmp_path, data.claim(test))
    assert words in str(caught.value)
    assert "claims.yaml: one: tests.1" in str(caught.value)


def test_a_claim_has_tests_or_a_reason(tmp_path: Path) -> None:
    neither = {key: value for key, value in data.claim().items() if key != "tests"}
    for entry in (neither, data.claim(EQUIVALENCE, not_tested="too hard")):
        with pytest.raises(UserError, match=r"(?s)claims.0.*allowed: one of tests, not_tested"):
            data.register(tmp_path, entry)
    assert data.register(tmp_path, neither | {"not_tested": "too hard"}).claims[0].tests == ()


def test_ids_and_studies_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="given twice: one"):
        data.register(tmp_path, data.claim(EQUIVALENCE), data.claim(EQUIVALENCE))
    with pytest.raises(UserError, match="unknown study other"):
        data.register(tmp_path, data.claim(EQUIVALENCE, study="other"))


@pytest.mark.parametrize(
    "lines, words",
    [("one,s,b,r,1,m,many,s,p\n", "not a number"), ("one,s,b,r,1,m,1,s,p\n" * 2, "twice")],
)
def test_published_numbers_are_checked(tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        data.register(tmp_path, data.claim(EQUIVALENCE), published=lines)


def test_the_digest_is_about_what_decides_and_not_about_words(tmp_path: Path, monkeypatch) -> None:
    used, other = "one,s,b,r,1,m,20,percent,p\n", "one,s,b,r,1,other,1,s,p\n"

    def digest(published: str = used + other, test: dict | None = None, **changes) -> str:
        asked = test or data.test_of("magnitude", published="m/r", scale="ratio")
        known = data.register(tmp_path, data.claim(asked, **changes), published=published)
        return known.claims[0].sha256

    first, same = digest(), digest(test=EQUIVALENCE)
    assert first == digest(claim="In other words.", where="2")
    assert first != digest(kind="magnitude")
    assert first != digest(scales={"machine": "none", "cluster": "full"})
    assert first != digest(used.replace("20", "21"))
    # A number that no test uses decides nothing, and neither does what a test waited for.
    assert first == digest(used)
    assert same == digest(test=EQUIVALENCE | {"waits_for": ["spin"]})
    wider = EQUIVALENCE["cells"] | {"levels": {"nodes": [1, 2]}}
    assert same != digest(test=EQUIVALENCE | {"cells": wider})
    assert same != digest(test=data.same(margin=1.5))
    monkeypatch.setitem(rules(), "equivalence", replace(rules()["equivalence"], version=99))
    assert same != digest(test=EQUIVALENCE) and first == digest()
    monkeypatch.setattr(decision, "VERSION", 99)
    assert first != digest()


def test_every_rule_is_found_and_says_what_it_takes() -> None:
    options = Path(rule_modules.__file__).with_name("options.yaml")
    assert list(rules()) == sorted(yaml.safe_load(options.read_text())["rules"])
    schemas = [schema for rule in rules().values() for schema in rule.options.values()]
    assert all(schema.get("description") or "$ref" in schema for schema in schemas)


CONFIG = Path(__file__).parents[3] / "config"
COSTS_MORE = data.test_of("direction-difference", expect="costs-more", smallest_effect=0.02)
FINDING = {
    "id": "boxes", "kind": "direction", "claim": "A box costs more.",
    "mechanism": "It has to be opened.", "refuted_by": "Less than 0.02 s.",
    "scales": {"machine": "full", "cluster": "full"}, "tests": [COSTS_MORE],
}  # fmt: skip


def _register(folder: Path, entry: dict[str, Any], name: str = FINDINGS, known=None):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"claims": [entry]}))
    return load_users_claims(path, known)


def test_a_user_s_claims_need_no_bibliography_and_bring_their_own_numbers(tmp_path: Path) -> None:
    known, cells = declared(), {"benchmark": "npb", "metric": "rate", "arms": ["lxc"]}
    test = {"rule": "magnitude", "published": "m/r", "scale": "ratio", "cells": cells}
    entry = FINDING | {"kind": "magnitude", "tests": [test]}
    with pytest.raises(UserError, match="no published number"):
        _register(tmp_path, entry, "site", known)
    (tmp_path / "site.csv").write_text(f"{data.PUBLISHED}boxes,,npb,r,1,m,10,percent,\n")
    [claim] = _register(tmp_path, entry, "site", known).claims
    assert (claim.study, claim.where, claim.published) == ("site", "", "")
    assert claim.values["m/r"].value == 10
    wrong = entry | {"tests": [test | {"cells": cells | {"metric": "speed"}}]}
    with pytest.raises(UserError, match=r"npb\.speed"):
        _register(tmp_path, wrong, "site", known)


@pytest.mark.parametrize("rule", [[], {}, None, 3])
def test_a_rule_that_is_no_text_is_refused_in_words(tmp_path: Path, rule: object) -> None:
    """`rule: []` ended in a traceback, as a list cannot be looked up."""
    with pytest.raises(UserError, match=r"not of the right type(.|\n)*tests\.1\.rule"):
        _register(tmp_path, FINDING | {"tests": [COSTS_MORE | {"rule": rule}]}, "site")


@pytest.mark.parametrize("key", ["mechanism", "refuted_by", "tests"])
def test_a_finding_says_why_it_is_so_and_what_would_refute_it(tmp_path: Path, key: str) -> None:
    bare = {name: value for name, value in FINDING.items() if name != key}
    bare |= {"not_tested": "Nobody has looked."} if key == "tests" else {}
    with pytest.raises(UserError) as caught:
        _register(tmp_path, bare)
    assert f"a finding without {key}" in str(caught.value)
    assert "findings.yaml: boxes" in str(caught.value)
    # Claims of a user need not say it.
    assert _register(tmp_path, bare, "site").claims[0].id == "boxes"


@pytest.mark.parametrize(("box", "verdict"), [(1.04, "supported"), (1.0, "contradicted")])
def test_a_planted_finding_is_judged_as_a_claim_is(tmp_path, box: float, verdict: str) -> None:
    """The second is what it says would refute it."""
    known = _register(tmp_path, FINDING)
    found = data.verdicts(known, data.dataset(data.quiet(box=box)))
    row = data.row(found, "boxes")
    assert (row.register, row.study, row.verdict) == (FINDINGS, FINDINGS, verdict)
    assert (row.mechanism, row.refuted_by) == (FINDING["mechanism"], FINDING["refuted_by"])
    said = to_text(found.verdicts, 1000)
    assert said.startswith("Findings of our own, by live/planted-smoke")
    assert "Because: It has to be opened. Refuted by: Less than 0.02 s." in said


def test_what_no_claim_may_say_no_finding_says_either() -> None:
    """A finding is of no publication, and none waits for data."""
    findings = load_users_claims(CONFIG / "findings.yaml").claims
    assert {finding.study for finding in findings} == {FINDINGS}
    assert not any(finding.where or finding.published or finding.values for finding in findings)
    assert not any(finding.needs for finding in findings)
