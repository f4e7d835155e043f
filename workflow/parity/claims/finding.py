"""What a test finds in one cell or series, and the gates that every finding passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from parity.analysis import outcomes
from parity.analysis.dataset import CONFOUNDED, NOT_RECORDED, worst
from parity.analysis.decision import (
    CONTROL_DIFFERS,
    CONTROL_FAILED,
    FEW,
    FEWEST_FOR_A_DIFFERENCE,
    METHOD,
    NONE,
    UNDECIDED,
    WITHOUT_CONTROL,
    Decision,
    objection_of,
)
from parity.analysis.evidence import CLUSTERS
from parity.claims import terms
from parity.claims.cells import Absent, Cell
from parity.core import wording

UNKNOWN = "nobody recorded whether both sides ran the same binary and libraries"
ONE_LOOK_ONLY = "its rule is made for data that were looked at once"
PASSED = (terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK)
AGAINST = (terms.CONTRADICTED, terms.DIFFERS)
# Between the cases of a series.
JOINED = " + "


@dataclass(frozen=True)
class Finding:
    """What one test says of one comparison."""

    case: str
    metric: str
    arm: str
    against: str
    verdict: str = terms.INCONCLUSIVE
    reason: str = ""
    decision: Decision = UNDECIDED  # the numbers, and what they would say without gates; in `unit`
    control: Decision = WITHOUT_CONTROL  # the same of the A/A pair at the same margin
    assay: str = NONE  # outcome of the positive control at that margin, or `none`
    unit: str = ""
    p_value: float | None = None  # of the rule's test; None if it has none
    p_against: float | None = None  # of the test that could contradict; only of one-sided rules
    identity: str = NOT_RECORDED
    # How near it is to failing: 1 just fails, 0 could not be clearer. It only sorts findings.
    strain: float = 0.0
    # Whether it concludes that there is no more between two things than so much, for a claim or
    # against it; None if its rule says that of all it supports.
    says_same: bool | None = None
    objection: str = ""  # what lost runs, or nodes or sessions that differ, have against it
    counts: bool = True  # whether the verdict on the claim rests on it; the rest is shown only
    dataset: str = ""  # that the comparison is of
    coverage: str = ""  # how much of what its test speaks of was decided; empty if nothing is said
    test: int = 0  # number of its test in the claim
    of_arm: bool = False  # of what was not tested, whether only an arm was missing

    @property
    def needed(self) -> float:
        """The margin that would have passed, the A/A pair's included; NaN if none is known."""
        own, of_pair = self.decision.smallest_margin, self.control.smallest_margin
        return own if math.isnan(own) or math.isnan(of_pair) else max(own, of_pair)

    @property
    def of(self) -> tuple[object, ...]:
        """What is one comparison, whichever dataset holds it."""
        return self.test, self.case, self.metric, self.arm, self.against

    @property
    def is_near(self) -> bool:
        """Whether it is against a claim by no more than twice the margin, or there is no margin."""
        decision, margin = self.decision, self.decision.margin
        if margin is None:
            return True
        if not math.isnan(self.needed):
            return self.needed <= 2 * margin
        # A rule whose margin is a smallest effect has none that would pass: its intervals tell.
        ends = map(math.log, decision.interval90)
        return max(map(abs, ends)) <= math.log1p(2 * margin)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that it is about; none where the dataset holds no such comparison."""
        return tuple(filter(None, self.case.split(JOINED)))

    def ended(self, verdict: str, reason: str) -> "Finding":
        """The finding with its verdict."""
        return replace(self, verdict=verdict, reason=reason)

    def opened(self, objection: str) -> "Finding":
        """The finding as inconclusive, for this reason."""
        return self.ended(terms.INCONCLUSIVE, f"{objection}; {self.reason}")

    def agreed(self, verdict: str, by_ranks: str, reason: str) -> "Finding":
        """The finding with a verdict that the rank test has to give as well."""
        if verdict in (terms.INCONCLUSIVE, by_ranks):
            return self.ended(verdict, reason)
        is_few = self.decision.blocks < FEWEST_FOR_A_DIFFERENCE
        return self.ended(verdict, reason).opened(FEW if is_few else f"{METHOD} {by_ranks}")

    def columns(self) -> dict[str, Any]:
        """What it has for the table of evidence, and more, by the names of the columns."""
        of_pair = {f"control_{name}": value for name, value in self.control.columns().items()}
        known = self.decision.columns() | of_pair | vars(self)
        return known | {"control": self.control.outcome}


def about(
    cells: Sequence[Cell], decision: Decision, ratio: bool | None = None, **facts: Any
) -> Finding:
    """A finding about a cell, or the cells of a series together, still without its verdict.

    The first cell that has something against a conclusion says it for all of them, the worst says
    whether binaries are the same, and a positive control has to be seen in each. `ratio`: whether
    it is of ratios, to which a number of zero or below is lost; None: as the plan compares.
    """

    def objection(control: bool) -> str:
        there = (c.evidence(c.ratio if ratio is None else ratio, control).objection for c in cells)
        return next(filter(None, there), "")

    if facts.get("unit") == wording.RATIO and decision.margin and "assay" not in facts:
        shown = [cell.assay(decision.margin) for cell in cells]
        lacking = (outcome for outcome in shown if outcome not in (NONE, outcomes.DIFFERENT))
        facts["assay"] = next(lacking, min(shown))
    if "control" in facts:
        facts["control"] = facts["control"].without_claim(objection(control=True))
    named: dict[str, Any] = {
        name: JOINED.join(dict.fromkeys(getattr(cell, name) for cell in cells))
        for name in ("case", "arm", "against")
    }
    named |= {"metric": cells[0].metric, "identity": worst(cell.identity for cell in cells)}
    return Finding(decision=decision, **{"objection": objection(control=False)} | named | facts)


def untested(subject: Cell | Absent, reason: str = "") -> Finding:
    """The finding where a comparison cannot be looked at; what is absent says why itself."""
    of_arm = isinstance(subject, Absent) and subject.of_arm
    made = Finding("", subject.metric, subject.arm, subject.against, of_arm=of_arm)
    return made.ended(terms.NOT_TESTED, reason or getattr(subject, "reason", ""))


def without_levels(cell: Cell, parameter: str, missing: Sequence[str]) -> Finding:
    """The finding where the dataset has a case like a cell's at not all levels of a parameter."""
    lacks = f"{cell.benchmark} with {parameter} {wording.listed(missing)}"
    return untested(cell, f"the dataset holds no case of {lacks}")


def too_few(
    cells: Sequence[Cell], blocks: int, needed: int = 2, reason: str = "", **facts: Any
) -> Finding:
    """The finding where too few blocks count, by default with the commonest reason why."""
    if not reason:
        why = f" ({cells[0].shortage})" if cells[0].shortage else ""
        reason = f"too few blocks: {blocks} of at least {needed}{why}"
        facts["unit"] = cells[0].unit
    open_finding = about(cells, Decision(blocks), **facts, strain=math.inf)
    return open_finding.ended(terms.INCONCLUSIVE, reason)


def gated(found: Finding, proves_sameness: bool) -> Finding:
    """The finding, if what the engine asks of every conclusion lets its verdict stand.

    Of claims more is asked: the same binary on both sides, and six blocks for whatever is not
    shown to be the same. If the rule `proves_sameness`, the A/A pair has to pass the same test;
    otherwise there must be one that does not differ from itself.
    """
    # That few nodes or sessions are left says why the blocks were too few.
    is_open = found.verdict == terms.INCONCLUSIVE and found.objection != CLUSTERS
    if found.verdict == terms.NOT_TESTED or is_open:
        return found
    is_held = found.verdict == terms.SUPPORTED
    says_same = proves_sameness and is_held if found.says_same is None else found.says_same
    if found.objection:
        objection = found.objection
    elif found.identity in CONFOUNDED:
        objection = f"confounded: {found.identity}"
    elif says_same and found.identity == NOT_RECORDED:
        objection = UNKNOWN
    elif found.decision.blocks < FEWEST_FOR_A_DIFFERENCE and not (says_same and is_held):
        objection = FEW
    else:
        objection = objection_of(found.control.as_control, says_same, found.assay)
    if objection == CONTROL_FAILED:
        # The margin that would pass, where the rule has one; else what it would have said.
        needed = f"{wording.margin(found.needed, found.unit)} would pass"
        would = found.reason if math.isnan(found.needed) else needed
        reason = f"the A/A pair is not equivalent; {would}"
        return replace(found.ended(terms.INCONCLUSIVE, reason), strain=max(found.strain, 1.0))
    if objection == CONTROL_DIFFERS:
        low, high = found.control.interval95
        own = "" if math.isnan(low) else f": {wording.interval(low, high, found.unit)}"
        objection = f"the A/A pair differs from itself{own}"
    return found.opened(objection) if objection else found


def looked_at_once(found: Finding) -> Finding:
    """The finding of a rule that knows no looks, where there were several: open.

    Its intervals and its p are those of a single look, which err more often here: none is kept.
    """
    if found.verdict == terms.NOT_TESTED:
        return found
    own, is_open = found.decision, outcomes.INCONCLUSIVE
    bare = Decision(own.blocks, own.estimate, margin=own.margin, outcome=is_open)
    ended = replace(found, decision=bare, control=WITHOUT_CONTROL, p_value=None, p_against=None)
    return replace(ended, strain=math.inf).ended(terms.INCONCLUSIVE, ONE_LOOK_ONLY)
