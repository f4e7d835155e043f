"""What OSU's benchmarks and IOR print, one file for each run, as rows; and files that are none."""

import re
import shutil
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.imports import ior, osu
from parity.imports.rows import converters

GOLDEN = Path(__file__).parents[2] / "golden/imports"
READERS = {"ior": ior, "osu": osu}
LATENCY = (GOLDEN / "osu/latency.txt").read_text()
RATES = (GOLDEN / "osu/message-rate.txt").read_text()
IOR = (GOLDEN / "ior/real.txt").read_text()
MANY = "osu-multiple-bandwidth-message-rate-bytes=16"
STORED = "IOR-api=POSIX-ranks=2-transfer=1MiB-block=4MiB-access="


def numbers(form, text):
    """By case and metric: the value, its unit and its direction."""
    found = READERS[form].printed(text, "a.txt")[0]
    assert len({(row.case, row.metric) for row in found}) == len(found)
    return {(row.case, row.metric): (row.value, row.unit, row.better) for row in found}


@pytest.mark.parametrize(("file", "count", "case", "metric", "expected"), [
    ("latency", 10, "osu-latency-bytes=4096", "latency", (6.64, "us", "lower")),
    ("latency-tails", 14, "osu-latency-bytes=32", "latency", (0.23, "us", "lower")),
    ("old-latency", 24, "osu-latency-bytes=0", "latency", (0.25, "us", "lower")),
    ("bandwidth", 7, "osu-bandwidth-bytes=1024", "bandwidth", (10801.08, "MB/s", "higher")),
    ("message-rate", 20, MANY, "message_rate", (13603591.35, "1/s", "higher")),
    ("allreduce", 9, "osu-allreduce-latency-bytes=8", "latency", (0.45, "us", "lower")),
    ("barrier", 1, "osu-barrier-latency", "latency", (0.14, "us", "lower")),
    ("old-barrier", 1, "osu-barrier-latency", "latency", (0.25, "us", "lower")),
])  # fmt: skip
def test_each_size_of_message_is_a_case(file, count, case, metric, expected):
    """Golden: versions 7.4 and (`old`) 5.3, with options that add columns and without."""
    found = numbers("osu", (GOLDEN / f"osu/{file}.txt").read_text())
    assert len(found) == count and found[case, metric] == expected


def test_ior_s_repetitions_become_their_mean():
    """Golden: version 4.1, three repetitions; the summary has the mean of unrounded rates."""
    found = numbers("ior", IOR)
    assert set(found) == {(f"{STORED}single-shared-file", each) for each in ("write", "read")}
    for operation in ("write", "read"):
        summed = re.search(
            rf"^{operation}(?: +[\d.]+){{2}} +([\d.]+)", IOR.partition("Summary")[2], re.M
        )
        value, unit, better = found[f"{STORED}single-shared-file", operation]
        assert value == pytest.approx(float(summed[1]), rel=1e-4)
        assert (unit, better) == ("MiB/s", "higher")
    written = numbers("ior", (GOLDEN / "ior/write.txt").read_text())
    assert list(written) == [(f"{STORED}file-per-process", "write")]


def test_version_3_names_its_options_otherwise():
    found = numbers("ior", (GOLDEN / "ior/version-3.txt").read_text())
    case = "IOR-api=MPIIO-ranks=4-transfer=1MiB-block=16MiB-access=single-shared-file"
    assert {key: value[0] for key, value in found.items()} == {
        (case, "write"): 300.5,
        (case, "read"): 900.25,
    }


def before(text):
    """IOR's output with another text in the place of where its summary begins."""
    return IOR.replace("Summary of", text, 1)


BAD = {
    "two outputs": ("osu", LATENCY * 2, "2 outputs of the OSU micro-benchmarks"),
    "no number": ("osu", LATENCY.partition("\n8 ")[0] + "\n", "ends before its first number"),
    "cut in a word": ("osu", LATENCY[:-3], "is no line of numbers"),
    "cut in a number": ("osu", LATENCY[:-25], "the last line has no end"),
    "no end of line": ("osu", LATENCY.rstrip("\n"), "the last line has no end"),
    "a wrong message": ("osu", LATENCY.replace("Pass", "Fail", 1), "did not arrive as it was sent"),
    "no number but nan": ("osu", LATENCY.replace("0.30", "-nan", 1), "is no line of numbers"),
    "a column less": ("osu", RATES.replace("5939686.20", ""), "a line of 2 numbers"),
    "no columns": ("osu", LATENCY.replace("# Size", "Size"), "0 lines name columns"),
    "truncated": ("ior", IOR.partition("Summary of")[0], "not one whole output of IOR"),
    "two runs": ("ior", IOR * 2, "not one whole output of IOR"),
    "two tests": ("ior", before(IOR.partition("Results: ")[2]), "several tests"),
    "an error": ("ior", before("ERROR: write failed\nSummary of"), "it failed"),
    "other data": ("ior", before("WARNING: Incorrect data on read\nSummary of"), "it failed"),
    "what a failed program left": ("ior", (GOLDEN / "ior/failed.txt").read_text(), "not one whole"),
    "no result": ("ior", re.sub(r"^(?:write|read) .*\n", "", IOR, flags=re.M), "holds no result"),
}


@pytest.mark.parametrize(("form", "text", "said"), BAD.values(), ids=list(BAD))
def test_a_text_that_is_not_one_whole_run_is_one_message(form, text, said):
    with pytest.raises(UserError, match=said):
        READERS[form].printed(text, "a.txt")


def test_what_a_failed_program_left_is_none():
    assert not converters()["osu-text"].takes((GOLDEN / "osu/failed.txt").read_text())


@pytest.fixture
def texts(tmp_path):
    """Latencies of three arms in six blocks: Podman's are a tenth longer."""
    scaled = {"native-a": 100, "native-b": 100, "podman": 110}
    for block in range(6):
        for arm, factor in scaled.items():
            times = factor + (block * 7 + len(arm)) % 5 / 10

            def longer(found, by=times):
                return f"{found[1]}{float(found[2]) * by:.2f}"

            text = re.sub(r"^(\d+ +)([\d.]+)", longer, LATENCY, flags=re.M)
            (tmp_path / f"{arm}-{block}.txt").write_text(text)
    return sorted(tmp_path.glob("*.txt"))


def test_texts_of_runs_become_verdicts(texts, compared, capsys):
    table = compared(*texts, words=["--margin=2"])
    assert "180 numbers" in capsys.readouterr().out
    of_podman = table[table["arm"] == "podman"]
    assert len(of_podman) == 10 and of_podman["estimate"].between(1.09, 1.11).all()
    assert set(of_podman["blocks"]) == {6}


def _named(texts, name):
    return [texts[0].rename(texts[0].with_name(name)), *texts[1:]]


def _cut(texts):
    texts[3].write_text(re.sub(r"^4096 .*\n", "", texts[3].read_text(), flags=re.M))
    return texts


def _again(texts):
    (texts[0].parent / "again").mkdir()
    return [*texts, shutil.copy(texts[0], texts[0].parent / "again")]


@pytest.mark.parametrize(("change", "said"), [
    (lambda texts: _named(texts, "results.txt"), "does not say of which run this is"),
    (lambda texts: _named(texts, "-1.txt"), "does not say of which run this is"),
    (_cut, "osu-latency-bytes=4096 is not in this text (1 lacking), but in another"),
    (
        lambda texts: [*texts[:-1], GOLDEN / "ior/real.txt"],
        "this does not look like OSU micro-benchmarks, as native-a-0.txt does",
    ),
    (_again, "comes twice in block 0"),
    (lambda texts: [*texts, "absent-1.txt"], "there is no such file"),
    (lambda texts: texts[:1], "one arm"),
])  # fmt: skip
def test_files_that_do_not_go_together_are_one_message(texts, refused, change, said):
    assert said in refused(*change(texts))
