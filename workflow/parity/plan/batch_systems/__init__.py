"""The batch systems: one module each, found by being there."""

from __future__ import annotations

import sys
from functools import cache

from parity.core.registry import modules_with
from parity.plan.batch_systems.model import BatchSystem


@cache
def batch_systems() -> dict[str, BatchSystem]:
    """Every batch system by its name, in the order of the modules' names."""
    brought = modules_with(sys.modules[__name__], "BATCH_SYSTEM")
    return {system.name: system for system in brought}
