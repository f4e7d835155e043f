"""Which contrasts of costs a rule asks about: cell by cell, pair by pair, along or across a factor.

What a contrast rests on, its blocks, units, losses and levels, and whether its controls allow a
conclusion, is said by `parity.analysis.contrast`. Each function here gives questions, or a finding
where one cannot be asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parity.analysis.contrast import weighted_sum
from parity.analysis.decision import WITHOUT_CONTROL, Decision, decide
from parity.analysis.methods import slopes_per_doubling
from parity.claims.cells import (
    AT_ONE_LOOK,
    PER_NODE,
    RANKS,
    Absent,
    Cell,
    CellLevels,
    Scope,
    Series,
    alike,
)
from parity.claims.finding import Finding, about, too_few, untested
from parity.claims.rules import Options
from parity.core.wording import RATIO, counted, listed

LEVELS = 3
TOO_FEW = "too few blocks that hold every level: {} of 2"
MIB = {"MiB": 1.0, "GiB": 1024.0, "B": 1 / 2**20}


class Question(NamedTuple):
    """A contrast that a test is asked of.

    Attributes:
        effects: logs of ratios, or differences in `unit`; at least two.
        of_pair: the same of the A/A pair.
        what: what its numbers are, where that is not the arm over the other.
    """

    subject: Cell | Series
    effects: np.ndarray
    of_pair: np.ndarray
    unit: str = RATIO
    levels: CellLevels = AT_ONE_LOOK
    what: str = ""

    @property
    def is_ratio(self) -> bool:
        """Whether its effects are logs of ratios."""
        return self.unit == RATIO

    def decide(self, margin: float | None) -> Decision:
        """What the engine says of its effects, before any gate."""
        return decide(self.effects, margin, self.is_ratio, self.levels.own)

    def bound(self, margin: float) -> float:
        """A margin in the terms of its effects."""
        return math.log1p(margin) if self.is_ratio else margin

    def finding(self, decision: Decision, margin: float, **facts: Any) -> Finding:
        """The finding about its subject, with the A/A pair at the same margin."""
        few, levels = len(self.of_pair) < 2, self.levels.pair
        control = WITHOUT_CONTROL if few else decide(self.of_pair, margin, self.is_ratio, levels)
        return about(self.subject, decision, control=control, unit=self.unit, **facts)


Asked = Iterable[Question | Finding]


def _of_cell(cell: Cell, ratio: bool = True) -> Question | Finding:
    if cell.blocks < 2:
        return too_few(cell, cell.blocks)
    of_arm, of_pair = (cell.effects(ratio, control=control) for control in (False, True))
    unit = "" if cell.unit == "1" else cell.unit
    return Question(cell, of_arm, of_pair, RATIO if ratio else unit, cell.levels)


def ratios(options: Options, scope: Scope) -> Asked:
    """The log of the cost ratio, cell by cell."""
    return map(_of_cell, scope.cells)


def differences(options: Options, scope: Scope) -> Asked:
    """The difference in the metric's own unit, cell by cell.

    For shares of which a ratio says nothing, such as that of the time lost to noise, where 0.001
    is a tenth of a percentage point.
    """
    return (_of_cell(cell, ratio=False) for cell in scope.cells)


def shares(options: Options, scope: Scope) -> Asked:
    """The difference as a share of the node's memory (MemTotal), cell by cell."""
    memory = scope.data.memory_mib
    for cell, asked in zip(scope.cells, differences(options, scope), strict=True):
        if isinstance(asked, Finding):
            yield asked
        elif memory is None:
            yield untested(cell, "the records do not say how much memory the node has")
        elif cell.unit not in MIB:
            yield untested(cell, f"{cell.metric} is in {cell.unit or 'no unit'}, not in bytes")
        else:
            percent = 100 * MIB[cell.unit] / memory
            what, unit = f"node of {memory / 1024:.1f} GiB: ", "% of node"
            of_arm, of_pair = percent * asked.effects, percent * asked.of_pair
            yield Question(cell, of_arm, of_pair, unit, asked.levels, what)


def every_pair(options: Options, scope: Scope) -> Asked:
    """The log of the ratio of each two arms in every case.

    All pairs must pass, which proves more than an omnibus test does: that one says that the
    arms differ little on the whole (Wellek 2010, ch. 7) and not which of them.
    """
    in_order = sorted(scope.cells, key=lambda cell: cell.case)
    for _, cells in groupby(in_order, key=lambda cell: cell.case):
        for one, other in combinations(cells, 2):
            yield _of_cell(scope.data.cell(one.case, one.metric, one.arm, other.arm))


def series(scope: Scope, along: str) -> list[Series | Finding]:
    """The series of a test, and what is none: one needs three levels.

    Through two points there is always a line. Cells belong into one series if they differ in
    nothing else; along nodes, ranks may grow with them, and along ranks containers, where those
    are as many nowhere.
    """
    cells = [cell for cell in scope.cells if along in cell.parameters]
    grouped = alike(cells, along)
    if along == RANKS and all(len(group) < LEVELS for group in grouped):
        grouped = alike(cells, along, grows=PER_NODE)
    if scope.cells and not grouped:
        first = scope.cells[0]
        return [untested(first, f"no case of {first.benchmark} has a parameter {along}")]
    whole, missing = list[Series](), dict[Absent, None]()
    for group in grouped:
        levels = {cell.parameters[along] for cell in group}
        if len(levels) == len(group) >= LEVELS:
            ordered = sorted(group, key=lambda cell: float(cell.parameters[along]))
            whole.append(Series(along, tuple(ordered)))
            continue
        reason = f"several cases for one level of {along}"
        if len(levels) < LEVELS:
            reason = f"{counted(len(levels), 'level')} of {along}, {LEVELS} are needed"
        missing[Absent(group[0].metric, group[0].arm, group[0].against, reason)] = None
    return [*map(untested, missing), *whole]


def slopes(options: Options, scope: Scope) -> Asked:
    """Slope of the log ratio per doubling of the factor, in each block that holds every level."""
    for one in series(scope, options["along"]):
        if isinstance(one, Finding):
            yield one
        elif len(own := slopes_of(one)) < 2:
            yield too_few(one, len(own), reason=TOO_FEW.format(len(own)))
        else:
            what = f"ratio per doubling of {one.along}: "
            yield Question(one, own, slopes_of(one, control=True), what=what)


def slopes_of(one: Series, control: bool = False) -> np.ndarray:
    """Slopes per doubling that are independent; none if a level has no log."""
    table = one.complete(control)
    levels = [float(level) for level in table.columns]
    table.columns = pd.Index(levels)
    if min(levels) <= 0:
        return np.array([])
    per_block = slopes_per_doubling(table).tolist()
    return one.independent(dict(zip(table.index, per_block, strict=True)))


def crossed(options: Options, scope: Scope) -> Iterator[tuple[Question, Question] | Finding]:
    """Interaction, and effect of the factor averaged over arm and reference.

    A 2 x 2 factorial: arm and reference, at two levels of a factor (Box, Hunter & Hunter), for each
    arm and two cases that differ in the factor only.
    """
    factor, levels = options["factor"], [str(level) for level in options["levels"]]
    grouped: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in scope.cells:
        rest = {k: str(v) for k, v in cell.parameters.items() if k != factor}
        level = str(cell.parameters.get(factor))
        grouped.setdefault((cell.arm, *sorted(rest.items())), {})[level] = cell
    for cells in grouped.values():
        if missing := [level for level in levels if level not in cells]:
            first = next(iter(cells.values()))
            lacks = f"{first.benchmark} with {factor} {listed(missing)}"
            yield untested(first, f"the dataset holds no case of {lacks}")
            continue
        both = Series(factor, tuple(cells[level] for level in levels))
        interaction, main = _effects(both, both.arm, both.against)
        if len(main) < 2:
            reason = f"too few blocks that hold both arms at both levels: {len(main)} of 2"
            yield too_few(both, len(main), reason=reason)
            continue
        of_pair, _ = _effects(both, *both.cells[0].pair[::-1])
        yield (
            Question(both, interaction, of_pair, what="interaction: "),
            Question(both, main, of_pair, what=f"effect of {factor}: "),
        )


def _effects(both: Series, arm: str, against: str) -> Iterator[np.ndarray]:
    """Interaction, and effect of the factor, over what holds both arms at both levels."""
    low, high = both.cells
    costs = [cell.costs(side) for cell in (low, high) for side in (against, arm)]
    for weights in ((1, -1, -1, 1), (-0.5, -0.5, 0.5, 0.5)):
        yield both.independent(weighted_sum(zip(weights, costs, strict=True)))
