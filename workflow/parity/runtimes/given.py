"""An arm whose command lines the study gives (`as_given` of its program): a step of a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parity.runtimes.ladder import Step
from parity.runtimes.model import Arm
from parity.runtimes.native import Native

_NAME = re.compile(r"step-[1-9][0-9]?")


@dataclass(frozen=True)
class Given(Native):
    """A rung of a ladder; what it runs is the program's words in the plan, whatever they start."""

    runtime: str = Step.runtime
    look = Step.look
    is_native = False


class WithGiven(Mapping[str, Arm]):
    """Arms by name, and `step-1` to `step-99`, which are not listed."""

    def __init__(self, arms: Mapping[str, Arm]) -> None:
        self._arms = arms

    def __getitem__(self, name: str) -> Arm:
        return Given(name, name) if _NAME.fullmatch(name) else self._arms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arms)

    def __len__(self) -> int:
        return len(self._arms)
