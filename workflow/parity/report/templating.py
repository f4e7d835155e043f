"""Texts from Jinja2 templates (`templates/`): facts go in, and a template says them."""

import html
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from parity.core import wording
from parity.core.errors import spelt_out
from parity.core.wording import capital, counted, listed, span

TEMPLATES = Path(__file__).with_name("templates")
WIDTH = 80  # letters of a line, as in a terminal that nobody has made wider
# Words that stand beside code as data.
WORDS: Mapping[str, Mapping[str, Any]] = msgspec.yaml.decode(
    Path(__file__).with_name("wording.yaml").read_bytes())  # fmt: skip
# Values in `<< >>` are escaped in LaTeX (`*.tex.j2`), those in `{{ }}` in HTML.
_LATEX_DELIMITERS = {
    "variable_start_string": "<<", "variable_end_string": ">>", "block_start_string": "<%",
    "block_end_string": "%>", "comment_start_string": "<#", "comment_end_string": "#>"}  # fmt: skip


class Latex(str):
    """LaTeX that is set as it stands."""

    __slots__ = ()


def latex(text: object) -> Latex:
    """Text with every character that LaTeX would take for a command, or refuse, escaped."""
    if isinstance(text, Latex):
        return text
    plain = re.sub(r"(?<=\d) (?=%)", "\u2009", spelt_out(str(text)))
    plain = re.sub(r"(?<![\w.)\]-])-(?=\d)", "−", plain)
    return Latex("".join(WORDS["latex"].get(character, character) for character in plain))


def render(template: str, **facts: Any) -> str:
    """The text that a template of `templates/` makes of some facts."""
    return _environment(template.split(".")[1]).get_template(f"{template}.j2").render(facts)


def sentence(template: str, **facts: Any) -> str:
    """The same without its line breaks, which only part what is written in the template."""
    return re.sub("[ \n]+", " ", render(template, **facts)).strip(" ")


@cache
def _environment(kind: str) -> Environment:
    of_kind: dict[str, Any] = {"finalize": latex} | _LATEX_DELIMITERS if kind == "tex" else {}
    made = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                       autoescape=kind == "html", **of_kind)  # fmt: skip
    made.filters |= {
        "capital": capital, "counted": counted, "listed": listed, "span": span, "latex": Latex,
        "margin": wording.margin, "number": wording.number, "percent": wording.percent,
        "wrapped": wrapped, "aligned": aligned, "markdown": markdown, "clause": clause,
    }  # fmt: skip
    return made


def clause(text: str) -> str:
    """A sentence as it stands behind a semicolon: without its capital and its stop."""
    plain = text.strip().removesuffix(".")
    return plain[:1].lower() + plain[1:]


def markdown(cell: str) -> str:
    """A cell of a Markdown table, as it is read."""
    return re.sub(r"([\\|*_[])", r"\\\1", html.escape(" ".join(cell.split()), quote=False))


def wrapped(text: str, first: int = 0, others: int | None = None, width: int = WIDTH) -> str:
    """A text in lines, of which the first and the others are indented so far."""
    rest = " " * (first if others is None else others)
    return textwrap.fill(text, width, initial_indent=" " * first, subsequent_indent=rest,
                         break_on_hyphens=False, break_long_words=False)  # fmt: skip


def aligned(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    """Rows in columns; counts are flush right, and the last column goes on below itself."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    flush_right = [cell.isdigit() for cell in rows[-1]]
    lines = []
    for row in rows:
        *cells, last = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right
                        in zip(row, widths, flush_right, strict=True))  # fmt: skip
        begin = " " * indent + "".join(f"{cell}  " for cell in cells)
        if 10 < WIDTH - len(begin) < len(last.rstrip()):
            lines += textwrap.wrap(last, WIDTH, initial_indent=begin, break_long_words=False,
                                   subsequent_indent=" " * len(begin))  # fmt: skip
        else:
            lines.append(begin + last)
    return "\n".join(line.rstrip() for line in lines)
