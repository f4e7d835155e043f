"""plan.json: every archived shape is read, and what is broken is one message with file and key."""

import hashlib
import json
from pathlib import Path

import pytest
from plans import plan_of

from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.plan.plan import PLAN, PLAN_VERSION, plan_digest, read_plan, write_plan

ARCHIVE = Path(__file__).parents[3] / "results/archive"
DEEP = "[" * 100_000 + "]" * 100_000
RUNS = [{"run": "c.native-a", "case": "c", "arm": "native-a"}]
BLOCKS = [{"block": "b", "number": 1, "runs": RUNS}]
CASES = [{"case": "c", "benchmark": "c"}]
PLAN_OF_ONE_RUN = plan_of({"arms": ["native-a", "native-b"], "cases": CASES, "blocks": BLOCKS})
CONTENT = json.loads(canonical(PLAN_OF_ONE_RUN))


def _refusal(folder: Path, text: str) -> UserError:
    (folder / PLAN).write_text(text)
    with pytest.raises(UserError) as refused:
        read_plan(folder / PLAN)
    return refused.value


@pytest.mark.parametrize("text", ["[]", "{}", "null", DEEP, '{"seed": NaN}', ""])
def test_what_is_no_plan_is_one_message_with_its_file(text: str, tmp_path: Path) -> None:
    error = _refusal(tmp_path, text)
    assert error.where.startswith(str(tmp_path / PLAN)) and error.action


WRONG = {
    "seed": {"seed": "seven"},
    "blocks[0].number": {"blocks": [CONTENT["blocks"][0] | {"number": "one"}]},
    "cases[0].margin": {"cases": [CONTENT["cases"][0] | {"margin": "1 %"}]},
    "version": {"version": 1 + PLAN_VERSION},
    "blocks": {"cases": []},
}


@pytest.mark.parametrize("key", WRONG)
def test_a_plan_is_read_as_it_was_written_and_a_wrong_value_named(key, tmp_path: Path) -> None:
    write_plan(tmp_path / PLAN, PLAN_OF_ONE_RUN)
    assert read_plan(tmp_path / PLAN) == PLAN_OF_ONE_RUN
    error = _refusal(tmp_path, json.dumps(CONTENT | WRONG[key]))
    assert error.where == f"{tmp_path / PLAN}: {key}"


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
