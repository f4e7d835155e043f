"""What a person sees of runs while a block is measured, and what its log keeps."""

import sys

from parity.measure import progress


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
