"""What is planned, what it costs and what is possible, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from parity.benchmarks import benchmarks
from parity.plan.plan import Case, Plan, jobs_of
from parity.preview.surroundings import (
    Probe,
    Seen,
    Surroundings,
    expected_seconds,
    probes,
    shortest_wall,
)
from parity.runtimes import every_arm


def duration(seconds: float) -> str:
    """A duration in words, in the unit that suits it: `40 s`, `12 min`, `3.5 h`, `4.2 days`."""
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            digits = 1 if unit == "h" else 0
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def probe_lines(asked: Iterable[Probe] | None = None) -> list[str]:
    """A line for every arm and benchmark: version, or why it is not here and what to do.

    Args:
        asked: what was asked already; everything is asked now if not given.
    """
    lines = []
    for probe in probes() if asked is None else asked:
        found = probe.presence
        said = (
            f"yes  {found.version}"
            if found.available
            else f"no   {found.reason}; {found.remedy}".rstrip("; ")
        )
        lines.append(f"{probe.kind:<10} {probe.name:<20} {said}")
    return lines


def plan_lines(plan: Plan, here: Surroundings) -> list[str]:
    """The plan in a few lines: size, order, margins, cost, what is not tested."""
    lines = [
        f"{plan['campaign']}: {plan['title']}",
        f"  {_size(plan)}, in random order from seed {plan['seed']}",
        f"  arms: {', '.join(plan['arms'])} (reference {plan['reference']})",
    ]
    for case in plan.cases:
        margin = case["margin"]
        judged = "no margin" if margin is None else f"margin ±{100 * margin:g} %"
        lines.append(f"  {case['case']:<20} {judged}{_takes(here.seen.get(case['case']))}")
    if here.done:
        lines.append(f"  measured already: {len(here.done)} of {len(plan['blocks'])} blocks")
    lines += _job_lines(plan, here) if here.system.batch_system else _machine_lines(plan, here)
    lines.append(_disk_line(plan, here))
    return lines + [f"  not tested: {what}" for what in not_tested(plan, here)]


def _size(plan: Plan) -> str:
    blocks, cases, arms_count = (len(plan[key]) for key in ("blocks", "cases", "arms"))
    runs = sum(len(block["runs"]) for block in plan.blocks)
    if runs == blocks * cases * arms_count:
        return f"{blocks} blocks x {cases} cases x {arms_count} arms = {runs} runs"
    return f"{blocks} blocks with {cases} cases by node count, {arms_count} arms: {runs} runs"


def _takes(seen: Seen | None) -> str:
    if seen is None:
        return ""
    return f", about {seen.seconds:.1f} s a run{'' if seen.same else ' with other parameters'}"


def _machine_lines(plan: Plan, here: Surroundings) -> list[str]:
    """Blocks one after the other on one machine."""
    each = [expected_seconds(block, here.seen) for block in plan.blocks]
    known = [seconds for seconds in each if seconds is not None]
    if len(known) < len(each):
        return []
    hint = "" if all(seen.same for seen in here.seen.values()) else ", a part by other parameters"
    return [f"  programs alone: about {sum(known) / 60:.0f} minutes on such a machine{hint}"]


def _job_lines(plan: Plan, here: Surroundings) -> list[str]:
    """Jobs, node-hours and wall time on a batch system, of the blocks still to be measured."""
    jobs = jobs_of(plan)
    blocks = [block for block in plan.blocks if block["block"] not in here.done]
    limits = [60.0 * jobs[block["block"]]["minutes"] for block in blocks]
    # Other parameters may be other problems altogether: they say nothing of node-hours.
    seen = {case: found for case, found in here.seen.items() if found.same}
    expected = [expected_seconds(block, seen) for block in blocks]
    lines = [
        f"  jobs for {here.system.batch_system}: {len(blocks)}, each with its nodes for itself"
    ]
    for nodes in sorted({block["nodes"] for block in blocks}):
        those = [i for i, block in enumerate(blocks) if block["nodes"] == nodes]
        alone = expected[those[0]]
        takes = "duration not known" if alone is None else f"programs about {duration(alone)}"
        lines.append(
            f"    {len(those):>4} on {nodes:>3} node{'s' if nodes > 1 else ' '}"
            f"   {takes}, time limit {duration(max(limits[i] for i in those))} each"
        )
    limit_hours = sum(b["nodes"] * s for b, s in zip(blocks, limits, strict=True)) / 3600
    known = [seconds for seconds in expected if seconds is not None]
    if len(known) < len(blocks):
        cases = {run["case"] for block in blocks for run in block["runs"]}
        unknown = len(cases - seen.keys())
        hours = wall = f"not known ({unknown} of {len(cases)} cases not measured before)"
    else:
        spent = sum(b["nodes"] * s for b, s in zip(blocks, known, strict=True)) / 3600
        hours = f"about {spent:,.3g} for the programs alone"
        wall = f"about {duration(shortest_wall(known, here.at_once))} for the programs alone"
    return [
        *lines,
        f"  node-hours: {hours}, at most {limit_hours:,.0f} by the time limits",
        f"  wall time: {wall}, at most {duration(shortest_wall(limits, here.at_once))};"
        f" {_at_once(here)}",
    ]


def _at_once(here: Surroundings) -> str:
    if here.one_host:
        return "virtual nodes measure one block at a time"
    return f"{here.at_once} jobs at once, waiting in the queue not counted"


def _disk_line(plan: Plan, here: Surroundings) -> str:
    runs = sum(len(block["runs"]) for block in plan.blocks)
    records = (
        "not known before a block was measured here"
        if here.run_bytes is None
        else f"about {runs * here.run_bytes / 1e6:.2g} MB"
    )
    images = (
        "not known before they are made"
        if here.images is None
        else f"{sum(image['bytes'] or 0 for image in here.images.values()) / 1e9:.2g} GB (made)"
    )
    return f"  disk: records of all blocks {records}; images {images}"


def not_tested(plan: Plan, here: Surroundings) -> list[str]:
    """What is in the publication or the plan and will not be tested, and why."""
    gaps = [
        f"{entry.get('benchmark') or entry.get('arm')}: {entry['reason']}"
        for entry in plan.not_tested
    ]
    missing = [probe for probe in here.probes if not probe.presence.available]
    elsewhere = " here; nodes may differ from this machine" if here.system.batch_system else ""
    gaps += [f"{probe.name}: {probe.presence.reason}{elsewhere}" for probe in missing]
    for name in sorted(set(plan.arms) - {probe.name for probe in missing}):
        image = (here.images or {}).get(every_arm()[name].image_format or "")
        if image and image["reason"]:
            gaps.append(f"{name}: its image could not be made: {image['reason']}")
    placed = [case["case"] for case in plan.cases if _needs_launcher(case)]
    if placed and not here.system.launcher:
        gaps.append(f"{', '.join(placed)}: the system's file names no MPI launcher")
    return gaps


def _needs_launcher(case: Case) -> bool:
    """Whether a site without an MPI launcher cannot run a case."""
    nodes = case["parameters"].get("nodes", 0)
    return nodes > 1 or (nodes == 1 and not benchmarks()[case["benchmark"]].starts_ranks_inside)
