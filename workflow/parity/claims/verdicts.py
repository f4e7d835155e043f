"""A verdict on every claim of the register, from one dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import estimate, tables
from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.statistics.multiplicity import holm
from parity.claims import conjunction, registration, terms
from parity.claims.cells import Absent, Material
from parity.claims.finding import Finding, absent, gated
from parity.claims.register import Claim, Register, Test
from parity.claims.registration import Registration
from parity.claims.resolving import resolve
from parity.claims.rules import rules
from parity.claims.tables import EVIDENCE, VERDICTS
from parity.core.code_identity import digest_of

MACHINE, ON_CLUSTER, NONE = "machine", "cluster", "none"
MAGNITUDE, ANCHOR = "magnitude", "anchor"


@dataclass(frozen=True)
class Judgement:
    """The tables of `parity.claims.tables`, as data frames."""

    verdicts: pd.DataFrame
    evidence: pd.DataFrame


@dataclass(frozen=True)
class Judged:
    """A claim with its findings.

    Attributes:
        findings: each with the number of its test.
        ended: verdict and reason.
        p_adjusted: Holm's p within study and kind; None for a claim of no such family.
    """

    claim: Claim
    capability: str
    findings: tuple[tuple[int, Finding], ...]
    ended: tuple[str, str]
    p_adjusted: float | None = None

    @property
    def all(self) -> tuple[Finding, ...]:
        """The findings of all tests."""
        return tuple(finding for _, finding in self.findings)


def judge(
    register: Register,
    dataset: Dataset,
    analysis: Analysis,
    registrations: Sequence[Registration],
    label: str,
) -> Judgement:
    """Judge every claim.

    Args:
        label: kind of the system that measured, such as vm (see `parity.claims.system_kind`).
    """
    material = Material(dataset, analysis, label)
    judged = _adjusted([_judged(claim, material) for claim in register.claims])
    stamp = _stamp(dataset, registrations)
    verdicts = [
        {"position": position, **_row(one, material), **stamp(one.claim)}
        for position, one in enumerate(judged, start=1)
    ]
    evidence = [row for one in judged for row in _evidence(one)]
    return Judgement(tables.frame(VERDICTS, verdicts), tables.frame(EVIDENCE, evidence))


def _judged(claim: Claim, material: Material) -> Judged:
    """A claim before its family is looked at."""
    where = ON_CLUSTER if material.cluster else MACHINE
    capability = claim.scales[where]
    if claim.not_tested:
        return Judged(claim, capability, (), (terms.NOT_TESTED, claim.not_tested))
    if capability == NONE and any(test.rule != ANCHOR for test in claim.tests):
        other = claim.scales[MACHINE if material.cluster else ON_CLUSTER]
        reason = f"this kind of system ({material.label}) cannot test it"
        reason += "; a cluster can" if where == MACHINE and other != NONE else ""
        return Judged(claim, capability, (), (terms.NOT_TESTED, reason))
    found = [(test.number, f) for test in claim.tests for f in _findings(test, claim, material)]
    corrected = conjunction.corrected([finding for _, finding in found])
    numbered = tuple(zip((number for number, _ in found), corrected, strict=True))
    ended = conjunction.verdict(corrected), conjunction.reason(corrected)
    return Judged(claim, capability, numbered, ended)


def _findings(test: Test, claim: Claim, material: Material) -> tuple[Finding, ...]:
    """What a test finds, after all gates."""
    rule = rules()[test.rule]
    scope = resolve(test.cells, material, rule.against(test.options), claim.values)
    found = [absent(missing) for missing in scope.absent]
    if scope.cells:
        found += rule.findings(test.options, scope)
    if not found:
        found = [absent(Absent(test.cells.metric, "", "", "the dataset has too few arms for it"))]
    if rule.compares:
        found = [gated(finding, rule.proves_sameness) for finding in found]
    if claim.kind == MAGNITUDE and not material.cluster:
        found = conjunction.on_one_machine(found)
    return tuple(found)


def _adjusted(judged: Sequence[Judged]) -> list[Judged]:
    """The claims after Holm's correction within each family: study and kind.

    Members of a family are its claims with a one-sided rule that this dataset can decide.
    A verdict that does not survive is inconclusive.
    """
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(judged):
        if _is_member(one):
            families.setdefault((one.claim.study, one.claim.kind), []).append(place)
    found = list(judged)
    for places in families.values():
        family = [judged[place] for place in places]
        for_ = holm([conjunction.p_value(one.all) for one in family])
        against = holm([conjunction.p_against(one.all) for one in family])
        for place, *adjusted in zip(places, for_, against, strict=True):
            found[place] = _after(judged[place], len(places), *adjusted)
    return found


def _is_member(one: Judged) -> bool:
    one_sided = {test.number for test in one.claim.tests if rules()[test.rule].one_sided}
    found = [finding for number, finding in one.findings if number in one_sided]
    decided = all(finding.p_against is not None for finding in found)
    return bool(found) and decided and one.ended[0] != terms.NOT_TESTED


def _after(one: Judged, size: int, adjusted: float, against: float) -> Judged:
    """A claim of a family of that size, with its two adjusted p."""
    verdict, reason = one.ended
    positive = verdict in (terms.SUPPORTED, terms.ORDER_OK)
    negative = verdict in conjunction.AGAINST
    p = adjusted if positive else against
    if (positive or negative) and p >= estimate.ALPHA:
        family = terms.counted(size, "claim")
        reason = f"p = {terms.number(p)} after Holm's correction for {family}; {reason}"
        verdict = terms.INCONCLUSIVE
    return replace(one, ended=(verdict, reason), p_adjusted=adjusted)


def _row(one: Judged, material: Material) -> dict[str, Any]:
    """A claim's row, without what is stamped on it."""
    claim, (verdict, reason) = one.claim, one.ended
    tested = verdict != terms.NOT_TESTED
    most = conjunction.decisive(one.all) if tested else None
    proxies = dict.fromkeys(test.instead_of for test in claim.tests if test.instead_of)
    numbers = ("estimate", "low95", "high95", "margin")
    return {
        "claim": claim.id,
        "study": claim.study,
        "kind": claim.kind,
        "statement": claim.statement,
        "where": claim.where,
        "published": claim.published,
        "scale": material.label,
        "capability": one.capability,
        "verdict": verdict,
        "reason": reason,
        **{name: getattr(most, name) if most else None for name in numbers},
        "smallest_margin": most.needed if most else None,
        "unit": most.unit if most else "",
        **conjunction.counts(one.all),
        "control": conjunction.control(one.all),
        "p_value": conjunction.p_value(one.all) if tested else None,
        "p_adjusted": one.p_adjusted,
        "proxy": "; ".join(proxies),
        "dataset": material.dataset.name,
    }


def _stamp(
    dataset: Dataset, registrations: Sequence[Registration]
) -> Callable[[Claim], dict[str, str]]:
    """The function that says what a verdict's rule, plan and code were."""
    digest, code = dataset.plan_sha256, digest_of(Path(__file__))
    plan = (registration.plan_name(dataset.plan), digest)
    started = dataset.runs.loc[dataset.runs["started"] != "", "started"]
    first_run = min(started, default="")

    def of_claim(claim: Claim) -> dict[str, str]:
        stamped = (claim.id, claim.sha256)
        together = f"{claim.sha256}\n{digest}\n{code}\n"
        return {
            "registration": registration.status(registrations, stamped, plan, first_run),
            "fingerprint": hashlib.sha256(together.encode()).hexdigest(),
            "plan_sha256": digest,
        }

    return of_claim


def _evidence(one: Judged) -> list[dict[str, Any]]:
    """One row for each finding."""
    names = {column.name for column in EVIDENCE.columns}
    rule_of = {test.number: test.rule for test in one.claim.tests}
    return [
        {
            "claim": one.claim.id,
            "test": number,
            "rule": rule_of[number],
            **{key: value for key, value in asdict(finding).items() if key in names},
        }
        for number, finding in one.findings
    ]
