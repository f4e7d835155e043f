"""The planner's two tables, as lines for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from parity.preview.blocks_needed import NO_SPREAD, Need, Proof
from parity.preview.pilots import Spread
from parity.preview.published_designs import Design

HEAD = (
    "case", "margin", "SD (widest)", "alone", "with A/A", "time", "planned", "prove alone",
    "with A/A",
)  # fmt: skip
NOTES = (
    "SD: of one block's log ratio, variances pooled over arms; widest: of the arm that varies most",
    "with A/A: an arm and the A/A pair both pass, as a claim needs; time: of as many whole blocks",
)

# Letters of a source that the terminal has room for.
WORDS = 32

# How long so many blocks take that hold a case, in words.
Takes = Callable[[str, int], str]


def need_lines(found: Sequence[Need], takes: Takes) -> list[str]:
    """Blocks and time for each margin, and what the planned blocks can prove."""
    if not found:
        return ["Blocks needed: no comparison of this study has a margin"]
    lines = ["Blocks to prove each margin, at 80 / 90 % power, if arms truly cost the same"]
    metrics = Counter(need.case for need in found)
    rows = [_cells(need, metrics[need.case] > 1, takes) for need in found]
    lines += _aligned([HEAD, *rows])
    known = [need.spread for need in found if need.spread]
    lines += [f"  SD from {source}" for source in _sources(known)]
    return lines + [f"  {line}" for line in NOTES if known]


def paper_lines(designs: Iterable[Design]) -> list[str]:
    """The smallest margin that each published experiment could have proven."""
    rows = [
        (
            design.study,
            design.experiment,
            "?" if design.runs is None else str(design.runs),
            "?" if design.cv is None else f"{_percent(design.cv)} %",
            textwrap.shorten(design.cv_source, WORDS, placeholder=" …"),
            _provable(design),
            "–" if design.margin is None else f"±{_percent(design.margin)} %",
            {True: "yes", False: "no", None: "–"}[design.could],
        )
        for design in designs
    ]
    head = ("study", "experiment", "n", "CV", "CV from", "provable", "margin", "within reach")
    title = "What the papers could have proven with their n (two samples, 90 % power)"
    return [title, *_aligned([head, *rows])]


def _cells(need: Need, several: bool, takes: Takes) -> tuple[str, ...]:
    name = f"{need.case} {need.metric}" if several else need.case
    margin = f"±{_percent(need.margin)} %"
    if need.spread is None or need.alone is None or need.gated is None:
        return name, margin, "no variance known: measure a pilot"
    if need.spread.deviation < NO_SPREAD:
        return name, margin, "no spread between blocks: two suffice"
    other = "" if need.spread.same else "~"
    return (
        name,
        margin,
        f"{other}{_percent(need.spread.deviation)} ({_percent(need.spread.widest)}) %",
        _both(need.alone.blocks),
        _both(need.gated.blocks),
        " / ".join(dict.fromkeys(takes(need.case, count) for count in need.gated.blocks)),
        str(need.planned),
        _margins(need.alone),
        _margins(need.gated),
    )


def _both(blocks: Sequence[int]) -> str:
    return " / ".join(map(str, blocks))


def _margins(proof: Proof) -> str:
    if not proof.margins:
        return "needs two"
    return f"±{' / '.join(_percent(margin) for margin in proof.margins)} %"


def _sources(known: Iterable[Spread]) -> list[str]:
    """Each dataset once, with what it rests on."""
    by_dataset: dict[str, list[Spread]] = {}
    for spread in known:
        by_dataset.setdefault(spread.dataset, []).append(spread)
    return [
        f"{dataset}, {min(spread.blocks for spread in those)} blocks, "
        f"{max(spread.arms for spread in those)} arms"
        f"{'' if all(spread.same for spread in those) else '; ~ with other parameters'}"
        for dataset, those in by_dataset.items()
    ]


def _provable(design: Design) -> str:
    if design.provable is not None:
        return f"±{_percent(design.provable)} %"
    return "nothing: one run" if design.runs == 1 else "not known"


def _percent(fraction: float) -> str:
    """A fraction as per cent with two significant digits."""
    value = 100 * fraction
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns; a row that ends early is a sentence and takes what room it needs."""
    columns = range(len(rows[0]))
    widths = [
        max(len(row[i]) for row in rows if i < len(row) - (len(row) < len(rows[0])))
        for i in columns
    ]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
