"""harness.json: read, upgraded from the shape before there were versions, and refused."""

import json
from pathlib import Path

import msgspec
import pytest

from parity.core.errors import UserError
from parity.records.noise_audit import AUDIT, NOISE_AUDIT, NOISE_AUDIT_VERSION, read_noise_audit

ROOT = Path(__file__).parents[3]
ARCHIVED = sorted((ROOT / "results/archive").glob(f"*/{NOISE_AUDIT}"))


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: path.parent.name)
def test_an_archived_audit_is_upgraded_and_loses_nothing(path: Path, tmp_path: Path) -> None:
    audit, old = read_noise_audit(path.parent), json.loads(path.read_text())
    assert audit is not None and audit.version == NOISE_AUDIT_VERSION
    new = msgspec.to_builtins(audit)
    for name, value in new.pop("own").items():
        assert old.pop(name) == value
    for name, value in new.pop("outer").items():
        assert old.pop(f"outer_{name}") == value
    assert old.pop("pairs") == len(audit.values)
    old.setdefault("version", new["version"])
    assert json.loads(json.dumps(new)) == old
    # There need not be one.
    assert read_noise_audit(tmp_path) is None
    AUDIT.write_in(tmp_path, audit)
    assert read_noise_audit(tmp_path) == audit


@pytest.mark.parametrize(("text", "message"), [
    ("{", "not a JSON document"), ("[]", "Expected `object`"), ("{}", "missing required field"),
    ("null", "Expected `object`"), ('{"ratio": NaN}', "not a JSON document"),
    ('{"version": 3}', "version 3 is not known"),
    ('{"version": true}', "version True is not known"),
    ('{"program": 1}', "Expected `str`, got `int`"),
    ('{"more": 1}', "unknown field `more`"),
])  # fmt: skip
def test_a_broken_audit_is_one_message_with_the_file(tmp_path, text: str, message: str) -> None:
    (tmp_path / NOISE_AUDIT).write_text(text)
    with pytest.raises(UserError, match=message) as refused:
        read_noise_audit(tmp_path)
    assert NOISE_AUDIT in str(refused.value)
