"""Rule dashboard: the page of all archived datasets, or of the live one."""

from pathlib import Path

from parity.claims import tables
from parity.claims.register import load_register
from parity.claims.verdicts import Judgement
from parity.core.errors import shown_to_the_user
from parity.report import view
from parity.report.dashboard import content, page

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        judgements = []
        for folder in (Path(path).parent for path in given.verdicts):
            verdicts = tables.read(tables.VERDICTS, folder)
            tables.refuse_changed(verdicts, Path("results"))
            judgements.append(Judgement(verdicts, tables.read(tables.EVIDENCE, folder)))
        studies = load_register(Path(given.claims), Path(given.published)).studies
        views = [view.load(Path(plan).parent) for plan in given.plans]
        made = content.content(views, judgements, studies)
        path = Path(snakemake.output.page)
        page.write(made, path)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, open it in a browser")
