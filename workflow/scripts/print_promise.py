"""Rule promise: what the time that is given can prove, before anything is measured."""

from collections import Counter
from pathlib import Path

from parity.analysis import exclusions
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.plan.system_kind import kind_of
from parity.preview import cost, proof
from parity.preview.noise import Noises
from parity.preview.promise import promise_lines

if __name__ == "__main__":
    with shown_to_the_user():
        given, archive = snakemake.params, Path(snakemake.params.archive)
        plan = read_plan(Path(snakemake.input.plan))
        kind = kind_of([load_system(given.system).scale_label])
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        known, _ = proof.pilots(proof.datasets_beside(archive), excluded)
        before = cost.known_before(plan, archive)
        runs = Counter(run.case for run in plan.blocks[0].runs)
        is_known = runs.keys() <= before.keys()
        seconds = {case: before[case].seconds * runs[case] for case in runs} if is_known else None
        lines = promise_lines(plan, proof.needs(plan, Noises(known, kind)), seconds)
        print("\n".join(lines))
        Path(snakemake.output.promise).write_text("\n".join([*lines, ""]), encoding="utf-8")
