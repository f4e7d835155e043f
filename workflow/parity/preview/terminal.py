"""Durations, percentages, columns and folded lines, as a terminal shows them."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

LETTERS = 80  # of a line, as in a terminal that nobody has made wider


def rendered(template: Path, **facts: Any) -> str:
    """What a template says of some facts; those that can be called are its filters, too."""
    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {name: fact for name, fact in facts.items() if callable(fact)}
    return made.from_string(template.read_text(encoding="utf-8")).render(facts)


def said(template: str, **facts: Any) -> list[str]:
    """The lines that a template beside this module says of some facts."""
    facts |= {"percent": percent, "duration": duration}
    facts["fold"] = lambda *text: "\n".join(folded(*text))
    return rendered(Path(__file__).with_name(template), **facts).splitlines()


def duration(seconds: float) -> str:
    """A duration in words, in the unit that suits it: `40 s`, `12 min`, `3.5 h`, `4.2 days`."""
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            return f"{seconds / length:.{int(unit == 'h')}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def percent(fraction: float) -> str:
    """A fraction as per cent with two significant digits."""
    value = 100 * fraction
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns; a row that ends early is a sentence and takes what room it needs."""
    full = len(rows[0])
    cells = [row if len(row) == full else row[:-1] for row in rows]
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(full)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def folded(text: str, start: str = "  ") -> list[str]:
    """A text in lines of a terminal, further in from the second on; numbers stay with units."""
    together = text.replace(" %", "\u00a0%").replace("≤ ", "≤\u00a0")
    lines = textwrap.wrap(
        together, LETTERS, initial_indent=start, subsequent_indent=f"{start}  ",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in lines]
