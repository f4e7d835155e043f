"""Rule build_paper: the PDF, and TeX's own log beside it."""

from pathlib import Path

from parity.claims import expected
from parity.core.documents import read_document
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.report.text import paper, section
from parity.report.text.artifact import Effort

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        dataset = Path(given.plan).parent
        others = [Path(path).parent for path in given.sections]
        studies = () if snakemake.wildcards.source != "archive" else snakemake.params.studies
        log = paper.build(
            Path(given.main),
            paper.of_study(map(Path, given.studies), read_plan(Path(given.plan)).study),
            [
                *map(Path, [given.numbers, *given.tables, *given.claims]),
                *paper.pictures(Path(given.figures)),
            ],
            Path(snakemake.output.pdf),
            paper.together(
                dataset,
                others,
                studies,
                expected.load(Path(given.expected)),
                read_document(Path(given.effort), Effort),
            ),
            {f.name: [f / section.NAME, *paper.pictures(f / "figures")] for f in others},
        )
        Path(snakemake.log[0]).write_text(log, encoding="utf-8")
