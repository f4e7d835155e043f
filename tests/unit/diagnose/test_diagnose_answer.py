"""Planted costs: the step at which one appears is named, and none where there is none."""

import csv
import random

import pytest

from parity.analysis.decision import WITHOUT_CONTROL, decide
from parity.core.errors import UserError
from parity.diagnose import study
from parity.diagnose.answer import Rung, answer_of, causes_of, concluded
from parity.diagnose.steps import CONTAINER, Step
from parity.diagnose.study import Line, measure, study_of
from parity.preview.terminal import LETTERS

BINDING, SPACES, MEMORY = "CPU binding", "namespaces", "size of /dev/shm"
STEPS = [BINDING, SPACES, MEMORY, CONTAINER]
MARGIN = 0.05
STEP = [Step(name, "0-1", "0") for name in STEPS[:-1]]
LADDER = [*STEP, Step("root", "ext4", "overlay", obstacle="needs root")]
SLEEP = "/bin/sleep"


def planted(*logs: float, blocks: int = 10, scatter: float = 0.01, fails=()) -> list[Rung]:
    """Rungs whose costs over native have these logarithms."""
    chance, before, rungs = random.Random(7), 0.0, []
    for title, log in zip(STEPS, logs, strict=True):
        noise = [chance.gauss(0, scatter) for _ in range(blocks)]
        own = [] if title in fails else [log + each for each in noise]
        added = [log - before + each for each in noise] if own else []
        said = "No space left on device" if title in fails else ""
        rungs.append(Rung(title, decide(own, MARGIN), decide(added, MARGIN), 0.001, said))
        before = log if own else before
    return rungs


def text(rungs, control=WITHOUT_CONTROL) -> str:
    made = answer_of(rungs, control, LADDER, MARGIN)
    assert all(len(line) <= LETTERS + 3 for line in made.splitlines())
    return " ".join(made.split())


@pytest.mark.parametrize(
    ("rungs", "causes", "said"),
    [
        (planted(0.4, 0.4, 0.4, 0.4), [BINDING], "Cause: CPU binding. The container costs 1."),
        (planted(0, 0, 0.4, 0.4), [MEMORY], "The steps reach 102 % of its logarithm."),
        (planted(0, 0, 0, 0.4), [CONTAINER], "Cause: the container itself. The container costs"),
        (planted(0, 0, 0, 0), [], "No difference within ±5 %, so there is no cause: "),
        (planted(0.3, 0.3, 0.7, 0.7), [BINDING, MEMORY], "Beside it: size of /dev/shm."),
        # A gain that another cost hides is no cause of none, and no cause of a cost.
        (planted(0.4, 0, 0, 0), [], "No difference"),
        (planted(-0.4, -0.4, 0.4, 0.4), [MEMORY], "Cause: size of /dev/shm."),
        # What grows bit by bit has no single cause.
        (planted(0.03, 0.06, 0.09, 0.12), [], "no single step changes it beyond ±5 %."),
        (planted(0, 0, 0, 0.05, scatter=0.2), [], "Undecided at ±5 %, so no cause is named: "),
        (planted(0, 0, 0, 0.7, blocks=2), [], "Undecided"),
        (planted(0, 0, 0, 0, fails=(MEMORY, CONTAINER)), [MEMORY],
         "It fails in the container; from this step on: No space left on device."),
        # A step of ours that cannot run says nothing of a container that can.
        (planted(0, 0.4, 0.4, 0.4, fails=(BINDING,)), [SPACES], "Cause: namespaces."),
    ],
)  # fmt: skip
def test_what_is_named(rungs, causes, said):
    assert causes_of(rungs) == causes
    assert said in text(rungs)


def test_natives_that_differ_allow_no_answer():
    control = decide([0.3 + number / 100 for number in range(8)], MARGIN)
    said = text(planted(0, 0, 0.4, 0.4), control)
    assert said.startswith("No answer: the native program differs from itself, 1.")
    assert "←" not in said


@pytest.fixture
def diagnosed(tmp_path):
    """What was measured of a program that sleeps, of one step and of a container; its answer."""

    def made(step, container, native=(SLEEP, "0.05"), **how):
        words = {"native-a": native, BINDING: step, CONTAINER: container}
        lines = [Line(title, line, ["/bin/true"]) for title, line in words.items()]
        dataset = measure(study_of(SLEEP, lines, 60, 1e-9, **how), tmp_path / "runs")
        return " ".join(concluded(dataset, LADDER, 0.6, tmp_path / "runs").split()), dataset

    return made


def test_a_step_that_costs_is_named_from_runs_that_were_made(diagnosed):
    said, dataset = diagnosed([SLEEP, "0.4"], [SLEEP, "0.4"])
    assert said.startswith("Cause: CPU binding. The container costs ")
    table = list(csv.DictReader(study.table_of(dataset).splitlines()))
    assert len(table) == study.fewest_blocks(2) * 4 and {row["valid"] for row in table} == {"yes"}
    arms = {"native-a", "native-b", "cpu-binding", "the-container-itself"}
    assert {row["arm"] for row in table} == arms
    assert not study.never_well(dataset)


def test_runs_that_fail_now_and_then_are_lost_and_no_equivalence_is_said(diagnosed, tmp_path):
    made = tmp_path / "made"
    script = f"echo took 1.0; echo broken >&2; echo >> {made}; exit $(($(wc -l < {made}) % 2))"
    container = ["/bin/sh", "-c", script]
    native = "/bin/echo", "took 1.0"
    said, dataset = diagnosed(["/bin/false"], container, native, pattern=r"took ([\d.]+)")
    assert said.startswith("Undecided") and "runs were lost" in said
    assert study.last_words(dataset, tmp_path / "runs", "step-2") == "broken"
    assert study.never_well(dataset) == ["step-1"]
    table = list(csv.DictReader(study.table_of(dataset).splitlines()))
    lost = [(row["arm"], row["value"]) for row in table if row["valid"] == "no"]
    assert sorted(lost) == [("cpu-binding", "")] * 7 + [("the-container-itself", "")] * 4


def test_a_program_that_tells_no_number_is_refused(diagnosed):
    with pytest.raises(UserError, match=r"program itself fails: .*0 lines match instead of one"):
        diagnosed([SLEEP, "0.05"], [SLEEP, "0.05"], pattern=r"time (\d+)")
