"""A program of one's own through Snakemake, natively alone: added time, and one that always fails.

Needs: nothing but a node that can be measured, and neither image nor runtime.
"""

from pathlib import Path

import pytest
from clones import NATIVES, USUAL, give_study, refused, succeeded

pytestmark = pytest.mark.system
SLEEP = {"title": "Sleep", "program": ["/bin/sleep", "0.1"], "binaries": ["/bin/sleep"]}
STUDY = USUAL | {
    "study": "mine", "title": "A program of mine", "arms": [*NATIVES],
    "benchmarks": {"mine": {"margin_percent": 5, "command": SLEEP}},
    "scales": {"tiny": {"blocks": 6, "looks": [5, 6], "blocks_per_job": 6, "minutes": 0.001}},
}  # fmt: skip
SUMMARY = "results/live/mine-tiny/summary.txt"
WORDS = (SUMMARY, "--config", "study=config/studies/mine.yaml", "scale=tiny", "data=live")


@pytest.fixture(scope="module")
def study(clone: Path) -> Path:
    """A clone with the study, which waits for no idle node."""
    give_study(clone, STUDY)
    return clone


def _blocks(study: Path) -> int:
    return len([*study.glob("results/blocks/*/block.json")])


def test_more_minutes_measure_more_at_the_first_call(study: Path) -> None:
    succeeded(study, *WORDS)
    # As nothing was measured before, one block is.
    assert _blocks(study) == 1
    succeeded(study, *WORDS, "minutes=10")
    assert _blocks(study) == 6


def test_a_program_that_always_fails_ends_it_after_a_block(study: Path) -> None:
    script = "echo 'no module named x' >&2; exit 3"
    command = SLEEP | {"program": ["/bin/sh", "-c", script], "binaries": ["/bin/sh"]}
    own = {"mine": {"margin_percent": 5, "command": command}}
    content = STUDY | {"study": "vain", "benchmarks": own}
    give_study(study, content)
    before, words = _blocks(study), [word.replace("mine", "vain") for word in WORDS]
    said = refused(study, *words, "minutes=10")
    assert "nothing of this study can be compared\nSleep, " in said
    assert said.count(": exit-status: exit status 3: no module named x\n") == 2
    assert _blocks(study) == before + 1
