"""A study of noise that never was: arms under limits, their events and all that is made of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import synthetic
from plans import changed

from parity.records import schema
from parity.report.view import View

CASE = "selfish-detours"
ALONE = {"native-a": "Native", "native-b": "Native again", "podman": "Podman"}
QUOTAS = {
    f"podman-quota-{q}000-of-{p}000-us": (q, p)
    for p in (100, 50, 10)
    for q in (p * 9 // 10, p // 2)
}
SHARES = {f"podman-shares-{shares}-beside-512-unpinned": shares for shares in (1024, 512, 128)}
PLACED = {"podman-same-cpu": "Podman, same CPU", "native-a-cpu0": "Native, CPU 0"}
TITLES = (
    ALONE
    | {arm: f"Podman, {q} of {p} ms" for arm, (q, p) in QUOTAS.items()}
    | {arm: f"Podman, {shares} shares beside 512, unpinned" for arm, shares in SHARES.items()}
    | PLACED
)
STEPS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
BLOCKS = ("b0001", "b0002")


def view(folder: Path, tables: Mapping[str, list[dict[str, Any]]], events: bool = True) -> View:
    """A view of a synthetic dataset that has these tables of events, and with `events` these."""
    plan = synthetic.plan(2, ("native-a", "native-b", "podman"))
    made = synthetic.view(folder, plan)
    case = {"case": CASE, "benchmark": "selfish", "parameters": {"seconds": 30}, "margin": 0.1}
    noisy = changed(
        plan, cases=[case], arms=list(TITLES), arm_titles=TITLES,
        arm_runtimes={arm: arm.split("-")[0] for arm in TITLES},
        benchmark_titles={"selfish": "Selfish"},
    )  # fmt: skip
    for name, rows in tables.items():
        pd.DataFrame(rows).to_parquet(folder / "analysis" / f"{name}.parquet")
    if events:
        write_events(folder / "events")
    return replace(made, dataset=replace(made.dataset, plan=noisy))


def write_events(folder: Path) -> None:
    """Events of each arm: ticks of the timer, a tail, and what a quota makes."""
    for number, arm in enumerate(TITLES):
        for block, name in enumerate(BLOCKS):
            random = np.random.default_rng([number, block])
            start = np.sort(random.integers(0, 30 * 10**9, 4000))
            length = (900 * (1 + random.pareto(1.6, len(start)))).astype(np.int64)
            if arm in QUOTAS:
                used, period = (1_000_000 * ms for ms in QUOTAS[arm])
                limit = np.arange(used, 30 * 10**9, period)
                order = np.argsort(start := np.concatenate([start, limit]))
                waits = period - used + random.normal(0, 60_000, len(limit)).astype(np.int64)
                start, length = start[order], np.concatenate([length, waits])[order]
            place = folder / f"case={CASE}" / f"arm={arm}" / f"block={name}"
            place.mkdir(parents=True)
            table = pa.table([start, length], schema=schema.EVENTS.arrow)
            pq.write_table(table, place / "events.parquet")


def tables() -> dict[str, list[dict[str, Any]]]:
    """The four tables, of numbers that are made up but for the prediction and the replay."""
    return {
        "quantiles": [row for arm in TITLES for row in _quantiles(arm)],
        "return_levels": [_level(number, arm) for number, arm in enumerate(TITLES)],
        "quota_law": [quota(arm, off=number * 1e-4) for number, arm in enumerate(QUOTAS)],
        "replay": [row for arm in TITLES for row in _replay(arm)],
    }


def _quantiles(arm: str) -> list[dict[str, Any]]:
    rows = []
    for share in (0.5, 0.9, 0.99, 0.999, 0.9999):
        value = 9e-7 * (1 - share) ** (-1 / 1.6) * (40 if arm in QUOTAS and share > 0.9 else 1)
        ratio = None if arm == "native-a" else 40 if arm in QUOTAS and share > 0.9 else 1.02
        low, high = (ratio / 1.3, ratio * 1.2) if ratio else (None, None)
        rows.append({
            "case": CASE, "arm": arm, "share": share, "events": 8000, "seconds": 60.0,
            "value": value, "low": 0.9 * value, "high": 1.2 * value, "ratio": ratio,
            "ratio_low": low, "ratio_high": high,
        })  # fmt: skip
    return rows


def _level(number: int, arm: str) -> dict[str, Any]:
    fitted = arm != "podman-shares-128-beside-512-unpinned"
    level = 1e-3 * (1 + number) if fitted else None
    return {
        "case": CASE, "arm": arm, "threshold": 5e-6, "exceedances": 400 if fitted else 9,
        "shape": 0.4 if fitted else None, "shape_low": 0.2 if fitted else None,
        "shape_high": 0.7 if fitted else None, "scale": 2e-6, "period_seconds": 900.0,
        "level": level, "low": level and 0.4 * level, "high": level and 4 * level,
        "longest": 1e-3, "fit": 0.31 if fitted else None,
    }  # fmt: skip


def quota(arm: str, off: float) -> dict[str, Any]:
    """A row of a quota whose detours are so many seconds longer than predicted."""
    used, period = QUOTAS[arm]
    predicted = (period - used) / 1e3
    return {
        "case": CASE, "arm": arm, "quota_us": 1000 * used, "period_us": 1000 * period,
        "predicted": predicted, "observed": predicted + off, "low": predicted + off - 1e-4,
        "high": predicted + off + 1e-4, "residual": off, "tick": 0.004, "events": 60_000 // period,
        "share": 0.1,
    }  # fmt: skip


def _replay(arm: str) -> list[dict[str, Any]]:
    """Periodic noise in closed form: what one of so many ranks at random phases meets."""
    used, period = (np.array(QUOTAS[arm]) / 1e3) if arm in QUOTAS else (0.004 - 3e-6, 0.004)
    rows = []
    for step in STEPS:
        for ranks in (2**power for power in range(21)):
            whole, hit = divmod(step / used, 1)
            most = (whole + 1 - (1 - min(1, hit * used / period)) ** ranks) * (period - used)
            for phases, lost in (("random", most), ("together", step * (period / used - 1))):
                slowdown = 1 + lost / step
                rows.append(replayed(arm, ranks, step, phases, slowdown, ranks > 2**17))
    return rows


def replayed(
    arm: str, ranks: int, step: float, phases: str, slowdown: float, beyond: bool = False
) -> dict[str, Any]:
    """A row of the replay whose interval is 0.2 % wide."""
    return {
        "case": CASE, "arm": arm, "ranks": ranks, "step_seconds": step, "phases": phases,
        "slowdown": slowdown, "low": 0.999 * slowdown, "high": 1.001 * slowdown, "beyond": beyond,
    }  # fmt: skip
