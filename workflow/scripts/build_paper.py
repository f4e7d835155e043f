"""Rule build_paper: the PDF, and TeX's own log beside it."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.present.paper import build

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.input
        parts = [given.numbers, *given.tables, *given.figures]
        log = build(map(Path, given.sources), map(Path, parts), Path(snakemake.output.pdf))
        Path(snakemake.log[0]).write_text(log, encoding="utf-8")
