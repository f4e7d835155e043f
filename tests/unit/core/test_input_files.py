"""What is no file of people's: one message soon and within 300 MB, never a traceback."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parity.claims import published, registration, verdicts
from parity.core.documents import parse_json, read_text
from parity.core.errors import LONGEST_LINE, UserError
from parity.core.files import refuse_name
from parity.core.settings import MOST_VALUES, check, load_yaml, schema
from parity.plan.plan import read_plan
from parity.report.tables import published as published_values
from parity.report.templating import latex

# More than that is a hang, on any machine.
MOST_SECONDS, MOST_BYTES = 20, 300 << 20
NINE = ",".join(["*{}"] * 9)
BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{NINE.replace('{}', f'a{i - 1}')}]\n" for i in range(1, 12)
)
LOADERS = {
    "YAML": load_yaml,
    "documents": lambda path: parse_json(read_text(path), str(path)),
    "registrations": registration.load,
    "published numbers": published.load_published,
    "expected verdicts": verdicts.load_expected,
    "published values": lambda path: published_values.load(path, "s"),
}
HEADS = {
    "registrations": registration.COLUMNS, "published numbers": published.COLUMNS,
    "expected verdicts": verdicts.EXPECTED_COLUMNS, "published values": published_values.COLUMNS,
}  # fmt: skip


def _special(folder: Path) -> dict[str, Path]:
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "circle").symlink_to("circle")
    (folder / "large").write_bytes(b"a" * (1 << 24))
    (folder / "latin").write_bytes("größer".encode("latin-1"))
    return {
        "a device without end": Path("/dev/zero"), "a FIFO": folder / "fifo", "a folder": folder,
        "a link to nothing": folder / "dangling", "a link to itself": folder / "circle",
        "a large file": folder / "large", "not UTF-8": folder / "latin",
        "below a file": folder / "large/study.yaml", "a name too long": Path("a" * 5000),
        "a name with a null": Path("a\0b"),
    }  # fmt: skip


@pytest.mark.parametrize("loader", LOADERS)
def test_what_is_no_file_of_text_is_refused_in_words(tmp_path: Path, loader: str) -> None:
    for path in _special(tmp_path).values():
        with pytest.raises(UserError, match=r"cannot be read|no such file|not a JSON"):
            LOADERS[loader](path)


HOSTILE = {
    "aliases for more than memory holds": (BOMB, "aliases replaced"),
    "a list in itself": ("a: &a [*a]", "contains itself"),
    "deep": ("[" * 100_000, "nested too deep"),
    "deep keys": ("? " * 100_000, "nested too deep"),
    "many values": (f"a: [{'a,' * MOST_VALUES}]", "more than"),
    "many wrong values": (f"claims: [{'{},' * (MOST_VALUES - 9)}]", "missing key"),
    "a number of many digits": (f"seed: {'9' * 100_000}", "too long for a number"),
    "an hour of many parts": (f"seed: 1{':1' * 50_000}", "too long for a number"),
    "a number of 65 bits": (f"seed: {2**64}", "64 bits"),
    "no number": ("margin: .nan", "line 1, column 9"),
    "infinity": ("margin: -.inf", "not a finite number"),
    "a truth that is none": ("a: !!bool foo", "'foo' is no bool"),
    "a moment that is none": ("a: !!timestamp foo", "'foo' is no timestamp"),
    "a number that is none": ("a: !!int ''", "is no int"),
    "a null character": ('a: "b\\0"', "control character"),
    "half a letter": ('a: "\\ud800"', "escape"),
    "two documents": ("a: 1\n---\nb: 1", "but found another document"),
}
READ = """
import sys, time
from parity.core.errors import shown_to_the_user
from parity.core.settings import load_checked, schema
schema("claims")
began = time.process_time()
try:
    with shown_to_the_user():
        load_checked(sys.argv[1], "claims")
finally:
    print(time.process_time() - began)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_soon_and_in_little_memory(tmp_path: Path, name: str) -> None:
    text, expected_words = HOSTILE[name]
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES)),
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("parity: ") and expected_words in done.stderr
    assert float(done.stdout) < MOST_SECONDS
    assert len(max(done.stderr.splitlines(), key=len)) <= LONGEST_LINE + 1


def test_aliases_that_stand_for_little_are_read(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text("a: &a [1, 2.5, yes]\nb: *a\nc: {d: *a}\n")
    assert load_yaml(path) == {"a": [1, 2.5, True], "b": [1, 2.5, True], "c": {"d": [1, 2.5, True]}}


@pytest.mark.parametrize(("kind", "value"), [
    ("number", float("nan")), ("number", float("inf")), ("number", -float("inf")),
    ("number", 2**63), ("number", True),
    # 3.0 blocks passed, and failed where they were counted.
    ("integer", 3.0), ("integer", True), ("integer", 2**64),
])  # fmt: skip
def test_what_is_no_number_is_none_on_the_command_line_either(kind: str, value: float) -> None:
    """There, values do not come from a file of ours."""
    rules = {"number": {"type": "number"}, "integer": schema("study")["properties"]["seed"]}
    with pytest.raises(UserError, match="not of the right type"):
        check(value, rules[kind], "--config")


@pytest.mark.parametrize(("entries", "unique"), [
    (list(range(20_000)), True),
    ([{"a": [number]} for number in range(20_000)], True),
    ([1, True, "1", [1], {"1": 1}, None], True), ([1, 1.0], False),
    ([{"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}], False),
])  # fmt: skip
def test_entries_are_compared_in_one_pass(entries: list, unique: bool) -> None:
    """The library compares each with each: 6,000 exclusions took half a minute."""
    began = time.process_time()
    if unique:
        check(entries, {"uniqueItems": True}, "exclusions.yaml")
    else:
        with pytest.raises(UserError, match="non-unique"):
            check(entries, {"uniqueItems": True}, "exclusions.yaml")
    assert time.process_time() - began < MOST_SECONDS


def test_a_long_value_is_cut_in_the_message() -> None:
    rules = {"type": "object", "additionalProperties": {"type": "array", "maxItems": 3}}
    for value in ("x" * 10_000, ["x" * 50] * 1_000):
        with pytest.raises(UserError) as refused:
            check({"key": value}, rules, "study.yaml")
        assert len(str(refused.value)) < 300


ROWS = {
    "empty": ("", "the columns are not those"),
    "only a head": (None, None),
    "too few cells": ("a\n", "1 cells instead of"),
    "too many cells": (",".join("a" * 20), "20 cells instead of"),
    "a field too large": ("a" * 140_000, "field larger"),
    "a quote that is open": ('"a', "unexpected end of data"),
    "a null character": ("a\0", "control character|line contains NUL|cells instead"),
}


@pytest.mark.parametrize("loader", HEADS)
@pytest.mark.parametrize("name", ROWS)
def test_a_table_that_is_none_is_refused_in_words(tmp_path: Path, loader: str, name: str) -> None:
    text, words = ROWS[name]
    path = tmp_path / "table.csv"
    head = ",".join(HEADS[loader])
    path.write_text("" if text == "" else f"{head}\n{text or ''}")
    if words is None:
        assert not LOADERS[loader](path)
        return
    with pytest.raises(UserError, match=words):
        LOADERS[loader](path)


@pytest.mark.parametrize("number", ["nan", "inf", "1e999", "1_0", "", "½", "1e99999", "0x10", " 1"])
def test_numbers_of_tables_are_finite_and_plain(tmp_path: Path, number: str) -> None:
    rows = {
        "published numbers": f"c,s,b,r,1,m,{number},s,p",
        "published values": f"s,q,sysbench,time,spread-of-runs,,{number},s,p",
    }
    for loader, row in rows.items():
        path = tmp_path / "table.csv"
        path.write_text(f"{','.join(HEADS[loader])}\n{row}\n")
        with pytest.raises(UserError, match=r"not a number(.|\n)*line 2"):
            LOADERS[loader](path)


@pytest.mark.parametrize("time_said", ["2026-11-21T05:15:20", "yesterday", "", "2026-11-21"])
def test_a_registration_says_its_zone(tmp_path: Path, time_said: str) -> None:
    """Times with and without a zone cannot be compared; it ended in a traceback."""
    path = tmp_path / "registration.csv"
    path.write_text(f"what,sha256,registered\na,{'0' * 64},{time_said}\n")
    with pytest.raises(UserError, match="not a time with its zone"):
        registration.load(path)


def test_a_published_bar_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    for name in (published.TABLE_1, published.FIGURES):
        shutil.copy(Path(__file__).parents[3] / "config/published" / name, tmp_path)
    bars = (path := tmp_path / published.FIGURES).read_text()
    path.write_text(bars + bars.splitlines()[-1] + "\n")
    with pytest.raises(UserError, match="there twice"):
        published.published_tables(tmp_path)


def test_control_characters_do_not_reach_the_terminal_or_the_paper() -> None:
    message = str(UserError("\x1b[2J\x07 here", where="a\x9bb"))
    assert "\x1b" not in message and "\\x1b[2J\\x07 here" in message and "\\x9b" in message
    assert latex("died: \x1b[31mred\x07") == r"died: \textbackslash{}x1b[31mred\textbackslash{}x07"


@pytest.mark.parametrize("control", ["\x00", "\x1b", "\x7f", "\x9b"])
def test_a_control_character_in_an_archive_names_its_datum(tmp_path: Path, control: str) -> None:
    """LaTeX failed on it, and named a line of its own file."""
    archived = next((Path(__file__).parents[3] / "results/archive").glob("machine-*/plan.json"))
    content = json.loads(archived.read_text())
    content["arms"][1] += control
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"control character(.|\n)*plan\.json: arms\[1\]"):
        read_plan(path)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/../../x", "/x", "-x", "a b", "a\\b", "a\n", "a\0", "x" * 101]
)
def test_what_leads_out_of_a_folder_is_no_name(name: str) -> None:
    with pytest.raises(UserError, match="is no name"):
        refuse_name(name, "--name")
