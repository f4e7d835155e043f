"""A verdict on every claim of the register, from all datasets of one system."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.analysis.dataset import Dataset
from parity.analysis.decision import CONTROL_DIFFERS
from parity.analysis.estimate import ALPHA
from parity.analysis.statistics.multiplicity import holm
from parity.claims import conjunction, limits, registration, terms
from parity.claims.finding import AGAINST, PASSED, Finding, absent, gated
from parity.claims.judging_data import (
    CASE_IS_THERE,
    Absent,
    JudgingData,
    Scope,
    nearest,
    resolve,
)
from parity.claims.most import most_hold, p_against_most, p_of_most, tests_of_most
from parity.claims.register import Claim, Register, Test
from parity.claims.registration import Registration
from parity.claims.rules import rules
from parity.claims.rules.model import Rule
from parity.claims.series import NODES
from parity.claims.tables import EVIDENCE, VERDICTS
from parity.core.code_identity import digest_of
from parity.core.wording import counted, listed, number
from parity.plan.system_kind import CLUSTER, MACHINE

# A system that cannot test a claim at all has this as its capability.
NO_CAPABILITY = "none"
MAGNITUDE, ANCHOR = "magnitude", "anchor"
# What can be tested where not all of a claim can.
PARTLY = {"direction": "only its direction", "proxy": "only what stands in for it"}


@dataclass(frozen=True)
class Judgement:
    """The tables of `parity.claims.tables`, as data frames."""

    verdicts: pd.DataFrame
    evidence: pd.DataFrame


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


def judge(
    register: Register,
    datasets: Sequence[JudgingData],
    registrations: Sequence[Registration],
    name: str = "",
) -> Judgement:
    """Judge every claim by all datasets of one system together.

    Args:
        datasets: at least one, all of one kind of system.
        name: what the datasets are called together; the only one's own name if not given.
    """
    ended = _adjusted([judged(claim, datasets) for claim in register.claims])
    stamp = _stamps(datasets, registrations)
    whose = {"register": register.name, "judged": name or datasets[0].dataset.name}
    verdicts = [
        {"position": position, **whose, **_row(one, datasets), **stamp(one)}
        for position, one in enumerate(ended, start=1)
    ]
    evidence = [row for one in ended for row in _evidence(one)]
    return Judgement(tables.frame(VERDICTS, verdicts), tables.frame(EVIDENCE, evidence))


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
    name = scope.data.dataset.name
    return [replace(finding, dataset=name) if finding.case else finding for finding in found]


def _steady(found: Finding, data: JudgingData) -> Finding:
    """The finding, if native does not differ from itself in its cases by the plan's margin.

    The rule's own A/A pair has the claim's margin, which may be wider or of another quantity.
    """
    if found.verdict in limits.UNDECIDED or data.unsteady.isdisjoint(found.cases):
        return found
    return found.ended(terms.INCONCLUSIVE, f"{CONTROL_DIFFERS} in this case; {found.reason}")


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


def _adjusted(judged: Sequence[Verdict]) -> list[Verdict]:
    """The claims after Holm's correction within each family: study and kind.

    Members of a family are its claims with a one-sided rule of which this dataset decided a
    cell. One that lacks a cell has p of 1. A verdict that does not survive is inconclusive.
    """
    families: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for place, one in enumerate(judged):
        one_sided = {test.number for test in one.claim.tests if rules()[test.rule].one_sided}
        rests_on = [f for number, f in one.findings if f.counts and number in one_sided]
        p, against = one.p_values
        if any(f.p_against is not None for f in rests_on) and p is not None and against is not None:
            lacks = any(f.p_value is None for f in rests_on)
            family = families.setdefault((one.claim.study, one.claim.kind), [])
            family.append((place, 1.0 if lacks else p, against))
    after = list(judged)
    for members in families.values():
        places, for_it, against_it = zip(*members, strict=True)
        for place, *adjusted in zip(places, holm(for_it), holm(against_it), strict=True):
            after[place] = _after(judged[place], len(places), *adjusted)
    return after


def _after(one: Verdict, size: int, adjusted: float, against: float) -> Verdict:
    """A claim of a family of that size, with its two adjusted p."""
    negative = one.verdict in AGAINST
    positive = one.verdict in PASSED
    p = adjusted if positive else against
    one = replace(one, p_adjusted=adjusted)
    if not (positive or negative) or p < ALPHA:
        return one
    family = counted(size, "claim")
    reason = f"p = {number(p)} after Holm's correction for {family}; {one.reason}"
    return replace(one, verdict=terms.INCONCLUSIVE, reason=reason)


def _row(one: Verdict, datasets: Sequence[JudgingData]) -> dict[str, Any]:
    """A claim's row, without its stamp."""
    claim, tested = one.claim, one.verdict != terms.NOT_TESTED
    most = conjunction.decisive(one.all) if tested else Finding("", "", "", "")
    numbers = most.decision.columns()
    copied = ("study", "kind", "statement", "where", "published")
    return {
        "claim": claim.id,
        **{name: getattr(claim, name) for name in copied},
        "scale": datasets[0].dataset.kind.label,
        "capability": one.capability,
        "verdict": one.verdict,
        "reason": one.reason,
        "coverage": one.coverage,
        **{name: numbers[name] for name in ("estimate", "low95", "high95", "margin")},
        "smallest_margin": most.needed,
        "unit": most.unit,
        **conjunction.counts(one.all),
        "control": conjunction.control(one.all),
        "p_value": one.p_values[0] if tested else None,
        "p_adjusted": one.p_adjusted if tested else None,
        "proxy": "; ".join(dict.fromkeys(t.instead_of for t in claim.tests if t.instead_of)),
        "dataset": most.dataset,
        "datasets": "; ".join(one.datasets),
    }


def _stamps(
    datasets: Sequence[JudgingData], registrations: Sequence[Registration]
) -> Callable[[Verdict], dict[str, str]]:
    """The function that gives the columns on what a verdict's rule, plans and code were.

    A verdict is as early as the latest of what it rests on: all datasets that contributed, or
    all of them where none did.
    """
    code = digest_of(Path(__file__))
    fixed = {data.dataset.name: _fixed(data.dataset) for data in datasets}

    def of_verdict(one: Verdict) -> dict[str, str]:
        rests_on = [fixed[name] for name in one.datasets or fixed]
        plans = " ".join(sorted({digest for (_, digest), _ in rests_on}))
        together = f"{one.claim.sha256}\n{plans}\n{code}\n"
        known = (one.claim.id, one.claim.sha256)
        states = [registration.status(registrations, known, *each) for each in rests_on]
        return {
            "registration": max(states, key=registration.STATES.index),
            "fingerprint": hashlib.sha256(together.encode()).hexdigest(),
            "plan_sha256": plans,
        }

    return of_verdict


def _fixed(dataset: Dataset) -> tuple[tuple[str, str], str]:
    """Name and digest of a dataset's plan as it is registered, and when its first run began."""
    return (registration.plan_name(dataset.plan), dataset.plan_sha256), dataset.first_run


def _evidence(one: Verdict) -> list[dict[str, Any]]:
    """One row for each finding."""
    rule_of = {test.number: test.rule for test in one.claim.tests}
    return [
        {"claim": one.claim.id, "test": test, "rule": rule_of[test], **finding.columns()}
        for test, finding in one.findings
    ]
