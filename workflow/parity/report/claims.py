"""The verdicts on claims: for the terminal, as Markdown, HTML, CSV and Parquet, and in the paper.

A claim that was not tested is counted under its reason.
"""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.claims import terms
from parity.claims.register import FINDINGS
from parity.claims.registration import AMENDED, UNREGISTERED
from parity.claims.verdicts import VERDICTS
from parity.core import wording
from parity.report import formatting
from parity.report.tables.table import Table, to_latex
from parity.report.templating import WIDTH, WORDS, render
from parity.report.view import rows_of

GOOD = terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK
BAD, OPEN = (terms.CONTRADICTED, terms.DIFFERS), (terms.INCONCLUSIVE, terms.NOT_TESTED)
# What says most stands first in the paper, what is good news first on the terminal.
ORDER, TELLING = (*GOOD, *BAD, *OPEN), (*BAD, *GOOD, *OPEN)
HEAD = ("claim", "kind", "verdict", "estimate [95 %]", "margin", "n", "reason", "coverage")
# Behind the verdict of a rule that was not fixed before its data, in tables and in words.
MARKS = {AMENDED: "*", UNREGISTERED: "+"}
PARTS = 3  # of the table of all claims, beside each other
# By the register; all others are somebody's own.
WHOSE = {"claims": "Published claims", FINDINGS: "Findings of our own"}


def write(verdicts: pd.DataFrame, folder: Path) -> list[Path]:
    """Write claims.{parquet,csv,md,tex,html}; the same verdicts give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / f"claims.{kind}" for kind in ("parquet", "csv", "md", "tex", "html")}
    tables.write(VERDICTS, verdicts, files["parquet"])
    verdicts.to_csv(files["csv"], index=False, lineterminator="\n")
    made = [(row.statement, cells(row)) for row in rows_of(verdicts)]
    facts = _facts(verdicts)
    for kind in ("md", "html"):
        text = render(f"claims.{kind}", rows=made, head=HEAD, **facts)
        files[kind].write_text(text, encoding="utf-8")
    latex = to_latex(Table("claims", [of_row for _, of_row in made]), facts["counts"])
    files["tex"].write_text(latex, encoding="utf-8")
    return list(files.values())


def cells(row: Any) -> tuple[str, ...]:
    """A row of the verdicts as text, in the columns of `HEAD`."""
    verdict = row.verdict + MARKS.get(row.registration, "")
    return row.claim, row.kind, verdict, *formatting.of_verdict(row), row.reason, row.coverage


def _facts(verdicts: pd.DataFrame) -> dict[str, str]:
    """Whose claims these are, by which data, how many ended how, and when their rules were made."""
    first = verdicts.iloc[0]
    whose = WHOSE.get(first["register"], f"Claims of {first['register']}.yaml, not published ones")
    words = WORDS["registered"]
    ended = [f"{n} {verdict}" for verdict, n in _counted(verdicts["verdict"], ORDER).items()]
    rules = [f"{n} {words[w]}" for w, n in _counted(verdicts["registration"], words).items()]
    return {"title": f"{whose}, by {first['judged']} ({first['scale']})",
            "counts": f"{wording.counted(len(verdicts), 'claim')}: {', '.join(ended)}.",
            "registered": f"{', '.join(rules)}."}  # fmt: skip


def _counted(found: pd.Series, order: Iterable[str]) -> dict[str, int]:
    counts = found.value_counts()
    return {word: int(counts[word]) for word in order if word in counts}


def to_text(verdicts: pd.DataFrame, width: int = WIDTH) -> str:
    """The counts, and what was tested, study by study, in lines of so many letters."""
    studies = []
    for name, of_study in verdicts.groupby("study", sort=False):
        tested = rows_of(of_study[of_study["verdict"] != terms.NOT_TESTED])
        shown = [(row, cells(row)) for row in tested]
        studies.append({"name": name, "claims": len(of_study), "tested": shown})
    return render("claims.txt", studies=studies, width=width, **_facts(verdicts)).rstrip("\n")


def matrix(judged: Mapping[str, pd.DataFrame]) -> str:
    """LaTeX: every published claim with its verdict by each system, in three parts side by side.

    Without systems that tested none, whose columns would say nothing.
    """
    claims = list(next(iter(judged.values()))["claim"])
    by_system = {name: dict(zip(rows["claim"], rows["verdict"], strict=True))
                 for name, rows in judged.items()
                 if (rows["verdict"] != terms.NOT_TESTED).any()}  # fmt: skip
    rows = -(-len(claims) // PARTS)
    parts = [claims[begin : begin + rows] for begin in range(0, len(claims), rows)]
    return render("matrix.tex", systems=by_system, lines=list(zip_longest(*parts)), parts=PARTS)


def tested(verdicts: pd.DataFrame, dataset: str) -> Table:
    """The claims that a dataset tested, what says most first."""
    rows = rows_of(verdicts[(verdicts["verdict"] != terms.NOT_TESTED) & verdicts["study"].ne("")])
    rows = [row for row in rows if row.dataset.rpartition("/")[2] == dataset]
    rows.sort(key=lambda row: TELLING.index(row.verdict))
    return Table("claims-tested", [(row.statement, *cells(row)[2:5]) for row in rows])
