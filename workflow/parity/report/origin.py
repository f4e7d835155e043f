"""Where a dataset comes from: when, with which program, on what kind of system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.plan.system_kind import kind_of
from parity.records import schema
from parity.records.dataset import PROVENANCE, provenance
from parity.report.text import noise_audit
from parity.report.text.noise_audit import Audit


@dataclass(frozen=True)
class Origin:
    """The origin of one dataset.

    Attributes:
        facts: what `parity.records.dataset.provenance` says.
        systems: name and kind of each system that measured it, such as `machine (vm)`.
        scale_labels: the kinds of these systems.
        harness: what the harness itself costs there; None if nobody measured it.
    """

    facts: Mapping[str, Any]
    systems: tuple[str, ...]
    scale_labels: tuple[str, ...]
    harness: Audit | None

    @property
    def note(self) -> str:
        """What every figure and table must say of these systems; often nothing."""
        return kind_of(self.scale_labels).note


def load(folder: Path) -> Origin:
    """The origin of the dataset in `folder`; an archive brings most of it along in a file."""
    brought = folder / PROVENANCE
    blocks = schema.read(schema.BLOCKS, folder / "records/blocks.parquet").to_pylist()
    starts = [s["start"] for block in blocks for s in json.loads(block["record"])["sessions"]]
    return Origin(
        facts=json.loads(brought.read_text("utf-8")) if brought.exists() else provenance(folder),
        systems=tuple(sorted({f"{start['system']} ({start['scale_label']})" for start in starts})),
        scale_labels=tuple(sorted({start["scale_label"] for start in starts})),
        harness=noise_audit.load(folder),
    )
