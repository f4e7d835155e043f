"""The command of the rule that checks ourselves: both sides of every comparison, compared."""

from pathlib import Path


def parity(plan: Path, images: Path, native: Path | None, folder: Path) -> None:
    """Print whose programs, libraries and kernel interface differ from the reference's."""
    from parity.benchmarks.programs import altered
    from parity.checks import parity_audit
    from parity.checks.side import ask_all
    from parity.measure.places import binaries_of
    from parity.plan.plan import read_plan
    from parity.software.images import FOREIGN, read_images
    from parity.software.native import read_native

    planned, records = read_plan(plan), read_images(images)
    recorded = read_native(native).programs if native else {}
    programs = binaries_of(planned)
    changed = altered({path for paths in programs.values() for path in paths})
    sides = ask_all(planned, records)
    audit = parity_audit.audit_of(planned, sides, programs, recorded, changed)
    parity_audit.write(folder, audit)
    print("\n".join(parity_audit.report(audit, programs, FOREIGN in records)))
    parity_audit.refuse(audit.mismatches)
