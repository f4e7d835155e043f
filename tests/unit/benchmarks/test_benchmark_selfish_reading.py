"""Selfish beside a reader: its command, what is read out of its line, and the reader itself."""

import os
import subprocess
from pathlib import Path

import pytest
from benchmark_help import compiled, outcome, values
from traces import trace

from parity.benchmarks.model import Parsed
from parity.benchmarks.selfish import TRACE
from parity.benchmarks.selfish_reading import BENCHMARK, READING, TALLY
from parity.core.files import as_text

LINE = "12 files, 3000000 bytes, CPU 0.250000 s, program's CPU 1.050000 s\n"
IDLE = "0 files, 0 bytes, CPU 0.001000 s, program's CPU 1.050000 s\n"


def parse(line: str, beside: str, **other) -> Parsed:
    left = {"files": {TRACE: as_text(trace([(0, 400)])), TALLY: line}} | other
    return outcome(BENCHMARK, {"beside": beside, "seconds": 1.0}, **left)


def test_what_neither_selfish_nor_the_reader_took_is_what_serving_took():
    found = values(parse(LINE, "reading", cpu_seconds=1.7))
    assert (found["read"], found["serving_cpu"]) == (3e6, pytest.approx(0.4))
    assert found["noise_share"] == pytest.approx(400e-9)
    # CPU times are told to a tick each, so there may seem to be less than nothing.
    assert values(parse(IDLE, "nothing", cpu_seconds=1.05))["serving_cpu"] == 0
    assert "serving_cpu" not in values(parse(IDLE, "nothing"))


@pytest.mark.parametrize(("line", "beside", "more", "reason"), [
    (IDLE, "reading", {}, "wrong-size"), (LINE, "nothing", {}, "wrong-size"),
    (LINE + LINE, "reading", {}, "unparsable"), (LINE[:-1], "reading", {}, "unparsable"),
    ("", "nothing", {}, "unparsable"),
    # What selfish refuses stays refused.
    (LINE, "reading", {"files": {TALLY: LINE}}, "unparsable"),
])  # fmt: skip
def test_what_is_no_line_of_this_run(line, beside, more, reason):
    parsed = parse(line, beside, **more)
    assert (parsed.reason, parsed.metrics) == (reason, ())


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("reading"), READING) / "reading"


def tally(reader, folder, script, read="") -> tuple[int, list[float]]:
    """The status of a script beside the reader, and the numbers of the line that is left."""
    cpu = str(min(os.sched_getaffinity(0)))
    line = [reader, cpu, read, folder / TALLY, "/bin/sh", "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, timeout=30)
    words = (folder / TALLY).read_text().split()
    return done.returncode, [float(words[place]) for place in (0, 2, 5, 9)]


def test_the_reader_reads_every_file_again_and_again_until_the_program_ends(reader, tmp_path):
    (tmp_path / "image/below").mkdir(parents=True)
    (tmp_path / "image/one").write_bytes(bytes(1000))
    (tmp_path / "image/below/two").write_bytes(bytes(300_000))
    status, (files, read, own, program) = tally(
        reader, tmp_path, "sleep 0.5; exit 7", tmp_path / "image"
    )
    assert status == 7 and files > 100
    # It may have been in the middle of a file, and of a round.
    assert abs(read - 301_000 * files / 2) <= 301_000
    assert own > 0.05 and program < 0.2


def test_without_a_folder_it_only_waits(reader, tmp_path):
    busy = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; kill -9 $$"
    status, (files, read, own, program) = tally(reader, tmp_path, busy)
    assert (status, files, read) == (137, 0, 0)
    assert own < 0.05 < program + 0.04


def test_the_program_keeps_its_cpus(reader, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    seen = tmp_path / "seen"
    script = f"taskset -cp $$ > {seen}; taskset -cp $PPID >> {seen}"
    words = ["taskset", "-c", str(cpus[-1]), reader, str(cpus[0]), "", tmp_path / TALLY]
    subprocess.run([*words, "/bin/sh", "-c", script], check=True)
    said = [line.rpartition(": ")[2] for line in seen.read_text().splitlines()]
    assert said == [str(cpus[-1]), str(cpus[0])]


@pytest.mark.parametrize(
    "words", [["9999", "", "t", "/bin/true"], ["0", "/none", "t", "/bin/true"]]
)
def test_other_words_are_refused_before_anything_starts(reader, tmp_path, words):
    done = subprocess.run([reader, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 120 and done.stderr.startswith("reading: ")
    assert not list(tmp_path.iterdir())
