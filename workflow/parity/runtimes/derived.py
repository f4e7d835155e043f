"""An arm that is another one with something changed; all that is not changed is the other's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parity.core.availability import Availability
from parity.runtimes.limits import CpuLimit
from parity.runtimes.model import Arm, Launch


def of_base(name: str) -> Any:
    """An attribute that is the one of `base`."""
    return property(lambda self: getattr(self.base, name))


@dataclass(frozen=True)
class Derived(Arm):
    """The arm `base` under another name and title."""

    base: Arm
    name: str
    title: str

    runtime = of_base("runtime")
    image_format = of_base("image_format")
    root_filesystem = of_base("root_filesystem")
    isolates = of_base("isolates")
    lasting = of_base("lasting")

    def probe(self) -> Availability:
        return self.base.probe()

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return self.base.command(launch, inner)

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        return self.base.limit_words(limit)

    def digest(self, location: str) -> str:
        return self.base.digest(location)

    def size(self, location: str) -> int:
        return self.base.size(location)

    def cleanup(self, *launches: Launch) -> None:
        self.base.cleanup(*launches)
