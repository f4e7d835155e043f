"""Batches: the blocks of one job, their names, and what they ask for."""

import re

import pytest
from msgspec.structs import replace
from planted_truth.in_memory import Layout
from planted_truth.study import CONTAINERS

from parity.plan.looks import BESIDE_PROGRAMS_MINUTES, batches_of, job_of
from parity.plan.plan import Plan

LOOKS = (6, 9, 13)
# As in workflow/rules/common.smk.
WILDCARD = re.compile(r"[a-z0-9]+-[a-z0-9]+-(n[0-9]+-)?b[0-9]{4}(-[0-9]{4})?-[0-9a-f]{8}")


def _plan(looks=LOOKS, per_job: int = 1, nodes: tuple[int, ...] = (1,)) -> Plan:
    """A plan of 13 blocks of each node count, named as the planner does."""
    plan = Layout({"c": {}}, CONTAINERS[:1], (0,) * 13, 0.01, looks=looks).plan()
    blocks = tuple(
        replace(block, nodes=count, name=f"{_place(count, block.number)}-{7:08x}")
        for count in nodes
        for block in plan.blocks
    )
    return replace(plan, blocks=blocks, blocks_per_job=per_job)


def _place(nodes: int, number: int) -> str:
    return f"planted-memory-{f'n{nodes}-' if nodes > 1 else ''}b{number:04d}"


def test_a_block_of_its_own_has_the_batch_named_as_it() -> None:
    plan = _plan()
    batches = batches_of(plan)
    assert list(batches) == [block.name for block in plan.blocks]
    assert all(batch.name == name for name, batch in batches.items())
    assert [batch.stage for batch in batches.values()] == [0] * 6 + [1] * 3 + [2] * 4


@pytest.mark.parametrize("per_job", [1, 2, 4, 13, 50])
@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("nodes", [(1,), (1, 2)])
def test_every_block_is_in_one_batch_of_its_stage_and_node_count(looks, per_job, nodes) -> None:
    plan = _plan(looks, per_job, nodes)
    batches = batches_of(plan).values()
    assert sorted(b.name for batch in batches for b in batch.blocks) == sorted(
        block.name for block in plan.blocks
    )
    for batch in batches:
        assert 1 <= len(batch.blocks) <= per_job
        assert {block.nodes for block in batch.blocks} == {batch.nodes}
        assert {sum(look < block.number for look in looks) for block in batch.blocks} == {
            batch.stage
        }
        numbers = [block.number for block in batch.blocks]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert WILDCARD.fullmatch(batch.name)


def test_a_batch_of_several_is_named_by_the_first_and_last_and_all_names() -> None:
    first, *_ = batches_of(_plan(per_job=4))
    assert re.fullmatch(r"planted-memory-b0001-0004-[0-9a-f]{8}", first)
    plan = _plan(per_job=4)
    other = replace(plan.blocks[1], name="planted-memory-b0002-deadbeef")
    changed = replace(plan, blocks=(plan.blocks[0], other, *plan.blocks[2:]))
    assert first not in batches_of(changed)
    assert [*batches_of(changed)][1:] == [*batches_of(plan)][1:]


def test_a_stage_ends_a_batch_before_it_is_full() -> None:
    sizes = [len(batch.blocks) for batch in batches_of(_plan(per_job=4)).values()]
    assert sizes == [4, 2, 3, 4]
    assert [len(b.blocks) for b in batches_of(_plan((), 4)).values()] == [4, 4, 4, 1]


def test_a_job_asks_for_the_time_of_all_its_blocks() -> None:
    plan = replace(_plan(per_job=4, nodes=(1, 3)), attempts=2)
    asked = [job_of(plan, batch) for batch in batches_of(plan).values()]
    # Three arms of a minute at most, each of two attempts.
    assert asked[0] == {"nodes": 1, "tasks": 2, "minutes": 4 * (BESIDE_PROGRAMS_MINUTES + 3 * 2)}
    assert asked[1]["minutes"] == 2 * (BESIDE_PROGRAMS_MINUTES + 3 * 2)
    assert asked[-1]["nodes"] == asked[-1]["tasks"] == 3
