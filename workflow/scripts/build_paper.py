"""Rule build_paper: the PDF, and TeX's own log beside it."""

import json
from pathlib import Path

from parity.errors import shown_to_the_user
from parity.present.paper import build, of_study

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        plan = json.loads(Path(given.plan).read_text(encoding="utf-8"))
        study = of_study(map(Path, given.studies), plan["study"])
        parts = [given.numbers, *given.tables, *given.claims, *given.figures]
        log = build(Path(given.main), study, map(Path, parts), Path(snakemake.output.pdf))
        Path(snakemake.log[0]).write_text(log, encoding="utf-8")
