"""Rule build_paper: the PDF, and TeX's own log beside it."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.report.text import section
from parity.report.text.paper import build, of_study


def study_of(folder: Path) -> str:
    """The study of a dataset."""
    return read_plan(folder / "plan.json").study


if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        own = study_of(Path(given.plan).parent)
        study = of_study(map(Path, given.studies), own)
        parts = [given.numbers, *given.tables, *given.claims, *given.figures]
        beside = [Path(path).parent for path in given.sections]
        known = {own, *map(study_of, beside)}
        live = snakemake.wildcards.source != "archive"
        absent = [] if live else [name for name in snakemake.params.studies if name not in known]
        log = build(
            Path(given.main),
            study,
            map(Path, parts),
            Path(snakemake.output.pdf),
            section.together([folder.name for folder in beside], absent),
            {
                folder.name: [folder / section.NAME, *sorted((folder / "figures").glob("*.pdf"))]
                for folder in beside
            },
        )
        Path(snakemake.log[0]).write_text(log, encoding="utf-8")
