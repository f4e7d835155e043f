"""A verdict on every claim of the register, from all datasets of one system."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.decision import NONE
from parity.analysis.estimate import ALPHA
from parity.analysis.statistics.multiplicity import holm
from parity.claims import conjunction, registration, terms
from parity.claims.cells import JudgingData
from parity.claims.finding import AGAINST, PASSED, Finding
from parity.claims.judging import Verdict, judged
from parity.claims.register import Claim, Register
from parity.claims.registration import Registration
from parity.claims.rules import rules
from parity.claims.tables import EVIDENCE, VERDICTS
from parity.core.code_identity import code_of
from parity.core.wording import counted, number

# Outcomes of A/A pairs, the worst first.
CONTROLS = (outcomes.DIFFERENT, outcomes.INCONCLUSIVE, outcomes.EQUIVALENT, NONE)


@dataclass(frozen=True)
class Judgement:
    """The tables of `parity.claims.tables`, as data frames."""

    verdicts: pd.DataFrame
    evidence: pd.DataFrame


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
    numbers, controls = most.decision.columns(), {f.control.outcome for f in one.all}
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
        "cells": sum(finding.verdict != terms.NOT_TESTED for finding in one.all),
        "blocks": most.decision.blocks if tested else 0,
        "control": next((outcome for outcome in CONTROLS if outcome in controls), NONE),
        "p_value": one.p_values[0] if tested else None,
        "p_adjusted": one.p_adjusted if tested else None,
        "proxy": "; ".join(dict.fromkeys(_stand_ins(claim))),
        "dataset": most.dataset,
        "datasets": "; ".join(one.datasets),
    }


def _stand_ins(claim: Claim) -> list[str]:
    """What stands for what in each test of a claim, thing by thing; several may say the same."""
    said = (test.instead_of for test in claim.tests if test.instead_of)
    return [part for each in said for part in each.split("; ")]


def _stamps(
    datasets: Sequence[JudgingData], registrations: Sequence[Registration]
) -> Callable[[Verdict], dict[str, str]]:
    """The function that gives the columns on what a verdict's rule, plans and code were.

    A verdict is as early as the latest of what it rests on: all datasets that contributed, or
    all of them where none did.
    """
    code = code_of("claims")
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
