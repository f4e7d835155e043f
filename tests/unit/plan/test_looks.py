"""Looks: their stages, their documents, and those that a study may not have."""

from pathlib import Path

import pytest
import yaml
from plans import changed
from planted_truth.in_memory import Layout
from planted_truth.study import CONTAINERS, DOUBLE, REFERENCE

from parity.core.errors import UserError
from parity.plan.looks import (
    DECIDED,
    HOPELESS,
    OUT_OF_TIME,
    REPORTED,
    Look,
    Stop,
    is_stopped,
    read_look,
    stage_of,
    write_look,
)
from parity.plan.study import load_study

STUDIES = Path(__file__).parents[3] / "config/studies"
LOOKS = (6, 9, 13)
ONE, OTHER = CONTAINERS[:2]
PLAN = Layout({"c": {}, "d": {}}, (ONE, OTHER), (0,) * 13, 0.01, looks=LOOKS).plan()
STOPS = (
    Stop("c", ONE, DECIDED, "time equivalent after 6"),
    Stop("c", OTHER, HOPELESS, "time has a chance of 0.01 to be decided by 13 blocks"),
    Stop("c", DOUBLE, HOPELESS, "no other arm of the case goes on"),
)
LOOK = Look(campaign="planted-memory", number=1, blocks=6, seen=6, stops=STOPS)


def test_blocks_up_to_a_look_are_a_stage() -> None:
    stages = [stage_of(PLAN, number) for number in range(1, 14)]
    assert stages == [0] * 6 + [1] * 3 + [2] * 4


def test_without_looks_all_blocks_are_one_stage() -> None:
    once = changed(PLAN, looks=[])
    assert {stage_of(once, number) for number in range(1, 14)} == {0}


def test_a_look_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_look(tmp_path / "1.json", LOOK)
    assert read_look(tmp_path / "1.json") == LOOK
    assert LOOK.by_run["c", OTHER].reason == HOPELESS


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (('"number": 1', '"number": "one"'), "`number`"),
        (('"version": 1', '"version": 99'), "version 99 is not known here"),
        (('"arm": ', '"leg": '), "`leg`"),
    ],
)
def test_a_broken_look_is_refused_with_its_file(tmp_path: Path, change, what: str) -> None:
    path = tmp_path / "1.json"
    write_look(path, LOOK)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(UserError) as refused:
        read_look(path)
    assert refused.value.where.startswith(str(path))
    assert what in refused.value.what or what.strip("`") in refused.value.where


def test_a_look_says_in_one_line_what_stops_and_what_goes_on() -> None:
    assert LOOK.said(PLAN) == ("Look 1, after 6 blocks, at 4: 1 decided, 1 hopeless, 2 go on, in d")
    rest = tuple(Stop("d", arm, REPORTED, "") for arm in (ONE, OTHER, DOUBLE, REFERENCE))
    last = Look(campaign="planted-memory", number=2, blocks=9, seen=9, stops=STOPS + rest)
    assert last.said(PLAN).endswith("at 4: 1 decided, 1 hopeless, 2 reported, nothing goes on")


@pytest.mark.parametrize("reason", [DECIDED, HOPELESS, REPORTED, OUT_OF_TIME])
def test_what_is_stopped_is_known_by_its_reason(reason: str) -> None:
    assert is_stopped(reason)


@pytest.mark.parametrize("reason", ["", "timeout", "not-tested", "not-run", "gate-quiet"])
def test_what_failed_is_not_stopped(reason: str) -> None:
    assert not is_stopped(reason)


def _study(folder: Path, **scale) -> Path:
    """The first study there is, with a scale of its own."""
    document = yaml.safe_load(sorted(STUDIES.glob("*.yaml"))[0].read_text())
    document["scales"]["looked"] = {**next(iter(document["scales"].values())), **scale}
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_looks_time_and_batches_of_a_scale_are_the_study_s(tmp_path: Path) -> None:
    path = _study(tmp_path, blocks=13, looks=list(LOOKS), minutes=90, blocks_per_job=3)
    study = load_study(path, "looked")
    assert (study.looks, study.minutes, study.blocks_per_job) == (LOOKS, 90, 3)
    # What the configuration says goes before it.
    assert load_study(path, "looked", minutes=30).minutes == 30


@pytest.mark.parametrize("looks", [[9, 6, 13], [6, 9], [6, 9, 14]])
def test_looks_that_do_not_lead_to_the_last_block_are_refused(tmp_path: Path, looks) -> None:
    path = _study(tmp_path, blocks=13, looks=looks)
    with pytest.raises(UserError) as refused:
        load_study(path, "looked")
    said = ", ".join(map(str, looks))
    assert refused.value.what == f"the looks {said} do not lead to the last block"
    assert refused.value.where == f"{path}: scales.looked.looks"
    assert refused.value.allowed == "ascending numbers of blocks, the last of them 13"


@pytest.mark.parametrize("looks", [[13], [4, 13], [6, 6, 13], [6.5, 13]])
def test_looks_that_are_one_or_too_early_or_twice_are_refused(tmp_path: Path, looks) -> None:
    path = _study(tmp_path, blocks=13, looks=looks)
    with pytest.raises(UserError) as refused:
        load_study(path, "looked")
    assert "scales.looked.looks" in f"{refused.value.where} {refused.value.what}"
