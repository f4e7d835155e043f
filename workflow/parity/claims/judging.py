"""A claim judged by its tests, from all datasets of one system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parity.analysis.decision import CONTROL_DIFFERS
from parity.claims import conjunction, terms
from parity.claims.cells import NODES, JudgingData
from parity.claims.coverage import coverage
from parity.claims.finding import PASSED, Finding, gated, looked_at_once, untested
from parity.claims.register import Claim, Test
from parity.claims.rules import rules
from parity.claims.rules.model import Rule
from parity.claims.selection import CASE_IS_THERE, Absent, Scope, nearest, resolve
from parity.core.wording import listed
from parity.plan.system_kind import CLUSTER, MACHINE

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
    findings: tuple[conjunction.Numbered, ...] = ()
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
        return conjunction.p_values(rest, [each for each in self.findings if each[0] in of_most])


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
    numbered = [(number, f) for (number, _), f in zip(found, corrected, strict=True)]
    of_most = _tests_of_most(claim)
    pool = iter(conjunction.most_hold([each for each in numbered if each[0] in of_most]))
    numbered = [(number, next(pool) if number in of_most else f) for number, f in numbered]
    deciding = [finding for _, finding in numbered if finding.counts]
    verdict, reason = conjunction.verdict(deciding), conjunction.reason(deciding)
    covered = _coverage(claim, numbered)
    if covered and verdict in (terms.HOLDS_IN_PART, terms.ORDER_OK):
        reason = f"{covered}; {reason}"
    if capability in PARTLY and verdict in (terms.ORDER_OK, terms.DIFFERS):
        reason += f"; {PARTLY[capability]} can be tested here"
    return Verdict(claim, capability, verdict, reason, tuple(numbered), covered)


def _tests_of_most(claim: Claim) -> set[int]:
    """The tests of a claim whose cells are one pool, most of which have to pass."""
    return {test.number for test in claim.tests if test.options.get("of_cells") == MOST}


def _coverage(claim: Claim, found: Sequence[conjunction.Numbered]) -> str:
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
    found = conjunction.of_datasets(of_each, rule.every_pair)
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
