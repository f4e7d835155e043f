"""Looks and batches: stages and their documents, the blocks of one job, and what is refused."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from plans import study_of
from planted_truth.in_memory import Layout
from planted_truth.study import CONTAINERS, DOUBLE, REFERENCE

from parity.core.errors import UserError
from parity.plan import looks
from parity.plan.looks import DECIDED, HOPELESS, REPORTED, Look, Stop, batches_of, stage_of
from parity.plan.plan import Plan
from parity.plan.study import Study, load_study

LOOKS = (6, 9, 13)
ONE, OTHER = CONTAINERS[:2]
PLAN = Layout({"c": {}, "d": {}}, (ONE, OTHER), (0,) * 13, 0.01, looks=LOOKS).plan()
STOPS = (
    Stop("c", ONE, DECIDED, "time equivalent after 6"),
    Stop("c", OTHER, HOPELESS, "time has a chance of 0.01 to be decided by 13 blocks"),
    Stop("c", DOUBLE, HOPELESS, "no other arm of the case goes on"),
)
LOOK = Look(campaign="planted-memory", number=1, blocks=6, seen=6, stops=STOPS)
# As in workflow/rules/common.smk.
WILDCARD = re.compile(r"[a-z0-9]+-[a-z0-9]+-(n[0-9]+-)?b[0-9]{4}(-[0-9]{4})?-[0-9a-f]{8}")


def _plan(looks=LOOKS, per_job: int = 1, nodes: tuple[int, ...] = (1,)) -> Plan:
    """A plan of 13 blocks of each node count, named as the planner does."""
    plan = Layout({"c": {}}, CONTAINERS[:1], (0,) * 13, 0.01, looks=looks).plan()
    place = {count: f"n{count}-" if count > 1 else "" for count in nodes}
    blocks = tuple(
        replace(b, nodes=n, name=f"planted-memory-{place[n]}b{b.number:04d}-{7:08x}")
        for n in nodes
        for b in plan.blocks
    )
    return replace(plan, blocks=blocks, blocks_per_job=per_job)


@pytest.mark.parametrize("looks", [(), LOOKS])
def test_blocks_up_to_a_look_are_a_stage(looks) -> None:
    stages = [stage_of(replace(PLAN, looks=looks), number) for number in range(1, 14)]
    assert stages == ([0] * 6 + [1] * 3 + [2] * 4 if looks else [0] * 13)


def test_a_look_says_in_one_line_what_stops_and_what_goes_on() -> None:
    assert LOOK.said(PLAN) == "1 decided, 1 hopeless, 2 go on, in d"
    rest = tuple(Stop("d", arm, REPORTED, "") for arm in (ONE, OTHER, DOUBLE, REFERENCE))
    last = Look(campaign="planted-memory", number=2, blocks=9, seen=9, stops=STOPS + rest)
    assert last.said(PLAN) == "1 decided, 1 hopeless, 2 reported, nothing goes on"
    waits = tuple(Stop(stop.case, stop.arm, looks.WAITING, "") for stop in rest)
    late = Look(campaign="planted-memory", number=2, blocks=9, seen=9, stops=STOPS + waits)
    assert [each.is_over(PLAN) for each in (LOOK, late, last)] == [False, False, True]
    assert all(map(looks.is_stopped, (DECIDED, HOPELESS, REPORTED, looks.OUT_OF_TIME)))
    assert not any(map(looks.is_stopped, ("", "timeout", "not-tested", "not-run", "gate-quiet")))


def _study(folder: Path, **scale) -> Study:
    content = {"arms": ["native-a", "native-b"], "benchmarks": {"sysbench": {"margin_percent": 1}}}
    return study_of(folder, **content, scales={"looked": {"blocks": 13, **scale}})


def test_looks_time_and_batches_of_a_scale_are_the_study_s(tmp_path: Path) -> None:
    study = _study(tmp_path, looks=[*LOOKS], minutes=90, blocks_per_job=3)
    assert (study.looks, study.minutes, study.blocks_per_job) == (LOOKS, 90, 3)
    # What the configuration says goes before it.
    assert load_study(tmp_path / "study.yaml", "looked", minutes=30).minutes == 30


@pytest.mark.parametrize(("looks", "told"), [
    ([9, 6, 13], "9, 6, 13"), ([6, 9], "6, 9"), ([6, 9, 14], "6, 9, 14"),
    # One, too early, twice, or none of a block.
    *(([*looks], "") for looks in ((13,), (4, 13), (6, 6, 13), (6.5, 13))),
])  # fmt: skip
def test_looks_that_a_study_may_not_have_are_refused(tmp_path: Path, looks, told: str) -> None:
    with pytest.raises(UserError) as refused:
        _study(tmp_path, looks=looks)
    assert "scales.looked.looks" in f"{refused.value.where} {refused.value.what}"
    if told:
        assert refused.value.what == f"the looks {told} do not lead to the last block"
        assert refused.value.allowed == "ascending numbers of blocks, the last of them 13"


@pytest.mark.parametrize("per_job", [1, 2, 4, 13, 50])
@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("nodes", [(1,), (1, 2)])
def test_every_block_is_in_one_batch_of_its_stage_and_node_count(looks, per_job, nodes) -> None:
    plan = _plan(looks, per_job, nodes)
    batches = batches_of(plan)
    made = [block.name for batch in batches.values() for block in batch.blocks]
    assert sorted(made) == sorted(block.name for block in plan.blocks)
    for name, batch in batches.items():
        assert batch.name == name and WILDCARD.fullmatch(name)
        assert 1 <= len(batch.blocks) <= per_job
        assert per_job > 1 or name == batch.blocks[0].name
        assert {block.nodes for block in batch.blocks} == {batch.nodes}
        assert {stage_of(plan, block.number) for block in batch.blocks} == {batch.stage}
        numbers = [block.number for block in batch.blocks]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_batch_is_named_by_all_its_blocks_and_ends_with_its_stage() -> None:
    plan = _plan(per_job=4)
    first, *others = batches_of(plan)
    assert re.fullmatch(r"planted-memory-b0001-0004-[0-9a-f]{8}", first)
    other = replace(plan.blocks[1], name="planted-memory-b0002-deadbeef")
    changed = batches_of(replace(plan, blocks=(plan.blocks[0], other, *plan.blocks[2:])))
    assert first not in changed and [*changed][1:] == others
    assert [len(batch.blocks) for batch in batches_of(plan).values()] == [4, 2, 3, 4]
    assert [len(b.blocks) for b in batches_of(_plan((), 4)).values()] == [4, 4, 4, 1]


def test_a_job_asks_for_the_time_of_all_its_blocks() -> None:
    plan = replace(_plan(per_job=4, nodes=(1, 3)), attempts=2)
    asked = [looks.job_of(plan, batch) for batch in batches_of(plan).values()]
    # Three arms of a minute at most, each of two attempts.
    minutes = looks.BESIDE_PROGRAMS_MINUTES + 3 * 2
    assert asked[0] == {"nodes": 1, "tasks": 2, "minutes": 4 * minutes}
    assert asked[1]["minutes"] == 2 * minutes
    assert asked[-1]["nodes"] == asked[-1]["tasks"] == 3
