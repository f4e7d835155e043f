"""Planted costs: the step at which one appears is named, and none where there is none."""

import random

import pytest

from parity.diagnose.answer import WIDTH, answer_of
from parity.diagnose.steps import CONTAINER, Ladder, Setting, Step
from parity.diagnose.verdict import NATIVE, explained, verdict_of

STEPS = ["CPU binding", "namespaces", "size of /dev/shm", CONTAINER]


def planted(factors: dict[str, float], blocks: int = 10, scatter: float = 0.01):
    """Costs by arm and block, each arm's with its factor, of blocks that differ."""
    chance, found = random.Random(7), {}
    for block in range(blocks):
        whole = chance.uniform(1, 2)
        for arm in (*NATIVE, *STEPS):
            noise = chance.gauss(1, scatter)
            found.setdefault(arm, {})[block] = whole * factors.get(arm, 1.0) * noise
    return found


def text(verdict, said=None) -> str:
    steps = tuple(Step(name, "0-1", "0", Setting(None)) for name in STEPS[:-1])
    made = answer_of(verdict, Ladder(steps, ("root: ext4 → overlay",)), said or {}, 0.05)
    assert all(len(line) <= WIDTH + 3 for line in made.splitlines())
    return made


@pytest.mark.parametrize("at", range(len(STEPS)))
def test_the_step_at_which_a_cost_appears_is_named(at):
    costs = planted({name: 1.5 for name in STEPS[at:]})
    found = verdict_of(costs, STEPS, 0.05)
    assert found.causes == (STEPS[at],)
    assert text(found).startswith(f"Cause: {STEPS[at]}. The container costs 1.")
    assert explained(found) == pytest.approx(0 if at == 3 else 1, abs=0.1)


def test_without_a_difference_there_is_no_cause():
    found = verdict_of(planted({}), STEPS, 0.05)
    assert (found.outcome, found.causes) == ("equivalent", ())
    assert text(found).startswith("No difference within ±5 %, so there is no cause: ")


def test_two_causes_are_both_named_the_first_one_first():
    costs = planted({"CPU binding": 1.3, "namespaces": 1.3, STEPS[2]: 2.0, CONTAINER: 2.0})
    found = verdict_of(costs, STEPS, 0.05)
    assert found.causes == ("CPU binding", "size of /dev/shm")
    assert "Beside it: size of /dev/shm." in " ".join(text(found).split())


def test_a_gain_that_another_cost_hides_is_no_cause_of_none():
    """What the container does in the end is what is explained."""
    costs = planted({"CPU binding": 1.5})
    assert verdict_of(costs, STEPS, 0.05).causes == ()


def test_a_scatter_too_large_names_nothing():
    found = verdict_of(planted({CONTAINER: 1.05}, 8, scatter=0.2), STEPS, 0.05)
    assert (found.outcome, found.causes) == ("inconclusive", ())
    assert text(found).startswith("Undecided at ±5 %, so no cause is named: ")


def test_natives_that_differ_allow_no_answer():
    found = verdict_of(planted({"native-b": 1.4, CONTAINER: 2.0}), STEPS, 0.05)
    assert (found.outcome, found.causes) == ("control-failed", ())
    assert text(found).startswith("No answer: the native program differs from itself, 1.")


def test_a_step_in_which_every_run_fails_is_the_cause():
    costs = planted({}) | {"size of /dev/shm": {}, CONTAINER: {}}
    found = verdict_of(costs, STEPS, 0.05)
    assert found.causes[0] == "size of /dev/shm"
    said = text(found, {"size of /dev/shm": "No space left on device"})
    assert said.startswith("Cause: size of /dev/shm. It fails in the container; from this step on")


def test_a_step_of_ours_that_cannot_run_is_no_cause_where_the_container_runs():
    costs = planted({name: 1.5 for name in STEPS[2:]}) | {"CPU binding": {}}
    found = verdict_of(costs, STEPS, 0.05)
    assert found.causes == ("size of /dev/shm",)
    assert "CPU binding              fails" in text(found, {"CPU binding": "not permitted"})


def test_what_changes_a_cost_the_other_way_is_no_cause():
    costs = planted({"CPU binding": 0.7, "namespaces": 0.7, STEPS[2]: 1.5, CONTAINER: 1.5})
    assert verdict_of(costs, STEPS, 0.05).causes == ("size of /dev/shm",)


def test_one_failed_run_is_not_told_as_the_cause():
    found = verdict_of(planted({name: 1.5 for name in STEPS[1:]}), STEPS, 0.05)
    assert "Bus error" not in text(found, {"namespaces": "Bus error"})


@pytest.mark.parametrize("blocks", [1, 2])
def test_of_too_few_blocks_nothing_is_concluded(blocks):
    found = verdict_of(planted({CONTAINER: 2.0}, blocks), STEPS, 0.05)
    assert found.causes == ()
