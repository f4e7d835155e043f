"""The chances of claims as `snakemake plan` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.preview.chances import FEASIBLE_BLOCKS, Chance
from parity.preview.noise import ASSUMED, ENOUGH_BLOCKS, Key, Noise
from parity.preview.proof import Takes
from parity.preview.terminal import aligned, percent

HEAD = (
    "claim", "tests", "compares", "n", "holds", "95 %", "as", "blocks", "time",
    "for its most demanding case",
)  # fmt: skip
SHORT_HEAD = HEAD[:6]
NOTES = (
    "tests: those that this plan can decide; compares: cells that they look at, which all count",
    "blocks: the least that prove its most demanding case (80 % power); all of it needs more",
)


def chance_lines(found: Sequence[Chance], known: Mapping[Key, Noise], takes: Takes) -> list[str]:
    """The chances of claims of no cost, what no plan can prove, and claims that would err.

    Args:
        known: the scatter that was drawn from.
        takes: says how long so many blocks of a case take.
    """
    if not found:
        return ["Chances of claims: this plan can decide no claim that compares arms"]
    alike, differing = ([one for one in found if one.sameness == same] for same in (True, False))
    lines = ["Chance that a claim holds if no container costs anything, by drawing and judging"]
    if alike:
        rows = [_row(one, takes) for one in alike]
        lines += [f"  {line}" for line in aligned([HEAD, *rows])]
        lines += [f"  {line}" for one in alike for line in _beyond(one)]
    if differing:
        rows = [_row(one, takes)[: len(SHORT_HEAD)] for one in differing]
        lines += ["  Claims that something costs more or less would hold wrongly in"]
        lines += [f"  {line}" for line in aligned([SHORT_HEAD, *rows])]
    return [*lines, *(f"  {line}" for line in (*NOTES, *_sources(known)))]


def _row(one: Chance, takes: Takes) -> tuple[str, ...]:
    low, high = one.interval95
    shown = (
        one.claim.id,
        one.of_tests,
        str(one.comparisons),
        str(one.planned),
        f"{_share(one.share)} %",
        f"{_share(low)} to {_share(high)} %",
        one.verdict or "–",
    )
    if one.reach is None:
        return (*shown, "–", "–", f"fails by {one.weakest}" if one.weakest else "")
    (case, metric), blocks = one.reach.key, one.reach.blocks
    needed = ("none", "–") if blocks is None else (str(blocks), takes(case, blocks))
    margin, deviation = percent(one.reach.margin), percent(one.reach.noise.deviation)
    return (*shown, *needed, f"±{margin} % of {case} {metric}, SD {deviation} %")


def _share(share: float) -> str:
    """A share in per cent: whole ones, and tenths below one."""
    return f"{100 * share:.0f}" if share >= 0.0095 or share == 0 else f"{100 * share:.1f}"


def _beyond(one: Chance) -> list[str]:
    """That no feasible number of blocks proves a claim; nothing if one may."""
    if one.beyond:
        return [f"{one.claim.id}: {one.weakest} fails in {FEASIBLE_BLOCKS:,} blocks, too"]
    if one.reach is None or one.reach.blocks is not None:
        return []
    (case, metric), margin = one.reach.key, percent(one.reach.margin)
    return [
        f"{one.claim.id}: ±{margin} % of {case} {metric} is beyond {FEASIBLE_BLOCKS:,} blocks, "
        f"which prove ±{percent(one.reach.provable)} % at best"
    ]


def _sources(known: Mapping[Key, Noise]) -> list[str]:
    """What was drawn from."""
    fewest: dict[str, int] = {}
    for noise in known.values():
        fewest[noise.dataset] = min(noise.blocks, fewest.get(noise.dataset, noise.blocks))
    lines = [
        f"scatter from {dataset}, {blocks} blocks"
        f"{'' if blocks >= ENOUGH_BLOCKS else ' (variances only, normal)'}"
        for dataset, blocks in fewest.items()
        if dataset
    ]
    if assumed := [" ".join(key) for key, noise in known.items() if not noise.dataset]:
        lines.append(f"never measured, {100 * ASSUMED:g} % a run assumed: {', '.join(assumed)}")
    return lines
