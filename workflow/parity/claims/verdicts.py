"""A verdict on every claim of the register, from one dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import tables
from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.estimate import ALPHA
from parity.analysis.statistics.multiplicity import holm
from parity.claims import conjunction, registration, terms
from parity.claims.finding import Finding, absent, gated, most_hold
from parity.claims.judging_data import Absent, JudgingData, resolve
from parity.claims.register import Claim, Register, Test
from parity.claims.registration import Registration
from parity.claims.rules import rules
from parity.claims.rules.model import MOST
from parity.claims.tables import EVIDENCE, VERDICTS
from parity.core.code_identity import digest_of
from parity.core.wording import counted, number
from parity.plan.system_kind import CLUSTER, MACHINE

# A system that cannot test a claim at all has this as its capability.
NO_CAPABILITY = "none"
MAGNITUDE, ANCHOR = "magnitude", "anchor"


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
        p_adjusted: Holm's p within study and kind; None for a claim of no such family.
    """

    claim: Claim
    capability: str
    verdict: str
    reason: str
    findings: tuple[tuple[int, Finding], ...] = ()
    p_adjusted: float | None = None

    @property
    def all(self) -> tuple[Finding, ...]:
        """The findings that the verdict rests on."""
        return tuple(finding for _, finding in self.findings if finding.counts)


def judge(
    register: Register,
    dataset: Dataset,
    analysis: Analysis,
    registrations: Sequence[Registration],
) -> Judgement:
    """Judge every claim."""
    data = JudgingData(dataset, analysis)
    judged = _adjusted([_judged(claim, data) for claim in register.claims])
    stamp = _stamps(dataset, registrations)
    verdicts = [
        {"position": position, **_row(one, data), **stamp(one.claim)}
        for position, one in enumerate(judged, start=1)
    ]
    evidence = [row for one in judged for row in _evidence(one)]
    return Judgement(tables.frame(VERDICTS, verdicts), tables.frame(EVIDENCE, evidence))


def _judged(claim: Claim, data: JudgingData) -> Verdict:
    """A claim before its family is looked at."""
    support = data.dataset.kind.support
    capability = claim.capability[support]
    if claim.not_tested:
        return Verdict(claim, capability, terms.NOT_TESTED, claim.not_tested)
    if capability == NO_CAPABILITY and any(test.rule != ANCHOR for test in claim.tests):
        reason = f"this kind of system ({data.dataset.kind.label}) cannot test it"
        if support == MACHINE and claim.capability[CLUSTER] != NO_CAPABILITY:
            reason += "; a cluster can"
        return Verdict(claim, capability, terms.NOT_TESTED, reason)
    found = [(test.number, f) for test in claim.tests for f in _findings(test, claim, data)]
    corrected = conjunction.corrected([finding for _, finding in found])
    numbered = _resting(claim, [(test, f) for (test, _), f in zip(found, corrected, strict=True)])
    deciding = [finding for _, finding in numbered if finding.counts]
    verdict, reason = conjunction.verdict(deciding), conjunction.reason(deciding)
    return Verdict(claim, capability, verdict, reason, tuple(numbered))


def _resting(claim: Claim, found: Sequence[tuple[int, Finding]]) -> list[tuple[int, Finding]]:
    """The findings, saying which of them the claim rests on where it speaks of most cells."""
    of_most = {test.number for test in claim.tests if test.options.get("of_cells") == MOST}
    pool = iter(most_hold([finding for number, finding in found if number in of_most]))
    return [(number, next(pool) if number in of_most else f) for number, f in found]


def _findings(test: Test, claim: Claim, data: JudgingData) -> list[Finding]:
    """What a test finds, after all gates."""
    rule = rules()[test.rule]
    scope = resolve(test.cells, data, rule.against(test.options), claim.values)
    found = [absent(missing) for missing in scope.absent]
    if scope.cells:
        found += rule.findings(test.options, scope)
    if not found:
        found = [absent(Absent(test.cells.metric, "", "", "the dataset has too few arms for it"))]
    if rule.compares:
        found = [gated(finding, rule.proves_sameness) for finding in found]
    if claim.kind == MAGNITUDE and data.dataset.kind.support == MACHINE:
        found = conjunction.on_one_machine(found)
    return found


def _adjusted(judged: Sequence[Verdict]) -> list[Verdict]:
    """The claims after Holm's correction within each family: study and kind.

    Members of a family are its claims with a one-sided rule that this dataset can decide.
    A verdict that does not survive is inconclusive.
    """
    families: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for place, one in enumerate(judged):
        p, against = conjunction.p_value(one.all), conjunction.p_against(one.all)
        if _is_member(one) and p is not None and against is not None:
            family = families.setdefault((one.claim.study, one.claim.kind), [])
            family.append((place, p, against))
    after = list(judged)
    for members in families.values():
        places, for_it, against_it = zip(*members, strict=True)
        for place, *adjusted in zip(places, holm(for_it), holm(against_it), strict=True):
            after[place] = _after(judged[place], len(places), *adjusted)
    return after


def _is_member(one: Verdict) -> bool:
    one_sided = {test.number for test in one.claim.tests if rules()[test.rule].one_sided}
    decided = [f.p_against is not None for number, f in one.findings if number in one_sided]
    return bool(decided) and all(decided) and one.verdict != terms.NOT_TESTED


def _after(one: Verdict, size: int, adjusted: float, against: float) -> Verdict:
    """A claim of a family of that size, with its two adjusted p."""
    negative = one.verdict in conjunction.AGAINST
    positive = one.verdict in (terms.SUPPORTED, terms.ORDER_OK)
    p = adjusted if positive else against
    one = replace(one, p_adjusted=adjusted)
    if not (positive or negative) or p < ALPHA:
        return one
    family = counted(size, "claim")
    reason = f"p = {number(p)} after Holm's correction for {family}; {one.reason}"
    return replace(one, verdict=terms.INCONCLUSIVE, reason=reason)


def _row(one: Verdict, data: JudgingData) -> dict[str, Any]:
    """A claim's row, without its stamp."""
    claim, tested = one.claim, one.verdict != terms.NOT_TESTED
    most = conjunction.decisive(one.all) if tested else Finding("", "", "", "")
    numbers = most.decision.columns()
    copied = ("study", "kind", "statement", "where", "published")
    return {
        "claim": claim.id,
        **{name: getattr(claim, name) for name in copied},
        "scale": data.dataset.kind.label,
        "capability": one.capability,
        "verdict": one.verdict,
        "reason": one.reason,
        **{name: numbers[name] for name in ("estimate", "low95", "high95", "margin")},
        "smallest_margin": most.needed,
        "unit": most.unit,
        **conjunction.counts(one.all),
        "control": conjunction.control(one.all),
        "p_value": conjunction.p_value(one.all) if tested else None,
        "p_adjusted": one.p_adjusted,
        "proxy": "; ".join(dict.fromkeys(t.instead_of for t in claim.tests if t.instead_of)),
        "dataset": data.dataset.name,
    }


def _stamps(
    dataset: Dataset, registrations: Sequence[Registration]
) -> Callable[[Claim], dict[str, str]]:
    """The function that gives the columns on what a verdict's rule, plan and code were."""
    digest, code = dataset.plan_sha256, digest_of(Path(__file__))
    plan = (registration.plan_name(dataset.plan), digest)
    started = dataset.runs.loc[dataset.runs["started"] != "", "started"]
    first_run = min(started, default="")

    def of_claim(claim: Claim) -> dict[str, str]:
        together = f"{claim.sha256}\n{digest}\n{code}\n"
        known = (claim.id, claim.sha256)
        return {
            "registration": registration.status(registrations, known, plan, first_run),
            "fingerprint": hashlib.sha256(together.encode()).hexdigest(),
            "plan_sha256": digest,
        }

    return of_claim


def _evidence(one: Verdict) -> list[dict[str, Any]]:
    """One row for each finding."""
    rule_of = {test.number: test.rule for test in one.claim.tests}
    return [
        {"claim": one.claim.id, "test": test, "rule": rule_of[test], **finding.columns()}
        for test, finding in one.findings
    ]
