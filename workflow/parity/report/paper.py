"""Papers: that of all archives, by question, and that of one dataset; the same bytes each time."""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parity.claims.published import Defect
from parity.core.documents import Document
from parity.core.errors import UserError
from parity.core.wording import number
from parity.records.dataset import archived, provenance
from parity.report import answer, formatting
from parity.report.claims import matrix, tested
from parity.report.tables.measured import node_facts
from parity.report.tables.table import Table, to_latex
from parity.report.templating import latex, render
from parity.report.view import rows_of

TOLD_OF_SYSTEMS = ("Processor", "CPUs online", "Last-level cache", "Memory", "Under a hypervisor",
                   "Kernel", "Measured", "Campaigns", "Blocks")  # fmt: skip


class Step(Document, frozen=True):
    """A command of the artifact: what it does, its seconds, and bytes of the clone after it."""

    command: str
    does: str
    seconds: float
    bytes: int


class Effort(Document, frozen=True):
    """What commands took, one after another in a new clone (`tools/docs.py effort`), and where."""

    machine: str
    day: str
    steps: tuple[Step, ...]
    version: int = 1


def of_archives(folders: Sequence[Path], judged: Sequence[pd.DataFrame],
                studies: Mapping[str, Mapping[str, Any]], checked: Sequence[Defect],
                effort: Effort) -> dict[str, str]:  # fmt: skip
    """LaTeX: every number and table that the paper of all archives takes, by the name of its file.

    `judged`: the verdicts of one archive of each system; `checked`: the published statements that
    arithmetic can check; `studies`: title, authors, venue and year of each, by its key.
    """
    known, systems = archived(folders[0].parent), dict[str, list[Path]]()
    for folder in folders:
        systems.setdefault(known[folder.name][0], []).append(folder)
    verdicts = {rows["judged"].iloc[0].rpartition("/")[2]: rows for rows in judged}
    read = {folder.name: answer.read(folder) for folder in folders}
    wrong = [each for each in checked if not each.holds]
    told, starts = answer.at_most(*read.values()), answer.to_start(*read.values())
    values = {
        "archives": str(len(read)), "checked": str(len(checked)), "wrong": str(len(wrong)),
        "effort-machine": effort.machine, "effort-day": effort.day,
        **{f"effort/{step.command}": f"{step.seconds:.0f} s" for step in effort.steps},
        **{f"bound/{one.program}/{one.runtime}": one.told for one in told},
        **{f"start/{name}": answer.told_start(bound) for name, bound in starts.items()},
        **_spans("every system", told)}  # fmt: skip
    spans = {name: _spans(name, answer.at_most(*(read[each.name] for each in of)))
             for name, of in systems.items()}  # fmt: skip
    for name, of in systems.items():
        values |= spans[name] | _laws(of) | _verdicts(name, verdicts[name])
    titles = {s: f"{of['authors'].split(',')[0]} et al. {of['year']}" for s, of in studies.items()}
    refuted = [(titles[each.study], each.place, each.says, each.gives) for each in wrong]
    known_rows = {f"{name}/{row.case}/{row.metric}/{row.arm}": formatting.of(plan, row)
                  for name, (plan, table) in read.items()
                  for row in rows_of(table[table["planned"] & (table["blocks"] > 0)])}  # fmt: skip
    numbers = render("archives.tex", values=values, known=known_rows,
                     systems=[name for name, bounds in spans.items() if bounds])  # fmt: skip
    return {"numbers.tex": numbers, "systems.tex": to_latex(_systems(systems)),
            "claims.tex": matrix({name: verdicts[name] for name in systems}),
            "defects.tex": to_latex(Table("defects", refuted))}  # fmt: skip


def _spans(where: str, told: Sequence[answer.Bound]) -> dict[str, str]:
    by_program: dict[str, list[answer.Bound]] = {}
    for bound in told:
        by_program.setdefault(bound.program, []).append(bound)
    return {f"{where}/{name}": answer.told_span(bounds) for name, bounds in by_program.items()}


def _verdicts(system: str, judged: pd.DataFrame) -> dict[str, str]:
    """How many claims ended how; each in our words, its verdict, and the number behind it."""
    values = {f"{system}/{name}": str(n) for name, n in Counter(judged["verdict"]).items()}
    for row in rows_of(judged):
        values[f"claim/{row.claim}"] = row.statement
        values[f"claim/{row.claim}/{system}"] = row.verdict
        values[f"claim/{row.claim}/{system}/estimate"] = formatting.of_verdict(row)[0]
    return values


def _laws(folders: Iterable[Path]) -> dict[str, str]:
    """Detours under quotas: what is left of the period and what was observed, of drawn datasets."""
    values = {}
    for path in (folder / "analysis/quota_law.parquet" for folder in folders):
        for row in rows_of(pd.read_parquet(path)) if path.exists() else ():
            key = f"{path.parts[-3]}/{row.case}/{row.arm}"
            values[f"{key}/predicted"] = f"{number(1000 * row.predicted)} ms"
            values[f"{key}/observed"] = f"{number(1000 * row.observed)} ms"
    return values


def of_dataset(dataset: Path, verdicts: pd.DataFrame) -> dict[str, str]:
    """LaTeX: the answer and bounds of a dataset, and the published claims that it tested."""
    read, claims = answer.read(dataset), tested(verdicts, dataset.name)
    bounds = " ".join(f"{line}." for line in answer.in_short(read))
    short = f"Upper 95 % bounds of costs: {bounds}" if bounds else "No cost could be bounded."
    told: dict[str, str] = {"answer.tex": latex(answer.said([read])), "short.tex": latex(short)}
    return told | ({"claims.tex": to_latex(claims)} if claims.rows else {})


def _systems(systems: Mapping[str, Sequence[Path]]) -> Table:
    """What each system is, a column each."""
    columns = []
    for folders in systems.values():
        nodes = pd.concat([pd.read_parquet(each / "records/nodes.parquet") for each in folders])
        origins = [provenance(each) for each in folders]
        days = sorted(day[:10] for of in origins for day in (of.began, of.ended))
        columns.append(node_facts(nodes) | {
            "Measured": " to ".join(dict.fromkeys((days[0], days[-1]))),
            "Campaigns": str(len(folders)), "Blocks": str(sum(of.blocks for of in origins)),
        })  # fmt: skip
    rows = [(label, *(column[label] for column in columns)) for label in TOLD_OF_SYSTEMS]
    width = f"L{{{13.75 / len(systems):.2f}cm}}"
    return Table("systems", rows, dict.fromkeys(systems, width))


# That a test found nothing is no finding: these words never stand in a paper of ours.
BANNED = re.compile(
    r"\b(?:no|not|without)[\s~]+(?:an?[\s~]+|any[\s~]+|differ[\s~]+)?(?:statistical(?:ly)?[\s~]+)?"
    r"significant(?:ly)?(?:[\s~]+differ\w*)?", re.IGNORECASE)  # fmt: skip
# TeX reads its clock from here; the paper carries no date.
FIXED_CLOCK = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}


def build(main: Path, texts: Mapping[str, str], parts: Mapping[str, Iterable[Path]],
          output: Path) -> str:  # fmt: skip
    """Typeset a paper with latexmk in a temporary directory; return TeX's log.

    Beside `main` are other LaTeX files and references.bib; `texts`: what is told of the data, by
    file name; `parts`: tables and figures of each dataset, which go into a folder of its name.
    Raises UserError: LaTeX is not installed, or it stops; with its first error.
    """
    if not shutil.which("latexmk"):
        action = "install texlive-latex-recommended, texlive-publishers, texlive-fonts-recommended"
        action += " and latexmk, or ask for `figures` instead of `paper`"
        raise UserError("LaTeX is not installed: latexmk is missing", action=action)
    beside = [*main.parent.glob("*.tex"), *main.parent.glob("*.bib")]
    with tempfile.TemporaryDirectory(prefix="parity-paper-") as name:
        folder = Path(name)
        for of, paths in {"": beside, **parts}.items():
            (folder / of).mkdir(exist_ok=True)
            for path in paths:
                refuse_banned(path)
                shutil.copy(path, folder / of)
        for text_of, text in texts.items():
            (folder / text_of).write_text(text, encoding="utf-8")
            refuse_banned(folder / text_of)
        words = ["latexmk", "-pdf", "-norc", "-interaction=nonstopmode", "-halt-on-error"]
        environment = os.environ | FIXED_CLOCK | {"max_print_line": "1000"}
        done = subprocess.run([*words, main.name], cwd=folder, env=environment, check=False,
                              capture_output=True, text=True, errors="replace")  # fmt: skip
        if done.returncode:
            lines = done.stdout.splitlines()
            first = next((i for i, line in enumerate(lines) if line.startswith("! ")), -5)
            where = f"{main.parent.name}/{main.name}"
            raise UserError("LaTeX stops: " + " ".join(lines[first:][:4]), where=where)
        shutil.copy(folder / main.with_suffix(".pdf").name, output)
    return done.stdout


def refuse_banned(path: Path) -> None:
    """Stop if a TeX file takes a test that found nothing for a finding, with its line."""
    text = path.read_text(encoding="utf-8") if path.suffix == ".tex" else ""
    if found := BANNED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        problem = f"the paper says {' '.join(found.group().split())!r}, which no test can show"
        allowed = "equivalent within a margin, or inconclusive"
        raise UserError(problem, where=f"{path}: line {line}", allowed=allowed)
