"""Rule dashboard: the page of all archived datasets, or of the live one."""

from pathlib import Path

from parity.claims import tables
from parity.claims.register import load_register
from parity.core.errors import shown_to_the_user
from parity.report import view
from parity.report.dashboard import content, page

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        folder = Path(given.verdicts).parent
        verdicts = tables.read(tables.VERDICTS, folder)
        evidence = tables.read(tables.EVIDENCE, folder)
        tables.refuse_changed(verdicts, Path("results"))
        studies = load_register(Path(given.claims), Path(given.published)).studies
        views = [view.load(Path(plan).parent) for plan in given.plans]
        made = content.content(views, verdicts, evidence, studies)
        path = Path(snakemake.output.page)
        page.write(made, path)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, open it in a browser")
