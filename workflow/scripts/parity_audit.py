"""Rule parity: what both sides of the study's comparisons are, and where they differ."""

from pathlib import Path

from parity.benchmarks.debian import altered
from parity.checks.parity_audit import comparison, report
from parity.checks.parity_audit.side import ask_all, programs_of
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.software.images import FOREIGN, read_images
from parity.software.native import read_native

if __name__ == "__main__":
    with shown_to_the_user():
        plan = read_plan(Path(snakemake.input.plan))
        images = read_images(snakemake.input.images)
        natives = [read_native(Path(path)).programs for path in snakemake.input.native]
        programs = programs_of(plan)
        changed = altered({path for paths in programs.values() for path in paths})
        recorded = natives[0] if natives else {}
        audit = comparison.audit_of(plan, ask_all(plan, images), programs, recorded, changed)
        comparison.write(Path(snakemake.params.folder), audit)
        print("\n".join(report.report(audit, programs, FOREIGN in images)))
        comparison.refuse(audit.mismatches)
