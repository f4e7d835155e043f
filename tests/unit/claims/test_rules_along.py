"""Rules about the levels of a factor: trend, slope, rank and interaction."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import claims_data as data
import numpy as np
import pytest
from claims_data import judged, levels
from scipy import stats
from trials import case_of, trial

from parity.analysis.contrast import Engine
from parity.analysis.dataset import SAME, Place
from parity.analysis.evidence import Numbers
from parity.analysis.methods import RISING, page_trend
from parity.analysis.sequential import ONE_LOOK
from parity.claims.cells import Cell, Series
from parity.claims.rules import along as trend_rule
from parity.claims.rules.along import p_other_order, tau


def test_each_class_has_an_order_of_its_own(tmp_path: Path) -> None:
    """Of several classes the last case of each level was looked at, whichever that was."""
    values, cases = {}, []
    for size, ratios in {"B": (1.3, 1.2, 1.0), "C": (1.0, 1.2, 1.3)}.items():
        for kernel, ratio in zip(("mg", "cg", "ep"), ratios, strict=True):
            own = {"case": kernel + size, "parameters": {"kernel": kernel, "class": size}}
            cases.append(data.CASE | own)
            values |= data.quiet(kernel + size, box=ratio)
    test = data.test_of("rank", along="kernel", order=["mg", "cg", "ep"], minimum_tau=0.9)
    for order in (cases, cases[::-1]):
        found = judged(tmp_path, test, values, cases=order, kind="direction")
        assert (found.verdict, found.cells) == ("contradicted", 2)
    twice = [*cases[:3], {**cases[0], "case": "again"}]
    found = judged(tmp_path, test, values, cases=twice, kind="direction")
    assert (found.verdict, found.reason) == ("not-tested", "several cases for one level of kernel")


def test_tau_of_the_published_order_is_one() -> None:
    """Within a group any order is the published one; without groups it is Kendall's."""
    for losses, groups, expected in (
        ([3.0, 2.0, 1.0], [0, 1, 2], 1),
        ([1.0, 2.0, 3.0], [0, 1, 2], -1),
        ([1.0, 1.0, 1.0], [0, 1, 2], 0),
        ([2.0, 3.0, 1.0, 0.5], [0, 0, 1, 1], 1),
    ):
        assert tau(np.array(losses), np.array(groups)) == expected
    losses = np.random.default_rng(3).normal(size=(20, 6))
    kendall = [stats.kendalltau(row, -np.arange(6)).statistic for row in losses]
    assert tau(losses, np.arange(6)) == pytest.approx(kendall)


def test_another_binary_at_any_level_confounds_an_order(tmp_path: Path) -> None:
    """Only the level that is said to lose most was looked at."""
    values, cases = levels(1.3, 1.2, 1.1, 1.0)
    test = data.test_of("rank", along="nodes", order=[1, 2, 4, 8], minimum_tau=0.6)
    planted, analysis = data.dataset(values, cases)
    is_one = (planted.runs["case"] == "spin-4") & (planted.runs["arm"] == "box")
    other = planted.runs["closure_sha256"].where(~is_one, "d" * 64)
    planted = replace(planted, runs=planted.runs.assign(closure_sha256=other))
    found = data.row_of(tmp_path, test, (planted, analysis), kind="direction")
    assert found.verdict == "inconclusive" and found.reason.startswith("confounded")


@pytest.mark.parametrize("swapped, minimum", [(1, 0.9), (3, 0.5)])
def test_more_pairs_than_tau_allows_must_be_out_of_order(swapped, minimum) -> None:
    """Of six pairs one makes tau 0.67, two make it 0.33."""
    places, random = np.arange(4), np.random.default_rng(7)
    lost = {1: [2.0, 3.0, 1.0, 0.0], 3: [0.0, 3.0, 2.0, 1.0]}[swapped]
    table = np.array(lost) + random.normal(0, 0.05, size=(20, 4))
    # 20 blocks that all agree, for each of six pairs at most.
    assert p_other_order(table, places, minimum) <= 6 / 2**20
    assert p_other_order(np.array([[3.0, 2.0, 1.0, 0.0]]) + table * 0.1, places, minimum) == 1
    if swapped == 1:
        assert p_other_order(table, places, 2 / 3) == 1


def shared(random: np.random.Generator) -> Series:
    """Four levels in eight sessions of five blocks; a session moves the slope, of zero mean."""
    by_level: dict[int, dict[str, float]] = {level: {} for level in (1, 2, 4, 8)}
    for session in range(8):
        slope = random.normal(0, 0.02)
        for block in range(5):
            for level, values in by_level.items():
                log = slope * math.log2(level) + random.normal(0, 0.005)
                values[f"b{5 * session + block}"] = math.exp(log)
    number_of = {f"b{number}": number for number in range(40)}
    places = {
        block: Place(f"2026-05-01T{number:02}:00:00", "n", number // 5)
        for block, number in number_of.items()
    }
    dataset = SimpleNamespace(
        plan=trial(case_of()), margins={}, places=places, number_of=number_of,
        levels=lambda *_: ONE_LOOK,
    )  # fmt: skip
    numbers = {
        (f"spin-{level}", "time"): Numbers(
            "s", "lower", {"box": values, "native-a": dict.fromkeys(values, 1.0)}
        )
        for level, values in by_level.items()
    }
    rest, engine = ("time", "box", "native-a"), NothingLost(dataset, numbers)
    cells = (
        Cell(engine, "spin", f"spin-{level}", *rest, {"nodes": level}, SAME, "")
        for level in by_level
    )
    return Series("nodes", tuple(cells))


class NothingLost(Engine):
    """The engine on blocks of which nothing is known but where they ran."""

    def _losses(self, *asked):
        return ""


# Effects by the number of the block.
NUMBERED = {number: float(number) for number in range(40)}


def test_what_sessions_share_is_no_trend() -> None:
    """Blocks of one session are no independent witnesses of a slope that the session has."""
    random, studies = np.random.default_rng(21), 150
    now, before = 0, 0
    for _ in range(studies):
        one = shared(random)
        now += trend_rule.trend_of(one, RISING).verdict == "supported"
        before += page_trend(one.complete()) < 0.05
    assert before / studies > 0.15
    assert now / studies < 0.05 + 3 * math.sqrt(0.05 * 0.95 / studies)


def test_a_series_takes_the_units_of_its_cells() -> None:
    one = shared(np.random.default_rng(22))
    slopes = one.independent(NUMBERED, one.cells[0].arm)
    assert list(slopes) == [5 * session + 2 for session in range(8)]
    assert one.cells[0].effects().shape == (1, 8)


def test_blocks_of_other_arms_of_one_number_count_once() -> None:
    """Side by side each arm has its own; with three of them every slope counted three times."""
    one = shared(np.random.default_rng(22))
    seen = one.cells[0].engine.dataset
    for block, place in dict(seen.places).items():
        number, crate = int(block[1:]), f"{block}-crate"
        seen.places[block] = place._replace(session=number)
        seen.places[crate], seen.number_of[crate] = place._replace(session=100 + number), number
    for cell in one.cells:
        cell.numbers.by_arm["crate"] = {f"b{number}-crate": 1.0 for number in NUMBERED}
    assert len(one.independent(NUMBERED, "box")) == len(one.independent(NUMBERED, "crate")) == 40


def test_what_any_level_shares_counts() -> None:
    """Only the first level was asked where its blocks ran, which may be anywhere else."""
    one = shared(np.random.default_rng(22))
    apart = {
        block: place._replace(session=number)
        for number, (block, place) in enumerate(one.cells[0].engine.dataset.places.items())
    }
    engine = one.cells[0].engine
    dataset = SimpleNamespace(**vars(engine.dataset) | {"places": apart})
    first = replace(one.cells[0], engine=NothingLost(dataset, engine.by_case))
    assert len(Series("nodes", (first,)).independent(NUMBERED, first.arm)) == 40
    for cells in ((first, *one.cells[1:]), (*one.cells[1:], first)):
        assert len(Series("nodes", cells).independent(NUMBERED, first.arm)) == 8
