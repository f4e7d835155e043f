"""Each archive is an RO-Crate that its profile's validator accepts, the same bytes each time."""

import json
from pathlib import Path

import pytest
from crates import problems

from parity.records.crate import CRATE, write_crate

ARCHIVES = sorted((Path(__file__).parents[3] / "results/archive").glob("*/plan.json"))
# The project has no address of its own, which the validator would like to see.
WISHES = {
    "process-run-crate-0.5_3.2: The Application SHOULD have a url",
    "process-run-crate-0.5_5.1: The SoftwareApplication id SHOULD be an absolute URI",
    "ro-crate-1.1_31.2: The organization SHOULD have a URL.",
}


@pytest.mark.parametrize("plan", ARCHIVES, ids=lambda path: path.parent.name)
def test_an_archive_is_the_crate_that_follows_from_it(plan: Path, tmp_path: Path) -> None:
    again = tmp_path / plan.parent.name
    again.mkdir()
    for path in plan.parent.iterdir():
        if path.name != CRATE:
            (again / path.name).symlink_to(path)
    assert write_crate(again).read_bytes() == (plan.parent / CRATE).read_bytes()


# The validator takes seconds for each; the oldest form and the newest are looked at every day.
DAILY = ARCHIVES[:: len(ARCHIVES) - 1]
OTHERS = [pytest.param(path, marks=pytest.mark.long) for path in ARCHIVES[1:-1]]


@pytest.mark.parametrize("plan", [*DAILY, *OTHERS], ids=lambda path: path.parent.name)
def test_the_profile_s_validator_accepts_it(plan: Path) -> None:
    assert problems(plan.parent) == WISHES


def test_the_validator_would_notice_what_is_missing(tmp_path: Path) -> None:
    archive = ARCHIVES[0].parent
    for path in archive.iterdir():
        if path.name != CRATE:
            (tmp_path / path.name).symlink_to(path)
    document = json.loads((archive / CRATE).read_text())
    (action,) = (each for each in document["@graph"] if each["@id"] == "#measurement")
    del action["instrument"]
    (tmp_path / CRATE).write_text(json.dumps(document))
    assert problems(tmp_path) - WISHES
