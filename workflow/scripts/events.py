"""Rule events: what runs wrote down one by one, a Parquet file for each."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.events import write_events

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.output[0])
        print(f"{folder}: {write_events(Path(snakemake.input.raw).parent, folder):,} events")
