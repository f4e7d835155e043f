"""Every document is read as it was written, and what is none is one message with file and key."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from broken import with_value
from plans import block_record_of, plan_of, run_record_of

from parity.core.documents import canonical, read_document, write_document
from parity.core.errors import UserError
from parity.measure import documents
from parity.plan.looks import Look, Stop, read_look
from parity.plan.plan import read_plan
from parity.plan.study import Pilot, read_pilot
from parity.records.dataset import provenance
from parity.records.noise_audit import AUDIT, NOISE_AUDIT_VERSION, read_noise_audit
from parity.software.images import ImageRecord, Images, read_images
from parity.software.native import LockOrigin, read_native, read_origin

ARCHIVE = Path(__file__).parents[3] / "results/archive"
RUNS = [{"run": "c.native-a", "case": "c", "arm": "native-a"}]
PLAN = plan_of({
    "arms": ["native-a", "native-b"], "cases": [{"case": "c", "benchmark": "c"}],
    "blocks": [{"block": "b", "number": 1, "runs": RUNS}],
})  # fmt: skip
BLOCK, RECORD = block_record_of(sessions=2), run_record_of(ranks=[{"node": "n"}])
STARTED = documents.Started(name="parity-1", arm="docker", ranks=0, started="")
PROGRESS = documents.BlockProgress(
    block="b", runs=0, started="", session_started="", updated="", seconds=0.0, seconds_before=0.0,
    runs_ended={}, runs_not_started={},
)  # fmt: skip
PILOT = Pilot(
    node="n1", cpu_model="a µ-processor", amounts={"sysbench": {"events": 1700}},
    seconds={"sysbench": 0.41}, walls={"sysbench": 0.42}, left_out={"likwid": "not installed"},
)  # fmt: skip
LOOK = Look(campaign="c", number=1, blocks=6, seen=6, stops=(Stop("c", "podman", "", ""),))
SIF = ImageRecord("sif", digest="sha256:1", parent="oci", location="/images/a.sif", bytes=3)
# By file: what reads it, a document or the archive of one, and places, the first of which it needs.
DOCUMENTS: dict[str, tuple[Any, Any, list[str]]] = {
    "block.json": (documents.BLOCK.read, BLOCK, ["number", "sessions[1].start.busy_fraction"]),
    "record.json": (documents.RECORD.read, RECORD, ["steal_fraction"]),
    "started.json": (documents.STARTED.read, STARTED, ["ranks"]),
    "progress.json": (documents.PROGRESS.read, PROGRESS, ["seconds"]),
    "plan.json": (read_plan, PLAN, ["seed", "blocks[0].number", "cases[0].margin"]),
    "look.json": (read_look, LOOK, ["blocks", "stops[0].arm"]),
    "pilot.json": (read_pilot, PILOT, ["left_out", "amounts"]),
    "provenance.json": (
        lambda path: provenance(path.parent), "slurm-2026-11-21", ["blocks", "programs[0].commit"],
    ),
    "harness.json": (AUDIT.read, "slurm-2026-11-21", ["program", "values[0].block"]),
    "images.json": (read_images, Images(version=2, formats={"sif": SIF}), ["formats"]),
    "sif.json": (partial(read_document, kind=ImageRecord), SIF, ["format", "bytes"]),
    "native.json": (read_native, "machine-hpcg-2026-11-21", ["seconds", "specs[0].hash"]),
    "lock.json": (read_origin, LockOrigin(2, "0.22.1", "r", "m", "l"), ["spack"]),
}  # fmt: skip
each = pytest.mark.parametrize("name", DOCUMENTS)


def _content(name: str) -> dict[str, Any]:
    """A whole content of a document."""
    document = DOCUMENTS[name][1]
    is_archived = isinstance(document, str)
    return json.loads(
        (ARCHIVE / document / name).read_text() if is_archived else canonical(document)
    )


def _refusal(path: Path, text: bytes) -> UserError:
    path.write_bytes(text)
    with pytest.raises(UserError) as refused:
        DOCUMENTS[path.name][0](path)
    assert refused.value.action
    return refused.value


@each
def test_a_document_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    (read, document, _), path = DOCUMENTS[name], tmp_path / name
    path.write_text(json.dumps(_content(name)))
    made = read(path)
    assert isinstance(document, str) or made == getattr(document, "formats", document)
    write_document(path, made)
    assert read(path) == made and [*tmp_path.iterdir()] == [path]


DEEP = b"[" * 100_000 + b"]" * 100_000


@each
@pytest.mark.parametrize(
    "text", [b"[]", b"null", b"", b"{", b"1e999", DEEP, b'{"version": NaN}', b"\xff"]
)
def test_what_is_no_such_document_is_one_message_with_its_file(name, text, tmp_path) -> None:
    assert _refusal(tmp_path / name, text).where.startswith(str(tmp_path / name))


@each
def test_a_wrong_key_is_named(name: str, tmp_path: Path) -> None:
    whole, path = _content(name), tmp_path / name
    for place in DOCUMENTS[name][2]:
        keys = tuple(int(key) if key.isdigit() else key for key in re.findall(r"\w+", place))
        error = _refusal(path, json.dumps(with_value(whole, keys, [[[]]])).encode())
        assert error.where == f"{path}: {place}"
    needed = DOCUMENTS[name][2][0]
    without = {key: value for key, value in whole.items() if key != needed}
    for content, said in ((without, f"`{needed}`"), (whole | {"novel": 1}, "`novel`")):
        assert said in _refusal(path, json.dumps(content).encode()).what
    for version in (99, True, [1]):
        error = _refusal(path, json.dumps(whole | {"version": version}).encode())
        assert error.where == f"{path}: version" or "field `version`" in error.what


@pytest.mark.parametrize(
    "path", sorted(ARCHIVE.glob("*/harness.json")), ids=lambda path: path.parent.name
)
def test_an_archived_audit_is_upgraded_and_loses_nothing(path: Path, tmp_path: Path) -> None:
    audit, old = read_noise_audit(path.parent), json.loads(path.read_text())
    assert audit is not None and audit.version == NOISE_AUDIT_VERSION
    new = msgspec.to_builtins(audit)
    for name, value in new.pop("own").items():
        assert old.pop(name) == value
    for name, value in new.pop("outer").items():
        assert old.pop(f"outer_{name}") == value
    assert old.pop("pairs") == len(audit.values)
    old.setdefault("version", new["version"])
    assert json.loads(json.dumps(new)) == old
    # There need not be one.
    assert read_noise_audit(tmp_path) is None
