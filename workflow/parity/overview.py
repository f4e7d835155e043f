"""What is planned and what is possible, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.runtimes import arms


def probe_lines() -> list[str]:
    """A line for every arm and benchmark: version, or why it is not here and what to do."""
    found = [("arm", name, arm.probe()) for name, arm in arms().items()]
    found += [("benchmark", name, b.probe()) for name, b in benchmarks().items()]
    lines = []
    for kind, name, presence in found:
        said = (
            f"yes  {presence.version}"
            if presence.available
            else f"no   {presence.reason}; {presence.remedy}".rstrip("; ")
        )
        lines.append(f"{kind:<10} {name:<20} {said}")
    return lines


def typical_seconds(runs: Path) -> dict[str, float]:
    """Median wall time of a run by case, from an archived RUNS table; empty if there is none."""
    if not runs.exists():
        return {}
    import pandas  # only here: the light commands must not pay for it

    table = pandas.read_parquet(runs, columns=["case", "wall_seconds"])
    return table.groupby("case")["wall_seconds"].median().to_dict()


def plan_lines(plan: Mapping[str, Any], seconds: Mapping[str, float]) -> list[str]:
    """The plan in a few lines: size, order, margins, expected time, what is not tested.

    Args:
        plan: the plan file.
        seconds: expected seconds of a run by case, as far as they are known.
    """
    arms_count, blocks = len(plan["arms"]), len(plan["blocks"])
    runs = sum(len(block["runs"]) for block in plan["blocks"])
    lines = [
        f"{plan['campaign']}: {plan['title']}",
        f"  {blocks} blocks x {len(plan['cases'])} cases x {arms_count} arms = {runs} runs,"
        f" in random order from seed {plan['seed']}",
        f"  arms: {', '.join(plan['arms'])} (reference {plan['reference']})",
    ]
    for case in plan["cases"]:
        margin = case["margin"]
        judged = "no margin" if margin is None else f"margin ±{100 * margin:g} %"
        known = seconds.get(case["case"])
        takes = f", about {known:.1f} s a run" if known else ""
        lines.append(f"  {case['case']:<20} {judged}{takes}")
    if all(case["case"] in seconds for case in plan["cases"]):
        each = sum(seconds[case["case"]] for case in plan["cases"]) * arms_count
        lines.append(f"  programs alone: about {blocks * each / 60:.0f} minutes on such a machine")
    for entry in plan["not_tested"]:
        what = entry.get("benchmark") or entry.get("arm")
        lines.append(f"  not tested: {what}: {entry['reason']}")
    return lines
