"""The runtimes: one module each, found by being there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache

from parity.core.package import extensions_with, modules_with
from parity.runtimes.model import Arm


@cache
def arms() -> dict[str, Arm]:
    """Every arm by its name, in the order of the modules' names."""
    return {arm.name: arm for group in modules_with(sys.modules[__name__], "ARMS") for arm in group}


class Derived(Mapping[str, Arm]):
    """Arms by name, and each that an extension makes of one of them; those are not listed."""

    def __init__(self, arms: Mapping[str, Arm]) -> None:
        self._arms = arms
        self._makers = extensions_with(sys.modules[__name__], "derived")

    def __getitem__(self, name: str) -> Arm:
        if name in self._arms:
            return self._arms[name]
        for derived in self._makers:
            arm: Arm | None = derived(name, self._arms)
            if arm:
                return arm
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arms)

    def __len__(self) -> int:
        return len(self._arms)


@cache
def every_arm() -> Mapping[str, Arm]:
    """Every arm, and those that run from an image with each link set, by name.

    Each is also found under what extensions make of it: a CPU limit, a network of its own. Such a
    module has a function `derived` that tells the arm of a name, of the listed ones; None if it
    is no name of its own. So is a step that a study gives (`given.py`).
    """
    # They are of the modules that arms() reads.
    from parity.runtimes.derived import WithGiven, linked

    listed = arms() | {arm.name: arm for arm in linked(arms().values())}
    return WithGiven(Derived(listed))
