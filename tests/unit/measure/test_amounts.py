"""The amount of work that takes as long as it should, from what smaller and larger ones took."""

import json
import math
from collections import Counter
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark, Outputs, Parsed, Program
from parity.core.errors import UserError
from parity.core.settings import load_checked
from parity.measure.pilot import RUNS, cases_to_pilot, find_amount, next_amount
from parity.plan.plan import Case
from parity.plan.study import load_study

STUDIES = Path(__file__).parents[3] / "config/studies"

amounts, most = st.integers(1, 10**9), st.integers(1, 10**9)
seconds = st.floats(1e-9, 1e6)


@given(amounts, seconds, seconds, most)
def test_an_amount_is_a_whole_number_from_one_to_the_largest(amount, took, target, largest):
    found = next_amount(amount, took, target, largest)
    assert type(found) is int and 1 <= found <= largest
    assert found == largest or len(str(found).rstrip("0")) <= 2


@given(amounts, seconds, seconds, seconds, seconds, most)
def test_more_time_never_asks_for_less_work(amount, took, longer, target, more, largest):
    (took, longer), (target, more) = sorted((took, longer)), sorted((target, more))
    found = next_amount(amount, took, target, largest)
    assert next_amount(amount, longer, target, largest) <= found
    assert found <= next_amount(amount, took, more, largest)
    assert found <= next_amount(amount + 1, took, target, largest)


@given(st.integers(10, 10**6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_amount_takes_the_target_or_a_tenth_more(amount, took, target):
    wanted = amount * target / took
    found = next_amount(amount, took, target, 10**18)
    assert wanted <= found or math.isclose(wanted, found)
    assert found <= max(1.1 * wanted, wanted + 1) + 1e-9 * wanted


@pytest.mark.parametrize(
    ("took", "target", "found"),
    [(1.0, 0.4, 1200), (1.0, 0.001, 3), (1.0, 1e-9, 1), (2.8, 0.099, 99), (2.8, 0.1001, 110)],
)
def test_amounts_have_two_digits(took, target, found):
    assert next_amount(2800, took, target, 10**9) == found


class Timed(Benchmark):
    """Its wall clock is what it is sized by; it says that it is valid from some amount on."""

    name, title, sized_by, target_seconds = "sysbench", "Timed", "events", 0.4
    parameters = benchmarks()["sysbench"].parameters
    valid_from = 1

    def program(self, parameters, node):
        return Program((), ())

    def timed_seconds(self, outputs):
        return sum(outputs.wall_seconds)

    def read(self, outputs: Outputs) -> Parsed:
        valid = outputs.parameters["events"] >= self.valid_from
        return Parsed(valid) if valid else Parsed(valid, "too-few", "there are too few")


class Runs:
    """Runs that take `each` second for a unit and `before` it, and so much longer by turns."""

    def __init__(self, each, before=0.0, delays=(0.0,)):
        self.each, self.before, self.asked = each, before, []
        self.delays = (delay for delays in repeat(delays) for delay in delays)

    def __call__(self, benchmark, case):
        self.asked.append(case.parameters["events"])
        took = self.before + self.each * self.asked[-1] + next(self.delays)
        return Outputs(wall_seconds=(took,), parameters=case.parameters)


def sysbench(events=2800):
    return Case("sysbench", "sysbench", {"events": events}, 0.01, (), (), 60)


@pytest.mark.parametrize(("runs", "is_shared", "asked", "found"), [
    (Runs(each=0.001), False, [2800, 400], (400, 0.4, 0.4)),
    # One that is near is kept, and one that is not all in proportion takes more tries.
    (Runs(each=0.36 / 2800), False, [2800], (2800, 0.36, 0.36)),
    (Runs(each=0.001, before=0.2), False, [2800, 380, 270], (270, 0.47, 0.47)),
    # Others that disturb runs make no amount smaller; a unit of more than the target is the amount.
    (Runs(each=0.001, delays=(0.7, 0.0, 3.0)), False, [2800, 400], (400, 0.4, 0.4)),
    (Runs(each=5.0), False, [9, 1], (1, 5.0, 5.0)),
    # Beside others twice the time is wanted, and more of it taken.
    (Runs(each=0.001, delays=(0.9, 0.9, 0.9, 0.1, 0.3, 0.2)), True, [100], (100, 1.0, 1.0)),
    (Runs(each=0.001), True, [100, 800], (800, 0.8, 0.8)),
    # Where a time is not met twice, a longer one is taken in the end.
    (Runs(each=0.001, delays=[0.0] * RUNS + [0.3] * RUNS), False, [2800, 400, 230, 400],
     (400, 0.7, 0.7)),
])  # fmt: skip
def test_the_amount_that_takes_the_target_is_found(runs, is_shared, asked, found):
    made = find_amount(Timed(), sysbench(asked[0]), runs, is_shared)
    assert made == pytest.approx(found)
    assert runs.asked == [amount for amount in asked for _ in range(RUNS)]


def test_the_largest_amount_is_refused_where_it_takes_less_than_the_target():
    with pytest.raises(UserError) as raised:
        find_amount(Timed(), sysbench(), Runs(each=1e-12))
    assert "it took 0.001 s, and 0.4 s are wanted" in raised.value.what
    assert raised.value.where.endswith("events = 1000000000")
    assert "give events in the study" in raised.value.action


def test_output_that_is_not_valid_is_refused_at_the_amount_alone():
    benchmark, runs = Timed(), Runs(each=0.001)
    benchmark.valid_from = 300
    assert find_amount(benchmark, sysbench(20), Runs(each=0.001)).value == 400
    benchmark.valid_from = 500
    with pytest.raises(UserError, match="not valid: too-few, there are too few") as raised:
        find_amount(benchmark, sysbench(20), Runs(each=0.001))
    assert raised.value.where.endswith("events = 400")
    # One that tells no time is refused at once.
    benchmark.timed_seconds, benchmark.valid_from = lambda _: 0.0, 10**9
    with pytest.raises(UserError, match="not valid"):
        find_amount(benchmark, sysbench(), runs)
    assert len(runs.asked) == RUNS


@pytest.mark.parametrize(("study", "scale", "piloted"), [
    # Its machine scale gives sysbench's events; hpcc and startup have nothing to size.
    ("torrez2019", "smoke", {"sysbench": 1, "likwid": 3, "memory": 1}),
    ("torrez2019", "machine", {"likwid": 3, "memory": 1}),
    # Each scale gives them, or the benchmark runs on allocations.
    ("hpcg", "smoke", {}),
])  # fmt: skip
def test_what_the_study_gives_and_what_is_placed_is_not_piloted(study, scale, piloted):
    path = STUDIES / f"{study}.yaml"
    cases = cases_to_pilot(load_study(path, scale), load_checked(path, "study"))
    assert Counter(case.benchmark for case in cases) == piloted


def test_what_the_benchmark_s_own_entry_gives_is_not_piloted(tmp_path):
    document = load_checked(STUDIES / "torrez2019.yaml", "study")
    document["benchmarks"]["likwid"]["parameters"] = {"iterations": 7}
    document["benchmarks"]["memory"]["parameters"] = {"sample_seconds": 0.1}
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps(document))
    cases = cases_to_pilot(load_study(path, "smoke"), load_checked(path, "study"))
    assert [case.benchmark for case in cases] == ["sysbench", "memory"]


def test_no_pilot_runs_from_an_image_that_is_not_made_yet():
    """It ended with a KeyError."""
    path = STUDIES / "torrez2019.yaml"
    study = replace(load_study(path, "smoke"), reference="chroot-a")
    with pytest.raises(UserError, match="chroot-a runs from an image") as refused:
        cases_to_pilot(study, load_checked(path, "study"))
    assert "{sysbench: {events: …}}" in str(refused.value)
