"""No container at all, twice: the A/A pair shows what a difference of nothing looks like.

And with its ranks elsewhere than a case has them; and once with more work, whose difference is
known: the positive control of a study.
"""

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from parity.core.commands import Availability
from parity.runtimes.model import Launch, Named, arms_of


@dataclass(frozen=True)
class Native(Named):
    """The program on the host itself."""

    placement: str = ""

    def probe(self) -> Availability:
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return list(inner)


class NativePlaced(Native):
    """The same with its ranks elsewhere than a case has them."""


class NativeWithMore(Native):
    """The same with more work; the plan's parameters for it say how much."""


ARMS = arms_of(Native, NativePlaced, NativeWithMore)
