"""A planted campaign: a study with many like cases, its plan, and what is claimed of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan, PositiveControl
from parity.plan.study import Study
from parity.runtimes import arms
from parity.runtimes.model import Image
from parity.software.images import ImageRecord
from planted_truth.outputs import PRINTERS, Printer
from planted_truth.planted_effects import Effects

ATTEMPTS = 2
SCALE = "planted"
SYSTEM = "planted"
_FORMATS = ("oci", "directory", "squashfs", "sif")
REFERENCE, DOUBLE = [name for name, arm in arms().items() if arm.is_native][:2]
# The arms that stand for containers: which ones plays no part, only their cost does.
CONTAINERS = tuple(name for name, arm in arms().items() if arm.image_format in _FORMATS)
PLUS = next(name for name, arm in arms().items() if arm.does_more)
WORK_PERCENT = 4
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
        margin: of the equivalence test, as a fraction.
        effects: with a ratio for each arm that takes part beside the A/A pair; that of the
            positive control comes on top of its extra work.
        claims: what is claimed of each case.
    """

    name: str
    benchmark: str
    cases: int
    blocks: int
    margin: float
    effects: Effects
    claims: tuple[Claimed, ...]

    @property
    def positive_control(self) -> PositiveControl | None:
        """With more of the benchmark's work, if the arm takes part."""
        if PLUS not in self.effects.ratios:
            return None
        work = self.printer.benchmark.work
        more = {
            case: {work: round(parameters[work] * (1 + WORK_PERCENT / 100))}
            for case, parameters in self.parameters().items()
        }
        return PositiveControl(arm=PLUS, work_percent=WORK_PERCENT, parameters=more)

    def ratio(self, arm: str) -> float:
        """What is planted for an arm: its cost over the reference's, extra work included."""
        more = 1 + WORK_PERCENT / 100 if arm == PLUS else 1.0
        return self.effects.ratio(arm) * more

    @property
    def printer(self) -> Printer:
        """How its benchmark prints."""
        return PRINTERS[self.benchmark]

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The A/A pair and all others, the positive control among them."""
        return tuple(dict.fromkeys([REFERENCE, DOUBLE, *self.effects.ratios]))

    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameters of each case."""
        width = len(str(self.cases - 1))
        return {
            f"{self.benchmark}-{number:0{width}d}": self.printer.case_parameters(number)
            for number in range(self.cases)
        }

    def plan(self, seed: int) -> Plan:
        """The plan, with the real planner's random order of runs."""
        return make_plan(
            Study(
                study=self.name,
                scale=SCALE,
                title="Planted truth: these numbers describe no machine",
                reproduces="nothing",
                seed=seed,
                reference=REFERENCE,
                aa_pair=(REFERENCE, DOUBLE),
                arms=self.all_arms,
                cases=tuple(
                    Case(
                        name=case,
                        benchmark=self.benchmark,
                        parameters=parameters,
                        margin=self.margin,
                        primary=self.printer.benchmark.primary,
                        differences=self.printer.benchmark.differences,
                        timeout_seconds=600,
                    )
                    for case, parameters in self.parameters().items()
                ),
                blocks=self.blocks,
                attempts=ATTEMPTS,
                positive_control=self.positive_control,
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
