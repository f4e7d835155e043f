"""The chances of claims as `snakemake plan` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import StrictUndefined, Template

from parity.core.wording import span
from parity.preview.chances import FEASIBLE_BLOCKS, Chance
from parity.preview.noise import ASSUMED, ENOUGH_BLOCKS, Key, Noise
from parity.preview.proof import Takes
from parity.preview.terminal import aligned, folded, percent

HEAD = ("claim", "tests", "cells", "holds", "95 %", "blocks", "time")
SHORT_HEAD = HEAD[:5]
TEMPLATE = Path(__file__).with_name("chances.txt.j2")


def chance_lines(found: Sequence[Chance], known: Mapping[Key, Noise], takes: Takes) -> list[str]:
    """The chances of claims of no cost, what no plan can prove, and claims that would err.

    Args:
        known: the scatter that was drawn from.
        takes: says how long so many blocks of a case take.
    """
    if not found:
        return ["Chances of claims: this plan can decide no claim that compares arms"]
    alike, differing = ([one for one in found if one.sameness == same] for same in (True, False))
    head, *rows = aligned([HEAD, *((*_row(one), *_needed(one, takes)) for one in alike)])
    fewest: dict[str, int] = {}
    for noise in known.values():
        fewest[noise.dataset] = min(noise.blocks, fewest.get(noise.dataset, noise.blocks))
    fewest.pop("", None)
    template = Template(
        TEMPLATE.read_text(encoding="utf-8"), undefined=StrictUndefined, trim_blocks=True
    )
    text: str = template.render(
        planned=span([one.planned for one in found]),
        head=head,
        alike=list(zip(alike, rows, strict=True)),
        differing=aligned([SHORT_HEAD, *map(_row, differing)]) if differing else [],
        fewest=fewest,
        enough=ENOUGH_BLOCKS,
        assumed=[" ".join(key) for key, noise in known.items() if not noise.dataset],
        assumed_scatter=ASSUMED,
        feasible=f"{FEASIBLE_BLOCKS:,}",
        percent=percent,
        fold=lambda text, start="  ": "\n".join(folded(text, start)),
    )
    return text.splitlines()


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


def _share(share: float) -> str:
    """A share in per cent: whole ones, and tenths below one."""
    return f"{100 * share:.0f}" if share >= 0.0095 or share == 0 else f"{100 * share:.1f}"
