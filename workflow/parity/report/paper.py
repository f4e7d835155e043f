"""The paper of one dataset, the same bytes each time, and its appendix for reviewers.

What each command takes was measured once, in a clone of its own (`tools/docs.py effort`).
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from parity.analysis.dataset import ARCHIVE
from parity.claims.verdicts import Expected
from parity.core import wording
from parity.core.documents import Document
from parity.core.errors import UserError
from parity.plan.plan import PLAN, read_plan
from parity.records import schema
from parity.records.dataset import CHECKSUMS, PROVENANCE, archived, files_of, provenance
from parity.records.timed import session_seconds
from parity.report import answer, texts
from parity.report.tables.table import Table, to_latex
from parity.report.templating import latex, render

DIGITS = 16  # of a digest, as in the table of images


class Step(Document, frozen=True):
    """A command of the artifact: what it does, its seconds, and bytes of the clone after it."""

    command: str
    does: str
    seconds: float
    bytes: int


class Effort(Document, frozen=True):
    """What the commands took, one after the other in a new clone, and on which machine."""

    machine: str
    day: str
    steps: tuple[Step, ...]
    version: int = 1


def appendix(
    dataset: Path, beside: Sequence[Path], judged: str, expected: Expected, effort: Effort
) -> str:
    """LaTeX: the artifact of a dataset and those beside it.

    `judged`: what the verdicts are of that are expected; empty where no claims are told of.
    Raises UserError: a dataset is broken.
    """
    folders = [dataset, *beside]
    images = schema.read(schema.IMAGES, dataset / "records/images.parquet").to_pylist()
    programs = [program for folder in folders for program in provenance(folder).programs]
    commits = {each.commit + " (with changes)" * each.changed for each in programs if each.commit}
    steps = [
        (each.command, each.does, wording.number(each.seconds, 0), wording.size(each.bytes))
        for each in effort.steps
    ]
    found, known = Counter(v for (name, _), v in expected.items() if name == judged), []
    for folder in folders:
        origin, sums = provenance(folder), folder / CHECKSUMS
        digest = hashlib.sha256(sums.read_bytes()).hexdigest()[:DIGITS] if sums.exists() else "–"
        held = [folder / name for name in files_of(folder) if name != PROVENANCE or sums.exists()]
        size = wording.size(sum(path.stat().st_size for path in held))
        minutes = wording.number(session_seconds(folder) / 60, 1)
        known.append((folder.name, origin.ended[:10], str(origin.blocks), minutes, size, digest))
    return render(
        "artifact.tex", effort=effort, judged=judged, verdicts=dict(found.most_common()),
        commits=sorted(commits),
        config=f"archive={dataset.name}" if (dataset / CHECKSUMS).exists() else "data=live",
        datasets=to_latex(Table("artifact-datasets", known)),
        image_seconds=[each["seconds"] for each in images if each["seconds"] is not None],
        image_sizes=[each["bytes"] for each in images if each["bytes"] is not None],
        steps=to_latex(Table("artifact-effort", steps)),
    )  # fmt: skip


DEFAULT = "default"
# That a test found nothing is no finding: these words never stand in a paper of ours.
BANNED = re.compile(
    r"\b(?:no|not|without)[\s~]+(?:an?[\s~]+|any[\s~]+|differ[\s~]+)?(?:statistical(?:ly)?[\s~]+)?"
    r"significant(?:ly)?(?:[\s~]+differ\w*)?",
    re.IGNORECASE,
)
# TeX reads its clock from here; the paper carries no date.
REFERENCES = "references.bib"
FIXED_CLOCK = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}


def of_study(files: Iterable[Path], study: str) -> Path:
    """The file that says what is particular to a study; one without such a file has a default."""
    by_study = {path.stem: path for path in files}
    return by_study.get(study, by_study[DEFAULT])


def together(
    dataset: Path, beside: Sequence[Path], studies: Sequence[str], expected: Expected,
    effort: Effort,
) -> dict[str, str]:  # fmt: skip
    """What is said of all datasets of a system together, by the name of its file.

    `studies` are those that could be archived; of none that is not, nothing is said.
    """
    folders = [dataset, *beside]
    plans = [read_plan(folder / PLAN) for folder in folders]
    known, is_of_ours = {plan.study for plan in plans}, plans[0].reproduces != "none"
    is_one = is_of_ours and known & {*studies}
    absent = [name for name in studies if name not in known] if is_one else []
    read = [answer.read(folder) for folder in folders]
    judged = f"{dataset.parent.name}/{dataset.name}"
    if dataset.parent.name == ARCHIVE:
        judged = f"{ARCHIVE}/{archived(dataset.parent)[dataset.name][0]}"
    return {
        "others.tex": texts.together([folder.name for folder in beside], absent),
        "answer.tex": latex(answer.said(read)),
        "bounds.tex": latex(answer.bounds(read)),
        "artifact.tex": appendix(dataset, beside, judged if is_of_ours else "", expected, effort),
    }


def pictures(folder: Path) -> list[Path]:
    """The figures that were drawn of a dataset."""
    return sorted(folder.glob("*.pdf"))


def build(
    main: Path, study: Path, parts: Iterable[Path], output: Path, texts: Mapping[str, str],
    of_others: Mapping[str, Iterable[Path]] | None = None,
) -> str:  # fmt: skip
    """Typeset the paper with latexmk in a temporary directory; return TeX's log.

    Args:
        main: what all papers have in common; references.bib is beside it.
        study: what is particular to the study.
        parts: what the dataset gives to it: numbers.tex, tables and figures.
        texts: what is said of all datasets together, by file name.
        of_others: the parts of other datasets, which go into a folder of each one's name.

    Raises UserError: LaTeX is not installed, or it stops; with its first error.
    """
    if not shutil.which("latexmk"):
        action = "install texlive-latex-recommended, texlive-publishers, texlive-fonts-recommended"
        action += " and latexmk, or ask for `figures` instead of `paper`"
        raise UserError("LaTeX is not installed: latexmk is missing", action=action)
    parts = list(parts)
    folders = {name: list(given) for name, given in (of_others or {}).items()}
    for path in (main, study, *parts, *(path for given in folders.values() for path in given)):
        refuse_banned(path)
    with tempfile.TemporaryDirectory(prefix="parity-paper-") as name:
        folder = Path(name)
        shutil.copy(study, folder / "study.tex")
        for text_of, text in texts.items():
            (folder / text_of).write_text(text, encoding="utf-8")
        for other, given in {"": [main, main.with_name(REFERENCES), *parts], **folders}.items():
            (folder / other).mkdir(exist_ok=True)
            for path in given:
                shutil.copy(path, folder / other)
        words = [
            "latexmk", "-pdf", "-norc", "-interaction=nonstopmode", "-halt-on-error", "main.tex",
        ]  # fmt: skip
        done = subprocess.run(
            words, cwd=folder, env=os.environ | FIXED_CLOCK | {"max_print_line": "1000"},
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode:
            lines = done.stdout.splitlines()
            first = next((i for i, line in enumerate(lines) if line.startswith("! ")), -5)
            raise UserError("LaTeX stops: " + " ".join(lines[first:][:4]), where="paper/main.tex")
        shutil.copy(folder / "main.pdf", output)
    return done.stdout


def refuse_banned(path: Path) -> None:
    """Stop if a TeX file takes a test that found nothing for a finding, with its line."""
    if path.suffix != ".tex":
        return
    text = path.read_text(encoding="utf-8")
    if found := BANNED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        problem = f"the paper says {' '.join(found.group().split())!r}, which no test can show"
        allowed = "equivalent within a margin, or inconclusive"
        raise UserError(problem, where=f"{path}: line {line}", allowed=allowed)
