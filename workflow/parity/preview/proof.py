"""What margins equal arms can prove, by drawing blocks and deciding on them as the analysis does.

The scatter between blocks is taken from earlier measurements, the pilots. What a draw could just
have proven is the larger of two margins, that of an arm against both natives and that of the A/A
pair, which has to pass as well; of many draws its quantile is what so many blocks prove with that
power. All that guards a decision is in it: both natives, runs far off, serial correlation, and the
level of the look at which so many blocks are seen.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from parity.analysis.analysis import Analysed, analysed
from parity.analysis.decision import FEWEST_FOR_EQUIVALENCE, decide
from parity.analysis.outcomes import EQUIVALENT
from parity.analysis.sequential import ONE_LOOK, Levels, levels_at
from parity.core.errors import UserError
from parity.core.wording import listed
from parity.measure.documents import LIVE
from parity.plan.plan import Plan, cases_of
from parity.preview.simulated import Noise, Noises
from parity.preview.terminal import aligned, duration, folded, percent, said

POWERS = (0.8, 0.9)
DRAWS, SEED = 200, 20191119  # The error of a power of 80 % is 3 % then.
# So many blocks are drawn; between them a margin follows a power law, beyond them it shrinks with
# their root.
DRAWN_BLOCKS = (FEWEST_FOR_EQUIVALENCE, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224)
WIDEST = 1e6  # No run lies far off by this margin.
NO_SPREAD = 1e-9  # Below this, blocks do not differ but for rounding.
# Beside the programs of a block, while nodes are checked and waited for: seen were 0.6 s of a pair
# and 1.5 s of nine arms in turn.
SECONDS_BESIDE = 1.0
HEAD = ("case", "margin", "SD (widest)", "blocks", "time")
PLANNED_HEAD = ("case", "blocks", "provable")
Takes = Callable[[str, int], str]  # How long so many blocks take that hold a case, in words.
Seconds = Mapping[str, float]  # How long the programs of a block take, by case.


def pilots(archive: Path, excluded: Sequence[dict[str, Any]]) -> tuple[list[Analysed], list[str]]:
    """The datasets beside an archived one, and a line for each that cannot be read.

    Those that were measured here come first.
    """
    folders = [*sorted(LIVE.glob("*")), *sorted(archive.parent.glob("*"))]
    readable, unread = [], []
    for folder in (each for each in folders if (each / "records/metrics.parquet").exists()):
        try:
            readable.append(analysed(folder, excluded))
        except UserError as error:
            unread.append(f"{'/'.join(folder.parts[-2:])} is not used: {error.what}")
    return readable, unread


@dataclass(frozen=True, eq=False)
class Proof:
    """What blocks that scatter in a way can prove of equal arms; a true difference needs more."""

    noise: Noise
    arms: Sequence[str]  # the A/A pair, and those that are compared with it
    looks: tuple[int, ...] = ()  # of the plan, in numbers of blocks
    is_pair: bool = False  # whether each arm has a reference side by side, and no other native
    _drawn: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def margin(self, blocks: int, power: float) -> float:
        """The smallest that so many blocks prove with this power, a fraction; infinite of few."""
        if blocks < DRAWN_BLOCKS[0]:
            return math.inf
        if self.noise.deviation < NO_SPREAD:
            return 0.0
        place = bisect_right(DRAWN_BLOCKS, blocks)
        low, slope = DRAWN_BLOCKS[place - 1], -0.5
        # At the level of an early look so few may prove nothing.
        if math.isinf(least := self._bound(low, power)):
            return math.inf
        if place < len(DRAWN_BLOCKS) and low < blocks:
            high = DRAWN_BLOCKS[place]
            slope = math.log(self._bound(high, power) / least) / math.log(high / low)
        return math.expm1(least * (blocks / low) ** slope)

    def blocks(self, margin: float, power: float) -> int:
        """The fewest that prove a margin with this power."""
        place = bisect_left(DRAWN_BLOCKS, True, key=lambda n: self.margin(n, power) <= margin)
        if place == 0:
            return DRAWN_BLOCKS[0]
        low = DRAWN_BLOCKS[place - 1]
        if place == len(DRAWN_BLOCKS):
            return math.ceil(low * (self._bound(low, power) / math.log1p(margin)) ** 2)
        between = range(low, DRAWN_BLOCKS[place] + 1)
        return between[bisect_left(between, True, key=lambda n: self.margin(n, power) <= margin)]

    def _bound(self, blocks: int, power: float) -> float:
        """The quantile of what draws of so many blocks could just have proven, a log."""
        if blocks not in self._drawn:
            random, proven = np.random.default_rng([SEED, blocks]), []
            levels = levels_at(self.looks, blocks) if self.looks else ONE_LOOK
            pair, others = self.arms[:2], self.arms[2:]
            for name in islice(cycle(others or pair[1:]), DRAWS):
                drawn = self.noise.drawn((*pair, name), blocks, random)
                shown = {arm: np.log(of) if self.noise.is_log else of for arm, of in drawn.items()}
                first, second, arm = (shown[each] for each in (*pair, name))
                both = [arm - first] if self.is_pair else [arm - first, arm - second]
                proven.append(max(_passed(of, levels) for of in ([second - first], both)))
            self._drawn[blocks] = np.array(proven)
        # Between two infinite ones there is no number.
        return float(np.quantile(self._drawn[blocks], power, method="higher"))


def _passed(effects: Sequence[np.ndarray], levels: Levels) -> float:
    """The smallest margin that effects pass, a log; to a per cent of it, or infinite.

    Fewer runs lie far off by a wider margin: it is searched upwards from what passes without any.
    """
    least = max(NO_SPREAD, math.log1p(decide(effects, WIDEST, levels=levels).smallest_margin))
    if math.isinf(least):
        return least
    most = 1.001 * least
    while decide(effects, math.expm1(most), levels=levels).outcome != EQUIVALENT:
        least, most = most, 1.5 * most
    while most > 1.01 * least:
        between = (least + most) / 2
        if decide(effects, math.expm1(between), levels=levels).outcome == EQUIVALENT:
            most = between
        else:
            least = between
    return most


@dataclass(frozen=True)
class Need:
    """One case and metric of a plan that has a margin."""

    case: str
    metric: str
    margin: float
    planned: int  # blocks that the plan holds of it
    proof: Proof | None  # None if nothing is known of how it scatters

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """The fewest for the margin, at each of POWERS; none without proof."""
        return tuple(self.proof.blocks(self.margin, each) for each in POWERS) if self.proof else ()


def needs(plan: Plan, noises: Noises) -> list[Need]:
    """Each case and metric of the plan with a margin, in its order."""
    wanted = {(c.case, c.metric): c.margin for c in plan.comparisons if c.margin is not None}
    planned, found = plan.blocks_of, []
    for (case, metric), margin in wanted.items():
        noise = noises.of(plan.case(case), metric)
        proof = Proof(noise, arms_of(plan), plan.looks, plan.in_pairs(case))
        found.append(Need(case, metric, margin, planned[case], proof if noise.dataset else None))
    return found


def arms_of(plan: Plan) -> tuple[str, ...]:
    """The A/A pair, and the arms that are compared with it; not the positive control."""
    left_out = {*plan.aa_pair, plan.positive_arm}
    return (*plan.aa_pair, *(arm for arm in plan.arms if arm not in left_out))


def need_lines(needs: Sequence[Need], takes: Takes) -> list[str]:
    """Blocks and time for each margin, and what the planned blocks can prove."""
    if not needs:
        return ["Blocks needed: no comparison of this study has a margin"]
    metrics, rows, planned = Counter(need.case for need in needs), [], []
    noises = defaultdict[str, list[Noise]](list)
    for need in needs:
        name = f"{need.case} {need.metric}" if metrics[need.case] > 1 else need.case
        cells: tuple[str, ...] = ("no variance known: measure a pilot",)
        if need.proof:
            noise = need.proof.noise
            noises[noise.dataset].append(noise)
            cells = (f"no spread between blocks: {FEWEST_FOR_EQUIVALENCE} suffice",)
            if noise.deviation >= NO_SPREAD:
                spread = f"{percent(noise.deviation)} ({percent(noise.widest)}) %"
                blocks = " / ".join(map(str, need.blocks)), takes(need.case, need.blocks[-1])
                cells = ("~" * (not noise.same) + spread, *blocks)
                margins = [percent(need.proof.margin(need.planned, power)) for power in POWERS]
                proven = f"±{' / '.join(margins)} %"
                if need.planned < FEWEST_FOR_EQUIVALENCE:
                    proven = f"needs {FEWEST_FOR_EQUIVALENCE}"
                planned.append((name, str(need.planned), proven))
        rows.append((name, f"±{percent(need.margin)} %", *cells))
    powers = " / ".join(f"{100 * wanted:g}" for wanted in POWERS)
    needed, provable = aligned([HEAD, *rows]), aligned([PLANNED_HEAD, *planned])
    return said("needs.txt.j2", powers=powers, needed=needed, provable=provable, noises=noises)


def promise_lines(plan: Plan, needs: Sequence[Need], seconds: Seconds | None) -> list[str]:
    """What can be proven with a power of 80 %, if arms truly cost the same."""
    assert plan.minutes is not None
    limit = f"{plan.minutes:g} min here"
    if seconds is None:
        return [f"{limit}: nobody has measured yet how long a block of this takes"]
    reached = blocks_in_time(plan, needs, seconds)
    can, cannot, sources, metrics = [], [], set(), Counter(need.case for need in needs)
    for need in needs:
        name = f"{need.case} {need.metric}" if metrics[need.case] > 1 else need.case
        if need.proof is None:
            cannot.append(f"{name}, of which no scatter is known")
            continue
        sources.add(need.proof.noise.dataset)
        margin = need.proof.margin(reached[need.case], POWERS[0])
        if margin <= NO_SPREAD:
            can.append(f"to any margin in {name}, which does not scatter")
        elif margin < 1:
            can.append(f"to ±{percent(margin)} % in {name} ({reached[need.case]} blocks)")
        if margin > need.margin:
            more = need.blocks[0] - _first(plan)
            takes = _block(plan, seconds) * _first(plan) + _of(plan, need.case, seconds) * more
            cannot.append(f"±{percent(need.margin)} % for {name} needs {duration(takes)}")
    arms = listed([plan.arm_titles[arm] for arm in arms_of(plan)[2:]])
    lines = folded(f"{limit} bound {f'{arms} {listed(can)}' if can else 'no cost'}", "")
    lines += folded(listed(cannot)) if cannot else []
    return lines + (folded(f"by the scatter in {listed(sorted(sources))}") if sources else [])


def blocks_in_time(plan: Plan, needs: Sequence[Need], seconds: Seconds) -> dict[str, int]:
    """How many blocks there can be of each case with a margin, as looks leave them the time.

    All go on to the first look. What is decided by then stops; after it those that are decided
    soonest have what they need, and each of the others the time that these leave.
    """
    longest = max((block.number for block in plan.blocks), default=0)
    left, first = 60 * (plan.minutes or 0.0), _first(plan)
    made = min(longest, int(left / _block(plan, seconds)))
    if made < first:
        return {need.case: made for need in needs}
    left -= first * _block(plan, seconds)
    # Which block decides what nobody knows the scatter of is not known either.
    wanted = dict[str, int]()
    for need in needs:
        least = need.blocks[0] if need.blocks else longest
        wanted[need.case] = max(least, wanted.get(need.case, 0))
    reached = dict.fromkeys(wanted, first)
    for case in sorted(wanted, key=lambda case: (wanted[case] - first) * _of(plan, case, seconds)):
        more = max(0, min(wanted[case], longest) - first)
        once = _of(plan, case, seconds) + SECONDS_BESIDE * _alike(plan, case)
        if more * once <= left:
            left -= more * once
        else:
            more = int(left / once)
        reached[case] += more
    return reached


def _first(plan: Plan) -> int:
    """The first look, or the last block."""
    return plan.looks[0] if plan.looks else max((b.number for b in plan.blocks), default=0)


def _block(plan: Plan, seconds: Seconds) -> float:
    """Seconds of all blocks of one number: of one, or of one and a pair of each arm."""
    return sum(seconds.values()) + SECONDS_BESIDE * _alike(plan)


def _of(plan: Plan, case: str, seconds: Seconds) -> float:
    """Seconds of a case in all blocks of one number, its shorter run with it."""
    shorter = plan.shorter_of.get(case)
    return seconds[case] + (seconds.get(shorter.case.name, 0.0) if shorter else 0.0)


def _alike(plan: Plan, case: str = "") -> int:
    """How many blocks have one number, of a case if it is given."""
    once = (block for block in plan.blocks if block.number == 1)
    return sum(not case or case in cases_of(block.runs) for block in once)
