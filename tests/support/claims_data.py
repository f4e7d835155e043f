"""A small dataset with planted numbers, and claims about it, for tests of the verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from msgspec.structs import replace
from plans import plan_of

from parity.analysis.analysis import Analysis, analyse
from parity.analysis.dataset import Dataset
from parity.claims.judging_data import JudgingData
from parity.claims.register import Register, load_register
from parity.claims.registration import Registration
from parity.claims.verdicts import Judgement, judge
from parity.core.documents import canonical, digest_of_json
from parity.plan.looks import STOPPED
from parity.plan.plan import Case, Plan, PositiveControl
from parity.plan.system_kind import kind_of
from parity.records import schema

STUDIES = {"some2020": {"title": "A study", "authors": "Some One", "venue": "X", "year": 2020}}
ARMS = {"native-a": "native", "native-b": "native", "box": "boxes", "crate": "crates"}
PUBLISHED = "claim,study,benchmark,runtime,nodes,metric,value,unit,place\n"
CASE = {"case": "spin", "benchmark": "spin", "parameters": {}}
# case, arm: the values by block.
Values = Mapping[tuple[str, str], Sequence[float]]


def noise(seed: int, blocks: int = 30, spread: float = 0.005) -> np.ndarray:
    """Logs with mean zero and just that standard deviation, so that tests never fail by chance."""
    logs = np.random.default_rng(seed).normal(0, 1, blocks)
    return spread * (logs - logs.mean()) / logs.std(ddof=1)


def around(centre: float, seed: int, blocks: int = 30, spread: float = 0.005) -> list[float]:
    """Values whose geometric mean is the centre."""
    return list(centre * np.exp(noise(seed, blocks, spread)))


def quiet(case: str = "spin", box: float = 1.0, crate: float = 1.0, **options: Any) -> dict:
    """Values of four arms in one case: the A/A pair, and two runtimes with planted ratios."""
    ratios = {"native-a": 1.0, "native-b": 1.0, "box": box, "crate": crate}
    return {
        (case, arm): around(ratio, seed, **options)
        for seed, (arm, ratio) in enumerate(ratios.items(), start=sum(map(ord, case)))
    }


def dataset(
    values: Values,
    cases: Sequence[Mapping[str, Any]] = (CASE,),
    *,
    metric: str = "time",
    unit: str = "s",
    better: str = "lower",
    libraries: Mapping[str, str] | None = None,
    failed: Mapping[tuple[str, str], str] | None = None,
    not_tested: Sequence[Mapping[str, str]] = (),
    arms: Mapping[str, str] = ARMS,
    label: str = "vm",
    positive: str = "",
    name: str = "live/planted-smoke",
    margin: float | None = None,
    looks: Sequence[int] = (),
) -> tuple[Dataset, Analysis]:
    """A dataset and its analysis.

    Args:
        values: NaN for a run that failed.
        libraries: digest of the libraries of an arm, if it is not everybody's.
        failed: reason of the failed runs of a case and arm.
        label: kind of the system that measured.
        positive: arm of the positive control, in every case; empty without one.
        margin: of the A/A pair that the plan compares; None for a plan that compares nothing.
        looks: those of the plan; none for one that is looked at once.
    """
    blocks = max((len(numbers) for numbers in values.values()), default=1)
    plan = replace(_plan(cases, arms, metric, blocks, not_tested, margin), looks=tuple(looks))
    if positive:
        more = {case["case"]: {} for case in cases}
        control = PositiveControl(arm=positive, work_percent=4, parameters=more)
        plan = replace(plan, positive_control=control)
    runs, metrics = [], []
    for block, (case, arm) in itertools.product(plan.blocks, _pairs(plan)):
        numbers = values.get((case.name, arm), [])
        index = block.number - 1
        value = numbers[index] if index < len(numbers) else float("nan")
        reason = (failed or {}).get((case.name, arm), "exit-status")
        run = _run(plan, block, case, arm, "" if np.isfinite(value) else reason)
        run["closure_sha256"] = (libraries or {}).get(arm, "c" * 64)
        runs.append(run)
        if np.isfinite(value):
            metrics.append(_number(run, metric, float(value), unit, better))
    facts = [
        {"campaign": plan.campaign, "block": plan.blocks[0].name, "node": "n",
         "phase": "before", "fact": "memory_total", "value": f"{16 * 2**20} kB"}
    ]  # fmt: skip
    made = Dataset(
        name=name,
        plan=plan,
        plan_sha256=digest_of_json(canonical(plan)),
        kind=kind_of(label.split(" + ")),
        runs=_frame(schema.RUNS, runs),
        metrics=_frame(schema.METRICS, metrics),
        nodes=_frame(schema.NODES, facts),
        images=_frame(schema.IMAGES, []),
    )
    return made, analyse(made)


def _frame(table: schema.TableSchema, rows: list[dict]) -> pd.DataFrame:
    return schema.to_table(table, rows).to_pandas()


def _pairs(plan: Plan) -> list[tuple[Case, str]]:
    return list(itertools.product(plan.cases, plan.arms))


def _plan(cases, arms, metric, blocks, not_tested, margin) -> Plan:
    cases = [{"margin": None, "primary": [metric], "timeout": 60, **case} for case in cases]
    runs = [
        {"run": f"{case['case']}.{arm}", "case": case["case"], "arm": arm}
        for case, arm in itertools.product(cases, arms)
    ]
    compared = [
        {"case": case["case"], "metric": metric, "arm": "native-b", "reference": "native-a",
         "margin": margin} for case in cases if margin is not None
    ]  # fmt: skip
    return plan_of({
        "campaign": "planted-smoke", "study": "planted", "reference": "native-a",
        "aa_pair": ["native-a", "native-b"], "arms": list(arms), "arm_runtimes": dict(arms),
        "cases": cases, "comparisons": compared, "not_tested": list(not_tested),
        "blocks": [
            {"block": f"planted-smoke-b{number:04d}-00000000", "number": number, "runs": runs}
            for number in range(1, blocks + 1)
        ],
    })  # fmt: skip


def _run(plan, block, case, arm, reason: str) -> dict[str, Any]:
    absent = reason.startswith(("not-tested", STOPPED))
    texts = dict.fromkeys(
        (column.name for column in schema.RUNS.columns if str(column.type) == "string"), ""
    )
    numbers = dict.fromkeys(
        (column.name for column in schema.RUNS.columns if column.nullable), None
    )
    return {
        **texts, **numbers,
        "campaign": plan.campaign, "block": block.name, "block_number": block.number,
        "run": f"{case.name}.{arm}", "attempt": 0 if absent else 1, "position": 1,
        "benchmark": case.benchmark, "case": case.name, "arm": arm, "final": True,
        "stage": "planned" if absent else "ran" if reason else "valid",
        "reason": reason.partition(": ")[0], "detail": reason.partition(": ")[2],
        "started": "" if absent else "2026-05-01T12:00:00+00:00",
        "binary_sha256": "b" * 64, "closure_sha256": "c" * 64,
    }  # fmt: skip


def _number(run, metric: str, value: float, unit: str, better: str) -> dict[str, Any]:
    key = ("campaign", "block", "block_number", "run", "attempt", "benchmark", "case", "arm")
    return {name: run[name] for name in key} | {
        "metric": metric, "value": value, "unit": unit, "better": better,
        "clock": "internal", "primary": True, "valid": True,
    }  # fmt: skip


def claim(*tests: Mapping[str, Any], name: str = "one", **changes: Any) -> dict[str, Any]:
    """An entry of the register."""
    entry = {
        "id": name, "study": "some2020", "kind": "equivalence", "claim": "It is so.",
        "where": "1", "published": "nothing",
        "scales": {"machine": "full", "cluster": "full"}, "tests": list(tests),
    }  # fmt: skip
    return entry | changes


def test_of(rule: str, cells: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """A test about the arm `box` of the case `spin`, if nothing else is said."""
    chosen = {"benchmark": "spin", "metric": "time", "arms": ["box"]} | dict(cells or {})
    return {"rule": rule, "cells": chosen, **options}


test_of.__test__ = False


def register(folder: Path, *claims: Mapping[str, Any], published: str = "") -> Register:
    """A register of these claims, loaded from files as the real one is."""
    document = {"studies": STUDIES, "claims": list(claims)}
    (folder / "claims.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    (folder / "claims.csv").write_text(PUBLISHED + published)
    return load_register(folder / "claims.yaml", folder / "claims.csv")


def verdicts(
    known: Register,
    *data: tuple[Dataset, Analysis],
    registered: Sequence[Registration] = (),
    name: str = "",
) -> Judgement:
    """The judgement on a dataset, or on several together."""
    return judge(known, [JudgingData(*each) for each in data], registered, name)


def row(found: Judgement, name: str = "one") -> Any:
    """The verdict on one claim, as a named tuple."""
    frame = found.verdicts
    return next(frame[frame["claim"] == name].itertuples(index=False))


def judged(
    folder: Path, test: Any, values: Values, label: str = "vm", lines: str = "", **options: Any
) -> Any:
    """The verdict on a claim with one test, or several; `lines` are its published numbers."""
    tests = test if isinstance(test, list) else [test]
    known = register(
        folder, claim(*tests, kind=options.pop("kind", "equivalence")), published=lines
    )
    return row(verdicts(known, dataset(values, label=label, **options)))


def levels(*ratios: float, along: str = "nodes", **options: Any) -> tuple[dict, list[dict]]:
    """Values and cases of a factor with as many levels, and the ratio of `box` at each."""
    cases = [
        {"case": f"spin-{2**place}", "benchmark": "spin", "parameters": {along: 2**place}}
        for place in range(len(ratios))
    ]
    values = {}
    for case, ratio in zip(cases, ratios, strict=True):
        values |= quiet(case["case"], box=ratio, **options)
    return values, cases
