"""The documents of a block: read as written, and in older shapes; what is broken is refused."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from plans import block_record_of, run_record_of

from parity.core.documents import Format, canonical
from parity.core.errors import UserError
from parity.core.files import write_json
from parity.measure import progress
from parity.measure.documents import BLOCK, PROGRESS, RECORD, STARTED, Started, read_sessions
from parity.plan.plan import Block

ARCHIVE = Path(__file__).parents[3] / "results/archive"
ARCHIVED = sorted(path.name for path in ARCHIVE.iterdir())
DEEP = b"[" * 100_000 + b"]" * 100_000


def _contents(folder: Path) -> dict[str, dict[str, Any]]:
    """A whole content of each document."""
    folder.mkdir()
    progress.begin(Block(name="b", number=1, nodes=1, runs=()), folder)
    started = Started(name="parity-1-1-1", arm="docker", ranks=0, started="")
    return {
        BLOCK.file: json.loads(canonical(block_record_of())),
        RECORD.file: json.loads(canonical(run_record_of())),
        STARTED.file: json.loads(canonical(started)),
        PROGRESS.file: json.loads((folder / PROGRESS.file).read_text()),
    }


# Each with a key of it that is a number.
FORMATS = [(BLOCK, "number"), (RECORD, "steal_fraction"), (STARTED, "ranks"), (PROGRESS, "seconds")]


def _refusal(folder: Path, kind: Format, content: bytes | dict[str, Any]) -> UserError:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / kind.file).write_bytes(text)
    with pytest.raises(UserError) as refused:
        kind.read_in(folder)
    return refused.value


@pytest.mark.parametrize("kind", [kind for kind, _ in FORMATS])
@pytest.mark.parametrize("text", [b"[]", b"{}", b"null", DEEP, b'{"version": NaN}', b"", b"\xff"])
def test_what_is_no_such_document_is_one_message_with_its_file(kind, text, tmp_path) -> None:
    error = _refusal(tmp_path, kind, text)
    assert error.where.startswith(str(tmp_path / kind.file)) and error.action


@pytest.mark.parametrize(("kind", "number"), FORMATS)
def test_a_wrong_key_is_named(kind: Format, number: str, tmp_path: Path) -> None:
    whole, path = _contents(tmp_path / "whole")[kind.file], tmp_path / kind.file
    for change, where, what in (
        (whole | {number: "many"}, f"{path}: {number}", ""),
        (_without(whole, number), None, f"`{number}`"),
        (whole | {"novel": 1}, None, "`novel`"),
        (whole | {"version": 99}, f"{path}: version", "version 99 is not known here"),
        (whole | {"version": [1]}, f"{path}: version", ""),
    ):
        error = _refusal(tmp_path, kind, change)
        assert where in (None, error.where) and what in error.what


def _without(content: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != key}


def test_what_is_written_is_read_and_a_part_of_a_block_named_by_its_place(tmp_path: Path) -> None:
    record, block = run_record_of(ranks=[{"node": "n"}]), block_record_of(sessions=2)
    RECORD.write_in(tmp_path, record)
    BLOCK.write_in(tmp_path, block)
    assert RECORD.read_in(tmp_path) == record and BLOCK.read_in(tmp_path) == block
    content = json.loads(canonical(block))
    content["sessions"][1]["start"]["busy_fraction"] = "idle"
    error = _refusal(tmp_path, BLOCK, content)
    assert error.where == f"{tmp_path / BLOCK.file}: sessions[1].start.busy_fraction"


@pytest.mark.parametrize("archive", ARCHIVED)
def test_every_archived_record_and_block_is_read(archive: str) -> None:
    # Those of the first two days did not count their versions yet.
    versions = (1,) if archive[-11:] < "-2026-11-22" else (3, 4)
    records = ARCHIVE / archive / "records"
    for text in pq.read_table(records / "blocks.parquet")["record"].to_pylist():
        block, content = BLOCK.parse(text, archive), json.loads(text)
        assert block.version == 3 and content["version"] in versions
        _holds(json.loads(canonical(block)), content)
    # An attempt that was interrupted left no record.
    for text in filter(None, pq.read_table(records / "raw.parquet")["record"].to_pylist()):
        record, content = RECORD.parse(text, archive), json.loads(text)
        assert record.version == 4 and content["version"] in versions
        _holds(json.loads(canonical(record)), content)


def _holds(read: Any, content: Any) -> None:
    """What was read holds all of the content as it was, but for the documents' versions."""
    if isinstance(content, dict):
        own = {"version"} if isinstance(content.get("version"), int) else set()
        for key in content.keys() - own:
            _holds(read[key], content[key])
    elif isinstance(content, list):
        assert len(read) == len(content)
        for one, other in zip(read, content, strict=True):
            _holds(one, other)
    else:
        assert read == content


def test_the_oldest_shapes_get_what_they_could_not_know() -> None:
    content = json.loads(canonical(block_record_of(start={"arms": {"docker": _ARM}})))
    (session,) = content["sessions"]
    for part, keys in (("start", ("version", "allocation", "other_nodes")), ("end", ("version",))):
        session[part] = {k: v for k, v in session[part].items() if k not in keys}
    del session["end"]["busy_fraction"], session["start"]["arms"]["docker"]["recipe"]
    block = BLOCK.parse(json.dumps(content | {"version": 1}), "here")
    start, end = block.sessions[0].start, block.sessions[0].end
    assert (start.allocation, start.other_nodes, start.arms["docker"].recipe) == ({}, (), "")
    assert end is not None and end.busy_fraction is None
    record = _without(json.loads(canonical(run_record_of())), "ranks") | {"version": 1}
    assert RECORD.parse(json.dumps(record), "here").ranks == ()


_ARM = {
    "image": None, "recipe": "", "image_gate": {"name": "image", "passed": True, "detail": ""},
    "reason": "", "detail": "", "version": "",
}  # fmt: skip


def test_an_older_session_and_an_older_start_are_read_where_a_block_is_resumed(tmp_path: Path):
    (session,) = json.loads(canonical(block_record_of()))["sessions"]
    old = {key: _without(session[key], "version") for key in ("start", "end")}
    write_json(tmp_path / "session-1-start.json", _without(old["start"], "allocation"))
    write_json(tmp_path / "session-1-end.json", _without(old["end"], "busy_fraction"))
    write_json(tmp_path / "session-10-start.json", old["start"])
    write_json(tmp_path / "session-2-start.json", old["start"])
    sessions = read_sessions(tmp_path)
    assert [each.number for each in sessions] == [1, 2, 10]
    assert [each.end is None for each in sessions] == [False, True, True]
    write_json(tmp_path / STARTED.file, {"name": "n", "arm": "docker", "started": ""})
    assert STARTED.read_in(tmp_path).ranks == 0
    counts = {"done": 1, "ok": 1, "failed": 0, "not_started": 0, "reasons": {}}
    begun = _contents(tmp_path / "whole")[PROGRESS.file] | {"version": 1, **counts}
    write_json(tmp_path / PROGRESS.file, begun | {"not_started_reasons": {}})
    assert PROGRESS.read_in(tmp_path).block == "b"
