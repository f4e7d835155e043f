"""Whether something can be used on this machine, and if not, why not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Availability:
    """The answer of a probe.

    Attributes:
        available: whether a run can be made with it here and now.
        version: what it says of itself, empty when it is absent.
        reason: why it is not available, for the ledger; empty when it is.
        remedy: what the user can do about it, such as a package to install.
    """

    available: bool
    version: str = ""
    reason: str = ""
    remedy: str = ""
