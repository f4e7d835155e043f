"""What every benchmark provides: command, validity check, metrics, and what is said of them."""

import copy
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple

import parity.benchmarks
from parity.benchmarks import programs
from parity.benchmarks.description import FigureSpec, Metric, Parameters, Quantity, described
from parity.benchmarks.reading import Layout, Refused, death_in, require_short_lines
from parity.core.commands import Availability
from parity.core.errors import UserError
from parity.core.package import extensions_with
from parity.core.spack_paths import TOOLCHAIN


class Counted(NamedTuple):
    """What one extension counts; a module of its `benchmarks` exports one as `COUNTED`.

    Attributes:
        metrics_of: the metrics of a run by its evidence and its parameters.
        parameters: JSON schema of what cases on allocations may ask for, without a default.
        in_words: a level of those parameters, such as `era_2015`, as people write it.
        mark: a text in the evidence of runs that moved anything; empty where none is counted.
        moved: what such a run moved, per GiB of its files: `<way> <part>` in bytes, and `DISK`
            (`parity.benchmarks.moved`).
    """

    metrics_of: Callable[[Mapping[str, str], Mapping[str, Any]], tuple[Metric, ...]]
    parameters: Mapping[str, Mapping[str, Any]] = {}
    placed: tuple[Quantity, ...] = ()  # what may be counted of any benchmark on allocations
    in_words: Callable[[str], str] = str
    mark: str = ""
    moved: Callable[[Mapping[str, str], Mapping[str, Any]], Mapping[str, float]] | None = None


@cache
def counted() -> tuple[Counted, ...]:
    """What all extensions count."""
    return tuple(extensions_with(parity.benchmarks, "COUNTED"))


def placed_parameters() -> dict[str, Mapping[str, Any]]:
    """What cases on allocations may ask for of extensions."""
    return {name: schema for one in counted() for name, schema in one.parameters.items()}


def placed_metrics() -> tuple[Quantity, ...]:
    """What extensions may count of any benchmark on allocations."""
    return tuple(quantity for one in counted() for quantity in one.placed)


def metrics_counted(
    evidence: Mapping[str, str], parameters: Mapping[str, Any]
) -> tuple[Metric, ...]:
    """All that was counted of a run, by its evidence and its parameters."""
    return tuple(m for one in counted() for m in one.metrics_of(evidence, parameters))


# The parameter that says where what a site built for a case is: by name `prefix` and `digest`.
SOFTWARE = "software"


@dataclass(frozen=True)
class NodeFacts:
    """What a benchmark may size itself by.

    Attributes:
        cpus: the logical CPUs that the runner may use, in order; the same on each node.
        hosts: names of the allocation's nodes, in the order that ranks fill them.
    """

    cpus: tuple[int, ...]
    last_level_cache: int  # size of the last-level cache in bytes
    memory: int  # MemTotal in bytes
    hosts: tuple[str, ...] = ()
    launcher: bool = True  # whether the site has an MPI launcher, which starts each rank by itself

    def first_cpus(self, count: int, where: str) -> tuple[int, ...]:
        """The first `count` logical CPUs that the runner may use.

        Raises UserError: there are fewer; threads on one CPU would measure the scheduler.
        """
        if count > (most := len(self.cpus)):
            problem = f"{count} logical CPUs are asked for, and {most} may be used on this node"
            action = "lower it in the study, or run on a node with more CPUs"
            raise UserError(problem, where=where, allowed=f"1 to {most}", action=action)
        return self.cpus[:count]


class Beside:
    """What an extension has beside a program, as far as the core has to know of it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Ends of the names of the containers that may be left of it."""
        return ()

    def is_in_arm(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the program itself is in the arm; if not, it is native."""
        return True

    def refusal(self, isolates: Collection[str], ranks: int) -> str:
        """Why it cannot be beside a program in an arm that isolates so much; empty if it can."""
        return ""

    def reworded(self, change: Callable[[str], str]) -> "Beside":
        """The same, each word of its commands changed."""
        return self


NOTHING = Beside()


@dataclass(frozen=True)
class Program:
    """The timed program, the same in every arm.

    Attributes:
        cpus: the logical CPUs that it is bound to; rank r is bound to the one of its node at r
            modulo their number, so that nodes that share a machine do not crowd on its first.
        environment: variables it needs beyond the runner's fixed ones.
        files: text files to write into the working directory before the start.
        collect: files of the working directory to keep afterwards, verbatim; or patterns with `*`.
        then: command lines that are started and timed one after the other when `argv` has ended;
            only of a program that is started once, without ranks.
        check: a command line that is started last, in the same place, and not measured: by how it
            ends it says whether what the others did was right.
        ranks: how many processes the site's MPI launcher starts, each in a container of its own
            with its number in PARITY_RANK; 0 for a program that the runner itself starts once.
        nodes: over how many nodes they are spread, equally and in blocks. Files are
            written and collected on the first, where rank 0 runs.
        containers: over how many containers the ranks of each node are spread in blocks, as if
            each were a node (extensions/networks); 0 for a container of its own for each.
        as_given: whether its words are started alone, in the folder and with the variables of who
            measures: bound by nobody, and without the witness of where they run.
    """

    argv: tuple[str, ...]  # absolute path and arguments
    cpus: tuple[int, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    collect: tuple[str, ...] = ()
    repetitions: int = 1  # how often it is started and timed in one run (start-up only)
    then: tuple[tuple[str, ...], ...] = ()
    check: tuple[str, ...] = ()
    drop_caches: bool = False  # empty the page cache before each start (needs root)
    sample_seconds: float = 0.0  # sample memory at this interval while it runs; 0 for never
    sample_processes: tuple[str, ...] = ()  # process names whose memory is sampled
    ranks: int = 0
    nodes: int = 1
    containers: int = 0
    is_bound: bool = True  # whether each rank is bound to one CPU, or may run on all of `cpus`
    as_given: bool = False
    least_free_bytes: int = 0  # what must be free where it works before anything is started
    memory_bytes: int = 0  # what it fills, where it chose that by the node or was told to
    beside: Beside = NOTHING  # what an extension has beside it


@dataclass(frozen=True)
class Outputs:
    """What a run left, as the parsers see it: text and clocks, no paths.

    Attributes:
        files: the collected files by name; one that is no text as `core.files.as_text` has it.
        cpu_seconds: CPU time of all starts, with the processes that they waited for; 0 where it
            is not known.
        samples: memory samples (the table in records/tables.yaml), bytes and seconds.
        parameters: the case's parameters and factor levels from the plan.
        last_level_cache, memory: of the first node, in bytes; 0 where it is not known.
        limit: what its control group has to say of its CPU limit, where its arm has one.
    """

    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    wall_seconds: tuple[float, ...] = ()  # outer monotonic clock of each start, in order of time
    cpu_seconds: float = 0.0
    samples: tuple[Mapping[str, Any], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()  # the exact command line of the (last) start, from the record
    last_level_cache: int = 0
    memory: int = 0
    limit: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Parsed:
    """What a parser makes of a run's output."""

    valid: bool  # whether the benchmark's own check passed; a number only counts if so
    reason: str = ""  # why not (`unparsable`, `residual-failed`, …); empty when valid
    detail: str = ""  # one sentence for a person; empty when there is nothing to say
    metrics: tuple[Metric, ...] = ()  # in a fixed order


class Benchmark(ABC):
    """One benchmark. A module of this package exports `BENCHMARK: Benchmark`.

    What is data (`Description`) stands in the YAML file of the module's name beside it; metrics
    and parameters of that file come after those that a class inherits.

    Attributes:
        packages: Debian packages that provide it, natively and in the image.
        sources: C sources or scripts beside its module, each of a program (`programs.py`).
        spack_packages: what Spack builds for it, if it does.
        measures_all_binaries: whether all of them together are what a run measures, as an
            interpreter and its script are; else the one that its command line names.
        software: what no package brings and a site builds for it, by the names under which its
            system's file has their prefixes.
        needs: files and folders of the host that are shown to all arms, with their digests.
        factors: the factors it knows and their allowed levels, e.g. {"kernel": ("copy",)}.
        parameters: JSON schema of each parameter, with a `description` and a `default`; with
            `chooses_size` where all that it does is seen in the `size` of a run.
        allocations: whether it runs on allocations of nodes and ranks that the study lists (empty,
            `optional`, `required`); its parameters then hold `nodes` and `ranks` (in all).
        work: the parameter that its work is proportional to, in whole units; empty if there
            is none. Its numbers of which more is better are rates of that work.
        sized_by: the integer parameter that the length of its timed section is proportional to.
        target_seconds: the shortest timed section that means something, where it is `sized_by`
            a parameter; a pilot finds the amount for it (`measure/pilot.py`).
        timed: its metric in seconds that tells the timed section; empty if none does.
        starts_ranks_inside: whether its ranks are started inside of the arm where the site has no
            launcher, on one node.
        metrics: all that its parser gives, in the order in which it gives them.
        printed: what its program prints, as far as a table can tell it.
        differences: those of `primary` that are compared by their difference in their own unit
            and not by ratio.
        message_sizes: size in bytes by metric, of those that are the seconds of a message one way.
        figures: what its figures show; without any, one shows each case and primary metric.
        spelt: factor levels that people write otherwise than studies do, e.g. {"tcp": "TCP"}.
    """

    name: str  # its name in studies, `[a-z0-9-]+`
    title: str  # how figures and tables call it
    packages: ClassVar[tuple[str, ...]] = ()
    sources: ClassVar[tuple[str, ...]] = ()
    spack_packages: ClassVar[tuple[programs.SpackPackage, ...]] = ()
    toolchain: str = TOOLCHAIN  # the toolchain whose programs it runs, where Spack builds them
    binaries: tuple[str, ...] = ()  # absolute paths of the executables whose identity is audited
    measures_all_binaries: ClassVar[bool] = False
    software: ClassVar[tuple[str, ...]] = ()
    prefixes: Mapping[str, str] = {}  # of its software, once it is known where that is
    needs: Mapping[str, str] = {}
    factors: ClassVar[Mapping[str, Sequence[str]]] = {}
    parameters: ClassVar[Parameters] = {}
    allocations: ClassVar[str] = ""
    work: ClassVar[str] = ""
    sized_by: ClassVar[str] = ""
    target_seconds: ClassVar[float] = 0.0
    timed: ClassVar[str] = ""
    starts_ranks_inside: ClassVar[bool] = False
    metrics: ClassVar[tuple[Quantity, ...]] = ()
    printed: ClassVar[Layout] = Layout()
    primary: ClassVar[tuple[str, ...]] = ()  # those that are compared between arms
    differences: ClassVar[tuple[str, ...]] = ()
    message_sizes: ClassVar[Mapping[str, int]] = {}
    figures: ClassVar[tuple[FigureSpec, ...]] = ()
    spelt: ClassVar[Mapping[str, str]] = {}
    note: ClassVar[str] = ""  # a caveat that the paper prints beside its parameters; empty for none

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        said = described(inspect.getfile(cls), cls.metrics)
        said["parameters"] = {**cls.parameters, **said.get("parameters", {})}
        for attribute, value in said.items():
            setattr(cls, attribute, value)

    @property
    def all_parameters(self) -> Parameters:
        """Its own parameters, and those that extensions give to ranks, without a default."""
        return {**self.parameters, **(placed_parameters() if self.allocations else {})}

    def provided_by(self, provider: str) -> "Benchmark":
        """The same benchmark of a provider: `system`, `spack` or `spack-<toolchain>`."""
        return programs.in_toolchain(self, provider)

    def located(self, software: Mapping[str, Mapping[str, str]]) -> "Benchmark":
        """The same with a site's software, as `SOFTWARE` of a case's parameters has it."""
        other = copy.copy(self)
        other.prefixes = {name: build["prefix"] for name, build in software.items()}
        other.needs = {build["prefix"]: build["digest"] for build in software.values()}
        return other

    def probe(self) -> Availability:
        """Whether the native side can run here: whether all of its programs are there."""
        if self.spack_packages:
            return programs.built_by_spack(self.binaries, self.spack_packages)
        compiled = [programs.compiled_path(source) for source in self.sources]
        others = [path for path in self.binaries if path not in compiled]
        return programs.installed(others, self.packages, compiled)

    def size(self, command: Sequence[str]) -> str:
        """How large a work it chose by the node, as a command line tells it; empty if it did not.

        Runs of other sizes are other problems.
        """
        return ""

    def timed_seconds(self, outputs: Outputs) -> float:
        """How long the timed section of a run took; 0 if its output does not tell."""
        told = {metric.name: metric.value for metric in self.parse(outputs).metrics}
        return told.get(self.timed, 0.0)

    def seconds_of(self, metric: str, value: float, parameters: Mapping[str, Any]) -> float:
        """How long the work took that a number is of, in s; 0 where nothing tells."""
        return value if metric == self.timed else 0.0

    @property
    def has_events(self) -> bool:
        """Whether its runs write anything down one by one."""
        return type(self).events is not Benchmark.events

    def events(self, outputs: Outputs) -> Any:
        """What a valid run wrote down one by one, if its benchmark does.

        Returns:
            A structured array in order of time, with the fields `start` and `length` in ns.
        """
        return None

    @abstractmethod
    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The program for these parameters and factor levels on this node.

        Raises UserError: the node cannot run it, or parameters contradict each other.
        """

    @abstractmethod
    def read(self, outputs: Outputs) -> Parsed:
        """Metrics of a run that is valid, by its texts alone; raises `Refused` of any other."""

    def parse(self, outputs: Outputs) -> Parsed:
        """The same of any text: what is refused is not valid, and has no metrics."""
        try:
            for text in (outputs.stdout, outputs.stderr):
                require_short_lines(text)
                if death := death_in(text):
                    raise Refused("died", f"the output says: {death[:200]}")
            parsed = self.read(outputs)
            for metric in parsed.metrics:
                if not math.isfinite(metric.value):
                    raise Refused("unparsable", f"{metric.name} is {metric.value}, not a number")
            return parsed
        except Refused as refusal:
            return Parsed(False, refusal.reason, refusal.detail)

    def measured(self, values: Mapping[str, float], detail: str = "") -> Parsed:
        """A valid run, of whose metrics these values are known."""
        known = (quantity for quantity in self.metrics if quantity.metric in values)
        metrics = tuple(quantity.measured(values[quantity.metric]) for quantity in known)
        return Parsed(True, detail=detail, metrics=metrics)
