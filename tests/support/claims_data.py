"""A small dataset with planted numbers, and claims about it, for tests of the verdicts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from msgspec.structs import replace
from planted_truth.in_memory import numbers_of
from planted_truth.plans import crossed

from parity.analysis import tables
from parity.analysis.analysis import Analysis, analyse
from parity.analysis.dataset import Dataset
from parity.claims.cells import JudgingData
from parity.claims.register import Register, load_register
from parity.claims.registration import Registration
from parity.claims.verdicts import Judgement, judge
from parity.core.documents import canonical, digest_of_json
from parity.plan.looks import STOPPED
from parity.plan.plan import PositiveControl
from parity.plan.system import kind_of
from parity.preview.simulated import planned_runs
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
    plan = crossed(
        "planted-smoke", [{"margin": margin, "primary": [metric], **case} for case in cases], arms,
        blocks, looks=list(looks), arm_runtimes=dict(arms), not_tested=list(not_tested),
    )  # fmt: skip
    # It compares the A/A pair at most.
    pair = () if margin is None else (each for each in plan.comparisons if each.arm == "native-b")
    plan = replace(plan, comparisons=tuple(pair))
    if positive:
        more = {case["case"]: {} for case in cases}
        control = PositiveControl(arm=positive, work_percent=4, parameters=more)
        plan = replace(plan, positive_control=control)
    given = [(block.number - 1, (run.case, run.arm)) for block in plan.blocks for run in block.runs]
    there = {(key, n): value for key, of in values.items() for n, value in enumerate(of)}
    numbers = np.array([there.get((key, n), np.nan) for n, key in given])
    lost, reasons = np.isnan(numbers), failed or {}
    why = [
        reasons.get(key, "exit-status") if gone else ""
        for gone, (_, key) in zip(lost, given, strict=True)
    ]
    absent = np.array([reason.startswith(("not-tested", STOPPED)) for reason in why], bool)
    runs = planned_runs(
        plan,
        position=1,
        attempt=np.where(absent, 0, 1),
        stage=np.where(absent, "planned", np.where(lost, "ran", "valid")),
        reason=[reason.partition(": ")[0] for reason in why],
        detail=[reason.partition(": ")[2] for reason in why],
        started=np.where(absent, "", "2026-05-01T12:00:00+00:00"),
        closure_sha256=[(libraries or {}).get(arm, "drawn") for _, (_, arm) in given],
    )
    facts = [
        {"campaign": plan.campaign, "block": plan.blocks[0].name, "node": "n",
         "phase": "before", "fact": "memory_total", "value": f"{16 * 2**20} kB"}
    ]  # fmt: skip
    made = Dataset(
        name=name, plan=plan, plan_sha256=digest_of_json(canonical(plan)),
        kind=kind_of(label.split(" + ")), runs=runs,
        metrics=numbers_of(runs, numbers, metric=metric, unit=unit, better=better),
        nodes=schema.to_table(schema.NODES, facts).to_pandas(),
        images=tables.frame(schema.IMAGES, []),
    )  # fmt: skip
    return made, analyse(made)


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


def same(cells: Mapping[str, Any] | None = None, margin: float = 1, **options: Any) -> dict:
    """The test that it costs the same, within so many per cent."""
    return test_of("equivalence", cells, margin_percent=margin, **options)


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


def row_of(folder: Path, tests: Any, *made: tuple[Dataset, Analysis], **changes: Any) -> Any:
    """The verdict on one claim with one test, or several, by these datasets together."""
    known = register(folder, claim(*(tests if isinstance(tests, list) else [tests]), **changes))
    return row(verdicts(known, *made))


def judgement(
    folder: Path, test: Any, values: Values, label: str = "vm", lines: str = "", **options: Any
) -> Judgement:
    """The judgement on a claim with one test, or several; `lines` are its published numbers."""
    tests = test if isinstance(test, list) else [test]
    changes = {key: options.pop(key) for key in ("kind", "scales") if key in options}
    known = register(folder, claim(*tests, **changes), published=lines)
    return verdicts(known, dataset(values, label=label, **options))


def judged(*asked: Any, **options: Any) -> Any:
    """The verdict of that judgement."""
    return row(judgement(*asked, **options))


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
