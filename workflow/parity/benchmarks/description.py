"""Forms of what the YAML file beside a benchmark's module says: numbers, parameters, figures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import msgspec

Parameters = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Metric:
    """One number with its unit, as a parser gives it; all but `value` are of its `Quantity`."""

    name: str
    value: float
    unit: str
    better: str
    clock: str = "internal"

    def credited(self, work: float) -> "Metric":
        """The number of the work once, where a rate had `work` times the work done."""
        is_more = work != 1 and self.better == "higher"
        return replace(self, value=self.value / work) if is_more else self


@dataclass(frozen=True)
class Quantity:
    """What one metric of a benchmark is."""

    metric: str  # its name in the records: snake_case, unique within the benchmark
    label: str  # what it is, in words
    recorded: str  # unit of the records: SI or the field's own (`s`, `GB/s`, `Gflop/s`, `1`)
    better: str = "neither"  # `lower`, `higher` or `neither`
    clock: str = "internal"  # `internal` (the program's own) or `external` (the runner's)
    shown: str = ""  # unit of figures and tables, if it is another one
    factor: float = 1.0  # what turns the recorded unit into the shown one
    is_cost: bool = True  # whether more or less of it costs anything; else it is told beside costs

    @property
    def unit(self) -> str:
        """The unit that people read."""
        return self.shown or self.recorded

    def measured(self, value: float) -> Metric:
        """A value of it, in the recorded unit."""
        return Metric(self.metric, value, self.recorded, self.better, self.clock)


# By these the analysis of events knows runs of any benchmark: one whose runs write events down
# (`Benchmark.events`) measures `LOOKED`, and under a CPU limit the other two.
LOOKED = Quantity("looked", "time looked", "s")
CPU_QUOTA = Quantity("cpu_quota", "CPU time allowed", "1", shown="%", factor=100)
CPU_PERIOD = Quantity("cpu_period", "period of the CPU limit", "s", shown="ms", factor=1e3)
LAST = 1000
# Of any program that is measured side by side: by `wait4`, without the start of its runtime; and
# what else stands in its control group meanwhile, such as what serves an image's files.
CPU_SECONDS = Quantity("cpu_seconds", "CPU time for the same work", "s", "lower", "external")
CPU_BESIDE = Quantity("cpu_seconds_beside", "CPU time beside the program", "s", "lower", "external")
# Of any case that is run at two lengths (`parity.plan.plan.Shorter`).
WORK = Quantity("work_seconds", "time of the work alone", "s", "lower", "external")
FIXED = Quantity("fixed_seconds", "time paid once", "s", "lower", "external", "ms", 1e3)
OF_ANY = (CPU_SECONDS, CPU_BESIDE, WORK, FIXED)


class Form(Enum):
    """The kinds of figures."""

    PANELS = "panels"  # how values lie, and how they compare with the reference
    TOGETHER = "together"  # the values of all cases on one axis, and their differences in numbers
    NODES = "nodes"  # the same against the number of nodes, where a study has several
    CROSSED = "crossed"  # a factor of two levels crossed with the container
    LADDER = "ladder"  # arms that add one thing after the other
    ALONG = "along"  # how they compare with the reference along a parameter
    TIMEOUTS = "timeouts"  # the time that a run lost against TCP's timeouts
    PARTS = "parts"  # what a time consists of
    SIZES = "sizes"  # rate or time against the size of a message
    INTERFACES = "interfaces"  # bytes by the interfaces that they crossed
    # Of single events, such as detours, and of what is made of them.
    TIMELINES = "timelines"  # when they were, and how long
    TAILS = "tails"  # how many are longer
    KINDS = "kinds"  # the same for arms that differ in one thing alone, on each other
    QUANTILES = "quantiles"  # ratios to the reference's
    QUOTA = "quota"  # what a CPU limit should do, and what it did
    LEVELS = "levels"  # what is reached once in a while
    REPLAY = "replay"  # what many ranks would lose to them


class Bars(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bars of a published figure as cost ratios along a parameter (config/published)."""

    place: str  # the figure
    code: str  # the program with its class
    label: str  # what these bars are of, in words
    cases: Mapping[str, str]  # parameters of the cases that they belong to
    x: str = ""  # what stands below the bars, where containers per node are beside each other there
    series: str = ""  # the bars that are taken, where the parameter stands below them
    over: str = "native"  # the bars that they are divided by


class FigureSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure of a benchmark.

    `caption`: what is measured, and how it compares with the publication's figure; what its marks
    mean is added by parity.report.texts. `table`: that of the analysis of events that it shows, or
    `events` themselves; cases without a row in it are not shown. `along`: the parameter of numbers
    that stands below its panels; cases that have it are shown here, and in none of the others.
    """

    name: str  # file name without its ending
    quantities: tuple[Quantity, ...]  # metrics it shows for each case
    title: str
    caption: str
    finding: str = ""  # head of the paragraph about it in the paper, if not the title
    order: int = LAST  # its place among the figures of all benchmarks; equal ones by their names
    relative: bool = False  # whether values are drawn as deviation from the reference's median in %
    logarithmic: bool = False  # whether the axis of values is logarithmic
    from_zero: bool = False  # whether the axis of values begins at zero
    in_rows: bool = False  # whether cases stand below each other, values left and comparisons right
    densities: bool = False  # whether values are drawn as violins, where there are enough
    placed: bool | None = None  # only cases on an allocation (True), or only others (False)
    levels: Mapping[str, str] = {}  # what stands above a level's panels, if not the level
    form: Form = Form.PANELS
    table: str = ""
    factor: str = ""  # the factor of two levels that it crosses with the container
    contrast: str = ""  # what the factor's higher level has over the lower one, in words
    along: str = ""
    scatter: bool = False  # whether coefficients of variation are drawn rather than ratios
    bars: tuple[Bars, ...] = ()  # published bars to mark
    runtime: str = ""  # the runtime whose arms it is about; without any it shows nothing
    published: tuple[float, ...] = ()  # cost ratios of a publication: one, or a range's ends
    source: str = ""  # that publication
    stands_for: str = ""  # what of it its system stands for, as the overview says it, too
    benchmark: str = ""  # whose cases it shows; filled in from the benchmark that brings it

    def shows(self, benchmark: str, placed: bool) -> bool:
        """Whether a case, placed on an allocation or not, belongs into this figure."""
        return benchmark == self.benchmark and self.placed in (None, placed)
