"""The runtimes: one module each, found by being there."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache

from parity.core.package import modules_with
from parity.runtimes.model import Arm


@cache
def arms() -> dict[str, Arm]:
    """Every arm by its name, in the order of the modules' names."""
    return {arm.name: arm for group in modules_with(sys.modules[__name__], "ARMS") for arm in group}


class Arms(Mapping[str, Arm]):
    """Arms by name; also under each name that a module's `derived` tells the arm of."""

    # So are a CPU limit, a network of its own and a step that a study gives; none is listed.
    def __init__(self, listed: Mapping[str, Arm]) -> None:
        self._listed = listed
        self._makers = modules_with(sys.modules[__name__], "derived")

    def __getitem__(self, name: str) -> Arm:
        made: Iterator[Arm | None] = (make(name, self._listed) for make in self._makers)
        arm = self._listed.get(name) or next(filter(None, made), None)
        if arm is None:
            raise KeyError(name)
        return arm

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


@cache
def every_arm() -> Mapping[str, Arm]:
    """Every arm, those that run from an image with each link set, and what is derived of them."""
    # They are of the modules that arms() reads.
    from parity.runtimes.derived import linked

    return Arms(arms() | {arm.name: arm for arm in linked(arms().values())})
