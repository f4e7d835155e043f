"""Tables of what was measured beside the costs: single events, networks, and what runs used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from parity.analysis.noise.replay import RANDOM
from parity.claims.published import TABLE_1
from parity.core import wording
from parity.core.wording import interval
from parity.report import formatting, ledgers
from parity.report.series import CONTAINERS, ratios_by_size
from parity.report.tables.results import case_and_arm, in_order
from parity.report.tables.table import Table
from parity.report.view import ALONE, View, rows_of

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SLOWED = 1.01  # a step that takes longer than this, over that of the reference, is slowed


def _milliseconds(value: float, digits: int = 3) -> str:
    # What a law without an end says is further than anything that was ever seen.
    return "> 10⁶" if value > 1e3 else wording.number(1e3 * value, digits)


def _with_ends(value: float, low: float, high: float, shown: Callable[[float], str]) -> str:
    """A number with its interval, if it has one."""
    if not np.isfinite(value):
        return "–"
    return f"{shown(value)} [{shown(low)}, {shown(high)}]" if np.isfinite(low) else shown(value)


def _seconds(value: float) -> str:
    """A time in the largest unit that it fills, with three digits: `49.9 ms`."""
    unit, name = next((u for u in _UNITS if value >= u[0]), _UNITS[-1])
    return f"{wording.significant(value / unit)} {name}"


def quantiles(view: View) -> Table:
    """How long detours are, arm by arm, and the ratios of that to the reference's."""
    cells = [
        (
            *case_and_arm(view, row),
            f"{100 * row.share:g} %",
            f"{row.events:,}",
            wording.number(row.seconds, 0),
            _with_ends(row.value, row.low, row.high, _seconds),
            _with_ends(row.ratio, row.ratio_low, row.ratio_high, wording.number),
        )
        for row in in_order(view, view.of_events["quantiles"])
    ]
    return Table("quantiles", cells)


def quota_law(view: View) -> Table:
    """Predicted and observed length of the detours that each CPU quota makes."""
    cells = [
        (
            *case_and_arm(view, row),
            str(row.events),
            wording.percent(row.share),
            _milliseconds(row.predicted, 1),
            _with_ends(row.observed, row.low, row.high, _milliseconds),
            _milliseconds(row.residual),
            wording.number(row.residual / row.tick, 2),
        )
        for row in in_order(view, view.of_events["quota_law"])
    ]
    return Table("quota-law", cells)


def return_levels(view: View) -> Table:
    """What detours reach once in a period, by a fitted tail."""
    cells = [
        (
            *case_and_arm(view, row),
            str(row.exceedances),
            wording.significant(1e6 * row.threshold),
            _with_ends(row.shape, row.shape_low, row.shape_high, lambda v: wording.number(v, 2)),
            _with_ends(row.level, row.low, row.high, _milliseconds),
            _milliseconds(row.longest),
            wording.number(row.fit, 2),
        )
        for row in in_order(view, view.of_events["return_levels"])
    ]
    return Table("return-levels", cells)


def replay(view: View) -> Table:
    """From how many ranks on programs whose ranks meet events of their own are slowed.

    A slowdown is one beyond that of the reference: the interval of an arm over that of the
    reference, end against end, which is wider than one of their ratio.
    """
    if not len(view.of_events["replay"]):
        return Table("replay", [])
    against, quotas = _beside(view), set(view.of_events["quota_law"]["arm"])
    alone = {*view.kinds[ALONE]} - quotas
    kinds = {"under a CPU quota": quotas, "runtimes alone": alone}
    kinds["other limits"] = {*view.arms} - quotas - alone
    cells: list[tuple[str, ...]] = []
    for title, arms in kinds.items():
        of_kind = [r for r in rows_of(against) if r.arm in arms and r.arm != view.plan.double]
        for step in sorted({row.step_seconds for row in of_kind}):
            cells += _of_step(view, title, [row for row in of_kind if row.step_seconds == step])
    return Table("replay", cells)


def _of_step(view: View, title: str, found: Sequence[Any]) -> list[tuple[str, ...]]:
    told = [row for row in found if not row.beyond]
    slowed = [row for row in found if row.low_ratio > SLOWED]
    if not (told or slowed):
        return []
    most = max(slowed or told, key=lambda row: float(row.low_ratio))
    numbers = f"{wording.number(most.slowdown_ratio)} "
    return [(
        title, wording.step_words(most.step_seconds),
        str(min(row.ranks for row in slowed)) if slowed else "not shown",
        formatting.arm_title(view.plan, most.arm), str(most.ranks),
        numbers + interval(most.low_ratio, most.high_ratio),
        str(max((row.ranks for row in told), default=0)),
    )]  # fmt: skip


def _beside(view: View) -> pd.DataFrame:
    """The slowdowns of the first case that has some, over those of the reference.

    Where the reference has only a lower bound, or one of both no interval, nothing is known.
    """
    replayed, plan = view.of_events["replay"], view.plan
    there = replayed[(replayed["phases"] == RANDOM) & replayed["low"].notna()]
    cases = [case.name for case in plan.cases if case.name in there["case"].array]
    there = there[there["case"].isin(cases[:1])]
    base = there[(there["arm"] == plan.reference) & ~there["beyond"].astype(bool)]
    at = ["ranks", "step_seconds"]
    both = there[there["arm"] != plan.reference].merge(base, on=at, suffixes=("", "_of_reference"))
    for name, other in (("slowdown", "slowdown"), ("low", "high"), ("high", "low")):
        both[f"{name}_ratio"] = both[name] / both[f"{other}_of_reference"]
    return both.sort_values([*at, "arm"], ignore_index=True)


# Times in a program of ours, beside the components of the published table.
PARTS = {"application": "cpu", "mpi": "comm", "mpi_init": "init"}
SOURCE = "their Table 1"
OWN = ("mnt", "net", "pid")  # namespaces by which one container is told from another


def timeouts(view: View) -> Table:
    """The line of time against timeouts of each case and arm that had any."""
    lines = view.analysis.timeouts
    rows = [
        (
            *case_and_arm(view, row),
            wording.number(row.rto_min_ms, 0),
            str(row.runs),
            str(row.timeouts),
            formatting.slope(row),
            wording.number(row.intercept, 2),
            wording.percent(row.explained),
        )
        for row in in_order(view, lines[lines["timeouts"] > 0])
    ]
    return Table("timeouts", rows)


def message_sizes(view: View) -> Table:
    """At which sizes the median ratio of times to the reference is smallest and largest."""
    rows = []
    for case in dict.fromkeys(view.message_times["case"]):
        title = formatting.case_title(view.plan, case)
        for arm, of_arm in ratios_by_size(view, case).items():
            at = [(float(ratio), int(str(size))) for size, ratio in of_arm.items()]
            ends = (
                [(wording.number(r), f"{size:,}") for r, size in (min(at), max(at))] if at else []
            )
            if ends:
                rows.append((title, formatting.arm_title(view.plan, arm), *chain(*ends)))
    return Table("message-sizes", rows)


def time_in_mpi(view: View) -> Table:
    """Table 1 of Ruiz et al. beside ours: own work, MPI and its start, by code and place."""
    ours, theirs = _ours(view), view.published.get(TABLE_1)
    rows = [] if theirs is None or not ours else _theirs(theirs)
    return Table("time-in-mpi", [*rows, *ours])


def _theirs(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The published times, of each code the three places beside each other."""
    times = pd.DataFrame(table["time_ms"])
    places = dict.fromkeys(times.columns.get_level_values("configuration"))
    return [
        (str(code), place, *_parts([float(of[place, part]) for part in PARTS.values()]), SOURCE)
        for code, of in times.iterrows()
        for place in places
    ]


def _ours(view: View) -> list[tuple[str, ...]]:
    """Medians of the arms of each case that tells both own work and MPI."""
    values = view.analysis.values
    of_parts = values[values["metric"].isin(PARTS)]
    medians = of_parts.groupby(["case", "arm", "metric"])["value"].median().to_dict()
    rows = []
    for case in view.plan.cases:
        for arm in view.dataset.arms_of(case.name):
            times = [1000 * medians.get((case.name, arm, part), np.nan) for part in PARTS]
            if np.isfinite(times[:2]).all():
                title = formatting.case_title(view.plan, case.name)
                name = formatting.arm_title(view.plan, arm)
                rows.append((title, name, *_parts(times), "here"))
    return rows


def _parts(times: Sequence[float]) -> list[str]:
    """Times in ms with their shares of the sum, and the sum, which lacks what is not known."""
    whole = float(np.nansum(times))
    said = [
        "–" if np.isnan(time) else f"{time:.0f} ({wording.percent(time / whole)})" for time in times
    ]
    return [*said, f"{whole:.0f}"]


def placement(view: View) -> Table:
    """Which ranks had which CPUs in which container: what they saw themselves, in one run."""
    split = {case.name for case in view.plan.cases if CONTAINERS in case.parameters}
    every = (run for block in view.plan.blocks for run in block.runs)
    runs = {run.name: run for run in every if run.case in split}
    rows: list[tuple[str, ...]] = []
    for name, ranks in _seen(view, runs):
        run = runs[name]
        title = formatting.case_title(view.plan, run.case)
        arm = formatting.arm_title(view.plan, run.arm)
        rows += [(title, arm, *cells) for cells in _containers(ranks)]
    return Table("placement", rows)


def _seen(view: View, runs: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """What the ranks of the first good run of each name said, in the order of the plan."""
    path = view.folder / "records/raw.parquet" if view.folder else None
    if not runs or path is None:
        return
    columns, wanted = ["block", "run", "attempt", "record"], [("run", "in", list(runs))]
    good = view.dataset.runs[view.dataset.runs["stage"] == "valid"]
    keys = set(good[columns[:3]].itertuples(index=False, name=None))
    found: dict[str, list[dict[str, str]]] = {}
    for row in pq.read_table(path, columns=columns, filters=wanted).to_pylist():
        if (row["block"], row["run"], row["attempt"]) in keys and row["run"] not in found:
            found[row["run"]] = _whole(json.loads(row["record"])["ranks"])
    yield from ((name, found[name]) for name in runs if found.get(name))


def _whole(ranks: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
    """What each rank said, of which a record keeps what it said otherwise than the one before."""
    whole, said = [], dict[str, str]()
    for changed in ranks:
        now = {**said, **changed}
        said = {key: value for key, value in now.items() if value is not None}
        whole.append(said)
    return whole


def _containers(ranks: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Number, node, ranks and CPUs of each container, or of a part of a bare node."""
    places = [
        (tuple(said.get(key, "") for key in ("node", *(f"namespace.{name}" for name in OWN))), rank)
        for rank, said in enumerate(ranks)
    ]
    for number, (_, group) in enumerate(groupby(places, key=itemgetter(0)), start=1):
        inside = [rank for _, rank in group]
        cpus = dict.fromkeys(ranks[rank].get("cpus_allowed", "?") for rank in inside)
        node = ranks[inside[0]].get("node", "")
        span = f"{inside[0]}" if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
        yield (str(number), node, span, ", ".join(cpus))


_MIB = 2**20
_LEAST = 0.05 * _MIB  # bytes per GiB that a line would show as 0.0


def byte_ledger(view: View) -> Table:
    """Bytes by interface, and how often the sum has what the one link has once."""
    found, rows = ledgers.ledger(view), []
    for case, arm, blocks in _places(view, found):
        values = ledgers.of_arm(found, case, arm)
        link = ledgers.both_ways(values).get(ledgers.LINK, 0.0)
        ways = [ledgers.of_way(values, way) for way in ledgers.WAYS]
        whole = [{**way, "sum": sum(way.values())} for way in ways]
        for part, received in whole[0].items():
            sent = whole[1][part]
            if received + sent < _LEAST:
                continue
            times = f"{(received + sent) / link:.2f}" if link else "–"
            counted = (f"{received / _MIB:,.1f}", f"{sent / _MIB:,.1f}", times)
            rows.append((*_titles(view, case, arm), blocks, part, *counted))
    return Table("byte-ledger", rows)


def request_ledger(view: View) -> Table:
    """Requests and bytes of the disks for the same data."""
    found, rows = ledgers.ledger(view), []
    for case, arm, blocks in _places(view, found):
        values = ledgers.of_arm(found, case, arm)
        if any(what not in values for what in ledgers.DISK):
            continue
        reads, writes, got, written = (values[what] for what in ledgers.DISK)
        each = "–" if not writes else f"{written / writes / 1024:,.0f}"
        numbers = (f"{reads:,.0f}", f"{writes:,.0f}", each)
        shares = (f"{got / 2**30:.2f}", f"{written / 2**30:.2f}")
        rows.append((*_titles(view, case, arm), blocks, *numbers, *shares))
    return Table("request-ledger", rows)


def _places(view: View, found: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Case, arm and number of blocks of a ledger, in the order of the plan."""
    blocks = found.groupby(["case", "arm"])["n"].max().to_dict()
    return [
        (case.name, arm, str(blocks[case.name, arm]))
        for case in view.plan.cases
        for arm in view.arms
        if (case.name, arm) in blocks
    ]


def _titles(view: View, case: str, arm: str) -> tuple[str, str]:
    return formatting.case_title(view.plan, case), formatting.arm_title(view.plan, arm)
