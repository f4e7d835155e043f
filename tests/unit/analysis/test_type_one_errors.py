"""How often wrong things are concluded where blocks are not independent, normal and complete.

Each error is that of plain Student's t, as it was used before, beside that of the analysis, at a
margin that the truth just reaches, where 5 % are promised, against one native: two that have to
agree err less often (`tools/planted_truth/comparisons.py`). A share of 400 samples has a standard
error of 1.1 % at 5 %, and of 2 % at 20 %.
"""

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from parity.analysis import decision, outcomes
from parity.analysis.contrast import Evidence
from parity.analysis.dataset import Place
from parity.analysis.estimate import student, typical
from parity.analysis.evidence import CLUSTERS, LOSSES, Numbers, objection_to_losses, sample
from parity.analysis.sequential import ONE_LOOK

REPEATED = 400
BLOCKS = 30
# Standard deviation of a block's effect, and the bound that stands for the margin.
NOISE, BOUND = 0.005, math.log1p(0.02)
ALIKE = {f"b{number:02d}": Place(f"{number:02d}", "n", 0) for number in range(BLOCKS)}
Draw = Callable[[np.random.Generator], np.ndarray]


def concluded(effects: np.ndarray, places: dict[str, Place]) -> str:
    """The outcome of the analysis at a margin of 2 %."""
    by_block = dict(zip(places, effects, strict=True))
    means = np.array([*by_block.values()])
    return Evidence([*by_block], means, *sample(by_block, places), ONE_LOOK).decided(0.02).outcome


def by_student(effects: np.ndarray) -> str:
    """The outcome of plain t intervals, which was all that counted before."""
    inner, outer = (student(effects).interval(level) for level in (0.90, 0.95))
    return decision.outcome_of(inner, outer, (-BOUND, BOUND))


def errors(draw: Draw, wrong: str, places: dict[str, Place] = ALIKE) -> tuple[float, float]:
    """Shares of samples in which plain t, and the analysis, conclude what is wrong."""
    random = np.random.default_rng(20_261_121)
    samples = [draw(random) for _ in range(REPEATED)]
    before = np.mean([by_student(effects) == wrong for effects in samples])
    return float(before), float(np.mean([concluded(each, places) == wrong for each in samples]))


def spikes(random: np.random.Generator, chance: float) -> np.ndarray:
    """Rare effects of ten deviations, in one arm only, so that the mean lies at the margin."""
    size, at = 10 * NOISE, random.random(BLOCKS) < chance
    return BOUND - chance * size + random.normal(0, NOISE, BLOCKS) + size * at


def in_a_row(
    random: np.random.Generator, correlation: float, around: float, blocks: int = BLOCKS
) -> np.ndarray:
    """Effects of which each keeps a part of the one before (AR(1))."""
    news = random.normal(0, NOISE, blocks)
    effects = [news[0]]
    for new in news[1:]:
        effects.append(correlation * effects[-1] + math.sqrt(1 - correlation**2) * new)
    return around + np.array(effects)


def shared(
    random: np.random.Generator, groups: np.ndarray, spread: float, blocks: int = BLOCKS
) -> np.ndarray:
    """Effects that lie at the margin on average, and differ between groups of blocks."""
    of_group = random.normal(0, spread * NOISE, groups.max() + 1)
    return BOUND + of_group[groups] + random.normal(0, NOISE, blocks)


def test_independent_normal_blocks_keep_what_was_promised() -> None:
    independent = partial(in_a_row, correlation=0.0, around=BOUND)
    before, now = errors(independent, outcomes.EQUIVALENT)
    assert 0.02 < before < 0.08 and 0.005 < now < 0.06


@pytest.mark.parametrize("chance", [0.1, 0.2])
def test_spikes_in_one_arm(chance: float) -> None:
    """10 and 8 % before; the mean has to lie within now, too, where a spike is seen."""
    before, now = errors(partial(spikes, chance=chance), outcomes.EQUIVALENT)
    assert before > 0.07 and now < 0.07


def test_spikes_that_no_block_shows_are_not_controlled() -> None:
    """Of 30 blocks, spikes in one of 20 runs all go unseen in a fifth of the samples."""
    _, now = errors(partial(spikes, chance=0.05), outcomes.EQUIVALENT)
    assert 0.10 < now < 0.22


@pytest.mark.parametrize("blocks", [20, 30])
def test_serial_correlation(blocks: int) -> None:
    """An AR(1) of 0.2 made 5 % into 10: the interval missed twice as often."""
    random = np.random.default_rng(3)
    samples = [in_a_row(random, 0.2, 0.0, blocks) for _ in range(4 * REPEATED)]
    before, now = (
        np.mean([low > 0 or high < 0 for low, high in (of(x).interval(0.95) for x in samples)])
        for of in (student, typical)
    )
    assert before > 0.085 and now < 0.07


def test_serial_correlation_of_few_blocks() -> None:
    """Below twenty blocks it is not estimated: against one native, 6 to 7 % are wrong."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(2 * REPEATED):
        effects = in_a_row(random, 0.2, BOUND, 10)
        wrong += decision.decide(effects, 0.02).outcome == outcomes.EQUIVALENT
    assert wrong / (2 * REPEATED) < 0.075


@pytest.mark.parametrize(
    ("count", "least_before", "most_now"), [(2, 0.15, 0.11), (3, 0.12, 0.08), (6, 0.08, 0.06)]
)
@pytest.mark.parametrize("kind", ["nodes", "sessions"])
def test_what_nodes_or_sessions_share(kind: str, count: int, least_before: float, most_now: float):
    """Half a deviation between nodes or sessions: 21, 17 and 12 % before, 7, 5 and 4 % now."""
    groups, places = grouped(kind, count)
    before, now = errors(partial(shared, groups=groups, spread=0.5), outcomes.EQUIVALENT, places)
    assert before > least_before and now < most_now


def grouped(kind: str, count: int) -> tuple[np.ndarray, dict[str, Place]]:
    """Blocks that take turns on so many nodes, or lie in so many sessions on one."""
    number = np.arange(BLOCKS)
    groups = number % count if kind == "nodes" else number * count // BLOCKS
    places = {
        block: Place(block, f"n{group}", 0) if kind == "nodes" else Place(block, "n", int(group))
        for block, group in zip(ALIKE, groups, strict=True)
    }
    return groups, places


@pytest.mark.parametrize("differ", ["nodes", "sessions"])
def test_of_nodes_that_all_sessions_ran_on_the_wider_grouping_counts(differ: str) -> None:
    """The fewer were the units, and said nothing of the others: 9 % of equivalences were wrong."""
    few, many = np.arange(60) % 6, np.arange(60) // 6
    nodes, sessions = (many, few) if differ == "nodes" else (few, many)
    names = [f"b{number:02d}" for number in range(60)]
    where = zip(names, nodes, sessions, strict=True)
    places = {name: Place(name, f"n{node}", int(session)) for name, node, session in where}
    random, wrong = np.random.default_rng(11), 0
    for _ in range(REPEATED):
        effects = shared(random, many, 0.5, 60)
        found = sample(dict(zip(names, effects, strict=True)), places)
        assert not found.objection
        wrong += decision.decide(found.effects, 0.02).outcome == outcomes.EQUIVALENT
    assert wrong / REPEATED < 0.05


def test_many_nodes_are_the_units_and_few_that_differ_refuse() -> None:
    noise = NOISE * (-1.0) ** (np.arange(BLOCKS) // 3)
    for count, differ, units, objection in (
        (6, 0.0, 6, ""), (6, 1.0, 6, ""), (3, 0.0, BLOCKS, ""), (3, 1.0, 3, CLUSTERS),
        (1, 0.0, BLOCKS, ""), (BLOCKS, 1.0, BLOCKS, ""),
    ):  # fmt: skip
        groups, places = grouped("nodes", count)
        found = sample(dict(zip(places, noise + differ * groups, strict=True)), places)
        assert (len(found.effects), found.objection) == (units, objection), count
    assert concluded(noise + 1.0 * groups, places) == outcomes.INCONCLUSIVE


def test_a_cluster_s_mean_stands_for_its_blocks() -> None:
    places = {f"b{n}": Place(f"{9 - n}", f"n{n % 6}", 0) for n in range(8)}
    found = sample({f"b{n}": float(n) for n in range(8)}, places)
    # In the order of time, which is not that of the blocks: b7 and b1 share n1, b6 and b0 n0.
    assert found.effects.tolist() == [4.0, 3.0, 5.0, 4.0, 3.0, 2.0]
    assert sample({"b1": 1.0, "b0": 0.0}, {}).effects.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("blocks", "lost_below"), [(30, 0.05), (30, 0.10), (30, 0.45)])
def test_slow_runs_that_are_lost(blocks: int, lost_below: float) -> None:
    """The slowest runs of one arm do not count: 15, 30 and 100 % before, at most 10 % now."""
    random = np.random.default_rng(9)
    limit = BOUND + NOISE * NormalDist().inv_cdf(1 - lost_below)
    before = now = 0
    for _ in range(REPEATED):
        effects = random.normal(BOUND, NOISE, blocks)
        kept = {f"b{n}": effect for n, effect in enumerate(effects) if effect < limit}
        wrong = by_student(np.array(list(kept.values()))) == outcomes.EQUIVALENT
        before += wrong
        now += wrong and not _objection(blocks, set(kept))
    assert before / REPEATED > 2 * lost_below and now / REPEATED < 0.13


def _objection(blocks, kept, slow=frozenset(), zeros=MappingProxyType({}), ratio=True) -> str:
    begun = {f"b{n}" for n in range(blocks)}
    dataset = SimpleNamespace(
        planned_in={("spin", "box"): begun | {"later"}, ("spin", "bare"): begun | {"later"}},
        begun={"spin": begun},
        stopped={("spin", "bare"): {"later"}},
        too_slow={("spin", "box"): set(slow)},
    )
    by_arm = {"box": {**dict.fromkeys(kept, 1.0), **zeros}, "bare": dict.fromkeys(begun, 1.0)}
    return objection_to_losses(dataset, Numbers(by_arm=by_arm), "spin", ("box", "bare"), ratio)


def test_what_counts_as_lost() -> None:
    all_but = [{f"b{n}" for n in range(lost, 30)} for lost in range(3)]
    # A block that nothing was started in is no loss; one run of 30 may be lost, two may not.
    assert _objection(30, all_but[0]) == _objection(30, all_but[1]) == ""
    assert _objection(30, all_but[2]) == "runs were lost: 2 in box, 0 in bare of 30"
    assert _objection(16, {f"b{n}" for n in range(15)}).startswith(LOSSES)
    # A ratio has no zero; a difference has.
    zeros = dict.fromkeys(("b1", "b2"), 0.0)
    assert _objection(30, all_but[0], zeros=zeros) == "runs were lost: 2 in box, 0 in bare of 30"
    assert _objection(30, all_but[0], zeros=zeros, ratio=False) == ""
    # Repeated until it was fast enough: the run was slow all the same.
    assert _objection(30, all_but[0], slow={"b1", "b2"}).startswith(LOSSES)
    # 3 of 60 are few, but none of the other arm's is missing.
    assert _objection(60, {f"b{n}" for n in range(3, 60)}).startswith(LOSSES)
