"""Rule parse_records: all tables from the gathered outputs."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.dataset import parse_dataset

if __name__ == "__main__":
    with shown_to_the_user():
        dataset = Path(snakemake.input.plan).parent
        parse_dataset(dataset, dataset / "records")
