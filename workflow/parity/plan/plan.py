"""Turns a study into a plan: blocks, and in each the seeded random order of its runs.

The same study gives the same plan, byte for byte. A block is named by what it does:
its id ends in a digest of its runs, their order and their parameters. So a study that
grows by more blocks keeps those it has, and one whose parameters change measures anew
and overwrites nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping
from typing import Any

from parity.benchmarks import benchmarks
from parity.plan.study import SYSTEM, Study
from parity.runtimes import every_arm

PLAN_VERSION = 1
# Looking at the nodes, waiting until they are quiet, and for another block on the machine.
BESIDE_PROGRAMS_MINUTES = 15


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
        # Plans of the distribution's programs do not say so: they are older than the choice.
        **({} if study.provider == SYSTEM else {"provider": study.provider}),
        "arms": list(study.arms),
        "arm_titles": {name: every_arm()[name].title for name in study.arms},
        "arm_runtimes": {name: every_arm()[name].runtime for name in study.arms},
        "benchmark_titles": {name: benchmarks()[name].title for name in used},
        "benchmark_notes": {name: benchmarks()[name].note for name in used},
        "cases": cases,
        "blocks": [
            _block(study, [case for case in cases if _nodes(case) == nodes], nodes, number)
            for number in range(1, study.blocks + 1)
            for nodes in study.node_counts
        ],
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


def provider_of(plan: Mapping[str, Any]) -> str:
    """Who provides the plan's benchmarks."""
    return plan.get("provider", SYSTEM)


def _nodes(case: Mapping[str, Any]) -> int:
    return case["parameters"].get("nodes", 1)


def _block(study: Study, cases: list[dict[str, Any]], nodes: int, number: int) -> dict[str, Any]:
    """One block: the cases of one node count in random order, arms one after the other.

    A block is one allocation, so its cases all need the same number of nodes. The arms of
    one case follow each other directly, in random order, so that slow drift of the
    machine falls on all of them alike; every arm runs once per case.
    """
    # A study without allocations keeps the seeds and the names it had before there were any.
    stratum = f"n{nodes}-" if study.places_ranks else ""
    # random.Random of a text is defined by the language and stable between versions.
    order = random.Random(f"{study.name}/{study.seed}/{stratum}{number}")
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
    block = f"{study.campaign}-{stratum}b{number:04d}-{digest}"
    return {"block": block, "number": number, "nodes": nodes, "runs": runs}


def jobs_of(plan: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What each block asks of a batch system: nodes, tasks, and a time limit in minutes.

    The limit holds if every run takes all of its own time limit, so that a job that is
    ended by it was ended for no fault of a run. Slurm's tasks only open the allocation;
    the launcher says for each program how many ranks it has.
    """
    seconds = {case["case"]: case["timeout"] for case in plan["cases"]}
    jobs = {}
    for block in plan["blocks"]:
        longest = sum(seconds[run["case"]] for run in block["runs"]) * plan["attempts"]
        jobs[block["block"]] = {
            "nodes": block["nodes"],
            "tasks": max(2, block["nodes"]),
            "minutes": BESIDE_PROGRAMS_MINUTES + math.ceil(longest / 60),
        }
    return jobs


def block_of(plan: Mapping[str, Any], block: str) -> Mapping[str, Any]:
    """The block of that id; KeyError if the plan has none."""
    found = [entry for entry in plan["blocks"] if entry["block"] == block]
    if not found:
        raise KeyError(f"the plan of {plan['campaign']} has no block {block}")
    return found[0]


def case_of(plan: Mapping[str, Any], case: str) -> Mapping[str, Any]:
    """The case of that name; KeyError if the plan has none."""
    return {entry["case"]: entry for entry in plan["cases"]}[case]
