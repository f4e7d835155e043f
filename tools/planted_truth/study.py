"""A planted study: its truth, what its program prints, its plan, and what is claimed of it.

What a benchmark prints for a given cost is a golden output of a real run with the measured numbers
replaced. Two benchmarks stand for all: of one less is better (a time), of the other more is.
"""

import hashlib
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from parity.benchmarks import benchmarks, sysbench
from parity.benchmarks.model import Benchmark, NodeFacts
from parity.claims.published import COLUMNS
from parity.claims.register import Register, load_register
from parity.core.documents import Document
from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan, PositiveControl
from parity.plan.study import Study
from parity.runtimes import arms

GOLDEN = Path(__file__).parents[2] / "tests/golden"
ATTEMPTS = 2
SCALE = SYSTEM = "planted"
FORMATS = ("oci", "directory", "squashfs", "sif")
REFERENCE, DOUBLE = [name for name, arm in arms().items() if arm.is_native][:2]
# The arms that stand for containers: which ones plays no part, only their cost does.
CONTAINERS = tuple(name for name, arm in arms().items() if arm.image_format in FORMATS)
PLUS = next(name for name, arm in arms().items() if arm.does_more)
WORK_PERCENT = 4
# What a claim says of the arms it names: that they cost what the reference costs, within the
# margin; or that they cost more.
SAME, MORE = "same", "more"
# Nearly nothing, so that a false claim of more is a matter of the test and not of this bound.
SMALLEST_EFFECT_PERCENT = 0.1
# A node that never was, with the cache of the machine that printed the golden outputs.
NODE = NodeFacts(cpus=(0, 1), last_level_cache=272_629_760, memory=24_684_092 * 1024)
PROCESSOR = sysbench.BENCHMARK.name
CLOCK_HERTZ = 2_299_950_634
PROCESSOR_SECONDS, EVENTS, BANDWIDTH_SECONDS = 100.0, 2800, 4.973632
_STUDY = {"title": "Planted", "authors": "nobody", "venue": "nowhere", "year": 2026}


class Noise(Document, frozen=True):
    """What makes a run's cost deviate from its arm's. All of it is on the log scale."""

    run: float  # standard deviation from run to run
    # Deviations of what a block, and all blocks of a node, have in common: both cancel in a ratio.
    block: float = 0.03
    node: float = 0.05
    nodes: int = 1  # how many there are, of which each block has one at random
    campaign: float = 0.02  # how much costs rise from the first block to the last
    block_drift: float = 0.0  # and from one run of a block to the next
    first: float = 0.0  # what the first run of a case costs more than those that follow it
    outlier_share: float = 0.0  # the part of the runs that something else disturbs
    outlier_size: float = 0.0  # the mean of the exponentially distributed cost of that


class Misfortune(Document, frozen=True):
    """How often things go wrong, each as a probability."""

    failing: float = 0.0  # an attempt ends badly or fails a gate, all ways equally often
    truncated: float = 0.0  # its output is cut off, though it ended well
    other_work: float = 0.0  # it did other work than it was asked for
    absent: float = 0.0  # an arm cannot be started in a block
    killed: float = 0.0  # the runner is killed in a block, and a second session goes on
    lost: float = 0.0  # a block is never made


class Printer(Document, frozen=True):
    """How to print what one benchmark would have printed; an entry of `outputs.yaml`."""

    name: str  # the benchmark's
    golden: str  # its real output, relative to the folder of golden outputs
    metric: str  # the number that arms are compared by
    parameters: dict[str, Any]  # what its cases have in common beside its defaults
    counter: str  # the parameter by which cases differ
    places: tuple[tuple[str, str], ...]  # text of the output, and the format that replaces it

    @property
    def benchmark(self) -> Benchmark:
        return benchmarks()[self.name]

    def case_parameters(self, number: int) -> dict[str, Any]:
        """The parameters of the case of that number, from 0."""
        defaults = {name: rule["default"] for name, rule in self.benchmark.parameters.items()}
        parameters = defaults | self.parameters
        return parameters | {self.counter: parameters[self.counter] + number}

    def values(self, parameters: Mapping[str, Any], log_cost: float) -> dict[str, float]:
        """What to fill in; `log_cost` is relative to the benchmark's usual cost."""
        if self.name == PROCESSOR:
            events = parameters["events"]
            seconds = PROCESSOR_SECONDS * events / EVENTS * math.exp(log_cost)
            busy = seconds - 0.0007
            return {
                "prime": parameters["prime"], "events": events, "rate": events / seconds,
                "seconds": seconds, "busy": busy, "mean": 1000 * busy / events,
                "total": 1000 * busy,
            }  # fmt: skip
        argv, iterations = self.benchmark.program(parameters, NODE).argv, parameters["iterations"]
        size = int(argv[argv.index("-w") + 1].split(":")[1].removesuffix("kB")) * 1000
        seconds = BANDWIDTH_SECONDS * iterations / 60 * math.exp(log_cost)
        volume = size * iterations
        return {
            "cycles": round(seconds * CLOCK_HERTZ), "seconds": seconds, "iterations": iterations,
            "size": size, "volume": volume, "rate": volume / seconds / 1e6,
        }  # fmt: skip

    def text(self, parameters: Mapping[str, Any], log_cost: float) -> str:
        return _template(self.name).format(**self.values(parameters, log_cost))


_PRINTED = Path(__file__).with_name("outputs.yaml").read_bytes()
PRINTERS = {each.name: each for each in msgspec.yaml.decode(_PRINTED, type=list[Printer])}


@cache
def _template(name: str) -> str:
    """The golden text as a format string; ValueError: what is replaced is not there once."""
    golden, places = PRINTERS[name].golden, PRINTERS[name].places
    text = (GOLDEN / golden).read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}")
    for old, new in places:
        if text.count(old) != 1:
            raise ValueError(f"{golden}: {old!r} is there {text.count(old)} times")
        text = text.replace(old, new)
    return text


class Campaign(Document, frozen=True):
    """A study whose truth is known. Each case is a replicate of the same experiment.

    Attributes:
        ratios: the true cost of each arm over the reference's, which takes part beside the A/A
            pair; that of the positive control comes on top of its extra work.
        claims: what is claimed of each case: `SAME` or `MORE`, and of which arms at once.
    """

    name: str
    benchmark: str  # whose output is printed
    cases: int
    blocks: int
    margin: float  # of the equivalence test, as a fraction
    noise: Noise
    ratios: dict[str, float]
    misfortune: Misfortune = Misfortune()
    claims: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def ratio(self, arm: str) -> float:
        """What is planted for an arm: its cost over the reference's, extra work included."""
        return self.ratios.get(arm, 1.0) * (1 + WORK_PERCENT / 100 if arm == PLUS else 1.0)

    @property
    def printer(self) -> Printer:
        return PRINTERS[self.benchmark]

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The A/A pair and all others, the positive control among them."""
        return tuple(dict.fromkeys([REFERENCE, DOUBLE, *self.ratios]))

    def parameters(self) -> dict[str, dict[str, Any]]:
        width, own = len(str(self.cases - 1)), self.printer.case_parameters
        return {f"{self.benchmark}-{at:0{width}d}": own(at) for at in range(self.cases)}

    def plan(self, seed: int) -> Plan:
        """The plan, with the real planner's random order of runs."""
        known, parameters, control = self.printer.benchmark, self.parameters(), None
        if PLUS in self.ratios:
            share = 1 + WORK_PERCENT / 100
            more = {c: {known.work: round(p[known.work] * share)} for c, p in parameters.items()}
            control = PositiveControl(arm=PLUS, work_percent=WORK_PERCENT, parameters=more)
        cases = [
            Case(name=name, benchmark=self.benchmark, parameters=own, margin=self.margin,
                 primary=known.primary, differences=known.differences, timeout_seconds=600)
            for name, own in parameters.items()
        ]  # fmt: skip
        return make_plan(Study(
            study=self.name, scale=SCALE, reproduces="nothing", seed=seed, blocks=self.blocks,
            title="Planted truth: these numbers describe no machine", reference=REFERENCE,
            aa_pair=(REFERENCE, DOUBLE), arms=self.all_arms, cases=tuple(cases), attempts=ATTEMPTS,
            positive_control=control,
        ))  # fmt: skip


@cache
def sha256(text: str) -> str:
    """A digest that stands for something that is not there."""
    return hashlib.sha256(text.encode()).hexdigest()


def entry(name: str, study: str, test: Mapping[str, Any]) -> dict[str, Any]:
    """A claim of one test. Claims of one study and kind are a family."""
    kind = test["rule"] if test["rule"] in ("direction", "magnitude") else "equivalence"
    return {
        "id": name, "study": study, "kind": kind, "claim": "It is so.", "where": "nowhere",
        "published": "nothing", "scales": {"machine": "full", "cluster": "full"}, "tests": [test],
    }  # fmt: skip


def register_of(entries: Sequence[Mapping[str, Any]], published: Sequence[str] = ()) -> Register:
    """The register of these claims, and of these lines of config/published/claims.csv."""
    document = {"studies": {each["study"]: _STUDY for each in entries}, "claims": entries}
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as folder:
        claims, numbers = Path(folder) / "claims.yaml", Path(folder) / "published.csv"
        claims.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML, too
        numbers.write_text("\n".join([",".join(COLUMNS), *published, ""]), encoding="utf-8")
        return load_register(claims, numbers)


def claims_of(campaign: Campaign) -> tuple[Register, pd.DataFrame]:
    """The claims about a campaign, and what each is about: claim, case, says, arms.

    Those about one case make a study, and so a family.
    """
    about, counter = [], campaign.printer.counter
    entries: list[dict[str, Any]] = []
    same = {"rule": "equivalence", "margin_percent": 100 * campaign.margin}
    more = {"rule": "direction", "expect": "costs-more",
            "smallest_effect_percent": SMALLEST_EFFECT_PERCENT}  # fmt: skip
    cells = {"benchmark": campaign.benchmark, "metric": campaign.printer.metric}
    for case, parameters in campaign.parameters().items():
        of_case = cells | {"parameters": {counter: parameters[counter]}}
        for says, claimed in campaign.claims:
            name, test = f"claim-{len(entries)}", same if says == SAME else more
            about.append((name, case, says, claimed))
            test = test | {"cells": of_case | {"arms": list(claimed)}}
            entries.append(entry(name, f"study-{case}", test))
    return register_of(entries), pd.DataFrame(about, columns=["claim", "case", "says", "arms"])
