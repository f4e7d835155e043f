"""Rule draw: figures, tables, numbers and the summary of one dataset."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.timed import case_times, session_seconds
from parity.report import view, write
from parity.report.tables import published

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        values_file = Path(snakemake.input.published[0])
        shown = view.load(folder, values_file.parent)
        values = published.load(values_file, shown.plan.study)
        write.write(shown, values, folder, case_times(folder), session_seconds(folder))
