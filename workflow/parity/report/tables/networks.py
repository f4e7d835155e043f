"""Tables of networks and placement: what timeouts cost, where time goes, and who was where."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from parity.claims.published import TABLE_1
from parity.report.along import ratios_by_size
from parity.report.series import CONTAINERS
from parity.report.tables.results import case_and_arm, in_order
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View

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
            formatting.number(row.rto_min_ms, 0),
            str(row.runs),
            str(row.timeouts),
            formatting.slope(row),
            formatting.number(row.intercept, 2),
            formatting.percent(row.explained),
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
                [(formatting.number(r), f"{size:,}") for r, size in (min(at), max(at))]
                if at
                else []
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
        "–" if np.isnan(time) else f"{time:.0f} ({formatting.percent(time / whole)})"
        for time in times
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
