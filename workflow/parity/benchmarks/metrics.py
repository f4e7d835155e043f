"""What a benchmark measures: its numbers, and how people call and read them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Metric:
    """One number with its unit, as a parser gives it.

    Attributes:
        name, unit, better, clock: those of its `Quantity`.
        value: the number, in that unit.
    """

    name: str
    value: float
    unit: str
    better: str
    clock: str = "internal"

    def credited(self, work: float) -> Metric:
        """The number where `work` times the work was done, and only the work is counted.

        A time is what it is; a rate is that of the work over the whole time.
        """
        return replace(self, value=self.value / work) if self.better == "higher" else self


@dataclass(frozen=True)
class Quantity:
    """What one metric of a benchmark is.

    Attributes:
        metric: its name in the records: snake_case, unique within the benchmark.
        label: what it is, in words.
        recorded: unit of the records: SI or the field's own (`s`, `GB/s`, `Gflop/s`, `1`).
        better: `lower`, `higher` or `neither`.
        clock: `internal` (the program's own) or `external` (the runner's).
        shown: unit of figures and tables, if it is another one.
        factor: what turns the recorded unit into the shown one.
    """

    metric: str
    label: str
    recorded: str
    better: str = "neither"
    clock: str = "internal"
    shown: str = ""
    factor: float = 1.0

    @property
    def unit(self) -> str:
        """The unit that people read."""
        return self.shown or self.recorded

    def measured(self, value: float) -> Metric:
        """A value of it, in the recorded unit."""
        return Metric(self.metric, value, self.recorded, self.better, self.clock)
