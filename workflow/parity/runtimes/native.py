"""No container at all, twice: the A/A pair shows what a difference of nothing looks like.

And with its ranks elsewhere than a case has them; and once with more work, whose difference is
known: the positive control of a study.
"""

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from parity.core.commands import Availability
from parity.runtimes.model import PACKED, SPREAD, UNBOUND, Arm, Launch


@dataclass(frozen=True)
class Native(Arm):
    """The program on the host itself."""

    variant = True
    name: str
    title: str
    placement: str = ""
    is_native = True

    def probe(self) -> Availability:
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return list(inner)


class NativePlaced(Native):
    """The same with its ranks elsewhere than a case has them."""

    is_native = False


class NativeWithMore(Native):
    """The same with more work; the plan's parameters for it say how much."""

    is_native = False
    does_more = True


ARMS = (
    Native("native-a", "Native A"),
    Native("native-b", "Native B"),
    NativePlaced("native-packed", "Native (one node)", PACKED),
    NativePlaced("native-spread", "Native (a node each)", SPREAD),
    NativePlaced("native-unbound", "Native (unbound)", UNBOUND),
    NativeWithMore("native-plus", "Native"),
)
