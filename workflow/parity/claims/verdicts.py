"""A verdict on every claim of the register, from all datasets of one system."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.dataset import Dataset, refuse_broken
from parity.analysis.decision import NONE
from parity.analysis.estimate import ALPHA
from parity.analysis.methods import holm
from parity.claims import judging, registration, terms
from parity.claims.cells import JudgingData
from parity.claims.finding import AGAINST, PASSED, Finding
from parity.claims.judging import Verdict, judged
from parity.claims.register import Claim, Register
from parity.claims.registration import Registration
from parity.claims.rules import rules
from parity.core.errors import UserError
from parity.core.files import read_rows
from parity.core.package import code_of
from parity.core.wording import counted, number
from parity.records import schema

TABLES = schema.tables_beside(__file__)
VERDICTS = TABLES["verdicts"]
EVIDENCE = TABLES["evidence"]


# The first is what was judged: a live dataset, or all archives of a system (`archive/<system>`).
EXPECTED_COLUMNS = ("dataset", "claim", "verdict")
Expected = Mapping[tuple[str, str], str]


def load_expected(path: Path) -> dict[tuple[str, str], str]:
    """The expected verdict by dataset and claim (config/expected_verdicts.csv).

    Raises:
        UserError: there is no such CSV file, or a line is there twice.
    """
    rows = read_rows(path, EXPECTED_COLUMNS)
    found = {(row["dataset"], row["claim"]): row["verdict"] for row in rows}
    if len(found) < len(rows):
        raise UserError("a claim of a dataset is given twice", where=str(path))
    return found


def differences(expected: Mapping[str, str], verdicts: pd.DataFrame) -> list[str]:
    """One line for each claim whose verdict is not the expected one, with the reason.

    Args:
        expected: verdict by claim.
        verdicts: `parity.claims.verdicts.VERDICTS` of the same data.
    """
    columns = verdicts[["claim", "verdict", "reason"]].itertuples(index=False, name=None)
    ended = {claim: (verdict, f"found {verdict} ({reason})") for claim, verdict, reason in columns}
    lines = []
    for claim in dict.fromkeys([*expected, *ended]):
        verdict, said = ended.get(claim, (None, "no such claim"))
        if expected.get(claim) != verdict:
            lines.append(f"{claim}: expected {expected.get(claim, 'nothing')}, {said}")
    return lines


def refuse_differences(expected: Expected, verdicts: pd.DataFrame, where: str) -> None:
    """Compare the verdicts with those that are expected of the same data.

    Raises:
        UserError: nothing is expected of it, or a verdict is another; all are named.
    """
    dataset = verdicts["judged"].iloc[0]
    wanted = {claim: ended for (name, claim), ended in expected.items() if name == dataset}
    action = "if the new verdicts are right, keep them with `snakemake claims_accept`"
    if not wanted:
        known = ", ".join(dict.fromkeys(name for name, _ in expected))
        raise UserError(
            f"no verdicts are expected of {dataset}", where=where, allowed=known, action=action
        )
    if lines := differences(wanted, verdicts):
        what = f"{counted(len(lines), 'verdict')} of {dataset} not as expected:"
        raise UserError("\n  ".join([what, *lines]), where=where, action=action)


def accept(expected: Expected, verdicts: pd.DataFrame, path: Path) -> None:
    """Write the file with these verdicts in place of those that the same data had."""
    dataset = verdicts["judged"].iloc[0]
    kept = [(name, claim, v) for (name, claim), v in expected.items() if name != dataset]
    new = list(verdicts[["judged", *EXPECTED_COLUMNS[1:]]].itertuples(index=False, name=None))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EXPECTED_COLUMNS)
        writer.writerows(sorted(kept, key=lambda row: row[0]) + new)


# Outcomes of A/A pairs, the worst first.
CONTROLS = (outcomes.DIFFERENT, outcomes.INCONCLUSIVE, outcomes.EQUIVALENT, NONE)


@dataclass(frozen=True)
class Judgement:
    """The tables `verdicts` and `evidence` (tables.yaml), as data frames."""

    verdicts: pd.DataFrame
    evidence: pd.DataFrame

    @classmethod
    def read(cls, folder: Path, results: Path = Path("results")) -> Judgement:
        """The judgement in a folder.

        Args:
            results: the folder of all datasets.

        Raises:
            UserError: an archived dataset that a verdict rests on was changed.
        """
        read = [schema.read(table, folder / f"{table.name}.parquet") for table in TABLES.values()]
        judgement = cls(**dict(zip(TABLES, (table.to_pandas() for table in read), strict=True)))
        for name in sorted(set("; ".join(judgement.verdicts["datasets"]).split("; ")) - {""}):
            refuse_broken(results / name)
        return judgement

    def write(self, folder: Path) -> None:
        """Write both tables into a folder."""
        for name, table in TABLES.items():
            tables.write(table, getattr(self, name), folder / f"{name}.parquet")


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
    most = judging.decisive(one.all) if tested else Finding("", "", "", "")
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
