"""What each margin of a plan needs to be proven, and what the planned blocks can prove.

The spread between blocks is taken from earlier measurements, the pilots.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.analysis.analysis import Analysed, analysed
from parity.analysis.decision import FEWEST_FOR_EQUIVALENCE
from parity.analysis.statistics import power
from parity.core.errors import UserError
from parity.measure.block_folder import LIVE
from parity.plan.plan import Plan, cases_of
from parity.preview.noise import Noise, Noises
from parity.preview.terminal import aligned, folded, percent

POWERS = (0.8, 0.9)
# Below this, blocks do not differ but for rounding.
NO_SPREAD = 1e-9
HEAD = ("case", "margin", "SD (widest)", "alone", "with A/A", "time")
PLANNED_HEAD = ("case", "blocks", "alone", "with A/A")
NOTES = (
    "SD: of one block's log ratio, variances pooled over arms; widest: of the arm that varies most",
    "with A/A: an arm and the A/A pair both pass, as a claim needs; time: of the most blocks",
    # Drawn and decided (tests/unit/preview/test_chances.py).
    "t alone: with all that guards a decision 80 % become 53 % of 7 blocks, 68 % of 23",
)


def datasets_beside(archive: Path) -> list[Path]:
    """The folders of all datasets of a study's folder, those that were measured here first.

    Args:
        archive: one of the archived datasets.
    """
    return [*sorted(LIVE.glob("*")), *sorted(archive.parent.glob("*"))]


def pilots(
    folders: Iterable[Path], excluded: Sequence[dict[str, Any]] = ()
) -> tuple[list[Analysed], list[str]]:
    """The datasets in these folders, and a line for each that is there and cannot be read."""
    readable, unread = [], []
    for folder in folders:
        if not (folder / "records/metrics.parquet").exists():
            continue
        try:
            readable.append(analysed(folder, excluded))
        except UserError as error:
            unread.append(f"{'/'.join(folder.parts[-2:])} is not used: {error.what}")
    return readable, unread


@dataclass(frozen=True)
class Proof:
    """What it takes to prove equal arms equivalent, at each of POWERS.

    Attributes:
        blocks: fewest blocks for the case's margin, and enough for the rank test.
        margins: smallest that the planned blocks can prove; empty if these are too few for it.
    """

    blocks: tuple[int, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True)
class Need:
    """One case and metric of a plan that has a margin.

    Attributes:
        planned: blocks that the plan holds of it.
        noise: None if nothing is known of it.
        alone: for one comparison; None without that.
        gated: for one comparison and the A/A pair, which must pass as well.
    """

    case: str
    metric: str
    margin: float
    planned: int
    noise: Noise | None
    alone: Proof | None
    gated: Proof | None


def needs(plan: Plan, noises: Noises) -> list[Need]:
    """Each case and metric of the plan with a margin, in its order.

    Powers are those of arms that truly cost the same; a true difference needs more.
    """
    wanted = {
        (comparison.case, comparison.metric): comparison.margin
        for comparison in plan.comparisons
        if comparison.margin is not None
    }
    planned = Counter(case for block in plan.blocks for case in cases_of(block.runs))
    found = []
    for (case, metric), margin in wanted.items():
        noise = noises.of(plan.case(case), metric)
        known = noise if noise.dataset else None
        found.append(need(case, metric, margin, planned[case], known))
    return found


def enough(blocks: int) -> int:
    """So many blocks, or as many as the rank test needs to say that anything is the same."""
    return max(blocks, FEWEST_FOR_EQUIVALENCE)


def need(case: str, metric: str, margin: float, planned: int, noise: Noise | None) -> Need:
    """What one case and metric needs."""
    if noise is None:
        return Need(case, metric, margin, planned, None, None, None)
    deviation = noise.deviation
    provable = POWERS if planned >= FEWEST_FOR_EQUIVALENCE else ()
    if deviation < NO_SPREAD:
        alone = gated = Proof((FEWEST_FOR_EQUIVALENCE,) * len(POWERS), (0.0,) * len(provable))
    else:
        alone, gated = (
            Proof(
                tuple(enough(power.blocks_needed(deviation, margin, p, of)) for p in POWERS),
                tuple(power.provable_margin(deviation, planned, p, of) for p in provable),
            )
            for of in (power.tost_power, power.gated_power)
        )
    return Need(case, metric, margin, planned, noise, alone, gated)


# How long so many blocks take that hold a case, in words.
Takes = Callable[[str, int], str]


def need_lines(needs: Sequence[Need], takes: Takes) -> list[str]:
    """Blocks and time for each margin, and what the planned blocks can prove."""
    if not needs:
        return ["Blocks needed: no comparison of this study has a margin"]
    powers = " / ".join(f"{100 * wanted:g}" for wanted in POWERS)
    head = (
        f"Blocks to prove each margin by t alone, at {powers} % power, if arms truly cost the same"
    )
    metrics = Counter(need.case for need in needs)
    named = {
        f"{need.case} {need.metric}" if metrics[need.case] > 1 else need.case: need
        for need in needs
    }
    rows = [(name, *_cells(need, takes)) for name, need in named.items()]
    lines = [*folded(head, ""), *(f"  {line}" for line in aligned([HEAD, *rows]))]
    if planned := [(name, *_planned(need)) for name, need in named.items() if _spreads(need)]:
        lines += ["  What the planned blocks prove"]
        lines += [f"  {line}" for line in aligned([PLANNED_HEAD, *planned])]
    known = [need.noise for need in needs if need.noise]
    notes = [*(f"SD from {source}" for source in _sources(known)), *(NOTES if known else ())]
    return lines + [line for note in notes for line in folded(note)]


def _spreads(need: Need) -> bool:
    return need.gated is not None and need.noise is not None and need.noise.deviation >= NO_SPREAD


def _planned(need: Need) -> tuple[str, ...]:
    return str(need.planned), *(_margins(each) for each in (need.alone, need.gated) if each)


def _cells(need: Need, takes: Takes) -> tuple[str, ...]:
    margin = f"±{percent(need.margin)} %"
    if need.noise is None or need.alone is None or need.gated is None:
        return margin, "no variance known: measure a pilot"
    if not _spreads(need):
        return margin, f"no spread between blocks: {FEWEST_FOR_EQUIVALENCE} suffice"
    other = "" if need.noise.same else "~"
    return (
        margin,
        f"{other}{percent(need.noise.deviation)} ({percent(need.noise.widest)}) %",
        *(" / ".join(map(str, each.blocks)) for each in (need.alone, need.gated)),
        takes(need.case, need.gated.blocks[-1]),
    )


def _margins(proof: Proof) -> str:
    if not proof.margins:
        return f"needs {FEWEST_FOR_EQUIVALENCE}"
    return f"±{' / '.join(percent(margin) for margin in proof.margins)} %"


def _sources(known: Iterable[Noise]) -> list[str]:
    """Each dataset once, with what it rests on."""
    by_dataset = defaultdict(list)
    for noise in known:
        by_dataset[noise.dataset].append(noise)
    return [
        f"{dataset}, {min(noise.blocks for noise in those)} blocks, "
        f"{max(noise.across - 1 for noise in those)} arms"
        f"{'' if all(noise.same for noise in those) else '; ~ with other parameters'}"
        for dataset, those in by_dataset.items()
    ]
