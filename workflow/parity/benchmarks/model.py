"""What every benchmark provides: command, validity check, metrics, and what is said of them."""

import copy
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

import parity.benchmarks
from parity.benchmarks import programs
from parity.benchmarks.description import FigureSpec, Metric, Parameters, Quantity
from parity.benchmarks.reading import Layout, Refused, death_in, require_short_lines
from parity.core.commands import Availability
from parity.core.errors import UserError
from parity.core.package import extensions_with
from parity.core.spack_paths import DISTRIBUTION, TOOLCHAIN, toolchain_of, view_of

Asked = Mapping[str, Any]  # of a benchmark: its parameters and factor levels, by names


class Counted(NamedTuple):
    """What one extension counts; a module of its `benchmarks` exports one as `COUNTED`.

    Both functions take the evidence and the parameters of a run. `metrics_of` gives its metrics;
    `moved` what it moved, per GiB of its files: `<way> <part>` in bytes, and `DISK`.
    """

    metrics_of: Callable[[Mapping[str, str], Asked], tuple[Metric, ...]]
    # JSON schema of what cases on allocations may ask for; no default.
    parameters: Parameters = MappingProxyType({})
    placed: tuple[Quantity, ...] = ()  # what may be counted of any benchmark on allocations
    in_words: Callable[[str], str] = str  # a level of those parameters as people write it
    mark: str = ""  # a text in the evidence of runs that moved anything; empty where none does
    moved: Callable[[Mapping[str, str], Asked], Mapping[str, float]] | None = None


# The words of `Counted.moved`: the parts of a byte's way between servers and client, and what
# their disks are asked for.
LINK, BRIDGE, END, LOOPBACK, OTHERS = PARTS = (
    "link", "bridge", "container's end", "loopback", "others",
)  # fmt: skip
RECEIVED, SENT = WAYS = ("received", "sent")
DISK = ("disk_read_requests", "disk_written_requests", "disk_read_bytes", "disk_written_bytes")


def of_way(moved: Mapping[str, float], way: str) -> dict[str, float]:
    """Bytes of one of `WAYS` by part; parts without any interface are left out."""
    return {part: moved[f"{way} {part}"] for part in PARTS if f"{way} {part}" in moved}


def both_ways(moved: Mapping[str, float]) -> dict[str, float]:
    """Bytes received and sent together, by part."""
    sent = of_way(moved, SENT)
    return {part: received + sent[part] for part, received in of_way(moved, RECEIVED).items()}


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


def metrics_counted(evidence: Mapping[str, str], asked: Asked) -> tuple[Metric, ...]:
    """All that was counted of a run, by its evidence and its parameters."""
    return tuple(m for one in counted() for m in one.metrics_of(evidence, asked))


# The parameter that says where what a site built for a case is: by name `prefix` and `digest`.
SOFTWARE = "software"


@dataclass(frozen=True)
class NodeFacts:
    """What a benchmark may size itself by."""

    cpus: tuple[int, ...]  # logical CPUs that the runner may use, in order; the same on each node
    last_level_cache: int  # size of the last-level cache in bytes
    memory: int  # MemTotal in bytes
    hosts: tuple[str, ...] = ()  # names of its allocation's nodes, in the order of the ranks
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

    def is_in_arm(self, parameters: Asked) -> bool:
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

    Rank r is bound to the one of its node's `cpus` at r modulo their number, so that nodes that
    share a machine do not crowd on its first. Each rank has a container of its own, unless those of
    a node are spread in blocks over `containers`, as if each were a node (extensions/networks).
    `as_given`: whether its words are started alone, in the folder and with the variables of who
    measures: bound by nobody, and without the witness of where they run.
    """

    argv: tuple[str, ...]  # absolute path and arguments
    cpus: tuple[int, ...]  # logical CPUs that it is bound to
    environment: Mapping[str, str] = field(default_factory=dict)  # beyond the runner's fixed ones
    files: Mapping[str, str] = field(default_factory=dict)  # texts to write first where it works
    collect: tuple[str, ...] = ()  # files to keep afterwards, verbatim; or patterns with `*`
    repetitions: int = 1  # how often it is started and timed in one run (start-up only)
    then: tuple[tuple[str, ...], ...] = ()  # started and timed in turn after `argv`; never ranks
    check: tuple[str, ...] = ()  # started last, not measured: its end says whether all was right
    drop_caches: bool = False  # empty the page cache before each start (needs root)
    sample_seconds: float = 0.0  # sample memory at this interval while it runs; 0 for never
    sample_processes: tuple[str, ...] = ()  # process names whose memory is sampled
    ranks: int = 0  # that the site's launcher starts, each told its PARITY_RANK; 0: once, by itself
    nodes: int = 1  # with equal blocks of the ranks; files are those of the first, with rank 0
    containers: int = 0
    is_bound: bool = True  # whether each rank is bound to one CPU, or may run on all of `cpus`
    as_given: bool = False
    least_free_bytes: int = 0  # what must be free where it works before anything is started
    memory_bytes: int = 0  # what it fills, where it chose that by the node or was told to
    beside: Beside = NOTHING  # what an extension has beside it


@dataclass(frozen=True)
class Outputs:
    """What a run left, as the parsers see it: text and clocks, no paths.

    `files` are those that were collected; one that is no text as `core.files.as_text` has it.
    `limit` is what its control group has to say of its CPU limit, where its arm has one.
    """

    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    wall_seconds: tuple[float, ...] = ()  # outer monotonic clock of each start, in order of time
    cpu_seconds: float = 0.0  # of all starts and what they waited for; 0 where it is not known
    samples: tuple[Mapping[str, Any], ...] = ()  # of memory, in bytes and s (records/tables.yaml)
    parameters: Asked = field(default_factory=dict)  # of the plan, factor levels, too
    command: tuple[str, ...] = ()  # the exact command line of the (last) start, from the record
    last_level_cache: int = 0  # of the first node, in bytes; 0 where it is not known
    memory: int = 0  # of the first node, in bytes; 0 where it is not known
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

    What is data stands in the YAML file of the module's name beside it (`described`); metrics
    and parameters of that file come after those that a class inherits.

    Attributes:
        measures_all_binaries: whether all of them together are what a run measures, as an
            interpreter and its script are; else the one that its command line names.
        parameters: JSON schema of each parameter, with a `description` and a `default`; with
            `chooses_size` where all that it does is seen in the `size` of a run.
        allocations: whether it runs on allocations of nodes and ranks that the study lists (empty,
            `optional`, `required`); its parameters then hold `nodes` and `ranks` (in all).
        work: the parameter that its work is proportional to, in whole units; empty if there
            is none. Its numbers of which more is better are rates of that work.
        target_seconds: the shortest timed section that means something, where it is `sized_by`
            a parameter; a pilot finds the amount for it (`measure/pilot.py`).
    """

    name: str  # its name in studies, `[a-z0-9-]+`
    title: str  # how figures and tables call it
    packages: ClassVar[tuple[str, ...]] = ()  # of Debian: they provide it, natively and in images
    sources: ClassVar[tuple[str, ...]] = ()  # C or scripts beside it, each of a program
    spack_packages: tuple[programs.SpackPackage, ...] = ()  # what Spack builds for it
    toolchain: str = TOOLCHAIN  # the toolchain whose programs it runs, where Spack builds them
    binaries: tuple[str, ...] = ()  # absolute paths of the executables whose identity is audited
    # What Spack builds, and where, of one that the distribution has as well.
    by_spack: tuple[tuple[programs.SpackPackage, ...], tuple[str, ...]] | None = None
    measures_all_binaries: ClassVar[bool] = False
    software: ClassVar[tuple[str, ...]] = ()  # that a site builds, by its system's file's names
    prefixes: Mapping[str, str] = {}  # of its software, once it is known where that is
    needs: Mapping[str, str] = {}  # digests of the host's files and folders that all arms see
    factors: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # levels, e.g. {"kernel": ("copy",)}
    parameters: ClassVar[Parameters] = {}
    allocations: ClassVar[str] = ""
    work: ClassVar[str] = ""
    sized_by: ClassVar[str] = ""  # integer parameter that its timed section is proportional to
    target_seconds: ClassVar[float] = 0.0
    timed: ClassVar[str] = ""  # its metric in s that tells the timed section; empty if none does
    starts_ranks_inside: ClassVar[bool] = False  # in the arm, on one node, where no launcher is
    metrics: ClassVar[tuple[Quantity, ...]] = ()  # all that its parser gives, in that order
    printed: ClassVar[Layout] = Layout()  # what its program prints, as far as a table can tell it
    primary: ClassVar[tuple[str, ...]] = ()  # those that are compared between arms
    differences: ClassVar[tuple[str, ...]] = ()  # those compared in their unit, and not by ratio
    message_sizes: ClassVar[Mapping[str, int]] = {}  # bytes, of metrics in s of a message one way
    figures: ClassVar[tuple[FigureSpec, ...]] = ()  # if none, one of each case and primary metric
    spelt: ClassVar[Mapping[str, str]] = {}  # levels as people write them, e.g. {"tcp": "TCP"}
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
        other, toolchain = copy.copy(self), toolchain_of(provider) or TOOLCHAIN
        if self.by_spack and provider != DISTRIBUTION:
            other.spack_packages, other.binaries = self.by_spack
            other.by_spack = None
        elif not self.spack_packages or toolchain == self.toolchain:
            return self
        here, there = f"{view_of(self.toolchain)}/", f"{view_of(toolchain)}/"
        other.toolchain = toolchain
        other.binaries = tuple(path.replace(here, there) for path in other.binaries)
        return other

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
        """How large a problem it chose by the node, as a command line tells it; empty if none."""
        return ""

    def timed_seconds(self, outputs: Outputs) -> float:
        """How long the timed section of a run took; 0 if its output does not tell."""
        told = {metric.name: metric.value for metric in self.parse(outputs).metrics}
        return told.get(self.timed, 0.0)

    def seconds_of(self, metric: str, value: float, parameters: Asked) -> float:
        """How long the work took that a number is of, in s; 0 where nothing tells."""
        return value if metric == self.timed else 0.0

    @property
    def has_events(self) -> bool:
        """Whether its runs write anything down one by one."""
        return type(self).events is not Benchmark.events

    def events(self, outputs: Outputs) -> Any:
        """A structured array of what a valid run wrote down, by time: `start`, `length` in ns."""
        return None

    @abstractmethod
    def program(self, parameters: Asked, node: NodeFacts) -> Program:
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
        metrics = (it.measured(values[it.metric]) for it in self.metrics if it.metric in values)
        return Parsed(True, detail=detail, metrics=tuple(metrics))


# What each is of, by its name: what a YAML file may say, and as what.
ATTRIBUTES: dict[str, Any] = {
    name: get_args(hint)[0] if get_origin(hint) is ClassVar else hint
    for name, hint in get_type_hints(Benchmark).items()
}


def described(module: str, known: Iterable[Quantity] = ()) -> dict[str, Any]:
    """What the YAML file beside a module says, if there is one, by the attributes of `Benchmark`.

    Raises ValueError: the file is no description. Raises KeyError: it says what none of them is, or
    a figure shows a metric that is none. `known`: quantities that figures may show as well; they
    come first among `metrics`.
    """
    file = Path(module).with_suffix(".yaml")
    content = msgspec.yaml.decode(file.read_bytes()) if file.exists() else {}
    metrics = [{"metric": name} | said for name, said in content.get("metrics", {}).items()]
    own = msgspec.convert(metrics, list[Quantity])
    by_name = {quantity.metric: quantity for quantity in (*known, *own)}
    content["metrics"] = tuple(by_name.values())
    for figure in content.get("figures", ()):
        figure["quantities"] = [by_name[metric] for metric in figure["quantities"]]
    made = {}
    for name, value in content.items():
        try:
            made[name] = msgspec.convert(value, ATTRIBUTES[name])
        except msgspec.ValidationError as error:
            raise ValueError(f"{file}: {name}: {error}") from error
        except KeyError as error:
            raise KeyError(f"{file}: there is no {name}") from error
    return made
