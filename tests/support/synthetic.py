"""A synthetic dataset with planted effects, written through the records' own schema.

It exists to test analysis and presentation: its numbers describe no machine, its
campaign says so in its title, and nothing of it is ever archived.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from plans import block_record_of
from planted_truth.plans import crossed

from parity.analysis import analysis, dataset
from parity.core.documents import canonical
from parity.plan.plan import Plan, write_plan
from parity.preview.simulated import planned_runs
from parity.records import schema
from parity.records.dataset import PROVENANCE
from parity.report import view as views
from parity.report.view import View

_TABLES = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
RUNTIMES = {arm: runtime for arm, (runtime, _, _) in _TABLES["arms"].items()}
TITLES = {arm: title for arm, (_, title, _) in _TABLES["arms"].items()}
STARTUP = {arm: times for arm, (_, _, times) in _TABLES["arms"].items()}
RUNGS = ("cgroup", "mount", "pid", "ipc", "user", "net", "seccomp", "squashfs")
BENCHMARKS = {
    "sysbench": "SysBench CPU", "hpcc": "HPCC", "likwid": "LIKWID bandwidth",
    "startup": "Start-up", "memory": "Memory", "hpcg": "HPCG", "stream": "STREAM",
    "sysbench-libaio": "SysBench cpu, libaio", "npb": "NPB", "ior": "IOR",
    "mpip": "Time in MPI", "netpipe": "NetPIPE",
}  # fmt: skip
# Benchmark, margin, and per metric: centre, coefficient of variation, unit, better, primary.
Entry = tuple[str, float | None, Mapping[str, Sequence[Any]]]
ALL_CASES: dict[str, Entry] = {
    case: (benchmark, margin, metrics)
    for part in ("usual", "placed", "spack")
    for case, (benchmark, margin, _, metrics) in _TABLES[part].items()
}
CASES = {case: ALL_CASES[case] for case in _TABLES["usual"]}
PLACES = {
    case: dict(zip(("nodes", "ranks"), place, strict=True))
    for part in ("placed", "spack")
    for case, (_, _, place, _) in _TABLES[part].items()
    if place
}
Effects = Mapping[tuple[str, str], float]
_OF_RUN = ("campaign", "block", "block_number", "run", "attempt", "benchmark", "case", "arm")


def _plan(campaign, names, blocks, arms, parameters, **content) -> Plan:
    """A plan of these cases in these arms, in fixed order; their parameters by case."""
    cases = [
        {
            "case": case,
            "benchmark": ALL_CASES[case][0],
            "parameters": parameters.get(case, {}),
            "margin": ALL_CASES[case][1],
            "primary": [name for name, facts in ALL_CASES[case][2].items() if facts[4]],
        }
        for case in names
    ]
    used = dict.fromkeys(case["benchmark"] for case in cases)
    shown = {
        "title": f"Synthetic numbers of {campaign.partition('-')[0]}",
        "arm_titles": {arm: TITLES.get(arm, "+" + arm.partition("-")[2]) for arm in arms},
        "arm_runtimes": dict(arms),
        "benchmark_titles": {name: BENCHMARKS[name] for name in used},
        "benchmark_notes": dict.fromkeys(used, ""),
        "not_tested": [{"arm": "shifter", "reason": "not packaged for this system"}],
    }
    return crossed(campaign, cases, arms, blocks, **shown | content)


def plan(blocks: int = 3, arms: Iterable[str] = tuple(RUNTIMES)) -> Plan:
    later = {"benchmark": "hpcg", "reason": "comes with a later study"}
    notes = {"hpcc": "STREAM's arrays are smaller than four last-level caches."}
    return _plan(
        "synthetic-smoke", CASES, blocks, {arm: RUNTIMES[arm] for arm in arms}, {},
        title="Synthetic numbers for tests of the presentation",
        reported=("node_used_median", "node_used_increment"),
        benchmark_notes=dict.fromkeys((entry[0] for entry in CASES.values()), "") | notes,
        not_tested=[{"arm": "shifter", "reason": "not packaged for this system"}, later],
    )  # fmt: skip


def scaling_plan(
    blocks: int = 3, arms: Iterable[str] = tuple(RUNTIMES), node_counts: tuple[int, ...] = (1, 2, 4)
) -> Plan:
    """A plan over several nodes: each block holds the cases of one number of nodes.

    Args:
        blocks: how many for each number of nodes.
    """
    placed = [case for case in _TABLES["placed"] if PLACES[case]["nodes"] in node_counts]
    return _plan(
        "scaling-synthetic", placed, blocks, {arm: RUNTIMES[arm] for arm in arms}, PLACES,
        title="Synthetic numbers over several nodes",
        node_counts=node_counts,
        benchmark_titles={"hpcc": "HPC Challenge", "netpipe": "NetPIPE"},
        benchmark_notes={"hpcc": "The matrix is small.", "netpipe": ""},
    )  # fmt: skip


def spack_plan(
    study: str, cases: tuple[str, ...], blocks: int = 3, more: Mapping[str, str] | None = None
) -> Plan:
    """A plan of cases that Spack provides.

    Args:
        more: runtimes of arms beside the usual ones, which come before the containers.
    """
    pair, events = ("native-a", "native-b"), {"events": 2800}
    arms = {arm: RUNTIMES[arm] for arm in pair} | dict(more or {})
    arms |= {arm: runtime for arm, runtime in RUNTIMES.items() if arm not in pair}
    parameters = {case: PLACES.get(case, events) for case in cases} | {
        case: events | {"libaio": case.rpartition("-")[2]} for case in cases if "libaio" in case
    }
    return _plan(f"{study}-synthetic", cases, blocks, arms, parameters, reported=("mpi", "init"))


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
    runs, metrics = _valid_runs(plan), []
    for row in runs:
        key, facts = (row["case"], row["arm"]), ALL_CASES[row["case"]][2]
        shared = np.random.default_rng(row["block_number"]).normal(0, block_spread)
        noise = {
            metric: float(np.exp(shared + random.normal(0, cv)))
            for metric, (_, cv, *_) in facts.items()
        }
        if row["arm"] in absent:
            row |= {"attempt": 0, "stage": "planned", "reason": "not-tested",
                    "detail": absent[row["arm"]], "exit_code": None, "started": ""}  # fmt: skip
            continue
        row |= {"closure_sha256": "f" * 64} if key in confounded else {}
        if planted := failures.get((row["block_number"], row["run"])):
            row["stage"], row["reason"] = planted
        if row["stage"] not in ("parsed", "valid"):
            continue
        ids = {name: row[name] for name in _OF_RUN}
        for metric, (_, _, unit, better, primary) in facts.items():
            value = _value(*key, metric, noise[metric], effects.get(key, 1.0))
            metrics.append(ids | {
                "metric": metric, "value": value, "unit": unit, "better": better,
                "clock": "internal", "primary": primary, "valid": row["stage"] == "valid",
            })  # fmt: skip
    return {"runs": runs, "metrics": metrics}


def _valid_runs(plan: Plan) -> list[dict[str, Any]]:
    """Rows of the runs table, each of a valid run."""
    arms = [run.arm for block in plan.blocks for run in block.runs]
    digest = ["" if arm.startswith("native") else "sha256:" + "d" * 64 for arm in arms]
    return planned_runs(
        plan, position=1, runtime=[plan.arm_runtimes[arm] for arm in arms], exit_code=0,
        started="2026-01-01T00:00:00Z", wall_seconds=1.0, user_seconds=1.0, load_before=0.1,
        command="[]", environment_sha256="e" * 64, evidence="{}", image_digest=digest,
        binary_sha256="b" * 64, closure_sha256="c" * 64, stdout_sha256="a" * 64,
    ).to_dict("records")  # fmt: skip


def _value(case: str, arm: str, metric: str, noise: float, effect: float) -> float:
    centre, _, _, better, _ = ALL_CASES[case][2][metric]
    if case.startswith("startup"):
        effect *= STARTUP[arm]
    return centre * noise * (1 / effect if better == "higher" else effect)


def write(
    folder: Path, plan: Plan, rows: Mapping[str, list[dict[str, Any]]], scale_label: str = "vm"
) -> Path:
    """Write plan.json, provenance and records; tables without rows are written empty."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    write_plan(folder / "plan.json", plan)
    (folder / PROVENANCE).write_text(json.dumps(provenance(plan)))
    tables = {
        "blocks": _block_rows(plan, scale_label), "nodes": _node_rows(plan),
        "images": _image_rows(plan), **rows,
    }  # fmt: skip
    for name, table in schema.TABLES.items():
        schema.write(table, tables.get(name, []), folder / "records" / f"{name}.parquet")
    return folder


def view(
    folder: Path, plan: Plan, rows: Mapping[str, list[dict[str, Any]]] | None = None,
    scale_label: str = "vm", **plants: Any,
) -> View:  # fmt: skip
    """Write a dataset, analyse it, read it as the presentation does.

    Args:
        plants: what `records` is to plant, in place of rows.
    """
    loaded = dataset.load(write(folder, plan, rows or records(plan, **plants), scale_label))
    analysis.write(analysis.analyse(loaded), folder / "analysis")
    return views.load(folder)


def replanned(view: View, **changes: Any) -> View:
    """A view whose plan differs in this, with the same data."""
    plan = msgspec.structs.replace(view.plan, **changes)
    return replace(view, dataset=replace(view.dataset, plan=plan))


def provenance(plan: Plan) -> dict[str, Any]:
    """Dates, a state of the program and versions that never were."""
    program = {"commit": "0" * 40, "changed": False, "package_sha256": "1" * 64,
               "lock_sha256": "2" * 64, "python": "3.11.0"}  # fmt: skip
    return {
        "began": "2026-01-01T00:00:00.000+00:00", "ended": "2026-01-01T01:30:00.000+00:00",
        "blocks": len(plan.blocks), "sessions": len(plan.blocks), "programs": [program],
        "runtimes": {arm: ["version 1"] for arm in plan.arms},
    }  # fmt: skip


def _block_rows(plan: Plan, scale_label: str) -> list[dict[str, Any]]:
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


def _node_rows(plan: Plan) -> list[dict[str, Any]]:
    """A few facts of a node that does not exist."""
    facts = {"cpu_model": "Synthetic CPU", "kernel": "6.0.0-synthetic", "config_hz": "250"}
    return [
        {
            "campaign": plan.campaign, "block": block.name, "node": "synthetic", "phase": phase,
            "fact": fact, "value": value,
        }
        for block in plan.blocks
        for phase in ("before", "after")
        for fact, value in facts.items()
    ]  # fmt: skip


def _image_rows(plan: Plan) -> list[dict[str, Any]]:
    """A digest chain, one format of which could not be made."""
    chain = [("base", ""), ("oci", "base"), ("directory", "oci"), ("squashfs", "directory")]
    chain += [("sif", "oci"), ("docker", "oci"), ("podman", "oci")]
    digest = {name: f"sha256:{number:064x}" for number, (name, _) in enumerate(chain, 1)}
    return [
        {
            "campaign": plan.campaign, "format": name,
            "digest": "" if name == "sif" else digest[name], "parent": parent,
            "parent_digest": digest.get(parent, ""), "bytes": None if name == "sif" else 10_000_000,
            "seconds": None if name == "sif" else 1.5, "tool": "" if name == "sif" else "tool 1.0",
            "reason": "apptainer: not installed" if name == "sif" else "",
        }
        for name, parent in chain
    ]  # fmt: skip
