"""plan.json: what a campaign measures, block by block, and what it compares by."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from parity.benchmarks import benchmark_of
from parity.benchmarks.description import CPU_SECONDS, FIXED, WORK, Quantity
from parity.benchmarks.model import Benchmark
from parity.benchmarks.own_program import in_arm
from parity.core import documents
from parity.core.documents import Document, Format, adding, in_parts, write_document
from parity.core.errors import UserError
from parity.core.private import Private
from parity.core.spack_paths import DISTRIBUTION
from parity.runtimes import every_arm
from parity.runtimes.model import PACKED

PLAN = "plan.json"
PLAN_VERSION = 9
_MINUTES_FREE = 8  # from this version on the minutes of a plan with looks are not registered
N = TypeVar("N", "Block", "Case")
# How the runs of a block are made: one at a time; in pairs of an arm and the reference, at once on
# one CPU; or in such pairs, one after the other where there can be no two control groups.
IN_TURN, SIDE_BY_SIDE, EITHER = DESIGNS = ("in-turn", "side-by-side", "side-by-side-or-in-turn")
PAIR = "-pair"  # ends the name of a case that is another one, measured side by side as well


class Run(Document, frozen=True, rename={"name": "run"}):
    """One run of a block: a case in an arm. Its name is unique in the block."""

    name: str
    case: str
    arm: str


class Block(Document, frozen=True, rename={"name": "block"}):
    """The runs of one allocation, in their order."""

    name: str  # unique; it ends in a digest of what the block does
    number: int  # counts from 1 among the blocks of its node count
    nodes: int  # size of the allocation
    runs: tuple[Run, ...]


class Case(Document, frozen=True, rename={"name": "case", "timeout_seconds": "timeout"}):
    """A benchmark at one level of each of its factors."""

    name: str  # such as `likwid-copy`; the benchmark's name alone if it has no factors
    benchmark: str
    # With the levels, as the benchmark takes them; `nodes` and `ranks` where it is placed on some.
    parameters: dict[str, Any]
    # 0.01 means that the cost ratio must lie within (1/1.01, 1.01); None: no equivalence is sought.
    margin: float | None
    primary: tuple[str, ...]  # the metrics that arms are compared by
    differences: tuple[str, ...]  # those of them compared by their difference in their own unit
    timeout_seconds: int  # how long one run may take

    @property
    def definition(self) -> Benchmark:
        """The benchmark that it is a case of, a module's or its study's own."""
        return benchmark_of(self.benchmark, self.parameters)

    @property
    def nodes(self) -> int:
        """Size of the allocation that it needs."""
        return int(self.parameters.get("nodes", 1))

    @property
    def is_placed(self) -> bool:
        """Whether it is placed on an allocation that the study lists."""
        return "nodes" in self.parameters


class Shorter(Document, frozen=True):
    """A case's shorter run: with both, what is paid once and what the work costs are told apart."""

    case: Case  # nothing of it is compared by itself
    of: str  # the name of the case that it belongs to
    # s: the part of that case's work that it does, 0 or more and below 1. It takes fixed + s work.
    share: float


class PlannedComparison(Document, frozen=True):
    """What the study compares by. Without a margin, no equivalence is sought."""

    case: str
    metric: str
    arm: str
    reference: str
    margin: float | None


class NotTested(Document, frozen=True, omit_defaults=True):
    """What the study declares as not tested: an arm, a benchmark, or an arm in one."""

    reason: str
    arm: str = ""
    benchmark: str = ""


class PositiveControl(Document, frozen=True):
    """An arm that does a known amount of extra work: a difference that is really there.

    What cannot see it could not have seen a container's cost either, and then "the same" is
    no finding (assay sensitivity: ICH E10, 2000, section 1.5).
    """

    arm: str
    work_percent: float  # as it was asked for; what is done is in whole units
    # By case, those that differ from its own; cases whose work has no unit are not there.
    parameters: dict[str, dict[str, Any]]


class Design(Document, frozen=True):
    """What a study at one scale compares, and how."""

    study: str  # its name
    scale: str
    title: str
    reproduces: str  # the published study that it is after, or `none`
    seed: int
    reference: str
    # It and its double, the same thing twice; of imported results without a double, it twice.
    aa_pair: tuple[str, str]
    arms: tuple[str, ...]
    cases: tuple[Case, ...]
    attempts: int  # how many failed attempts a run may have
    not_tested: tuple[NotTested, ...]
    provider: str  # of the programs: `system` (the distribution), `spack` or `spack-<toolchain>`
    positive_control: PositiveControl | None  # None for a study without one
    # After how many blocks of each node count it is looked at, at last after all; none if once.
    looks: tuple[int, ...]
    minutes: float | None  # how long all blocks together may be measured; None without a limit
    blocks_per_job: int  # how many blocks are measured one after the other in one allocation
    design: str  # one of `DESIGNS`
    shorter: tuple[Shorter, ...]  # beside the cases, in the same blocks
    pairs: tuple[str, ...]  # cases, and their shorter runs, side by side where others are in turn

    @property
    def is_paired(self) -> bool:
        """Whether each block is a pair of an arm and the reference, and their CPU time counts."""
        return self.design != IN_TURN

    def in_pairs(self, case: str) -> bool:
        """Whether the blocks of a case, or of a shorter run, are such pairs."""
        return self.is_paired or case in self.pairs

    def held_together(self, case: str, arm: str, against: str) -> tuple[tuple[str, str], ...]:
        """The two arms if blocks hold both; of different pairs each with the reference beside."""
        if not self.in_pairs(case) or self.reference in (arm, against):
            return ((arm, against),)
        return (arm, self.reference), (against, self.reference)

    def quantities(self, case: Case) -> tuple[Quantity, ...]:
        """What is compared of a case, or could be: all that its program gives, or CPU time."""
        told = (CPU_SECONDS,) if self.in_pairs(case.name) else case.definition.metrics
        return (*told, WORK, FIXED) if case.name in self.shorter_of else told

    @property
    def shorter_of(self) -> dict[str, Shorter]:
        """The shorter runs, by the case that they belong to."""
        return {shorter.of: shorter for shorter in self.shorter}

    @property
    def run_cases(self) -> tuple[Case, ...]:
        """All that blocks run: what is compared, and the shorter runs."""
        return (*self.cases, *(shorter.case for shorter in self.shorter))

    @property
    def definitions(self) -> dict[str, Benchmark]:
        """The benchmarks of the cases, sorted by name."""
        found = {case.benchmark: case for case in self.cases}
        return {name: found[name].definition for name in sorted(found)}

    @property
    def needs(self) -> dict[str, str]:
        """Files and folders of the host that the programs need, with their digests."""
        return dict(need for each in self.definitions.values() for need in each.needs.items())

    @property
    def positive_arm(self) -> str:
        """The arm of the positive control; empty without one."""
        return self.positive_control.arm if self.positive_control else ""

    def arms_of(self, case: str) -> tuple[str, ...]:
        """The arms that a case is run in: all, and the positive control where it can be."""
        control = self.positive_control
        without = control.arm if control and case not in control.parameters else ""
        return tuple(arm for arm in self.arms if arm != without)

    def case_in(self, case: Case, arm: str) -> Case:
        """A case as an arm runs it: its own line, on one node if it packs ranks, or more work."""
        if (given := in_arm(case.parameters, arm)) != case.parameters:
            case = replace(case, parameters=given)
        if case.nodes > 1 and (known := every_arm().get(arm)) and known.placement == PACKED:
            case = replace(case, parameters=case.parameters | {"nodes": 1})
        more = self._more_work(case, arm)
        return replace(case, parameters=case.parameters | more) if more else case

    def extra_work(self, case: Case, arm: str) -> float:
        """How many times the work of a case is done in an arm: 1 but in the positive control."""
        more = self._more_work(case, arm)
        return math.prod(float(value / case.parameters[name]) for name, value in more.items())

    def _more_work(self, case: Case, arm: str) -> dict[str, Any]:
        control = self.positive_control
        return control.parameters[case.name] if control and arm == control.arm else {}


class Plan(Design, frozen=True):
    """What a campaign measures."""

    version: int
    campaign: str  # study and scale; the dataset's name
    # By name, so that a dataset can be shown where these are not installed.
    arm_titles: dict[str, str]
    arm_runtimes: dict[str, str]
    benchmark_titles: dict[str, str]
    benchmark_notes: dict[str, str]
    blocks: tuple[Block, ...]
    comparisons: tuple[PlannedComparison, ...]

    def block(self, name: str) -> Block:
        """The block of that name; KeyError if the plan has none."""
        return _named(self.blocks, name, f"the plan of {self.campaign} has no block {name}")

    def case(self, name: str) -> Case:
        """The case of that name; KeyError if the plan has none."""
        return _named(self.run_cases, name, f"the plan of {self.campaign} has no case {name}")

    def is_pair(self, block: Block) -> bool:
        """Whether a block is an arm and the reference, side by side; its runs are all alike."""
        return self.in_pairs(block.runs[0].case)

    @property
    def blocks_of(self) -> Counter[str]:
        """In how many blocks an arm runs a case, by case; side by side the reference is in more."""
        counts = Counter((run.case, run.arm) for block in self.blocks for run in block.runs)
        rarest = sorted(counts.items(), key=lambda each: -each[1])
        return Counter({case: number for (case, _), number in rarest})

    @property
    def double(self) -> str:
        """The reference's double: the other arm of the A/A pair; empty where there is none."""
        return next((arm for arm in self.aa_pair if arm != self.reference), "")


def _named(parts: Sequence[N], name: str, problem: str) -> N:
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(problem)


def read_plan(path: Path) -> Plan:
    """The plan in a file, of any known version; UserError: it is none, or names what it lacks."""
    plan = _FORMAT.read(path)
    cases, arms = {case.name for case in plan.run_cases}, set(plan.arms)
    named = [("blocks", run.case, run.arm) for block in plan.blocks for run in block.runs]
    named += [("comparisons", each.case, each.arm) for each in plan.comparisons]
    named += [("shorter", each.of, plan.reference) for each in plan.shorter]
    if control := plan.positive_control:
        named += [("positive_control", case, control.arm) for case in control.parameters]
    for key, case, arm in named:
        if case not in cases or arm not in arms:
            problem = f"{case} in {arm} is not among the plan's cases and arms"
            raise UserError(problem, where=f"{path}: {key}", action=documents.RESTORE)
    return plan


def plan_digest(path: Path) -> str:
    """SHA-256 of a plan as its file has it, never of an upgraded one: what is registered.

    In an archive it has no path of the machine any more, so it is told without. Where a plan has
    looks, conclusions hold whenever it stops, and the minutes are left out: more of them go on.
    """
    text = Private().left_out(documents.read_text(path))
    content = json.loads(text)
    if content.get("version", 1) >= _MINUTES_FREE and content["looks"]:
        text = json.dumps(content | {"minutes": None})
    return documents.digest_of_json(text)


# What a plan had before there was a choice; plans of three shapes say 1, and keep theirs.
_UPGRADES = (
    # Before there were allocations, every block took one node.
    lambda content: in_parts(content, "blocks", adding(nodes=1)),
    adding(provider=DISTRIBUTION), adding(), adding(positive_control=None),
    adding(looks=[], minutes=None, blocks_per_job=1), adding(design=IN_TURN), adding(shorter=[]),
    adding(pairs=[]),
)  # fmt: skip
_FORMAT = Format(Plan, _UPGRADES, printed=True)
write_plan: Callable[[Path, Plan], None] = write_document


def cases_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """The cases that runs are of, each once, in their order."""
    return tuple(dict.fromkeys(run.case for run in runs))


def newest(archives: Iterable[str]) -> str:
    """The archive that was made last, by the day at the end of its name."""
    return max(archives, key=lambda name: name[-len("YYYY-MM-DD") :])
