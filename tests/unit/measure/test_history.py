"""Which runs are good, and which are settled: from the present image, a case from one session."""

from pathlib import Path

import pytest
from plans import run_record_of

from parity.measure import places
from parity.measure.documents import RECORD
from parity.measure.progress import attempts_of, case_is_settled, failures, good_record, last_reason


def _run(folder: Path, *made: tuple[str | None, int]) -> Path:
    """A run's folder with attempts of (reason, session); None as a reason is an interruption."""
    for reason, session in made:
        attempt = places.new_attempt(folder)
        if reason is not None:
            record = run_record_of(reason=reason, session=session, image_digest="sha256:1")
            RECORD.write_in(attempt, record)
    return folder


def test_neither_an_interruption_nor_what_the_block_suffers_is_a_failure(tmp_path: Path) -> None:
    attempts = attempts_of(_run(tmp_path / "run", ("timeout", 1), (None, 1), ("", 2)))
    assert [attempt and attempt.reason for attempt in attempts] == ["timeout", None, ""]
    assert failures(attempts) == 1
    for reason in ("gate-quiet", "gate-image"):
        assert failures(attempts_of(_run(tmp_path / reason, (reason, 1)))) == 0


ATTEMPTS = {
    "none": ([], None),
    "one that ended well": ([("", 1)], 1),
    "failed, then good": ([("timeout", 1), ("", 2)], 2),
    "good, then failed": ([("", 1), ("timeout", 2)], None),
    "good, then interrupted": ([("", 1), (None, 2)], None),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_run_is_good_by_its_last_attempt_alone(tmp_path: Path, name: str) -> None:
    made, session = ATTEMPTS[name]
    good = good_record(attempts_of(_run(tmp_path, *made)))
    assert (good and good.session) == session


def test_the_last_reason_tells_an_interruption_from_a_failure() -> None:
    assert last_reason([None]) == "interrupted"
    assert last_reason([run_record_of(reason="timeout")]) == "timeout"
    assert last_reason([None, run_record_of()]) == ""


CASES = {
    "all good in one session": ([[("", 1)], [("", 1)]], True),
    "one is missing": ([[("", 1)], []], False),
    "one was interrupted": ([[("", 1)], [(None, 1)]], False),
    "good in two sessions": ([[("", 1)], [("", 2)]], False),
    "one failed as often as it may": ([[("", 1)], [("timeout", 1), ("timeout", 1)]], True),
    "one may be tried again": ([[("", 1)], [("timeout", 1)]], False),
    "one was refused": ([[("", 1)], [("limit-refused", 1)]], True),
    "failed before, good at last": ([[("", 2)], [("timeout", 1), ("", 2)]], True),
    "made anew as a whole": ([[("", 1), ("", 2)], [(None, 1), ("", 2)]], True),
    "interrupted while it was made anew": ([[("", 1), (None, 2)], [("", 1)]], False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_settled(tmp_path: Path, name: str) -> None:
    runs, settled = CASES[name]
    folders = {_run(tmp_path / str(i), *made): "sha256:1" for i, made in enumerate(runs)}
    assert case_is_settled(folders, most_failures=2) is settled


def test_a_good_run_from_another_image_is_not_settled(tmp_path: Path) -> None:
    folder = _run(tmp_path, ("", 1))
    assert case_is_settled({folder: "sha256:1"}, most_failures=2)
    assert not case_is_settled({folder: "sha256:2"}, most_failures=2)
