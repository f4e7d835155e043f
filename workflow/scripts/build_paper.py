"""Rule build_paper: the PDF, and TeX's own log beside it."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.plan.plan import PLAN, read_plan
from parity.report.text import section
from parity.report.text.paper import build, of_study, pictures

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        own = read_plan(Path(given.plan)).study
        others = [Path(path).parent for path in given.sections]
        known = {own, *(read_plan(folder / PLAN).study for folder in others)}
        live = snakemake.wildcards.source != "archive"
        absent = [] if live else [name for name in snakemake.params.studies if name not in known]
        log = build(
            Path(given.main),
            of_study(map(Path, given.studies), own),
            [
                *map(Path, [given.numbers, *given.tables, *given.claims]),
                *pictures(Path(given.figures)),
            ],
            Path(snakemake.output.pdf),
            section.together([folder.name for folder in others], absent),
            {f.name: [f / section.NAME, *pictures(f / "figures")] for f in others},
        )
        Path(snakemake.log[0]).write_text(log, encoding="utf-8")
