"""Turns a study into a plan: blocks, and in each the seeded random order of its runs.

The same study gives the same plan, byte for byte. A block is named by what it does:
its id ends in a digest of its runs, their order and their parameters. So a study that
grows by more blocks keeps those it has, and one whose parameters change measures anew
and overwrites nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from typing import Any

from parity.benchmarks import benchmarks
from parity.runtimes import arms
from parity.study import Study

PLAN_VERSION = 1


def canonical(document: Any) -> str:
    """JSON with sorted keys and no spaces to vary: the same document, the same text."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def make_plan(study: Study) -> dict[str, Any]:
    """The whole plan as a JSON document; pure and repeatable."""
    cases = [
        {
            "case": case.name,
            "benchmark": case.benchmark,
            "parameters": dict(case.parameters),
            "margin": case.margin,
            "primary": list(benchmarks()[case.benchmark].primary),
            "differences": list(benchmarks()[case.benchmark].differences),
            "timeout": case.timeout_seconds,
        }
        for case in study.cases
    ]
    used = sorted({case.benchmark for case in study.cases})
    return {
        "version": PLAN_VERSION,
        "campaign": study.campaign,
        "study": study.name,
        "scale": study.scale,
        "title": study.title,
        "reproduces": study.reproduces,
        "seed": study.seed,
        "attempts": study.attempts,
        "reference": study.reference,
        "aa_pair": list(study.aa_pair),
        "arms": list(study.arms),
        "arm_titles": {name: arms()[name].title for name in study.arms},
        "arm_runtimes": {name: arms()[name].runtime for name in study.arms},
        "benchmark_titles": {name: benchmarks()[name].title for name in used},
        "benchmark_notes": {name: benchmarks()[name].note for name in used},
        "cases": cases,
        "blocks": [_block(study, cases, number) for number in range(1, study.blocks + 1)],
        "comparisons": [
            {
                "case": case["case"],
                "metric": metric,
                "arm": arm,
                "reference": study.reference,
                # A difference in the metric's own unit has no margin of a ratio.
                "margin": None if metric in case["differences"] else case["margin"],
            }
            for case in cases
            for metric in case["primary"]
            for arm in study.arms
            if arm != study.reference
        ],
        "not_tested": [dict(entry) for entry in study.not_tested],
    }


def _block(study: Study, cases: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """One block: cases in random order, and the arms of a case one after the other.

    The arms of one case follow each other directly, in random order, so that slow
    drift of the machine falls on all of them alike; every arm runs once per case.
    """
    # random.Random of a text is defined by the language and stable between versions.
    order = random.Random(f"{study.name}/{study.seed}/{number}")
    runs = []
    for case in order.sample(cases, len(cases)):
        for arm in order.sample(study.arms, len(study.arms)):
            runs.append({"run": f"{case['case']}.{arm}", "case": case["case"], "arm": arm})
    does = {
        "study": study.name,
        "number": number,
        "attempts": study.attempts,
        "runs": runs,
        "cases": [{key: case[key] for key in ("case", "parameters", "timeout")} for case in cases],
    }
    digest = hashlib.sha256(canonical(does).encode()).hexdigest()[:8]
    return {"block": f"{study.campaign}-b{number:04d}-{digest}", "number": number, "runs": runs}


def block_of(plan: Mapping[str, Any], block: str) -> Mapping[str, Any]:
    """The block of that id; KeyError if the plan has none."""
    found = [entry for entry in plan["blocks"] if entry["block"] == block]
    if not found:
        raise KeyError(f"the plan of {plan['campaign']} has no block {block}")
    return found[0]


def case_of(plan: Mapping[str, Any], case: str) -> Mapping[str, Any]:
    """The case of that name; KeyError if the plan has none."""
    return {entry["case"]: entry for entry in plan["cases"]}[case]
