"""Which runs are settled: good from the present image, all of a case from one session."""

from pathlib import Path

import pytest

from parity.core.files import write_json
from parity.measure import storage
from parity.measure.history import case_is_settled, failures, is_good, records


def _run(folder: Path, *made: tuple[str, int]) -> Path:
    """A run's folder with attempts of (reason, session); None as a reason is an interruption."""
    for reason, session in made:
        attempt = storage.new_attempt(folder)
        if reason is not None:
            record = {"reason": reason, "session": session, "image_digest": "sha256:1"}
            write_json(attempt / storage.RECORD, record)
    return folder


def test_an_interrupted_attempt_is_no_record_and_no_failure(tmp_path: Path) -> None:
    made = records(_run(tmp_path, ("timeout", 1), (None, 1), ("", 2)))
    assert [record["reason"] for record in made] == ["timeout", ""]
    assert failures(made) == 1


@pytest.mark.parametrize("reason", ["gate-quiet", "gate-image"])
def test_what_the_block_suffers_is_not_held_against_the_run(tmp_path: Path, reason: str) -> None:
    assert failures(records(_run(tmp_path, (reason, 1)))) == 0


def test_a_run_from_another_image_is_not_good(tmp_path: Path) -> None:
    made = records(_run(tmp_path, ("", 1)))
    assert is_good(made, "sha256:1") and not is_good(made, "sha256:2")


CASES = {
    "all good in one session": ([[("", 1)], [("", 1)]], True),
    "one is missing": ([[("", 1)], []], False),
    "one was interrupted": ([[("", 1)], [(None, 1)]], False),
    "good in two sessions": ([[("", 1)], [("", 2)]], False),
    "one failed as often as it may": ([[("", 1)], [("timeout", 1), ("timeout", 1)]], True),
    "one may be tried again": ([[("", 1)], [("timeout", 1)]], False),
    "failed before, good at last": ([[("", 2)], [("timeout", 1), ("", 2)]], True),
    "made anew as a whole": ([[("", 1), ("", 2)], [(None, 1), ("", 2)]], True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_settled(tmp_path: Path, name: str) -> None:
    runs, settled = CASES[name]
    folders = {_run(tmp_path / str(i), *made): "sha256:1" for i, made in enumerate(runs)}
    assert case_is_settled(folders, attempts=2) is settled
