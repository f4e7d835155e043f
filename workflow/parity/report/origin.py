"""Where a dataset comes from: when, with which program, on what kind of system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity.plan.system import kind_of
from parity.records.dataset import Provenance, block_records, provenance
from parity.records.noise_audit import NoiseAudit, read_noise_audit


@dataclass(frozen=True)
class Origin:
    """The origin of one dataset.

    Attributes:
        facts: what `parity.records.dataset.provenance` says.
        systems: name and kind of each system that measured it, such as `machine (vm)`.
        scale_labels: the kinds of these systems.
        noise_audit: what the harness itself costs there; None if nobody measured it.
    """

    facts: Provenance
    systems: tuple[str, ...]
    scale_labels: tuple[str, ...]
    noise_audit: NoiseAudit | None

    @property
    def note(self) -> str:
        """What every figure and table must say of these systems; often nothing."""
        return kind_of(self.scale_labels).note


def load(folder: Path) -> Origin:
    """The origin of the dataset in `folder`; an archive brings most of it along in a file."""
    systems = {
        (session.start.system, session.start.scale_label)
        for block in block_records(folder)
        for session in block.sessions
    }
    return Origin(
        facts=provenance(folder),
        systems=tuple(sorted(f"{system} ({label})" for system, label in systems)),
        scale_labels=tuple(sorted({label for _, label in systems})),
        noise_audit=read_noise_audit(folder),
    )
