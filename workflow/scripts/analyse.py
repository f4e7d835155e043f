"""Rule analyse: from records to conclusions."""

from pathlib import Path

from parity.analysis import analysis, dataset, exclusions, tables
from parity.analysis.noise import study
from parity.core.errors import shown_to_the_user
from parity.records.events import write_events

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        analysed = analysis.analyse(dataset.load(folder, whole=False), excluded)
        analysis.write(analysed, folder / "analysis")
        recorded = Path(snakemake.output.events)
        write_events(folder / "records", recorded)
        values = study.event_values(folder, recorded)
        tables.write(tables.EVENT_VALUES, values, folder / "analysis/event_values.parquet")
