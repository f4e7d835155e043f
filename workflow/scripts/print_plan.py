"""Rule plan: what would be run and what it costs, before anything is submitted."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.files import read_json
from parity.overview import plan_lines, probe_lines
from parity.preview import look_around
from parity.system import load_system

if __name__ == "__main__":
    with shown_to_the_user():
        plan = read_json(Path(snakemake.input.plan))
        system = load_system(snakemake.params.system)
        here = look_around(plan, system, snakemake.params.jobs, Path(snakemake.params.archive))
        print("\n".join([*plan_lines(plan, here), "", *probe_lines(here.probes)]))
