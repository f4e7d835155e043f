"""What the verdicts on published claims say, study by study, for the paper.

Every sentence about a result is made from a row of the verdicts; a claim that was not
tested is counted under its reason. The rows themselves stand in the paper's appendix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.claims import terms
from parity.claims.published import Defect
from parity.claims.registration import AMENDED, UNREGISTERED
from parity.core.wording import RATIO, capital, listed
from parity.plan.plan import Plan
from parity.report.tables import table
from parity.report.tables.table import Table
from parity.report.text import formatting, numbers
from parity.report.view import rows_of
from parity.report.wording import CLAIMS

# What is said of verdicts and of rules, each for one and for several; first what says most.
ENDED, REGISTERED = CLAIMS["ended"], CLAIMS["registered"]
ORDER = tuple(ENDED)
# What a rule is called that was not fixed before its data, in the text and in the appendix.
NOT_FIXED = {AMENDED: "amended", UNREGISTERED: "never registered"}
Studies = Mapping[str, Mapping[str, Any]]  # title, authors, venue and year of each, by its key


def write(
    verdicts: pd.DataFrame,
    studies: Studies,
    checked: Sequence[Defect],
    folder: Path,
) -> None:
    """Write claims.tex, discussion.tex, register.tex, and the tables claims-register and defects.

    Where there are no studies, because the data are after none of theirs, nothing is said of them.

    Args:
        verdicts: `parity.claims.tables.VERDICTS`.
        checked: statements that arithmetic can check, of `parity.claims.published`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = verdicts[verdicts["study"].isin(list(studies))]
    made = [register(verdicts), defects(checked, titles(studies))]
    rows = {each.name: bool(each.rows) for each in made}
    for name, text in (
        ("claims.tex", sections(verdicts, studies) if studies else ""),
        ("discussion.tex", discussion(checked, studies)),
        ("register.tex", numbers.shown({"studies": bool(studies)} | rows)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    for each in made:
        table.write(each, folder)


def follows(plans: Iterable[Plan], studies: Studies) -> bool:
    """Whether any of these campaigns is after a study of the register, by its title."""
    return any(facts["title"] in plan.reproduces for plan in plans for facts in studies.values())


def titles(studies: Studies) -> dict[str, str]:
    """How the paper calls each study: first author and year."""
    return {
        study: f"{facts['authors'].split(',')[0]} et al. {facts['year']}"
        for study, facts in studies.items()
    }


def sections(verdicts: pd.DataFrame, studies: Studies) -> str:
    """LaTeX: how the claims were registered, and one subsection for each study."""
    said = [formatting.latex(" ".join([counts(verdicts), registered(verdicts), rest_on(verdicts)]))]
    for study, facts in studies.items():
        of_study = verdicts[verdicts["study"] == study]
        if len(of_study):
            said.append(_section(facts, of_study))
    return "\n\n".join(said) + "\n"


def counts(verdicts: pd.DataFrame) -> str:
    """How many claims there are and how they ended, in a sentence."""
    if len(verdicts) > 1 and (verdicts["verdict"] == terms.NOT_TESTED).all():
        return f"None of {len(verdicts)} claims was tested."
    return _shares(verdicts["verdict"], ENDED, "claim")


def registered(verdicts: pd.DataFrame) -> str:
    """How many of their rules were fixed when, in a sentence."""
    return _shares(verdicts["registration"], REGISTERED, "rule")


def _shares(found: pd.Series, words: Mapping[str, Sequence[str]], what: str) -> str:
    """How many things hold each word, in the order of the words, in a sentence."""
    rows = found.value_counts()
    if len(rows) == 1:
        one, many = words[rows.index[0]]
        return f"The one {what} {one}." if len(found) == 1 else f"All {len(found)} {what}s {many}."
    ended = listed(
        f"{rows[key]} {one if rows[key] == 1 else many}"
        for key, (one, many) in words.items()
        if key in rows
    )
    return f"Of {len(found)} {what}s {ended}."


def rest_on(verdicts: pd.DataFrame) -> str:
    """Which datasets were judged together; empty if it was one."""
    names = set("; ".join(verdicts["datasets"]).split("; ")) - {""}
    if len(names) < 2:
        return ""
    each = listed(sorted(name.rpartition("/")[2] for name in names))
    return f"All archives of one system are judged together; these hold cells of them: {each}."


def _section(facts: Mapping[str, Any], verdicts: pd.DataFrame) -> str:
    title = formatting.latex(f"{facts['authors']}, {facts['venue']} {facts['year']}")
    tested = rows_of(verdicts[verdicts["verdict"] != terms.NOT_TESTED])
    ranked = sorted(tested, key=lambda row: ORDER.index(row.verdict))
    lines = [rf"\subsection{{{title}}}", formatting.latex(counts(verdicts))]
    lines += [_finding(row) for row in ranked]
    if (absent := untested(verdicts)).rows:
        caption = rf"\caption{{Claims of {title} that were not tested, and why.}}"
        lines += [r"\begin{table}\centering\scriptsize\setlength{\tabcolsep}{3pt}", caption]
        lines += [table.to_latex(absent), r"\end{table}"]
    return "\n".join(lines)


def _finding(row: Any) -> str:
    head = formatting.latex(f"{capital(row.verdict)}{_not_fixed(row)}.")
    return rf"\point{{{head}}} " + formatting.latex(finding(row))


def _not_fixed(row: Any) -> str:
    """What is said behind the verdict of a rule that was not fixed before its data."""
    state = NOT_FIXED.get(row.registration, "")
    return f" ({state})" if state else ""


def finding(row: Any) -> str:
    """What a row of the verdicts says: claim, our number, what it rests on, why it ended so."""
    claim = f"{_bare(row.statement)} ({row.where}; {_bare(row.published)})."
    where = f" ({row.dataset.rpartition('/')[2]})" if row.dataset != row.judged else ""
    here = f"Here{where}: {measured(row)}."
    said = (claim, here, _ended(row.reason), _ended(row.proxy))
    return " ".join(filter(None, said))


def measured(row: Any) -> str:
    """Estimate, interval, unit, margin, blocks, A/A pair and coverage, as far as it has them.

    The coverage is left out where the reason begins with it.
    """
    if row.estimate is None or pd.isna(row.estimate):
        return "no number of its own"
    ratio = row.unit == RATIO
    figures = [
        formatting.number(value) if ratio else formatting.significant(value)
        for value in (row.estimate, row.low95, row.high95)
    ]
    parts = [figures[0] if pd.isna(row.low95) else f"{figures[0]} [{figures[1]}, {figures[2]}]"]
    parts[0] += "" if ratio else f" {row.unit}"
    if ratio and not pd.isna(row.margin):
        parts.append(f"margin {formatting.margin(row.margin)}")
    parts.append(f"n = {row.blocks}")
    if row.control != "none":
        parts.append(f"A/A pair {row.control}")
    if row.coverage and not row.reason.startswith(row.coverage):
        parts.append(row.coverage)
    return ", ".join(parts)


def untested(verdicts: pd.DataFrame) -> Table:
    """The claims that were not tested, by reason, the commonest first."""
    absent = verdicts[verdicts["verdict"] == terms.NOT_TESTED]
    names = absent.groupby("reason", sort=False)["claim"].agg(list)
    rows = [
        (_ended(str(reason)), ", ".join(of_reason), str(len(of_reason)))
        for reason, of_reason in sorted(names.items(), key=lambda each: -len(each[1]))
    ]
    columns = "L{3.6cm}L{4.3cm}r"
    return Table("untested", columns, ("reason", "claims", "n"), rows, breaks=False)


def register(verdicts: pd.DataFrame) -> Table:
    """The appendix: every claim that was tested, with its verdict and reason."""
    rows = [
        (
            row.claim,
            row.kind,
            row.verdict + _not_fixed(row),
            "–" if pd.isna(row.estimate) else measured(row),
            row.reason,
        )
        for row in rows_of(verdicts)
        if row.verdict != terms.NOT_TESTED
    ]
    head = ("claim", "kind", "verdict", "here", "reason")
    return Table("claims-register", "L{3.4cm}lL{1.8cm}L{3.6cm}L{5.4cm}", head, rows)


def defects(checked: Sequence[Defect], studies: Mapping[str, str]) -> Table:
    """Each statement that arithmetic can check, with what comes out; studies by their titles."""
    rows = [
        (studies[each.study], each.place, each.says, each.gives, "yes" if each.holds else "no")
        for each in checked
    ]
    head = ("study", "place", "stated", "by arithmetic", "agrees")
    return Table("defects", r"lL{2cm}L{4cm}L{4cm}l", head, rows)


def discussion(checked: Sequence[Defect], studies: Studies) -> str:
    """LaTeX: the published statements that arithmetic does not bear out, study by study."""
    by_study: dict[str, list[str]] = {}
    for each in checked:
        if not each.holds:
            by_study.setdefault(each.study, []).append(f"{_bare(each.sentence)} ({each.place}).")
    return "\n\n".join(
        rf"\point{{{formatting.latex(title)}.}} " + formatting.latex(" ".join(by_study[study]))
        for study, title in titles(studies).items()
        if study in by_study
    )


def _bare(text: str) -> str:
    """Text without the stop at its end."""
    return text.strip().removesuffix(".")


def _ended(text: str) -> str:
    """Text as a sentence: with a capital and a stop; nothing stays nothing."""
    text = _bare(text)
    return capital(text) + ("." if text else "")
