"""Rule reparse: prove that the archive's tables follow from its raw outputs."""

from pathlib import Path

from parity.core.errors import UserError, shown_to_the_user
from parity.records.dataset import PARSED, broken_files, differing_tables

if __name__ == "__main__":
    with shown_to_the_user():
        dataset = Path(snakemake.input.raw).parents[1]
        if broken := broken_files(dataset):
            raise UserError(f"checksums do not hold: {', '.join(broken)}", where=str(dataset))
        if differing := differing_tables(dataset):
            raise UserError(
                f"parsing again gives other bytes: {', '.join(differing)}",
                where=str(dataset),
                action="say in CHANGELOG.md which parser was mended, and archive anew",
            )
        print(f"{dataset}:\n  checksums hold; {len(PARSED)} tables parsed again, the same bytes")
