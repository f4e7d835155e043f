"""A planted study: its truth, what its program prints, its plan, and what is claimed of it.

What a benchmark prints for a given cost is its real output with the measured numbers replaced:
the texts are the golden outputs of real runs, so a planted log has every line, space and tab
that the real program prints. Two benchmarks stand for all: of one less is better (a time), of
the other more is (a bandwidth).
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from parity.benchmarks import benchmarks, likwid, sysbench
from parity.benchmarks.model import Benchmark, NodeFacts
from parity.claims.published import COLUMNS
from parity.claims.register import Register, load_register
from parity.core.documents import Document
from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan, PositiveControl
from parity.plan.study import Study
from parity.runtimes import arms

ATTEMPTS = 2
SCALE = "planted"
SYSTEM = "planted"
FORMATS = ("oci", "directory", "squashfs", "sif")
REFERENCE, DOUBLE = [name for name, arm in arms().items() if arm.is_native][:2]
# The arms that stand for containers: which ones plays no part, only their cost does.
CONTAINERS = tuple(name for name, arm in arms().items() if arm.image_format in FORMATS)
PLUS = next(name for name, arm in arms().items() if arm.does_more)
WORK_PERCENT = 4
# What a claim says of the arms it names: that they cost what the reference costs, within the
# margin; or that they cost more.
SAME, MORE = "same", "more"
# A node that never was, with the cache of the machine that printed the golden outputs.
NODE = NodeFacts(cpus=(0, 1), last_level_cache=272_629_760, memory=24_684_092 * 1024)
PROCESSOR, BANDWIDTH = sysbench.BENCHMARK.name, likwid.BENCHMARK.name
CLOCK_HERTZ = 2_299_950_634
PROCESSOR_SECONDS = 100.0
EVENTS = 2800
BANDWIDTH_SECONDS = 4.973632
MEGA = 1e6

Values = Mapping[str, float]
# Nearly nothing, so that a false claim of more is a matter of the test and not of this bound.
SMALLEST_EFFECT_PERCENT = 0.1
_STUDY = {"title": "Planted", "authors": "nobody", "venue": "nowhere", "year": 2026}


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a run's cost deviate from its arm's. All of it is on the log scale.

    Attributes:
        run: standard deviation from run to run.
        block, node: standard deviations of what a whole block, and all blocks of one node,
            have in common; both cancel in a ratio within a block.
        nodes: how many there are, of which each block has one at random.
        campaign: how much costs rise from the first block to the last.
        block_drift: how much they rise from one run of a block to the next.
        first: what the first run of a case costs more than those that follow it.
        outlier_share, outlier_size: the part of the runs that something else disturbs,
            and the mean of the exponentially distributed cost of that.
    """

    run: float
    block: float = 0.03
    node: float = 0.05
    nodes: int = 1
    campaign: float = 0.02
    block_drift: float = 0.0
    first: float = 0.0
    outlier_share: float = 0.0
    outlier_size: float = 0.0


class Misfortune(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often things go wrong, each as a probability.

    Attributes:
        failing: an attempt ends badly or fails a gate (all ways equally often).
        truncated: its output is cut off, though it ended well.
        other_work: it did other work than it was asked for.
        absent: an arm cannot be started in a block.
        killed: the runner is killed in a block, and a second session goes on.
        lost: a block is never made.
    """

    failing: float = 0.0
    truncated: float = 0.0
    other_work: float = 0.0
    absent: float = 0.0
    killed: float = 0.0
    lost: float = 0.0


@dataclass(frozen=True)
class Effects:
    """What is planted in a study.

    Attributes:
        ratios: the true cost of each arm over the reference's; 1 where none is named.
    """

    noise: Noise
    ratios: Mapping[str, float] = field(default_factory=dict)
    misfortune: Misfortune = field(default_factory=Misfortune)

    def ratio(self, arm: str) -> float:
        """The true cost ratio of an arm to the reference."""
        return self.ratios.get(arm, 1.0)


class Printer(Document, frozen=True):
    """How to print what one benchmark would have printed; an entry of `outputs.yaml`.

    Attributes:
        name: the benchmark's.
        golden: its real output, relative to the folder of golden outputs.
        metric: the number that arms are compared by.
        parameters: what its cases have in common beside its defaults.
        counter: the parameter by which cases differ.
        places: text of the golden output, and the format string that replaces it.
    """

    name: str
    golden: str
    metric: str
    parameters: dict[str, Any]
    counter: str
    places: tuple[tuple[str, str], ...]

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark itself."""
        return benchmarks()[self.name]

    def values(self, parameters: Mapping[str, Any], log_cost: float) -> Values:
        """What to fill in, from parameters and log cost."""
        return _VALUES[self.name](parameters, log_cost)

    def case_parameters(self, number: int) -> dict[str, Any]:
        """The parameters of the case of that number, from 0."""
        defaults = {name: rule["default"] for name, rule in self.benchmark.parameters.items()}
        parameters = defaults | self.parameters
        return parameters | {self.counter: parameters[self.counter] + number}

    def text(self, folder: Path, parameters: Mapping[str, Any], log_cost: float) -> str:
        """The whole standard output.

        Args:
            folder: of the golden outputs.
            log_cost: log of the cost relative to the benchmark's usual one.
        """
        template = _template(folder / self.golden, self.places)
        return template.format(**self.values(parameters, log_cost))

    def seconds(self, parameters: Mapping[str, Any], log_cost: float) -> float:
        """How long the program's own work takes at that cost."""
        return self.values(parameters, log_cost)["seconds"]


@cache
def _template(golden: Path, places: tuple[tuple[str, str], ...]) -> str:
    """The golden text as a format string.

    Raises:
        ValueError: a text that is to be replaced is not there exactly once.
    """
    text = golden.read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}")
    for old, new in places:
        if text.count(old) != 1:
            raise ValueError(f"{golden}: {old!r} is there {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def _processor(parameters: Mapping[str, Any], log_cost: float) -> Values:
    seconds = PROCESSOR_SECONDS * parameters["events"] / EVENTS * math.exp(log_cost)
    busy = seconds - 0.0007
    return {
        "prime": parameters["prime"],
        "events": parameters["events"],
        "rate": parameters["events"] / seconds,
        "seconds": seconds,
        "busy": busy,
        "mean": 1000 * busy / parameters["events"],
        "total": 1000 * busy,
    }


def _bandwidth(parameters: Mapping[str, Any], log_cost: float) -> Values:
    argv = likwid.BENCHMARK.program(parameters, NODE).argv
    size = int(argv[argv.index("-w") + 1].split(":")[1].removesuffix("kB")) * 1000
    seconds = BANDWIDTH_SECONDS * parameters["iterations"] / 60 * math.exp(log_cost)
    volume = size * parameters["iterations"]
    return {
        "cycles": round(seconds * CLOCK_HERTZ),
        "seconds": seconds,
        "iterations": parameters["iterations"],
        "size": size,
        "volume": volume,
        "rate": volume / seconds / MEGA,
    }


_VALUES = {PROCESSOR: _processor, BANDWIDTH: _bandwidth}
PRINTERS = {
    printer.name: printer
    for printer in msgspec.yaml.decode(
        Path(__file__).with_name("outputs.yaml").read_bytes(), type=list[Printer]
    )
}


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


def is_contained(arm: str) -> bool:
    """Whether an arm runs from an image."""
    return arms()[arm].image_format is not None


def sha256(text: str) -> str:
    """A digest that stands for something that is not there."""
    return hashlib.sha256(text.encode()).hexdigest()


def entry(name: str, study: str, test: Mapping[str, Any]) -> dict[str, Any]:
    """A claim of one test. Claims of one study and kind are a family."""
    return {
        "id": name,
        "study": study,
        "kind": test["rule"] if test["rule"] in ("direction", "magnitude") else "equivalence",
        "claim": "It is so.",
        "where": "nowhere",
        "published": "nothing",
        "scales": {"machine": "full", "cluster": "full"},
        "tests": [test],
    }


def register_of(entries: Sequence[Mapping[str, Any]], published: Sequence[str] = ()) -> Register:
    """The register of these claims, and of these lines of config/published/claims.csv."""
    document = {"studies": {each["study"]: _STUDY for each in entries}, "claims": entries}
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as folder:
        claims, numbers = Path(folder) / "claims.yaml", Path(folder) / "published.csv"
        claims.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML, too
        numbers.write_text("\n".join([",".join(COLUMNS), *published, ""]), encoding="utf-8")
        return load_register(claims, numbers)


@dataclass(frozen=True)
class Claims:
    """A register, and what each claim is about: claim, case, says, arms."""

    register: Register
    about: pd.DataFrame


def claims_of(campaign: Campaign) -> Claims:
    """The claims about a campaign; those about one case make a study, and so a family."""
    parameters = campaign.parameters()
    each = [(case, claimed) for case in parameters for claimed in campaign.claims]
    about = pd.DataFrame(
        [(f"claim-{i}", case, said.says, said.arms) for i, (case, said) in enumerate(each)],
        columns=["claim", "case", "says", "arms"],
    )
    entries = [
        entry(f"claim-{i}", f"study-{case}", _test(said, campaign, parameters[case]))
        for i, (case, said) in enumerate(each)
    ]
    return Claims(register_of(entries), about)


def _test(claimed: Claimed, campaign: Campaign, parameters: Mapping[str, Any]) -> dict[str, Any]:
    counter = campaign.printer.counter
    decided = {
        SAME: {"rule": "equivalence", "margin_percent": 100 * campaign.margin},
        MORE: {
            "rule": "direction",
            "expect": "costs-more",
            "smallest_effect_percent": SMALLEST_EFFECT_PERCENT,
        },
    }[claimed.says]
    cells = {
        "benchmark": campaign.benchmark,
        "metric": campaign.printer.metric,
        "parameters": {counter: parameters[counter]},
        "arms": list(claimed.arms),
    }
    return {**decided, "cells": cells}
