"""Rule plan: what would be run, what it costs and what it can prove, before anything is run."""

from pathlib import Path

from parity.analysis import exclusions
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.preview import blocks_needed, pilots, proof_lines, published_designs
from parity.preview.lines import duration, plan_lines, probe_lines
from parity.preview.surroundings import look_around, seconds_by_case, shortest_wall

if __name__ == "__main__":
    with shown_to_the_user():
        plan, archive = read_plan(Path(snakemake.input.plan)), Path(snakemake.params.archive)
        system, images = load_system(snakemake.params.system), Path(snakemake.params.images)
        here = look_around(plan, system, snakemake.params.jobs, archive, images)
        seconds = seconds_by_case(plan, here.seen)

        def takes(case: str, blocks: int) -> str:
            """How long so many blocks take that hold the case, in words."""
            one = seconds[case]
            return "?" if one is None else duration(shortest_wall([one] * blocks, here.at_once))

        excluded = exclusions.load(Path(snakemake.input.exclusions))
        folders = [*sorted(Path("results/live").glob("*")), archive]
        known, unread = pilots.pilots(folders, excluded)
        needs = blocks_needed.needs(plan, pilots.best_spreads(plan, known))
        print("\n".join([*plan_lines(plan, here), "", *probe_lines(here.probes), ""]))
        print(
            "\n".join(
                [*proof_lines.need_lines(needs, takes), *(f"  {line}" for line in unread), ""]
            )
        )
        print(
            "\n".join(
                proof_lines.paper_lines(published_designs.load(Path(snakemake.input.designs)))
            )
        )
