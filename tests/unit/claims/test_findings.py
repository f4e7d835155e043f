"""Findings of our own: a register of the claims' form, judged as they are."""

from pathlib import Path
from typing import Any

import claims_data as data
import pytest
import yaml

from parity.claims.register import FINDINGS, load_users_claims
from parity.core.errors import UserError
from parity.report.claims import to_text

CONFIG = Path(__file__).parents[3] / "config"
COSTS_MORE = data.test_of("direction-difference", expect="costs-more", smallest_effect=0.02)
FINDING = {
    "id": "boxes", "kind": "direction", "claim": "A box costs more.",
    "mechanism": "It has to be opened.", "refuted_by": "Less than 0.02 s.",
    "scales": {"machine": "full", "cluster": "full"}, "tests": [COSTS_MORE],
}  # fmt: skip


def _register(folder: Path, finding: dict[str, Any], name: str = FINDINGS):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"claims": [finding]}))
    return load_users_claims(path)


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
