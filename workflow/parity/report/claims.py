"""The verdicts on claims: for the terminal, as Markdown, HTML, CSV and Parquet, and in the paper.

A claim that was not tested is counted under its reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.claims import terms
from parity.claims.published import Defect
from parity.claims.register import FINDINGS
from parity.claims.registration import AMENDED, UNREGISTERED
from parity.claims.verdicts import VERDICTS
from parity.core import wording
from parity.plan.plan import Plan
from parity.report import formatting
from parity.report.tables import table
from parity.report.tables.table import Table, to_latex
from parity.report.templating import WIDTH, WORDS, render, sentence
from parity.report.view import rows_of

# What says most stands first in the paper, what is good news first on the terminal.
ORDER = (
    terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK, terms.CONTRADICTED, terms.DIFFERS,
    terms.INCONCLUSIVE, terms.NOT_TESTED,
)  # fmt: skip
TELLING = (
    terms.CONTRADICTED, terms.DIFFERS, terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK,
    terms.INCONCLUSIVE, terms.NOT_TESTED,
)  # fmt: skip
HEAD = ("claim", "kind", "verdict", "estimate [95 %]", "margin", "n", "reason", "coverage")
# Behind the verdict of a rule that was not fixed before its data, in tables and in words.
MARKS = {AMENDED: "*", UNREGISTERED: "+"}
NOT_FIXED = {AMENDED: "amended", UNREGISTERED: "never registered"}
# By the register; all others are somebody's own.
WHOSE = {"claims": "Published claims", FINDINGS: "Findings of our own"}
Studies = Mapping[str, Mapping[str, Any]]  # title, authors, venue and year of each, by its key


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
    whole = Table("claims", [of_row for _, of_row in made])
    files["tex"].write_text(to_latex(whole, facts["counts"]), encoding="utf-8")
    return list(files.values())


def cells(row: Any) -> tuple[str, ...]:
    """A row of the verdicts as text, in the columns of `HEAD`."""
    shown = formatting.of_verdict(row)
    verdict = shown.outcome + MARKS.get(row.registration, "")
    numbers = (shown.estimate, shown.margin, shown.blocks)
    return shown.subject, row.kind, verdict, *numbers, shown.reason, shown.note


def _facts(verdicts: pd.DataFrame) -> dict[str, str]:
    """Whose claims these are, by which data, how many ended how, and when their rules were made."""
    first = verdicts.iloc[0]
    whose = WHOSE.get(first["register"], f"Claims of {first['register']}.yaml, not published ones")
    words = WORDS["registered"]
    ended = [f"{n} {verdict}" for verdict, n in _counted(verdicts["verdict"], ORDER).items()]
    rules = [f"{n} {words[w]}" for w, n in _counted(verdicts["registration"], words).items()]
    return {
        "title": f"{whose}, by {first['judged']} ({first['scale']})",
        "counts": f"{wording.counted(len(verdicts), 'claim')}: {', '.join(ended)}.",
        "registered": f"{', '.join(rules)}.",
    }


def _counted(found: pd.Series, order: Iterable[str]) -> dict[str, int]:
    counts = found.value_counts()
    return {word: int(counts[word]) for word in order if word in counts}


def to_text(verdicts: pd.DataFrame, width: int = WIDTH) -> str:
    """The counts, and what was tested, study by study, in lines of so many letters."""
    studies = []
    for name, of_study in verdicts.groupby("study", sort=False):
        tested = rows_of(of_study[of_study["verdict"] != terms.NOT_TESTED])
        shown = [(row, formatting.of_verdict(row)) for row in tested]
        studies.append({"name": name, "claims": len(of_study), "tested": shown})
    facts = {"studies": studies, "marks": MARKS, "width": width, **_facts(verdicts)}
    return render("claims.txt", **facts).rstrip("\n")


def write_for_paper(
    verdicts: pd.DataFrame, studies: Studies, checked: Sequence[Defect], folder: Path
) -> None:
    """Write claims.tex, discussion.tex, register.tex, and the tables claims-register and defects.

    Without studies nothing is said; `checked` are statements that arithmetic can check.
    """
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = verdicts[verdicts["study"].isin(list(studies))]
    titles = {
        study: f"{facts['authors'].split(',')[0]} et al. {facts['year']}"
        for study, facts in studies.items()
    }
    made = [register(verdicts), defects(checked, titles)]
    table.write_all(made, folder)
    shown = [*(["studies"] if studies else []), *(each.name for each in made if each.rows)]
    wrong: dict[str, list[Defect]] = {}
    for each in (each for each in checked if not each.holds):
        wrong.setdefault(titles[each.study], []).append(each)
    for one, form in product(made, (".tex", ".csv")):
        # The paper names these files, even where they are empty.
        (folder / f"{one.name}{form}").touch()
    for name, text in (
        ("claims.tex", sections(verdicts, studies) if studies else ""),
        ("discussion.tex", render("discussion.tex", wrong=wrong)),
        ("register.tex", render("register.tex", shown=shown)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def follows(plans: Iterable[Plan], studies: Studies) -> bool:
    """Whether any of these campaigns is after a study of the register, by its title."""
    return any(facts["title"] in plan.reproduces for plan in plans for facts in studies.values())


def sections(verdicts: pd.DataFrame, studies: Studies) -> str:
    """LaTeX: how the claims were registered, and one subsection for each study."""
    datasets = {name for cell in verdicts["datasets"] for name in cell.split("; ") if name}
    made = []
    for study, facts in studies.items():
        of_study = verdicts[verdicts["study"] == study]
        if len(of_study):
            tested = rows_of(of_study[of_study["verdict"] != terms.NOT_TESTED])
            tested.sort(key=lambda row: TELLING.index(row.verdict))
            absent = untested(of_study)
            made.append({
                "title": f"{facts['authors']}, {facts['venue']} {facts['year']}",
                "verdicts": _counted(of_study["verdict"], TELLING),
                "tested": [(row, here(row)) for row in tested],
                "untested": to_latex(absent) if absent.rows else "",
            })  # fmt: skip
    return render(
        "claims.tex", studies=made, not_fixed=NOT_FIXED, claims=len(verdicts),
        verdicts=_counted(verdicts["verdict"], TELLING), registered=_facts(verdicts)["registered"],
        datasets=sorted(name.rpartition("/")[2] for name in datasets),
    )  # fmt: skip


def here(row: Any) -> str:
    """Estimate, interval, margin, blocks, A/A pair and coverage of a verdict, as far as it has."""
    return sentence("here.txt", row=formatting.of_verdict(row), control=row.control)


def untested(verdicts: pd.DataFrame) -> Table:
    """The claims that were not tested, by reason, the commonest first."""
    absent = verdicts[verdicts["verdict"] == terms.NOT_TESTED]
    by_reason = absent.groupby("reason", sort=False)["claim"].agg(list)
    ranked = sorted(by_reason.items(), key=lambda each: -len(each[1]))
    return Table("untested", [(str(reason), ", ".join(of), str(len(of))) for reason, of in ranked])


def register(verdicts: pd.DataFrame) -> Table:
    """Every claim that was tested, with its verdict and reason."""
    tested = rows_of(verdicts[verdicts["verdict"] != terms.NOT_TESTED])
    state = {when: f" ({words})" for when, words in NOT_FIXED.items()}
    made = [
        (row.claim, row.kind, row.verdict + state.get(row.registration, ""), here(row), row.reason)
        for row in tested
    ]
    return Table("claims-register", made)


def defects(checked: Sequence[Defect], titles: Mapping[str, str]) -> Table:
    """Each statement that arithmetic can check, with what comes out; studies by their titles."""
    made = [
        (titles[each.study], each.place, each.says, each.gives, "yes" if each.holds else "no")
        for each in checked
    ]
    return Table("defects", made)
