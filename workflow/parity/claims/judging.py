"""A claim judged by its tests, from all datasets of one system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parity.analysis import outcomes
from parity.analysis.decision import CONTROL_DIFFERS, WITHOUT_CONTROL, Decision
from parity.claims import conjunction, limits, terms
from parity.claims.finding import Finding, absent, gated
from parity.claims.judging_data import JudgingData
from parity.claims.most import most_hold, p_against_most, p_of_most, tests_of_most
from parity.claims.register import Claim, Test
from parity.claims.rules import rules
from parity.claims.rules.model import Rule
from parity.claims.selection import CASE_IS_THERE, Absent, Scope, nearest, resolve
from parity.claims.series import NODES
from parity.core.wording import listed
from parity.plan.system_kind import CLUSTER, MACHINE

# A system that cannot test a claim at all has this as its capability.
NO_CAPABILITY = "none"
MAGNITUDE, ANCHOR = "magnitude", "anchor"
ONCE = "its rule is made for data that were looked at once"
# What can be tested where not all of a claim can.
PARTLY = {"direction": "only its direction", "proxy": "only what stands in for it"}


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
    findings: tuple[tuple[int, Finding], ...] = ()
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
        of_most = tests_of_most(self.claim)
        rest = [f for number, f in self.findings if number not in of_most]
        p, against = conjunction.p_value(rest), conjunction.p_against(rest)
        if not (pool := [each for each in self.findings if each[0] in of_most]):
            return p, against
        both = 1 if against is None else 2
        return (
            max(p or 0.0, p_of_most(pool)),
            min(1.0, both * min(1.0 if against is None else against, p_against_most(pool))),
        )


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
    corrected = conjunction.corrected([finding for _, finding in found])
    numbered = _resting(claim, [(test, f) for (test, _), f in zip(found, corrected, strict=True)])
    deciding = [finding for _, finding in numbered if finding.counts]
    verdict, reason = conjunction.verdict(deciding), conjunction.reason(deciding)
    covered = _coverage(claim, numbered)
    if covered and verdict in (terms.HOLDS_IN_PART, terms.ORDER_OK):
        reason = f"{covered}; {reason}"
    if capability in PARTLY and verdict in (terms.ORDER_OK, terms.DIFFERS):
        reason += f"; {PARTLY[capability]} can be tested here"
    return Verdict(claim, capability, verdict, reason, tuple(numbered), covered)


def _coverage(claim: Claim, found: Sequence[tuple[int, Finding]]) -> str:
    """The coverage of each test, by its benchmark where they differ."""
    benchmarks = {test.number: test.cells.benchmark for test in claim.tests}
    texts = {f.coverage: benchmarks[number] for number, f in found if f.counts and f.coverage}
    several = len(texts) > 1
    return "; ".join(f"{name}: {text}" if several else text for text, name in texts.items())


def _resting(claim: Claim, found: Sequence[tuple[int, Finding]]) -> list[tuple[int, Finding]]:
    """The findings, saying which of them the claim rests on where it speaks of most cells."""
    of_most = tests_of_most(claim)
    pool = iter(most_hold([each for each in found if each[0] in of_most]))
    return [(number, next(pool) if number in of_most else f) for number, f in found]


def _findings(test: Test, claim: Claim, datasets: Sequence[JudgingData]) -> list[Finding]:
    """What a test finds in all datasets, after all gates, and no more than they can say."""
    if test.waits_for:
        reason = f"waits for {listed(test.waits_for)}"
        return [absent(Absent(test.cells.metric, "", "", reason))]
    rule = rules()[test.rule]
    scopes = [
        resolve(test.cells, data, rule.against(test.options), claim.values) for data in datasets
    ]
    of_each = [_of_dataset(rule, test, scope) for scope in scopes]
    found = conjunction.of_datasets(of_each, rule.every_pair)
    if not found and not any(scope.cells for scope in scopes):
        found = [absent(missing) for missing in nearest(scopes)]
    if not found:
        found = [absent(Absent(test.cells.metric, "", "", "the dataset has too few arms for it"))]
    kind = datasets[0].dataset.kind
    is_short = claim.capability[kind.support] != limits.FULL or (
        claim.kind == MAGNITUDE and kind.support == MACHINE
    )
    return limits.limited(found, limits.coverage(test.cells, _decided(found, datasets)), is_short)


def _of_dataset(rule: Rule, test: Test, scope: Scope) -> list[Finding]:
    """What a test finds in one dataset, after its gates; nothing if it holds no cell at all."""
    if not scope.cells:
        return [absent(each) for each in scope.absent if each.near == CASE_IS_THERE]
    found = [absent(each) for each in scope.absent] + rule.findings(test.options, scope)
    if rule.compares:
        found = [gated(finding, rule.proves_sameness) for finding in found]
        found = [_steady(finding, scope.data) for finding in found]
    if scope.data.plan.looks and not rule.for_looks:
        found = [_looked_at_once(finding) for finding in found]
    name = scope.data.dataset.name
    return [replace(finding, dataset=name) if finding.case else finding for finding in found]


def _steady(found: Finding, data: JudgingData) -> Finding:
    """The finding, if native does not differ from itself in its cases by the plan's margin.

    The rule's own A/A pair has the claim's margin, which may be wider or of another quantity.
    """
    if found.verdict in limits.UNDECIDED or data.unsteady.isdisjoint(found.cases):
        return found
    return found.opened(f"{CONTROL_DIFFERS} in this case")


def _looked_at_once(found: Finding) -> Finding:
    """The finding of a rule that knows no looks, where there were several: open.

    Its intervals and its p are those of a single look, which err more often here: none is kept.
    """
    if found.verdict == terms.NOT_TESTED:
        return found
    shown = Decision(
        blocks=found.decision.blocks,
        estimate=found.decision.estimate,
        margin=found.decision.margin,
        outcome=outcomes.INCONCLUSIVE,
        robust_outcome=outcomes.INCONCLUSIVE,
    )
    bare = replace(found, decision=shown, control=WITHOUT_CONTROL, p_value=None, p_against=None)
    return replace(bare, strain=math.inf).ended(terms.INCONCLUSIVE, ONCE)


def _decided(found: Sequence[Finding], datasets: Sequence[JudgingData]) -> list[limits.DecidedCell]:
    """Arms and parameters of every cell that a finding decided."""
    plans = {data.dataset.name: data.plan for data in datasets}
    decided: list[limits.DecidedCell] = []
    for each in found:
        if each.verdict not in limits.UNDECIDED:
            for case in map(plans[each.dataset].case, each.cases):
                parameters = {NODES: case.nodes, **case.parameters}
                decided.append(((each.arm, each.against), parameters))
    return decided
