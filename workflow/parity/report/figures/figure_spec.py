"""What describes a figure: which cases and numbers it shows, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from parity.plan.plan import Case


class Form(Enum):
    """The kinds of figures."""

    PANELS = auto()  # how values lie, above how they compare with the reference
    NODES = auto()  # the same against the number of nodes, where a study has several
    CROSSED = auto()  # a factor of two levels crossed with the container
    LADDER = auto()  # arms that add one thing after the other


@dataclass(frozen=True)
class Quantity:
    """One metric as figures and tables call it.

    Attributes:
        metric: its name in the records.
        label: what it is, in words.
        unit: unit on the axis.
        factor: what turns the recorded unit into that unit.
        recorded: the recorded unit, if it is another one.
    """

    metric: str
    label: str
    unit: str
    factor: float = 1.0
    recorded: str = ""


@dataclass(frozen=True)
class FigureSpec:
    """One figure of distributions and comparisons.

    Attributes:
        name: file name without its ending.
        benchmark: whose cases it shows.
        quantities: metrics it shows for each case.
        title: what stands above its panels.
        caption: what is measured, and how it compares with the publication's figure; what
            its marks mean is added by parity.report.text.captions.
        relative: whether values are drawn as deviation from the reference's median in %.
        logarithmic: whether the axis of values is logarithmic.
        from_zero: whether values are drawn as bars from zero.
        placed: whether it shows only cases that are placed on an allocation (True), or only
            those that are not (False).
        form: what kind of figure it is.
        factor: the factor of two levels that it crosses with the container.
        runtime: the runtime whose arms it is about; without any it shows nothing.
        published: cost ratios of a publication to mark: one, or both ends of a range.
        source: that publication.
    """

    name: str
    benchmark: str
    quantities: tuple[Quantity, ...]
    title: str
    caption: str
    relative: bool = False
    logarithmic: bool = False
    from_zero: bool = False
    placed: bool | None = None
    form: Form = Form.PANELS
    factor: str = ""
    runtime: str = ""
    published: tuple[float, ...] = ()
    source: str = ""

    def shows(self, case: Case) -> bool:
        """Whether a case of a plan belongs into this figure."""
        on_allocation = "nodes" in case["parameters"]
        return case["benchmark"] == self.benchmark and self.placed in (None, on_allocation)
