"""What the harness itself costs, as the audit of a system found it."""

from __future__ import annotations

from parity.plan.system_kind import kind_of
from parity.records.noise_audit import NoiseAudit
from parity.report.text import formatting


def sentence(audit: NoiseAudit | None) -> str:
    """The ratio of a block job's time to a bare script's, with all that it rests on."""
    if audit is None:
        return "not measured on this system"
    found = audit.own
    ratio, low, high = map(formatting.number, (found.ratio, found.low95, found.high95))
    note = kind_of([audit.scale_label]).note.removesuffix(".")
    return (
        f"{ratio} [{low}, {high}] for {audit.program} over {len(audit.values)} pairs, measured "
        f"{audit.measured[:10]} on {audit.system} ({audit.scale_label})"
        + (f"; {note[0].lower()}{note[1:]}" if note else "")
    )
