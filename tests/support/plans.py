"""Plans, records and blocks for tests: from as little as a test is about, changed in as little."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from planted_truth.plans import plan_of

from parity.measure.documents import BlockRecord, RunRecord
from parity.plan.plan import Plan
from parity.plan.study import Study, load_study

_RECORD = {
    "session": 1, "run": "sysbench.native-a", "case": "sysbench", "arm": "native-a",
    "parameters": {}, "reason": "", "detail": "", "exit_code": 0, "started": "",
    "starts_wall_seconds": [1.0], "wall_seconds": 1.0, "user_seconds": 1.0,
    "system_seconds": 0.0, "steal_fraction": 0.0, "load_before": 0.0,
    "commands": [["sysbench"]], "environment": {}, "environment_sha256": "", "evidence": {},
    "ranks": [], "image_digest": "", "gates": [],
}  # fmt: skip
_BLOCK = {
    "campaign": "planted-smoke", "block": "b", "number": 1, "runs": [], "sessions": [],
    "not_started": {},
}  # fmt: skip
_START = {
    "started": "2026-01-01T10:00:00.000+00:00", "system": "synthetic", "scale_label": "vm",
    "program": {"commit": "", "changed": False, "package_sha256": "", "lock_sha256": "",
                "python": ""},
    "allocation": {}, "node_name": "n", "node": {}, "busy_fraction": 0.0, "arms": {},
    "binaries": [], "other_nodes": [],
}  # fmt: skip
_END = {"ended": "2026-01-01T10:02:00.000+00:00", "busy_fraction": 0.0, "node": {}}


_STUDY = {
    "study": "mine", "title": "Mine", "reproduces": "none", "seed": 1, "reference": "native-a",
    "aa_pair": ["native-a", "native-b"], "scales": {"tiny": {"blocks": 2}},
}  # fmt: skip


def study_of(folder: Path, **content: Any) -> Study:
    """The study of a file with these keys at its first scale; a key that is None is left away."""
    document = {key: value for key, value in (_STUDY | content).items() if value is not None}
    (folder / "study.yaml").write_text(yaml.safe_dump(document))
    return load_study(folder / "study.yaml", next(iter(document["scales"])))


def changed(plan: Plan, **content: Any) -> Plan:
    """The plan with other content, given as in plan.json."""
    return plan_of(msgspec.to_builtins(plan) | content)


def run_record_of(**content: Any) -> RunRecord:
    """A record with these keys of record.json; all others are those of a good run."""
    return msgspec.convert(_RECORD | content, RunRecord)


def block_record_of(
    sessions: int = 1, start: Mapping[str, Any] | None = None, **content: Any
) -> BlockRecord:
    """A block with these keys of block.json, whose sessions all began and ended alike.

    Args:
        start: what of the sessions' start is not as usual.
    """
    made = [
        {"number": number, "start": _START | dict(start or {}), "end": _END}
        for number in range(1, sessions + 1)
    ]
    return msgspec.convert({**_BLOCK, "sessions": made, **content}, BlockRecord)
