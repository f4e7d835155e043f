"""What arithmetic says of the papers' statements, as a table for the paper's discussion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.claims.defects import Defect
from parity.report.tables.table import Table


def table(found: Sequence[Defect], titles: Mapping[str, str]) -> Table:
    """Each checked statement with what comes out.

    Args:
        titles: how the paper calls each study, such as `Ruiz et al.`.
    """
    rows = [
        (titles[one.study], one.place, one.says, one.gives, "yes" if one.holds else "no")
        for one in found
    ]
    head = ("study", "place", "stated", "by arithmetic", "agrees")
    return Table("defects", r"lL{2cm}L{4cm}L{4cm}l", head, rows)
