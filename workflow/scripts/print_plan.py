"""Rule plan: what would be run, before anything is."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.files import read_json
from parity.overview import plan_lines, probe_lines, typical_seconds

if __name__ == "__main__":
    with shown_to_the_user():
        runs = Path(snakemake.params.archive) / "records/runs.parquet"
        plan = read_json(Path(snakemake.input.plan))
        print("\n".join([*plan_lines(plan, typical_seconds(runs)), "", *probe_lines()]))
