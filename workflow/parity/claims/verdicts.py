"""A verdict on every claim of a register, from all datasets of one system, and those expected."""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.dataset import refuse_broken
from parity.analysis.decision import NONE
from parity.analysis.estimate import ALPHA
from parity.analysis.methods import holm
from parity.claims import registration, terms
from parity.claims.cells import JudgingData
from parity.claims.finding import AGAINST, PASSED, Finding
from parity.claims.judging import Verdict, decisive, judged
from parity.claims.register import Register
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
# Outcomes of A/A pairs, the worst first.
CONTROLS = (outcomes.DIFFERENT, outcomes.INCONCLUSIVE, outcomes.EQUIVALENT, NONE)
# The first is what was judged: a live dataset, or all archives of a system (`archive/<system>`).
EXPECTED_COLUMNS = ("dataset", "claim", "verdict")
Expected = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Judgement:
    """The tables `verdicts` and `evidence` (tables.yaml), as data frames."""

    verdicts: pd.DataFrame
    evidence: pd.DataFrame

    @classmethod
    def read(cls, folder: Path, results: Path = Path("results")) -> "Judgement":
        """The judgement in a folder; raises UserError if an archive of `results` was changed."""
        read = tables.read_all(TABLES, folder)
        for name in sorted(set("; ".join(read["verdicts"]["datasets"]).split("; ")) - {""}):
            refuse_broken(results / name)
        return cls(**read)

    def write(self, folder: Path) -> None:
        """Write both tables into a folder."""
        for name, table in TABLES.items():
            tables.write(table, getattr(self, name), folder / f"{name}.parquet")


def judge(
    register: Register, datasets: Sequence[JudgingData], registrations: Sequence[Registration],
    name: str = "",
) -> Judgement:  # fmt: skip
    """Judge every claim by all datasets of one system together; `name`: theirs if several."""
    ended = _adjusted([judged(claim, datasets) for claim in register.claims])
    first, code = datasets[0].dataset, code_of("claims")
    judgement = {"register": register.name, "judged": name or first.name, "scale": first.kind.label}
    verdicts, evidence = [], []
    for position, one in enumerate(ended, start=1):
        stamp = {"position": position} | _stamp(one, datasets, registrations, code)
        known = _row(one) | judgement | stamp
        verdicts.append({name: known[name] for name in VERDICTS.arrow.names})
        rule_of = {test.number: test.rule for test in one.claim.tests}
        for finding in one.findings:
            known = finding.columns() | {"claim": one.claim.id, "rule": rule_of[finding.test]}
            evidence.append({name: known[name] for name in EVIDENCE.arrow.names})
    return Judgement(tables.frame(VERDICTS, verdicts), tables.frame(EVIDENCE, evidence))


def _adjusted(judged: Sequence[Verdict]) -> list[Verdict]:
    """The claims after Holm's correction within each family: study and kind.

    Members of a family are its claims with a one-sided rule of which this dataset decided a
    cell. One that lacks a cell has p of 1. A verdict that does not survive is inconclusive.
    """
    families: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for place, one in enumerate(judged):
        one_sided = {test.number for test in one.claim.tests if rules()[test.rule].one_sided}
        rests_on = [finding for finding in one.all if finding.test in one_sided]
        p, against = one.p_values
        if any(f.p_against is not None for f in rests_on) and p is not None and against is not None:
            lacks = any(f.p_value is None for f in rests_on)
            family = families.setdefault((one.claim.study, one.claim.kind), [])
            family.append((place, 1.0 if lacks else p, against))
    after = list(judged)
    for members in families.values():
        places, for_it, against_it = zip(*members, strict=True)
        for place, p_for, p_against in zip(places, holm(for_it), holm(against_it), strict=True):
            one = replace(judged[place], p_adjusted=p_for)
            p = p_for if one.verdict in PASSED else p_against
            if one.verdict in (*PASSED, *AGAINST) and p >= ALPHA:
                of_family = f"Holm's correction for {counted(len(members), 'claim')}"
                reason = f"p = {number(p)} after {of_family}; {one.reason}"
                one = replace(one, verdict=terms.INCONCLUSIVE, reason=reason)
            after[place] = one
    return after


def _row(one: Verdict) -> dict[str, Any]:
    """What a verdict has for its table, and more, by the names of the columns."""
    claim, tested = one.claim, one.verdict != terms.NOT_TESTED
    most = decisive(one.all) if tested else Finding("", "", "", "")
    controls = {f.control.outcome for f in one.all}
    stand_ins = [part for test in claim.tests for part in test.instead_of.split("; ") if part]
    return most.decision.columns() | vars(claim) | vars(one) | {
        "claim": claim.id, "smallest_margin": most.needed, "unit": most.unit,
        "cells": sum(finding.verdict != terms.NOT_TESTED for finding in one.all),
        "control": next((outcome for outcome in CONTROLS if outcome in controls), NONE),
        "p_value": one.p_values[0] if tested else None,
        "p_adjusted": one.p_adjusted if tested else None,
        "proxy": "; ".join(dict.fromkeys(stand_ins)), "dataset": most.dataset,
        "datasets": "; ".join(one.datasets),
    }  # fmt: skip


def _stamp(
    one: Verdict, datasets: Sequence[JudgingData], registrations: Sequence[Registration], code: str
) -> dict[str, str]:
    """What a verdict's rule, plans and code were.

    A verdict is as early as the latest of what it rests on: all datasets that contributed, or
    all of them where none did.
    """
    given = [data.dataset for data in datasets]
    rests_on = [dataset for dataset in given if dataset.name in one.datasets] or given
    plans = " ".join(sorted({dataset.plan_sha256 for dataset in rests_on}))
    claim, states = (one.claim.id, one.claim.sha256), []
    for each in rests_on:
        plan = registration.plan_name(each.plan), each.plan_sha256
        states.append(registration.status(registrations, claim, plan, each.first_run))
    # Which claims it shares a correction with follows from its study.
    decides = f"{one.claim.sha256}\n{one.claim.study}\n{plans}\n{code}\n"
    digest = hashlib.sha256(decides.encode()).hexdigest()
    latest = max(states, key=registration.STATES.index)
    return {"registration": latest, "fingerprint": digest, "plan_sha256": plans}


def load_expected(path: Path) -> dict[tuple[str, str], str]:
    """The expected verdict by dataset and claim (config/expected_verdicts.csv); or UserError."""
    rows = read_rows(path, EXPECTED_COLUMNS)
    expected = {(row["dataset"], row["claim"]): row["verdict"] for row in rows}
    if len(expected) < len(rows):
        raise UserError("a claim of a dataset is given twice", where=str(path))
    return expected


def as_expected(expected: Expected, where: str, verdicts: pd.DataFrame) -> str:
    """That verdicts are those expected of their data; UserError: they are not, or none are."""
    dataset = verdicts["judged"].iloc[0]
    wanted = {claim: ended for (name, claim), ended in expected.items() if name == dataset}
    action = "if the new verdicts are right, keep them with `snakemake claims_accept`"
    if not wanted:
        problem = f"no verdicts are expected of {dataset}"
        known = ", ".join(dict.fromkeys(name for name, _ in expected))
        raise UserError(problem, where=where, allowed=known, action=action)
    rows = verdicts.set_index("claim")
    lines = []
    for claim in dict.fromkeys([*wanted, *rows.index]):
        verdict = rows["verdict"].get(claim)
        if wanted.get(claim) != verdict:
            given = f"found {verdict} ({rows['reason'][claim]})" if verdict else "no such claim"
            lines.append(f"{claim}: expected {wanted.get(claim, 'nothing')}, {given}")
    if lines:
        what = f"{counted(len(lines), 'verdict')} of {dataset} not as expected:"
        raise UserError("\n  ".join([what, *lines]), where=where, action=action)
    return f"equal: all {len(rows)} verdicts are those expected"


def accept(expected: Expected, verdicts: pd.DataFrame, path: Path) -> None:
    """Write the file with these verdicts in place of those that the same data had."""
    dataset = verdicts["judged"].iloc[0]
    kept = [(name, claim, v) for (name, claim), v in expected.items() if name != dataset]
    new = verdicts[["judged", "claim", "verdict"]].itertuples(index=False, name=None)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([EXPECTED_COLUMNS, *sorted(kept, key=lambda row: row[0]), *new])
