"""A synthetic dataset with planted effects, written through the records' own schema.

It exists to test analysis and presentation: its numbers describe no machine, its
campaign says so in its title, and nothing of it is ever archived.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from plans import block_record_of, plan_of

from parity.analysis import analysis, dataset, sensitivity
from parity.core.documents import canonical
from parity.plan.plan import Block, Plan, Run, write_plan
from parity.records import schema
from parity.records.dataset import PROVENANCE
from parity.report import view as views
from parity.report.view import View

RUNTIMES = {
    "native-a": "native",
    "native-b": "native",
    "namespaces": "namespaces",
    "charliecloud-dir": "charliecloud",
    "charliecloud-sqfs": "charliecloud",
    "apptainer": "apptainer",
    "podman": "podman",
    "docker": "docker",
    "lxc": "lxc",
}
TITLES = {
    "native-a": "Native",
    "native-b": "Native again",
    "namespaces": "Namespaces",
    "charliecloud-dir": "Charliecloud (directory)",
    "charliecloud-sqfs": "Charliecloud (SquashFS)",
    "apptainer": "Apptainer",
    "podman": "Podman",
    "docker": "Docker",
    "lxc": "LXC",
}
# case: benchmark, margin, and per metric: centre, coefficient of variation, unit, better, primary
CASES: dict[str, tuple[str, float | None, dict[str, tuple[float, float, str, str, bool]]]] = {
    "sysbench": ("sysbench", 0.01, {"time": (1.02, 0.004, "s", "lower", True)}),
    "hpcc": (
        "hpcc",
        0.05,
        {
            "hpl": (72.0, 0.02, "Gflop/s", "higher", True),
            "single_stream_triad": (11.5, 0.03, "GB/s", "higher", False),
        },
    ),
    **{
        f"likwid-{kernel}": (
            "likwid",
            0.02,
            {"bandwidth": (centre, 0.025, "GB/s", "higher", True)},
        )
        for kernel, centre in {"copy": 21.0, "triad": 18.0, "stream": 17.2}.items()
    },
    "startup-cold": ("startup", None, {"start_seconds": (0.02, 0.1, "s", "lower", True)}),
    "startup-warm": ("startup", None, {"start_seconds": (0.002, 0.05, "s", "lower", True)}),
    "memory": (
        "memory",
        0.01,
        {
            "process_private": (1031.2, 0.0, "MiB", "lower", True),
            "node_used_median": (2900.0, 0.02, "MiB", "lower", True),
            "node_used_increment": (1040.0, 0.005, "MiB", "lower", True),
            "node_used_increment_published": (600.0, 0.1, "MiB", "lower", False),
        },
    ),
}
# The same for a study over several nodes, with nodes and ranks of each case.
PLACED = {
    **{
        f"hpcc-{nodes}x{nodes * each}": (nodes, nodes * each)
        for each in (1, 2)
        for nodes in (1, 2, 4)
    },
    **{
        f"netpipe-{nodes}x2-{protocol}": (nodes, 2)
        for nodes in (1, 2)
        for protocol in ("tcp", "mpi")
    },
}
PLACED_CASES: dict[
    str, tuple[str, float | None, dict[str, tuple[float, float, str, str, bool]]]
] = {
    **{
        case: ("hpcc", 0.05, {"hpl": (11.0 * ranks**0.8, 0.012, "Gflop/s", "higher", True)})
        for case, (_, ranks) in PLACED.items()
        if case.startswith("hpcc")
    },
    **{
        f"netpipe-{level}": (
            "netpipe",
            0.1,
            {
                "latency": (latency, 0.04, "s", "lower", True),
                "bandwidth": (bandwidth, 0.03, "Gbit/s", "higher", True),
            },
        )
        for level, (latency, bandwidth) in {
            "1x2-tcp": (1.1e-5, 31.0),
            "1x2-mpi": (6.1e-7, 74.0),
            "2x2-tcp": (2.4e-5, 18.0),
            "2x2-mpi": (2.9e-5, 16.5),
        }.items()
    },
}
# What Spack provides: HPCG and STREAM, SysBench with and without libaio, and the rest.
SPACK_PLACED = {"hpcg-1x1": (1, 1), "hpcg-1x2": (1, 2), "npb-1x2-cg": (1, 2), "npb-1x2-ep": (1, 2)}
SPACK_CASES: dict[str, tuple[str, float | None, dict[str, tuple[float, float, str, str, bool]]]] = {
    **{
        case: ("hpcg", 0.03, {"rate": (rating, 0.006, "Gflop/s", "higher", True)})
        for case, rating in {"hpcg-1x1": 1.42, "hpcg-1x2": 2.31}.items()
    },
    "stream": (
        "stream",
        0.02,
        {
            kernel: (rate, 0.01, "GB/s", "higher", kernel == "triad")
            for kernel, rate in {"copy": 12.1, "scale": 11.4, "add": 13.0, "triad": 12.8}.items()
        },
    ),
    **{
        f"sysbench-libaio-{level}": (
            "sysbench-libaio",
            0.01,
            {"time": (time, 0.004, "s", "lower", True)},
        )
        for level, time in {"linked": 1.038, "absent": 1.02}.items()
    },
    **{
        f"npb-1x2-{kernel}": ("npb", 0.03, {"rate": (rate, 0.01, "Mop/s", "higher", True)})
        for kernel, rate in {"cg": 812.0, "ep": 61.0}.items()
    },
    "ior-own": (
        "ior",
        0.1,
        {
            "write": (412.0, 0.05, "MiB/s", "higher", True),
            "read": (3120.0, 0.05, "MiB/s", "higher", True),
        },
    ),
    "mpip-cg": (
        "mpip",
        0.03,
        {
            "application": (3.1, 0.01, "s", "lower", True),
            "mpi": (0.21, 0.05, "s", "lower", True),
            "mpi_init": (0.42, 0.04, "s", "lower", True),
            "init": (0.55, 0.04, "s", "lower", True),
        },
    ),
}
RUNGS = ("cgroup", "mount", "pid", "ipc", "user", "net", "seccomp", "squashfs")
ALL_CASES = CASES | PLACED_CASES | SPACK_CASES
STARTUP = {
    "native-a": 1,
    "native-b": 1,
    "namespaces": 2.5,
    "charliecloud-dir": 5,
    "charliecloud-sqfs": 12,
    "apptainer": 45,
    "podman": 130,
    "docker": 210,
    "lxc": 25,
}
Effects = Mapping[tuple[str, str], float]


def plan(blocks: int = 3, arms: tuple[str, ...] = tuple(RUNTIMES)) -> Plan:
    """A plan of all cases and the arms, in fixed order."""
    return plan_of(_content(blocks, arms))


def _content(blocks: int, arms: tuple[str, ...] = tuple(RUNTIMES)) -> dict[str, Any]:
    """The content of the plan's plan.json."""
    cases = [
        {
            "case": case,
            "benchmark": benchmark,
            "parameters": {},
            "margin": margin,
            "primary": [name for name, facts in metrics.items() if facts[4]],
            "timeout": 60,
        }
        for case, (benchmark, margin, metrics) in CASES.items()
    ]
    runs = [{"run": f"{case}.{arm}", "case": case, "arm": arm} for case in CASES for arm in arms]
    return {
        "version": 1,
        "campaign": "synthetic-smoke",
        "study": "synthetic",
        "scale": "smoke",
        "title": "Synthetic numbers for tests of the presentation",
        "reproduces": "none",
        "seed": 7,
        "attempts": 2,
        "reference": "native-a",
        "aa_pair": ["native-a", "native-b"],
        "arms": list(arms),
        "arm_titles": {arm: TITLES[arm] for arm in arms},
        "arm_runtimes": {arm: RUNTIMES[arm] for arm in arms},
        "benchmark_titles": {
            "sysbench": "SysBench CPU",
            "hpcc": "HPCC",
            "likwid": "LIKWID bandwidth",
            "startup": "Start-up",
            "memory": "Memory",
        },
        "benchmark_notes": {
            "sysbench": "",
            "hpcc": "STREAM's arrays are smaller than four last-level caches.",
            "likwid": "",
            "startup": "",
            "memory": "",
        },
        "cases": cases,
        "blocks": [
            {"block": f"synthetic-smoke-b{n:04d}-00000000", "number": n, "runs": runs}
            for n in range(1, blocks + 1)
        ],
        "comparisons": [
            {
                "case": case["case"],
                "metric": metric,
                "arm": arm,
                "reference": "native-a",
                "margin": None if metric.startswith("node_used") else case["margin"],
            }
            for case in cases
            for metric in case["primary"]
            for arm in arms
            if arm != "native-a"
        ],
        "not_tested": [
            {"arm": "shifter", "reason": "not packaged for this system"},
            {"benchmark": "hpcg", "reason": "comes with a later study"},
        ],
    }


def scaling_plan(
    blocks: int = 3,
    arms: tuple[str, ...] = tuple(RUNTIMES),
    node_counts: tuple[int, ...] = (1, 2, 4),
) -> Plan:
    """A plan over several nodes: each block holds the cases of one number of nodes.

    Args:
        blocks: how many for each number of nodes.
    """
    whole = _content(blocks, arms)
    placed = {case: place for case, place in PLACED.items() if place[0] in node_counts}
    cases = [
        {
            "case": case,
            "benchmark": PLACED_CASES[case][0],
            "parameters": {"nodes": nodes, "ranks": ranks},
            "margin": PLACED_CASES[case][1],
            "primary": list(PLACED_CASES[case][2]),
            "timeout": 60,
        }
        for case, (nodes, ranks) in placed.items()
    ]
    return plan_of(
        whole
        | {
            "study": "scaling",
            "campaign": "scaling-synthetic",
            "title": "Synthetic numbers over several nodes",
            "benchmark_titles": {"hpcc": "HPC Challenge", "netpipe": "NetPIPE"},
            "benchmark_notes": {"hpcc": "The matrix is small.", "netpipe": ""},
            "cases": cases,
            "blocks": [
                {
                    "block": f"scaling-synthetic-n{nodes}-b{number:04d}-00000000",
                    "number": number,
                    "nodes": nodes,
                    "runs": [
                        {"run": f"{case}.{arm}", "case": case, "arm": arm}
                        for case, place in placed.items()
                        if place[0] == nodes
                        for arm in arms
                    ],
                }
                for number in range(1, blocks + 1)
                for nodes in node_counts
            ],
            "comparisons": [
                {
                    "case": case["case"],
                    "metric": metric,
                    "arm": arm,
                    "reference": "native-a",
                    "margin": case["margin"],
                }
                for case in cases
                for metric in case["primary"]
                for arm in arms
                if arm != "native-a"
            ],
        }
    )


def spack_plan(
    study: str, cases: tuple[str, ...], blocks: int = 3, more: Mapping[str, str] | None = None
) -> Plan:
    """A plan of cases that Spack provides.

    Args:
        more: runtimes of arms beside the usual ones, which come before the containers.
    """
    whole, more = _content(blocks), more or {}
    arms = [*whole["aa_pair"], *more, *(a for a in whole["arms"] if a not in whole["aa_pair"])]
    entries = []
    for case in cases:
        benchmark, margin, metrics = SPACK_CASES[case]
        parameters: dict[str, Any] = {"events": 2800}
        if case in SPACK_PLACED:
            parameters = dict(zip(("nodes", "ranks"), SPACK_PLACED[case], strict=True))
        elif benchmark == "sysbench-libaio":
            parameters["libaio"] = case.rpartition("-")[2]
        primary = [name for name, facts in metrics.items() if facts[4]]
        entries.append(
            {"case": case, "benchmark": benchmark, "parameters": parameters, "margin": margin,
             "primary": primary, "timeout": 60}
        )  # fmt: skip
    runs = [{"run": f"{case}.{arm}", "case": case, "arm": arm} for case in cases for arm in arms]
    titles = {"hpcg": "HPCG", "stream": "STREAM", "sysbench-libaio": "SysBench cpu, libaio",
              "npb": "NPB", "ior": "IOR", "mpip": "Time in MPI"}  # fmt: skip
    used = {entry["benchmark"]: titles[entry["benchmark"]] for entry in entries}
    return plan_of(whole | {
        "study": study,
        "campaign": f"{study}-synthetic",
        "title": f"Synthetic numbers of {study}",
        "arms": arms,
        "arm_titles": {arm: TITLES.get(arm, "+" + arm.partition("-")[2]) for arm in arms},
        "arm_runtimes": {arm: more.get(arm) or RUNTIMES[arm] for arm in arms},
        "benchmark_titles": used,
        "benchmark_notes": dict.fromkeys(used, ""),
        "cases": entries,
        "blocks": [
            {"block": f"{study}-synthetic-b{number:04d}-00000000", "number": number, "nodes": 1,
             "runs": runs}
            for number in range(1, blocks + 1)
        ],
        "comparisons": [
            {"case": entry["case"], "metric": metric, "arm": arm, "reference": "native-a",
             "margin": None if metric in ("mpi", "init") else entry["margin"]}
            for entry in entries
            for metric in entry["primary"]
            for arm in arms
            if arm != "native-a"
        ],
        "not_tested": [{"arm": "shifter", "reason": "not packaged for this system"}],
    })  # fmt: skip


def libaio_plan(blocks: int = 3) -> Plan:
    """SysBench with and without libaio in every arm."""
    return spack_plan("libaio", ("sysbench-libaio-linked", "sysbench-libaio-absent"), blocks)


def hpcg_plan(blocks: int = 3) -> Plan:
    """HPCG on one and two ranks, and STREAM."""
    return spack_plan("hpcg", ("hpcg-1x1", "hpcg-1x2", "stream"), blocks)


def ladder_plan(blocks: int = 3) -> Plan:
    """HPCG on one rank under every rung of the ladder and every runtime."""
    more = {f"ladder-{rung}": "ladder" for rung in RUNGS}
    return spack_plan("ladder", ("hpcg-1x1",), blocks, more)


def run_row(plan: Plan, block: Block, run: Run, **changes: Any) -> dict[str, Any]:
    """A row of the runs table for a valid run, with any column changed."""
    native = run.arm.startswith("native")
    row = {
        "campaign": plan.campaign,
        "block": block.name,
        "block_number": block.number,
        "run": run.name,
        "attempt": 1,
        "position": 1,
        "session": 1,
        "benchmark": ALL_CASES[run.case][0],
        "case": run.case,
        "arm": run.arm,
        "runtime": plan.arm_runtimes[run.arm],
        "parameters": "{}",
        "final": True,
        "stage": "valid",
        "reason": "",
        "detail": "",
        "exit_code": 0,
        "started": "2026-01-01T00:00:00Z",
        "wall_seconds": 1.0,
        "user_seconds": 1.0,
        "system_seconds": 0.0,
        "steal_fraction": 0.0,
        "load_before": 0.1,
        "command": "[]",
        "environment_sha256": "e" * 64,
        "evidence": "{}",
        "image_digest": "" if native else "sha256:" + "d" * 64,
        "binary_sha256": "b" * 64,
        "closure_sha256": "c" * 64,
        "stdout_sha256": "a" * 64,
    }
    assert not set(changes) - set(row), "unknown columns"
    return row | changes


def metric_rows(
    run: Mapping[str, Any], values: Mapping[str, float], valid: bool = True
) -> list[dict[str, Any]]:
    """Rows of the metrics table for one run."""
    key = ("campaign", "block", "block_number", "run", "attempt", "benchmark", "case", "arm")
    rows = []
    for metric, value in values.items():
        _, _, unit, better, primary = ALL_CASES[run["case"]][2][metric]
        rows.append(
            {name: run[name] for name in key}
            | {
                "metric": metric,
                "value": value,
                "unit": unit,
                "better": better,
                "clock": "internal",
                "primary": primary,
                "valid": valid,
            }
        )
    return rows


def records(
    plan: Plan,
    effects: Effects | None = None,
    failures: Mapping[tuple[int, str], tuple[str, str]] | None = None,
    absent: Mapping[str, str] | None = None,
    confounded: tuple[tuple[str, str], ...] = (),
    block_spread: float = 0.0,
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the runs and metrics tables.

    Args:
        effects: cost ratio planted per (case, arm); above 1 costs more.
        failures: stage and reason planted per (block number, run).
        absent: arms that could not run, with the reason.
        confounded: (case, arm) whose libraries differ.
        block_spread: standard deviation of the log of what a whole block has in common.
    """
    effects, failures, absent = effects or {}, failures or {}, absent or {}
    random = np.random.default_rng(20260101)
    runs, metrics = [], []
    for block in plan.blocks:
        shared = np.random.default_rng(block.number).normal(0, block_spread)
        for run in block.runs:
            key = (run.case, run.arm)
            noise = {
                metric: float(np.exp(shared + random.normal(0, cv)))
                for metric, (_, cv, *_) in ALL_CASES[run.case][2].items()
            }
            if run.arm in absent:
                runs.append(
                    run_row(
                        plan, block, run, attempt=0, stage="planned", reason="not-tested",
                        detail=absent[run.arm], exit_code=None, started="",
                    )
                )  # fmt: skip
                continue
            changes = {"closure_sha256": "f" * 64} if key in confounded else {}
            if planted := failures.get((block.number, run.name)):
                changes |= dict(zip(("stage", "reason"), planted, strict=True))
            row = run_row(plan, block, run, **changes)
            runs.append(row)
            if row["stage"] in ("parsed", "valid"):
                values = {
                    metric: _value(run, metric, noise[metric], effects.get(key, 1.0))
                    for metric in noise
                }
                metrics += metric_rows(row, values, valid=row["stage"] == "valid")
    return {"runs": runs, "metrics": metrics}


def _value(run: Run, metric: str, noise: float, effect: float) -> float:
    centre, _, _, better, _ = ALL_CASES[run.case][2][metric]
    if run.case.startswith("startup"):
        effect *= STARTUP[run.arm]
    return centre * noise * (1 / effect if better == "higher" else effect)


def write(
    folder: Path,
    plan: Plan,
    rows: Mapping[str, list[dict[str, Any]]],
    scale_label: str = "vm",
) -> Path:
    """Write plan.json, provenance and records; tables without rows are written empty."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    write_plan(folder / "plan.json", plan)
    (folder / PROVENANCE).write_text(json.dumps(provenance(plan)))
    made = {
        "blocks": block_rows(plan, scale_label),
        "nodes": node_rows(plan),
        "images": image_rows(plan),
    }
    tables = made | dict(rows)
    for name, table in schema.TABLES.items():
        schema.write(table, tables.get(name, []), folder / "records" / f"{name}.parquet")
    return folder


def view(
    folder: Path,
    plan: Plan,
    rows: Mapping[str, list[dict[str, Any]]],
    scale_label: str = "vm",
    beside: bool = False,
) -> View:
    """Write a dataset, analyse it (`beside`: by all methods), read it as the presentation does."""
    loaded = dataset.load(write(folder, plan, rows, scale_label))
    analysis.write(analysis.analyse(loaded), folder / "analysis")
    if beside:
        sensitivity.write(folder)
    return views.load(folder)


def provenance(plan: Plan) -> dict[str, Any]:
    """Dates, a state of the program and versions that never were."""
    program = {"commit": "0" * 40, "changed": False, "package_sha256": "1" * 64,
               "lock_sha256": "2" * 64, "python": "3.11.0"}  # fmt: skip
    return {
        "began": "2026-01-01T00:00:00.000+00:00",
        "ended": "2026-01-01T01:30:00.000+00:00",
        "blocks": len(plan.blocks),
        "sessions": len(plan.blocks),
        "programs": [program],
        "runtimes": {arm: ["version 1"] for arm in plan.arms},
    }


def block_rows(plan: Plan, scale_label: str) -> list[dict[str, Any]]:
    """Blocks of one session each, whose records say little but where it was."""
    return [
        {
            "campaign": plan.campaign,
            "block": block.name,
            "block_number": block.number,
            "record": canonical(
                block_record_of(block=block.name, start={"scale_label": scale_label})
            ),
        }
        for block in plan.blocks
    ]


def node_rows(plan: Plan) -> list[dict[str, Any]]:
    """A few facts of a node that does not exist."""
    facts = {"cpu_model": "Synthetic CPU", "kernel": "6.0.0-synthetic", "config_hz": "250"}
    return [
        {
            "campaign": plan.campaign,
            "block": block.name,
            "node": "synthetic",
            "phase": phase,
            "fact": fact,
            "value": value,
        }
        for block in plan.blocks
        for phase in ("before", "after")
        for fact, value in facts.items()
    ]


def image_rows(plan: Plan) -> list[dict[str, Any]]:
    """A digest chain, one format of which could not be made."""
    chain = [("base", ""), ("oci", "base"), ("directory", "oci"), ("squashfs", "directory")]
    chain += [("sif", "oci"), ("docker", "oci"), ("podman", "oci")]
    digest = {name: f"sha256:{number:064x}" for number, (name, _) in enumerate(chain, 1)}
    return [
        {
            "campaign": plan.campaign,
            "format": name,
            "digest": "" if name == "sif" else digest[name],
            "parent": parent,
            "parent_digest": digest.get(parent, ""),
            "bytes": None if name == "sif" else 10_000_000,
            "seconds": None if name == "sif" else 1.5,
            "tool": "" if name == "sif" else "tool 1.0",
            "reason": "apptainer: not installed" if name == "sif" else "",
        }
        for name, parent in chain
    ]
