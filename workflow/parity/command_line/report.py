"""Commands of the rules that show: figures, tables, text, the dashboard and the paper."""

import shutil
from dataclasses import replace
from pathlib import Path

from parity.analysis.dataset import load_exclusions, refuse_broken
from parity.claims.register import load_register
from parity.claims.verdicts import Judgement
from parity.core.documents import read_document
from parity.plan.system import kind_of


def draw(plan: Path, events: Path, values: Path) -> None:
    """Draw all figures of a dataset, set its tables and numbers, and write the summary."""
    import parity.report
    from parity.analysis import sensitivity, tables
    from parity.records.timed import case_times, session_seconds
    from parity.report import view, write
    from parity.report.tables import published

    folder = plan.parent
    tables.write_added(parity.report, folder, events)
    shown = view.load(folder, values.parent)
    shown = replace(shown, analysis=sensitivity.write(shown.dataset, shown.analysis, folder))
    known = published.load(values, shown.plan.study)
    write.write(shown, known, folder, case_times(folder), session_seconds(folder))


def print_summary(summary: Path, drawn: list[Path]) -> None:
    """Print what a dataset says; the archives that were drawn are checked first."""
    chosen, folders = summary.parent, sorted({path.parent for path in drawn})
    for folder in folders:
        refuse_broken(folder)
    print(summary.read_text(encoding="utf-8"))
    if len(folders) > 1:
        print(f"{chosen.parent}/*/figures: of {len(folders)} datasets; this is {chosen.name}")
    else:
        print(f"{chosen}/figures")


def publish(pdf: Path, plans: list[Path]) -> None:
    """Put a paper where people look for it, and say what its data say, the bounds last."""
    from parity.report import answer

    folders = [plan.parent for plan in plans]
    for folder in folders:
        refuse_broken(folder)
    Path("paper").mkdir(exist_ok=True)
    shutil.copyfile(pdf, "paper/paper.pdf")
    if len(folders) == 1:
        print((folders[0] / "summary.txt").read_text(encoding="utf-8"))
    of = folders[0] if len(folders) == 1 else f"all {len(folders)} archives"
    print(f"paper/paper.pdf is the paper of {of}")
    print("\n".join(answer.in_short(*map(answer.read, folders))))


def compare(
    claims: Path, published: Path, plan: Path, fresh: Path, exclusions: Path, folder: Path
) -> None:
    """Hold what was measured here against the archive, effect by effect and word by word."""
    from parity.analysis.agreement import agree, kappa_of, refuse_missing
    from parity.analysis.analysis import analysed
    from parity.claims.cells import JudgingData
    from parity.claims.judging import judged
    from parity.claims.terms import NOT_TESTED
    from parity.report import texts
    from parity.report.figures import agreement
    from parity.report.view import origin_of

    refuse_missing(fresh)
    excluded, register = load_exclusions(exclusions), load_register(claims, published)
    both = [analysed(dataset, excluded) for dataset in (fresh, plan.parent)]
    found = agree(*both)
    verdicts = []
    for claim in register.claims:
        # What a dataset alone can test of it.
        said = [judged(claim, [JudgingData(x.dataset, x.analysis)]).verdict for x in both]
        verdicts += [(said[0], said[1])] if NOT_TESTED not in said else []
    origins = [origin_of(dataset) for dataset in (fresh, plan.parent)]
    note = kind_of(label for each in origins for label in each.scale_labels).note
    agreement.write(found, both[0].dataset.plan, note, folder)
    print(texts.agreement(found, kappa_of(verdicts), origins))


def print_claims(verdicts: Path, own: list[Path], folder: Path) -> None:
    """Print the verdict on every claim, and write the table in five forms; then one's own."""
    from parity.report import claims as shown

    made = {folder: verdicts.parent} | {folder / path.parent.name: path.parent for path in own}
    for destination, source in made.items():
        judged = Judgement.read(source).verdicts
        shown.write(judged, destination)
        print(shown.to_text(judged, shutil.get_terminal_size().columns))
        print(f"All of them, with reasons: {destination}/claims.md (.html, .tex, .csv)")


def write_dashboard(
    verdicts: list[Path], plans: list[Path], claims: Path, published: Path, page: Path
) -> None:
    """Write every comparison and claim, down to single runs, as one HTML file."""
    from parity.report import view
    from parity.report.dashboard import page as pages

    judgements = [Judgement.read(path.parent) for path in verdicts]
    studies = load_register(claims, published).studies
    views = [view.load(plan.parent) for plan in plans]
    pages.write(pages.content(views, judgements, studies), page)
    print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, open it in a browser")


def build_paper(
    main: Path, plans: list[Path], pictures: list[Path], verdicts: list[Path], claims: Path,
    published: Path, statements: Path, effort: Path, figures: Path, pdf: Path, log: Path,
) -> None:  # fmt: skip
    """Draw what all archives say together, and typeset their paper, with TeX's own log beside it.

    Args:
        pictures: the folders of figures of archives that it shows.
        figures: the folder for those of all archives.
        verdicts: of one dataset of each system.
    """
    from parity.claims import published as papers
    from parity.report import paper
    from parity.report.figures import together
    from parity.report.paper import Effort

    judged = [Judgement.read(path.parent).verdicts for path in verdicts]
    folders = [plan.parent for plan in plans]
    texts = paper.of_archives(
        folders, judged, load_register(claims, published).studies,
        papers.defects(statements), read_document(effort, Effort),
    )  # fmt: skip
    together.draw(folders, figures)
    drawn = {folder.parent.name: sorted(folder.glob("*.pdf")) for folder in pictures}
    drawn["all"] = sorted(figures.glob("*.pdf"))
    log.write_text(paper.build(main, texts, drawn, pdf), encoding="utf-8")


def build_paper_of_dataset(main: Path, numbers: Path, verdicts: Path, pdf: Path, log: Path) -> None:
    """Typeset the paper of a dataset, with TeX's own log beside it."""
    from parity.report import paper

    dataset = numbers.parent
    texts = paper.of_dataset(dataset, Judgement.read(verdicts.parent).verdicts)
    made = [numbers, *dataset.glob("tables/*.tex"), *sorted(dataset.glob("figures/*.pdf"))]
    log.write_text(paper.build(main, texts, {".": made}, pdf), encoding="utf-8")
