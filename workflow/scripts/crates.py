"""Rule crates: every archive as an RO-Crate."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.crate import write_crate

if __name__ == "__main__":
    with shown_to_the_user():
        for plan in snakemake.input:
            print(write_crate(Path(plan).parent))
