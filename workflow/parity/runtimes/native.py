"""No container at all, twice: the A/A pair shows what a difference of nothing looks like."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from parity.core.availability import Availability
from parity.runtimes.model import Arm, Launch, Look


@dataclass(frozen=True)
class Native(Arm):
    """The program on the host itself."""

    name: str
    title: str
    runtime: str = "native"
    look = Look("#3a3a3a", "o")
    is_native: ClassVar[bool] = True

    def probe(self) -> Availability:
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return list(inner)


ARMS = (Native("native-a", "Native A"), Native("native-b", "Native B"))
