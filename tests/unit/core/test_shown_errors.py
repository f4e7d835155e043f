"""What a terminal, a pipe or a Ctrl-C does to a command line tool: never a traceback."""

import os
import signal
import subprocess
import sys

import pytest

START = "from parity.core.errors import UserError, shown_to_the_user\nwith shown_to_the_user():\n"
MANY = "    for number in range(100_000): print(number)\n"


def _run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{START}    {body}"],
        capture_output=True,
        text=True,
        encoding="latin-1",
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_an_output_that_has_not_all_letters_still_shows_the_rest(encoding: str) -> None:
    """The plan has `…` and `→`: it ended in a UnicodeEncodeError after minutes of work."""
    done = _run("print('5 → 7 … done')", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5 ? 7 ? done\n", "")
    done = _run("raise UserError('5 → 7', action='—')", PYTHONIOENCODING=encoding)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("parity: 5 ")


def test_a_reader_that_has_read_enough_ends_it_quietly() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", START + MANY], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 128 + signal.SIGPIPE


def test_a_reader_that_is_gone_before_the_last_line_is_no_traceback_either() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [sys.executable, "-c", f"{START}    print('one line')"],
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert process.stderr
    assert process.stderr.read() == b""
    assert process.wait() == 128 + signal.SIGPIPE


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
