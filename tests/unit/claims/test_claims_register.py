"""The register: what it accepts, what it refuses, and what its digest is about."""

from dataclasses import replace
from pathlib import Path

import claims_data as data
import pytest
import yaml

from parity.analysis import decision
from parity.claims import rules as rule_modules
from parity.claims.register import declared, load_register
from parity.claims.rules import rules
from parity.core.errors import UserError

EQUIVALENCE = data.same()


def test_a_claim_is_read_with_its_tests(tmp_path: Path) -> None:
    entry = data.claim(EQUIVALENCE | {"instead_of": "another program"})
    known = data.register(tmp_path, entry).claims[0]
    test = known.tests[0]
    assert (test.number, test.rule) == (1, "equivalence")
    # What may be left out has its default.
    assert test.options == {"margin_percent": 1, "of_cells": "all"}
    assert test.cells.arms == ("box",)
    assert (test.instead_of, test.waits_for) == ("another program", ())


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


def test_containers_are_all_arms_that_are_no_reference(tmp_path: Path) -> None:
    known = data.register(tmp_path, data.claim(data.same({"arms": "containers"})))
    assert known.claims[0].tests[0].cells.arms is None


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
    with pytest.raises(UserError):
        data.register(tmp_path, neither)
    with pytest.raises(UserError):
        data.register(tmp_path, data.claim(EQUIVALENCE, not_tested="too hard"))
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


def _digest(folder: Path, published: str = "", **changes) -> str:
    test = data.test_of("magnitude", published="m/r", scale="ratio")
    lines = published or "one,s,b,r,1,m,20,percent,p\none,s,b,r,1,other,1,s,p\n"
    return data.register(folder, data.claim(test, **changes), published=lines).claims[0].sha256


def test_the_digest_is_about_what_decides_and_not_about_words(tmp_path: Path) -> None:
    first = _digest(tmp_path)
    assert first == _digest(tmp_path, claim="In other words.", where="2")
    assert first != _digest(tmp_path, kind="magnitude")
    assert first != _digest(tmp_path, scales={"machine": "none", "cluster": "full"})
    assert first != _digest(tmp_path, published="one,s,b,r,1,m,21,percent,p\n")
    # A number that no test uses decides nothing.
    assert first == _digest(tmp_path, published="one,s,b,r,1,m,20,percent,p\n")


def test_what_a_test_waited_for_does_not_amend_it(tmp_path: Path) -> None:
    waiting = EQUIVALENCE | {"waits_for": ["spin"]}
    digests = [data.register(tmp_path, data.claim(test)).claims[0].sha256
               for test in (EQUIVALENCE, waiting)]  # fmt: skip
    assert digests[0] == digests[1]
    wider = EQUIVALENCE | {"cells": EQUIVALENCE["cells"] | {"levels": {"nodes": [1, 2]}}}
    assert data.register(tmp_path, data.claim(wider)).claims[0].sha256 != digests[0]


def test_a_margin_and_a_rule_s_version_are_part_of_the_digest(tmp_path: Path, monkeypatch) -> None:
    def digest(margin: float) -> str:
        return data.register(tmp_path, data.claim(data.same(margin=margin))).claims[0].sha256

    before = digest(1)
    assert before != digest(1.5)
    monkeypatch.setitem(rules(), "equivalence", replace(rules()["equivalence"], version=99))
    assert before != digest(1)


def test_the_analysis_is_part_of_the_digest(tmp_path: Path, monkeypatch) -> None:
    before = _digest(tmp_path)
    monkeypatch.setattr(decision, "VERSION", 99)
    assert before != _digest(tmp_path)


def test_every_rule_is_found_and_says_what_it_takes() -> None:
    options = Path(rule_modules.__file__).with_name("options.yaml")
    assert list(rules()) == sorted(yaml.safe_load(options.read_text())["rules"])
    for rule in rules().values():
        for schema in rule.options.values():
            assert schema.get("description") or "$ref" in schema
