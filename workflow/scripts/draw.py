"""Rule draw: what is shown alone, figures, tables, numbers and the summary."""

from pathlib import Path

from parity.analysis import sensitivity
from parity.analysis.noise import study
from parity.core.errors import shown_to_the_user
from parity.records.timed import case_times, session_seconds
from parity.report import view, write
from parity.report.tables import published

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        sensitivity.write(folder)
        study.write(study.study(folder, Path(snakemake.input.events)), folder / "analysis")
        values_file = Path(snakemake.input.published[0])
        shown = view.load(folder, values_file.parent)
        values = published.load(values_file, shown.plan.study)
        write.write(shown, values, folder, case_times(folder), session_seconds(folder))
