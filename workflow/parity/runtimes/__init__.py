"""The runtimes: one module each, found by being there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache

from parity.core.registry import modules_with
from parity.runtimes.model import Arm


@cache
def arms() -> dict[str, Arm]:
    """Every arm by its name, in the order of the modules' names."""
    return {arm.name: arm for group in modules_with(sys.modules[__name__], "ARMS") for arm in group}


@cache
def every_arm() -> Mapping[str, Arm]:
    """Every arm, and those that run from an image with each link set, by name.

    Each is also found under any CPU limit that it can set (`limited.py`) and with any network of
    its own (`networked.py`), and so is a step that a study gives (`given.py`); they are not listed.
    """
    # They are of the modules that arms() reads.
    from parity.extensions.networks.runtimes.networked import WithNetworked
    from parity.extensions.noise.runtimes.limited import WithLimited
    from parity.runtimes.given import WithGiven
    from parity.runtimes.linked import linked

    listed = arms() | {arm.name: arm for arm in linked(arms().values())}
    return WithGiven(WithNetworked(WithLimited(listed)))
