"""The chances of claims as `snakemake plan` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.core.wording import span
from parity.preview.chances import FEASIBLE_BLOCKS, Chance
from parity.preview.noise import ASSUMED, ENOUGH_BLOCKS, Key, Noise
from parity.preview.proof import Takes
from parity.preview.terminal import aligned, folded, percent

HEAD = ("claim", "tests", "cells", "holds", "95 %", "blocks", "time")
SHORT_HEAD = HEAD[:5]
NOTES = (
    "tests: those that this plan can decide; cells: what they look at, which all count",
    "blocks: the least that prove its most demanding cell (80 % power); all of it needs more",
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
    lines = folded(
        "Chance that a claim holds if no container costs anything, by drawing and judging the "
        f"planned blocks ({span([one.planned for one in found])})",
        "",
    )
    if alike:
        head, *rows = aligned([HEAD, *((*_row(one), *_needed(one, takes)) for one in alike)])
        lines += [f"  {head}"]
        for one, row in zip(alike, rows, strict=True):
            lines += [f"  {row}", *folded(_demanding(one), "    ")]
        lines += [line for one in alike for text in _beyond(one) for line in folded(text)]
    if differing:
        lines += ["  Claims that something costs more or less would hold wrongly in"]
        lines += [f"  {line}" for line in aligned([SHORT_HEAD, *map(_row, differing)])]
    return [*lines, *(line for text in (*NOTES, *_sources(known)) for line in folded(text))]


def _row(one: Chance) -> tuple[str, ...]:
    low, high = one.interval95
    return (
        one.claim.id,
        one.of_tests,
        str(one.comparisons),
        f"{_share(one.share)} %",
        f"{_share(low)} to {_share(high)} %",
    )


def _needed(one: Chance, takes: Takes) -> tuple[str, str]:
    """Blocks and time for the most demanding cell."""
    if one.reach is None:
        return "–", "–"
    (case, _), blocks = one.reach.key, one.reach.blocks
    return ("none", "–") if blocks is None else (str(blocks), takes(case, blocks))


def _demanding(one: Chance) -> str:
    """As what a claim would hold, and which of its cells is the most demanding."""
    said = [f"as {one.verdict}"] if one.verdict else []
    if one.reach is None:
        return ", ".join([*said, *([f"fails by {one.weakest}"] if one.weakest else [])])
    case, metric = one.reach.key
    margin, deviation = percent(one.reach.margin), percent(one.reach.noise.deviation)
    return ", ".join([*said, f"most demanding: ±{margin} % of {case} {metric}, SD {deviation} %"])


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
