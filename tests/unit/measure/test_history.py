"""Which runs are good and which are settled, and what a person sees of them meanwhile."""

import sys
from pathlib import Path

import pytest
from plans import run_record_of

from parity.measure import places, progress
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


@pytest.mark.parametrize(("made", "session", "last"), [
    ([("", 1)], 1, ""), ([("timeout", 1)], None, "timeout"),
    # The last attempt alone tells.
    ([("timeout", 1), ("", 2)], 2, ""), ([("", 1), ("timeout", 2)], None, "timeout"),
    ([("", 1), (None, 2)], None, "interrupted"), ([(None, 1), ("", 2)], 2, ""),
])  # fmt: skip
def test_a_run_is_good_by_its_last_attempt_alone(tmp_path: Path, made, session, last) -> None:
    attempts = attempts_of(_run(tmp_path, *made))
    good = good_record(attempts)
    assert (good and good.session) == session and last_reason(attempts) == last
    assert good_record([]) is None


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
    assert not case_is_settled({_run(tmp_path, ("", 1)): "sha256:2"}, most_failures=2)


def test_without_a_terminal_the_log_alone_has_a_line_for_each_run(capsys) -> None:
    progress.show("b1    1/2  sysbench.native-a   0.42 s")
    progress.show("b1    2/2  sysbench.podman     timeout")
    progress.clear()
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 2


def test_on_a_terminal_each_line_takes_the_place_of_the_last(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    for end in ("0.42 s", "timeout"):
        progress.show(f"b1    1/2  sysbench.native-a   {end}")
    progress.clear()
    first, second, last = capsys.readouterr().out.split("\r\x1b[K")[1:]
    assert first.rstrip("\r") == "b1    1/2  sysbench.native-a "
    assert "\n" not in first + second and last == ""
