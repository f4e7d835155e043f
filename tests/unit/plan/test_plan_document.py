"""plan.json: every archived shape is read, and what of it is registered."""

import hashlib
import json
from pathlib import Path

import pytest
from plans import plan_of

from parity.core.documents import canonical
from parity.plan.plan import PLAN, PLAN_VERSION, plan_digest, read_plan

ARCHIVE = Path(__file__).parents[3] / "results/archive"
CONTENT = json.loads(canonical(plan_of({"arms": ["native-a", "native-b"]})))


SHAPES = {"machine-2026-11-20": 1, "slurm-2026-11-21": 2}
SHAPES |= {f"machine-{study}-2026-11-21": 3 for study in ("hpcg", "ladder", "libaio")}


@pytest.mark.parametrize("archive", sorted(path.name for path in ARCHIVE.iterdir()))
def test_every_archived_plan_is_read_and_keeps_its_digest(archive: str) -> None:
    path = ARCHIVE / archive / PLAN
    plan, content = read_plan(path), json.loads(path.read_text())
    assert plan.version == PLAN_VERSION
    shape = 1 + ("nodes" in content["blocks"][0]) + ("provider" in content)
    assert shape == SHAPES.get(archive, shape)
    old = {
        "looks": [], "minutes": None, "blocks_per_job": 1, "positive_control": None,
        "design": "in-turn", "shorter": [], "pairs": [],
    }  # fmt: skip
    now = {"version": PLAN_VERSION, "blocks": [{"nodes": 1} | each for each in content["blocks"]]}
    assert json.loads(canonical(plan)) == old | {"provider": "system"} | content | now
    # What is registered is the file as it is, not what is made of it; of a plan with looks without
    # its minutes.
    if content["version"] > 7 and content["looks"]:
        content["minutes"] = None
    assert plan_digest(path) == hashlib.sha256(canonical(content).encode()).hexdigest()


@pytest.mark.parametrize("looks", [[], [1]])
def test_minutes_are_registered_where_no_look_says_when_to_stop(looks, tmp_path: Path) -> None:
    digests = set()
    for minutes in (None, 9.0, 60.0):
        (tmp_path / PLAN).write_text(json.dumps(CONTENT | {"looks": looks, "minutes": minutes}))
        digests.add(plan_digest(tmp_path / PLAN))
    assert len(digests) == (1 if looks else 3)
