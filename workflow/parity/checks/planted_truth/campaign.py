"""A planted campaign: a study with many like cases, its plan, and what is true of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from parity.checks.planted_truth.outputs import PRINTERS, Printer
from parity.checks.planted_truth.planted_effects import Truth
from parity.plan.making import make_plan
from parity.plan.plan import Case
from parity.plan.study import Study
from parity.runtimes import arms
from parity.runtimes.model import Image
from parity.software.images import ImageRecord

ATTEMPTS = 2
SCALE = "planted"
SYSTEM = "planted"
_FORMATS = ("oci", "directory", "squashfs", "sif")
_NATIVE = tuple(name for name, arm in arms().items() if arm.is_native)
_CONTAINERS = tuple(name for name, arm in arms().items() if arm.image_format in _FORMATS)
REFERENCE, DOUBLE = _NATIVE[:2]
# The arms that stand for containers: which ones plays no part, only their cost does.
FIRST, SECOND, THIRD, FOURTH = _CONTAINERS[:4]


# What a claim says of the arms it names: that they cost what the reference costs, within the
# margin; or that they cost more.
SAME, MORE = "same", "more"


@dataclass(frozen=True)
class Claimed:
    """A claim that is made about every case: what it says, and of which arms at once."""

    says: str
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Campaign:
    """A study whose truth is known. Each case is a replicate of the same experiment.

    Attributes:
        name: the study's name.
        benchmark: whose output is printed.
        cases, blocks: how many.
        arms: the containers beside the A/A pair.
        margin: of the equivalence test, as a fraction.
        claims: what is claimed of each case.
    """

    name: str
    benchmark: str
    cases: int
    blocks: int
    arms: tuple[str, ...]
    margin: float
    truth: Truth
    claims: tuple[Claimed, ...]

    @property
    def printer(self) -> Printer:
        """How its benchmark prints."""
        return PRINTERS[self.benchmark]

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The A/A pair and the containers."""
        return (REFERENCE, DOUBLE, *self.arms)

    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameters of each case."""
        width = len(str(self.cases - 1))
        return {
            f"{self.benchmark}-{number:0{width}d}": self.printer.case_parameters(number)
            for number in range(self.cases)
        }

    def plan(self, seed: int) -> dict[str, Any]:
        """The plan, with the real planner's random order of runs."""
        return make_plan(
            Study(
                name=self.name,
                scale=SCALE,
                title="Planted truth: these numbers describe no machine",
                reproduces="nothing",
                seed=seed,
                reference=REFERENCE,
                aa_pair=(REFERENCE, DOUBLE),
                arms=self.all_arms,
                cases=tuple(
                    Case(case, self.benchmark, parameters, self.margin, timeout_seconds=600)
                    for case, parameters in self.parameters().items()
                ),
                blocks=self.blocks,
                attempts=ATTEMPTS,
            )
        )


def sha256(text: str) -> str:
    """A digest that stands for something that is not there."""
    return hashlib.sha256(text.encode()).hexdigest()


RECIPE = sha256("recipe")


def image_records() -> dict[str, ImageRecord]:
    """The records of the image formats, as images.json holds them."""
    return {
        name: ImageRecord(
            name,
            digest=f"sha256:{sha256(name)}",
            parent=parent,
            parent_digest=f"sha256:{sha256(parent)}" if parent else "",
            bytes=100_000_000,
            seconds=1.0,
            tool="planted 1.0",
            location=f"/images/{name}",
            recipe=RECIPE,
        )
        for name, parent in zip(_FORMATS, ("", "oci", "directory", "oci"), strict=True)
    }


def image_of(arm: str) -> Image | None:
    """The image that an arm runs from; None outside of any container."""
    image_format = arms()[arm].image_format
    if image_format is None:
        return None
    record = image_records()[image_format]
    return Image(image_format, record.location, record.digest)
