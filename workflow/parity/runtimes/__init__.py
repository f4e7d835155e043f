"""The runtimes: one module each, found by being there."""

from __future__ import annotations

import sys
from functools import cache

from parity.core.registry import modules_with
from parity.runtimes.model import Arm


@cache
def arms() -> dict[str, Arm]:
    """Every arm by its name, in the order of the modules' names."""
    return {arm.name: arm for group in modules_with(sys.modules[__name__], "ARMS") for arm in group}


@cache
def every_arm() -> dict[str, Arm]:
    """Every arm, and those that run from an image with each link set, by name."""
    from parity.runtimes.linked import linked  # it is one of the modules that arms() reads

    return arms() | {arm.name: arm for arm in linked(arms().values())}
