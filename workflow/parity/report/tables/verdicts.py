"""The verdicts as one table: for the terminal, as Markdown, LaTeX, HTML, CSV and Parquet."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.claims import terms
from parity.claims.registration import AMENDED, UNREGISTERED
from parity.claims.tables import VERDICTS
from parity.core import wording
from parity.report.tables.table import Table, to_latex
from parity.report.text import formatting
from parity.report.view import rows_of
from parity.report.wording import CLAIMS

WIDTH = 80
ORDER = (
    terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK, terms.CONTRADICTED, terms.DIFFERS,
    terms.INCONCLUSIVE, terms.NOT_TESTED,
)  # fmt: skip
HEAD = ("claim", "kind", "verdict", "estimate [95 %]", "margin", "n", "reason", "coverage")
# Behind the verdict of a rule that was not fixed before, or not at all.
MARKS = {AMENDED: "*", UNREGISTERED: "+"}
PUBLISHED = "claims"  # the register of the published claims; all others are somebody's own
STYLE = (
    "body{font:16px/1.4 system-ui,sans-serif;margin:2em;color-scheme:light dark}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;"
    "padding:.25em .6em;border-bottom:1px solid}td:nth-child(6){text-align:right}"
)


def write(verdicts: pd.DataFrame, folder: Path) -> list[Path]:
    """Write claims.{parquet,csv,md,tex,html}; the same verdicts give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / f"claims.{kind}" for kind in ("parquet", "csv", "md", "tex", "html")}
    tables.write(VERDICTS, verdicts, files["parquet"])
    verdicts.to_csv(files["csv"], index=False, lineterminator="\n")
    for kind, form in (("md", to_markdown), ("tex", to_latex_table), ("html", to_html)):
        files[kind].write_text(form(verdicts), encoding="utf-8")
    return list(files.values())


def cells(row: Any) -> tuple[str, ...]:
    """A row of the verdicts as text, in the columns of `HEAD`."""
    margin = ""
    if not _missing(row.margin):
        is_ratio = row.unit == wording.RATIO
        margin = formatting.margin(row.margin) if is_ratio else f"{row.margin:g}"
    return (
        row.claim,
        row.kind,
        row.verdict + MARKS.get(row.registration, ""),
        estimate(row),
        margin.replace("\u2009", " "),
        str(row.blocks) if row.blocks else "",
        row.reason,
        row.coverage,
    )


def estimate(row: Any) -> str:
    """Estimate, 95 % interval and unit of a verdict; empty without a number."""
    if _missing(row.estimate):
        return ""
    if _missing(row.low95):
        text = wording.number(row.estimate)
    else:
        digits = wording.decimals(row.low95, row.high95, row.unit)
        ends = (wording.number(end, digits) for end in (row.low95, row.high95))
        text = f"{wording.number(row.estimate, digits)} [{', '.join(ends)}]"
    short = {wording.RATIO: "", "ratio of deviations": " sd", "% of node": " %"}
    return text + short.get(row.unit, f" {row.unit}")


def _missing(value: Any) -> bool:
    return value is None or not math.isfinite(value)


def counts(verdicts: pd.DataFrame) -> str:
    """How many claims ended how."""
    claims = verdicts["verdict"].value_counts()
    ended = ", ".join(f"{claims[verdict]} {verdict}" for verdict in ORDER if verdict in claims)
    return f"{wording.counted(len(verdicts), 'claim')}: {ended}"


def registered(verdicts: pd.DataFrame) -> str:
    """How many rules were fixed when."""
    claims = verdicts["registration"].value_counts()
    return ", ".join(
        f"{claims[when]} {text}" for when, text in CLAIMS["counted"].items() if when in claims
    )


def title(verdicts: pd.DataFrame) -> str:
    """Whose claims, by which data, on what kind of system."""
    first = verdicts.iloc[0]
    own = f"Claims of {first['register']}.yaml, not published ones"
    whose = "Published claims" if first["register"] == PUBLISHED else own
    return f"{whose}, by {first['judged']} ({first['scale']})"


def to_text(verdicts: pd.DataFrame, width: int = WIDTH) -> str:
    """The counts first and last, and between them what was tested, study by study.

    Args:
        width: of a line, in letters.
    """
    rules = _wrapped(f"Rules: {registered(verdicts)}.", width)
    said = _wrapped(f"{counts(verdicts)}.", width)
    lines = [*_wrapped(title(verdicts), width), *said, *rules]
    for study, of_study in verdicts.groupby("study", sort=False):
        tested = of_study[of_study["verdict"] != terms.NOT_TESTED]
        lines += ["", f"{study}: {len(tested)} of {wording.counted(len(of_study), 'claim')} tested"]
        lines += [line for row in rows_of(tested) for line in _told(row, width)]
    return "\n".join([*lines, "", *said])


def _told(row: Any, width: int) -> list[str]:
    """A claim that was tested: verdict and statement, then the numbers and what decided."""
    name, _, verdict, numbers, margin, blocks, reason, _ = cells(row)
    of_blocks = blocks and f"{blocks} blocks"
    decided = ", ".join(filter(None, (numbers, margin and f"margin {margin}", of_blocks)))
    why = ": ".join(filter(None, (decided, reason)))
    return [
        *_wrapped(f"{verdict:<13} {row.statement}", width, 2, 16),
        *_wrapped(f"{why} ({name})", width, 16, 16),
    ]


def _wrapped(text: str, width: int, first: int = 0, others: int = 0) -> list[str]:
    """A text in lines, of which the first and the others are indented so far."""
    form = textwrap.TextWrapper(width, " " * first, " " * others, break_on_hyphens=False)
    return form.wrap(text)


def to_markdown(verdicts: pd.DataFrame) -> str:
    """A Markdown table of all claims, with its counts."""
    lines = [f"# {title(verdicts)}", "", counts(verdicts) + ".", ""]
    lines += [f"Rules: {registered(verdicts)}.", "", _markdown_row(HEAD)]
    lines.append(_markdown_row(["---"] * len(HEAD)))
    lines += [_markdown_row(cells(row)) for row in rows_of(verdicts)]
    return "\n".join([*lines, ""])


def _markdown_row(row: Sequence[str]) -> str:
    plain = (html.escape(" ".join(cell.split()), quote=False) for cell in row)
    escaped = (re.sub(r"([\\|*_[])", r"\\\1", cell) for cell in plain)
    return f"| {' | '.join(escaped)} |"


def to_latex_table(verdicts: pd.DataFrame) -> str:
    """A LaTeX table that breaks over pages, with the columns of the paper's own tables."""
    rows = [cells(row) for row in rows_of(verdicts)]
    columns = "L{2.8cm}L{1.5cm}L{1.7cm}L{2.4cm}L{1cm}lL{4cm}L{1.8cm}"
    return to_latex(Table("claims", columns, HEAD, rows), f"{counts(verdicts)}.")


def to_html(verdicts: pd.DataFrame) -> str:
    """One static page without a script, well-formed XML, every text escaped."""
    heading, said = html.escape(title(verdicts)), html.escape(counts(verdicts))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in HEAD)
    body = "\n".join(_html_row(row) for row in rows_of(verdicts))
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n'
        f'<head><meta charset="utf-8"/><title>{heading}</title><style>{STYLE}</style></head>\n'
        f"<body><h1>{heading}</h1>\n<p>{said}. Rules: {html.escape(registered(verdicts))}.</p>\n"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></body>\n</html>\n"
    )


def _html_row(row: Any) -> str:
    texts = [html.escape(cell) for cell in cells(row)]
    texts[0] = f'<span title="{html.escape(row.statement)}">{texts[0]}</span>'
    return f'<tr id="{html.escape(row.claim)}">' + "".join(f"<td>{t}</td>" for t in texts) + "</tr>"
