"""Rule noise_traces: the events of a dataset as LogGOPSim reads them."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.events import write_noise_traces

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.output[0])
        print(f"{folder}: {write_noise_traces(Path(snakemake.input.events), folder)} files")
