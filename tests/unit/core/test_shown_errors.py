"""What a terminal, a pipe or a Ctrl-C does to a command line tool: never a traceback."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from parity.core.errors import UserError, print_checks

START = "from parity.core.errors import UserError, shown_to_the_user\nwith shown_to_the_user():\n"
MANY = "    for number in range(100_000): print(number)\n"


def _run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", f"{START}    {body}"]
    options = {"capture_output": True, "text": True, "encoding": "latin-1"}
    return subprocess.run(words, **options, env=os.environ | environment, check=False)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_an_output_that_has_not_all_letters_still_shows_the_rest(encoding: str) -> None:
    """The plan has `…` and `→`: it ended in a UnicodeEncodeError after minutes of work."""
    done = _run("print('5 → 7 … done')", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5 ? 7 ? done\n", "")
    done = _run("raise UserError('5 → 7', action='—')", PYTHONIOENCODING=encoding)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("parity: 5 ")


def test_a_reader_that_has_read_enough_or_is_gone_ends_it_quietly() -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", START + MANY], **pipes)
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 128 + signal.SIGPIPE)
    # Before the last line it is no traceback either.
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", f"{START}    print('one line')"]
    process = subprocess.Popen(words, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (process.stderr.read(), process.wait()) == (b"", 128 + signal.SIGPIPE)


# What a shell starts in the background ignores Ctrl-C, and so does all that it starts.
HEARING = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def test_an_interrupt_is_said_in_one_line() -> None:
    body = "    print('here', flush=True)\n    import time; time.sleep(60)\n"
    words = [sys.executable, "-c", HEARING + START + body]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout and process.stderr
    assert process.stdout.readline() == b"here\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == b"parity: interrupted\n"
    assert process.wait() == 128 + signal.SIGINT


def test_checks_go_on_after_one_that_failed_and_all_that_failed_are_told(capsys) -> None:
    def fails(name: str) -> str:
        raise UserError(f"2 tables of {name} differ:\n  runs", where=name)

    checks = [("first", partial(fails, "first")), ("second", lambda: "equal"),
              ("third", partial(fails, "third"))]  # fmt: skip
    with pytest.raises(UserError, match="2 of 3 in the table differ") as told:
        print_checks(checks)
    assert "where:   first" in str(told.value) and "where:   third" in str(told.value)
    assert capsys.readouterr().out.splitlines() == [
        "archive  result", "first    differs: 2 tables of first differ", "second   equal",
        "third    differs: 2 tables of third differ",
    ]  # fmt: skip
