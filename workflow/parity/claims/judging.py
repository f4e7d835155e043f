"""How much of what a statement speaks of was decided, parameter by parameter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from parity.analysis.decision import CONTROL_DIFFERS
from parity.analysis.estimate import ALPHA
from parity.analysis.methods import holm
from parity.claims import terms
from parity.claims.cells import (
    CASE_IS_THERE,
    NODES,
    Absent,
    JudgingData,
    Scope,
    Selection,
    nearest,
    resolve,
)
from parity.claims.finding import AGAINST, PASSED, Finding, gated, looked_at_once, untested
from parity.claims.register import Claim, Test
from parity.claims.rules import Rule, rules
from parity.core.wording import counted, listed, number
from parity.plan.system import CLUSTER, MACHINE

# What a level of a parameter is called where its own name does not say it.
CALLED = {
    "nodes": "node count",
    "ranks": "rank count",
    "containers_per_node": "container count",
    "threads": "thread count",
    "seconds": "duration",
    **dict.fromkeys(("n", "prime", "elements", "class", "gigabytes"), "size"),
}
# Arm with that which it is compared with, and the parameters of the case.
DecidedCell = tuple[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Covered:
    """How many levels of one parameter the decided cells have, of those that it should be.

    Attributes:
        there: declared levels that every arm was decided at.
        instead: other levels that cells were decided at; of use where `there` is empty.
    """

    parameter: str
    declared: tuple[Any, ...]
    there: tuple[Any, ...]
    instead: tuple[str, ...]

    def __str__(self) -> str:
        """In words: `1 of 10 node counts`, `the same size`, `size 24 for 104`."""
        planned, reached = len(self.declared), len(self.there)
        if reached == planned:
            whose = f"all {planned}" if planned > 1 else "the same"
            return f"{whose} {self._called(planned)}"
        if self.there:
            return f"{reached} of {planned} {self._called(planned)}"
        wanted = _levels(self.declared)
        if not self.instead:
            return f"not {self._called(planned)} {wanted}"
        return f"{self._called(len(self.instead))} {_levels(self.instead)} for {wanted}"

    def _called(self, count: int) -> str:
        """What so many levels are called."""
        if self.parameter in CALLED:
            return CALLED[self.parameter] + ("" if count == 1 else "s")
        return f"{'level' if count == 1 else 'levels'} of {self.parameter}"


def _levels(levels: Sequence[Any]) -> str:
    """Levels in words; of more than three the first and the last."""
    return listed(levels if len(levels) <= 3 else [f"{levels[0]} to {levels[-1]}"])


@dataclass(frozen=True)
class Coverage:
    """How much of what a test's statement speaks of was decided, by parameter.

    Attributes:
        decided: whether any cell was.
    """

    parameters: tuple[Covered, ...]
    decided: bool

    def __str__(self) -> str:
        """In words; empty if no level is declared."""
        if self.parameters and not self.decided:
            return "nothing decided"
        return ", ".join(map(str, self.parameters))

    @property
    def most(self) -> str:
        """The most that a test of this coverage can end as."""
        if any(not covered.there for covered in self.parameters):
            return terms.ORDER_OK
        whole = all(len(covered.there) == len(covered.declared) for covered in self.parameters)
        return terms.SUPPORTED if whole else terms.HOLDS_IN_PART


def coverage(chosen: Selection, decided: Iterable[DecidedCell]) -> Coverage:
    """The coverage of a selection by its decided cells.

    A level counts if it was decided for every arm, what one arm shows at 512 nodes says nothing
    of another that ran on one, and at declared levels of the other parameters. One of these
    that was decided at none of its levels says so itself and takes nothing from the rest.
    """
    several = {name: levels for name, levels in chosen.parameters.items() if len(levels) > 1}
    wanted, cells = several | dict(chosen.levels), list(decided)
    arms = {arm for arm, _ in cells}
    reached = {name: levels for name, levels in wanted.items() if _there(name, levels, cells, arms)}
    covered = []
    for name, declared in wanted.items():
        others = [(other, levels) for other, levels in reached.items() if other != name]
        fitting = [cell for cell in cells if all(_has(cell[1], *other) for other in others)]
        there = _there(name, declared, fitting, arms)
        instead = dict.fromkeys(str(p[name]) for _, p in cells if name in p)
        unknown = tuple(level for level in instead if level not in map(str, declared))
        covered.append(Covered(name, declared, there, unknown))
    return Coverage(tuple(covered), bool(cells))


def _there(
    name: str, declared: Sequence[Any], cells: Sequence[DecidedCell], arms: Set[tuple[str, str]]
) -> tuple[Any, ...]:
    """The declared levels of a parameter that the cells have of each of the arms."""
    return tuple(
        level
        for level in declared
        if arms and arms == {arm for arm, parameters in cells if _has(parameters, name, [level])}
    )


def _has(parameters: Mapping[str, Any], name: str, levels: Sequence[Any]) -> bool:
    """Whether a case has one of the levels of a parameter."""
    return name in parameters and str(parameters[name]) in map(str, levels)


# How the comparisons are counted that ended as the claim did.
ENDED = {
    terms.CONTRADICTED: "against it",
    terms.DIFFERS: "against it",
    terms.INCONCLUSIVE: "open",
    terms.ORDER_OK: "in order, this the least certain",
    terms.HOLDS_IN_PART: "for it, this the least certain",
    terms.SUPPORTED: "for it, this the least certain",
}
# A finding with the number of its test.
Numbered = tuple[int, Finding]


def of_datasets(found: Sequence[Sequence[Finding]], every_pair: bool = False) -> list[Finding]:
    """The findings of one test in several datasets, less what only one of them cannot test.

    Args:
        found: those in each dataset; a cell that is absent in one may be there in another.
        every_pair: whether the arms are compared with each other. Then each two of them have
            to be in one dataset.
    """
    tested = [[f for f in findings if f.verdict != terms.NOT_TESTED] for findings in found]
    arms_in = [{side for f in there for side in (f.arm, f.against)} for there in tested]
    everywhere = set().union(*arms_in)
    kept = [
        finding
        for findings, arms in zip(found, arms_in, strict=True)
        for finding in findings
        if finding.verdict != terms.NOT_TESTED or finding.arm not in everywhere - arms
    ]
    compared = {frozenset((finding.arm, finding.against)) for finding in kept}
    for pair in combinations(sorted(everywhere), 2) if every_pair else ():
        if frozenset(pair) not in compared:
            reason = f"no dataset compares {listed(pair)}"
            kept.append(Finding("", kept[0].metric, *pair).ended(terms.NOT_TESTED, reason))
    return list(dict.fromkeys(kept))


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a claim, less those against it that chance alone could give.

    A claim about many cells falls with any of them, so what speaks against it is adjusted
    for their number (Holm). What speaks for it is not: there all of them have to pass.
    """
    tested = {place: f.p_against for place, f in enumerate(findings) if f.p_against is not None}
    after = list(findings)
    for place, p in zip(tested, holm(tested.values()), strict=True):
        if findings[place].verdict in AGAINST and p >= ALPHA:
            chance = f"to be expected of one among {counted(len(tested), 'comparison')}"
            reason = f"{findings[place].reason}, {chance} (p = {number(p)})"
            after[place] = findings[place].ended(terms.INCONCLUSIVE, reason)
    return after


def verdict_of(findings: Sequence[Finding]) -> str:
    """The verdict on all: the first name in `terms.VERDICTS` that any finding has."""
    return min((f.verdict for f in findings), key=terms.VERDICTS.index)


def decisive(findings: Sequence[Finding]) -> Finding:
    """The finding that says most about the verdict: of those that have it, the most strained."""
    ended = verdict_of(findings)
    return max((f for f in findings if f.verdict == ended), key=lambda f: f.strain)


def reason_of(findings: Sequence[Finding]) -> str:
    """Why the verdict is what it is, in words."""
    ended, most = verdict_of(findings), decisive(findings)
    if ended == terms.NOT_TESTED:
        missing = "; ".join(dict.fromkeys(f.reason for f in findings if f.verdict == ended))
        others = Counter(f.verdict for f in findings if f.verdict != ended)
        gave = listed(f"{count} {name}" for name, count in sorted(others.items()))
        return f"{missing}; of what is there: {gave}" if gave else missing
    if len(findings) == 1:
        return most.reason
    several = most.against and len({f.against for f in findings if f.against}) > 1
    against = f" against {most.against}" if several else ""
    alike = sum(finding.verdict == ended for finding in findings)
    share = f"{alike} of {counted(len(findings), 'comparison')} {ENDED[ended]}"
    return f"{most.arm}{against} in {most.case}: {most.reason}; {share}"


def p_values(
    rest: Sequence[Finding], pool: Sequence[Numbered]
) -> tuple[float | None, float | None]:
    """P of what is for a claim and of what is against it; None without any.

    For it is the largest p of all (intersection-union test: Berger, Technometrics 1982), against
    it the smallest one, times how many there are (Bonferroni).

    Args:
        rest: the findings all of which must pass.
        pool: those most of which must.
    """
    p = max((f.p_value for f in rest if f.p_value is not None), default=None)
    of_each = [f.p_against for f in rest if f.p_against is not None]
    against = min(1.0, len(of_each) * min(of_each)) if of_each else None
    if not pool:
        return p, against
    worst = _worst(pool).values()
    against_most = _partial(worst, AGAINST, (len(worst) + 1) // 2)
    both = 1 if against is None else 2
    least = min(1.0 if against is None else against, against_most)
    return max(p or 0.0, p_of_most(pool)), min(1.0, both * least)


def most_hold(pool: Sequence[Numbered]) -> list[Finding]:
    """The findings of a claim that speaks of most cells, saying which of them it rests on.

    It holds if more than half of the cells pass, and if that is no chance (`p_of_most`). Cells
    that do not pass are then shown only, but for one that is against it by more than twice the
    margin. It is contradicted if half of the cells or more are against it. A cell that several
    datasets hold is one, by the worst of its findings. Where something of it was not tested,
    nobody knows how many cells that is, and the claim stays not-tested.
    """
    worst = _worst(pool)
    passed = [found for found in worst.values() if found.verdict in PASSED]
    against = [found for found in worst.values() if found.verdict in AGAINST]
    is_whole = not any(found.verdict == terms.NOT_TESTED for _, found in pool)
    holds = is_whole and p_of_most(pool) < ALPHA
    if is_whole and not holds and 2 * len(against) >= len(worst):
        return [replace(found, counts=found.verdict in AGAINST) for _, found in pool]
    after = []
    for numbered in pool:
        found = numbered[1]
        if found.verdict in AGAINST and not (holds and _near(found)):
            after.append(found.opened(f"against it, but {len(passed)} of {len(worst)} pass"))
        else:
            rests_on = not holds or worst[_cell(numbered)].verdict in PASSED
            after.append(replace(found, counts=rests_on))
    return after


def p_of_most(pool: Iterable[Numbered]) -> float:
    """P of that more than half of the cells hold; 1 where fewer pass."""
    worst = _worst(pool).values()
    return _partial(worst, PASSED, len(worst) // 2 + 1)


def _partial(worst: Iterable[Finding], ended: Sequence[str], least: int) -> float:
    """P of that so many cells at least ended so in truth, with p of 1 for those that did not.

    Partial conjunction (Benjamini & Heller, Biometrics 2008), with Hochberg's steps.
    """
    p, cells = [], list(worst)
    for found in cells:
        own = found.p_value if ended is PASSED else found.p_against
        if found.verdict in ended:
            p.append(1.0 if own is None else own)
    p.sort()
    return min((1.0, *((len(cells) - k + 1) * p[k - 1] for k in range(least, len(p) + 1))))


def _cell(numbered: Numbered) -> tuple[object, ...]:
    """What is one comparison, whichever dataset holds it."""
    number, found = numbered
    return (number, found.case, found.metric, found.arm, found.against)


def _worst(pool: Iterable[Numbered]) -> dict[tuple[object, ...], Finding]:
    """The worst finding of each cell: by its verdict, then by its p."""
    worst: dict[tuple[object, ...], Finding] = {}
    for numbered in pool:
        cell, found = _cell(numbered), numbered[1]
        worst[cell] = min(worst.get(cell, found), found, key=_goodness)
    return worst


def _goodness(found: Finding) -> tuple[int, float]:
    return terms.VERDICTS.index(found.verdict), -(1.0 if found.p_value is None else found.p_value)


def _near(found: Finding) -> bool:
    """Whether it is against a claim by no more than twice the margin, or there is no margin."""
    decision, margin = found.decision, found.decision.margin
    if margin is None:
        return True
    if not math.isnan(found.needed):
        return found.needed <= 2 * margin
    # A rule whose margin is a smallest effect has no margin that would pass: its intervals tell.
    ends = np.log([*decision.interval90, *decision.robust_interval90])
    return bool(np.abs(ends).max() <= math.log1p(2 * margin))


# What a system can test of a claim: all of it, or nothing; in between stands what PARTLY says.
FULL, NO_CAPABILITY = "full", "none"
PARTLY = {"direction": "only its direction", "proxy": "only what stands in for it"}
MAGNITUDE, ANCHOR, MOST = "magnitude", "anchor", "most"
# What a system that can test only a part of a claim says: never that it holds, or that it is wrong.
SHORT_OF_FULL = {
    terms.SUPPORTED: terms.ORDER_OK,
    terms.HOLDS_IN_PART: terms.ORDER_OK,
    terms.CONTRADICTED: terms.DIFFERS,
}
UNDECIDED = (terms.NOT_TESTED, terms.INCONCLUSIVE)


@dataclass(frozen=True)
class Verdict:
    """What a claim ends as, with all that it rests on.

    Attributes:
        capability: what this kind of system can test of the claim.
        findings: each with the number of its test.
        coverage: how much of what it speaks of was decided; empty if nothing is said.
        p_adjusted: Holm's p within study and kind; None for a claim of no such family.
    """

    claim: Claim
    capability: str
    verdict: str
    reason: str
    findings: tuple[Numbered, ...] = ()
    coverage: str = ""
    p_adjusted: float | None = None

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that hold a cell of it."""
        tested = (finding for finding in self.all if finding.verdict != terms.NOT_TESTED)
        return tuple(dict.fromkeys(finding.dataset for finding in tested))

    @property
    def all(self) -> tuple[Finding, ...]:
        """The findings that the verdict rests on."""
        return tuple(finding for _, finding in self.findings if finding.counts)

    @property
    def p_values(self) -> tuple[float | None, float | None]:
        """P of what is for the claim and of what is against it; None without any."""
        of_most = _tests_of_most(self.claim)
        rest = [finding for number, finding in self.findings if number not in of_most]
        return p_values(rest, [each for each in self.findings if each[0] in of_most])


def judged(claim: Claim, datasets: Sequence[JudgingData]) -> Verdict:
    """A claim before its family is looked at."""
    kind = datasets[0].dataset.kind
    capability = claim.capability[kind.support]
    if claim.not_tested:
        return Verdict(claim, capability, terms.NOT_TESTED, claim.not_tested)
    if capability == NO_CAPABILITY and any(test.rule != ANCHOR for test in claim.tests):
        reason = f"this kind of system ({kind.label}) cannot test it"
        if kind.support == MACHINE and claim.capability[CLUSTER] != NO_CAPABILITY:
            reason += "; a cluster can"
        return Verdict(claim, capability, terms.NOT_TESTED, reason)
    found = [(test.number, f) for test in claim.tests for f in _findings(test, claim, datasets)]
    likely = corrected([finding for _, finding in found])
    numbered = [(number, f) for (number, _), f in zip(found, likely, strict=True)]
    of_most = _tests_of_most(claim)
    pool = iter(most_hold([each for each in numbered if each[0] in of_most]))
    numbered = [(number, next(pool) if number in of_most else f) for number, f in numbered]
    deciding = [finding for _, finding in numbered if finding.counts]
    ended, why = verdict_of(deciding), reason_of(deciding)
    covered = _coverage(claim, numbered)
    if covered and ended in (terms.HOLDS_IN_PART, terms.ORDER_OK):
        why = f"{covered}; {why}"
    if capability in PARTLY and ended in (terms.ORDER_OK, terms.DIFFERS):
        why += f"; {PARTLY[capability]} can be tested here"
    return Verdict(claim, capability, ended, why, tuple(numbered), covered)


def _tests_of_most(claim: Claim) -> set[int]:
    """The tests of a claim whose cells are one pool, most of which have to pass."""
    return {test.number for test in claim.tests if test.options.get("of_cells") == MOST}


def _coverage(claim: Claim, found: Sequence[Numbered]) -> str:
    """The coverage of each test, by its benchmark where they differ."""
    benchmarks = {test.number: test.cells.benchmark for test in claim.tests}
    texts = {f.coverage: benchmarks[number] for number, f in found if f.counts and f.coverage}
    several = len(texts) > 1
    return "; ".join(f"{name}: {text}" if several else text for text, name in texts.items())


def _findings(test: Test, claim: Claim, datasets: Sequence[JudgingData]) -> list[Finding]:
    """What a test finds in all datasets, after all gates, and no more than they can say.

    Coverage lessens only what is for the claim; one cell is enough against it. A system that
    cannot test all of a claim lessens both.
    """
    if test.waits_for:
        return [_absent(test, f"waits for {listed(test.waits_for)}")]
    rule, kind = rules()[test.rule], datasets[0].dataset.kind
    scopes = [resolve(test.cells, data, test.than, claim.values) for data in datasets]
    of_each = [_of_dataset(rule, test, scope) for scope in scopes]
    found = of_datasets(of_each, rule.every_pair)
    if not found and not any(scope.cells for scope in scopes):
        found = [untested(missing) for missing in nearest(scopes)]
    found = found or [_absent(test, "the dataset has too few arms for it")]
    is_on_cluster = claim.kind != MAGNITUDE or kind.support != MACHINE
    is_full = claim.capability[kind.support] == FULL and is_on_cluster
    plans = {data.dataset.name: data.plan for data in datasets}
    decided = [
        ((one.arm, one.against), {NODES: case.nodes, **case.parameters})
        for one in found
        if one.verdict not in UNDECIDED
        for case in map(plans[one.dataset].case, one.cases)
    ]
    covered, after = coverage(test.cells, decided), []
    for one in found:
        is_for = one.verdict in PASSED and one.verdict != terms.ORDER_OK
        ended = covered.most if is_for else one.verdict
        ended = ended if is_full else SHORT_OF_FULL.get(ended, ended)
        after.append(replace(one, verdict=ended, coverage=str(covered)))
    return after


def _absent(test: Test, reason: str) -> Finding:
    return untested(Absent(test.cells.metric, "", "", reason))


def _of_dataset(rule: Rule, test: Test, scope: Scope) -> list[Finding]:
    """What a test finds in one dataset, after its gates; nothing if it holds no cell at all."""
    if not scope.cells:
        return [untested(absent) for absent in scope.absent if absent.near == CASE_IS_THERE]
    found = [*map(untested, scope.absent), *rule.find(test.options, scope)]
    if rule.compares:
        found = [_steady(gated(one, rule.proves_sameness), scope.data) for one in found]
    if scope.data.plan.looks and not rule.for_looks:
        found = [looked_at_once(finding) for finding in found]
    name = scope.data.dataset.name
    return [replace(finding, dataset=name) if finding.case else finding for finding in found]


def _steady(found: Finding, data: JudgingData) -> Finding:
    """The finding, if native does not differ from itself in its cases by the plan's margin.

    The rule's own A/A pair has the claim's margin, which may be wider or of another quantity.
    """
    if found.verdict in UNDECIDED or data.unsteady.isdisjoint(found.cases):
        return found
    return found.opened(f"{CONTROL_DIFFERS} in this case")
