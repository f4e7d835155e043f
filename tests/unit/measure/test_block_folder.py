"""The documents of a block: every archived one is read, and so are their older shapes."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from plans import block_record_of, run_record_of

from parity.core.documents import canonical
from parity.core.files import read_json, write_json
from parity.measure import progress
from parity.measure.documents import BLOCK, PROGRESS, RECORD, STARTED, read_sessions
from parity.plan.plan import Block

ARCHIVE = Path(__file__).parents[3] / "results/archive"
ARCHIVED = sorted(path.name for path in ARCHIVE.iterdir())


def _without(content: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in keys}


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
    session["start"] = _without(session["start"], "version", "allocation", "other_nodes")
    session["end"] = _without(session["end"], "version", "busy_fraction")
    del session["start"]["arms"]["docker"]["recipe"]
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
    progress.begin(Block(name="b", number=1, nodes=1, runs=()), tmp_path)
    begun = read_json(tmp_path / PROGRESS.file) | {"version": 1, "not_started_reasons": {}}
    write_json(tmp_path / PROGRESS.file, begun | counts)
    assert PROGRESS.read_in(tmp_path).block == "b"
