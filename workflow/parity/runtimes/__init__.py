"""The runtimes: one module each, found by being there."""

from __future__ import annotations

import sys
from functools import cache

from parity.registry import modules_with
from parity.runtimes.model import Arm


@cache
def arms() -> dict[str, Arm]:
    """Every arm by its name, in the order of the modules' names."""
    return {arm.name: arm for group in modules_with(sys.modules[__name__], "ARMS") for arm in group}
