"""Tables of what was measured beside the costs, and of what it was measured on and with."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from parity.benchmarks.model import DISK, LINK, WAYS, of_way
from parity.benchmarks.own_program import said
from parity.claims.published import TABLE_1
from parity.core import wording
from parity.core.wording import interval, number, percent, significant, span
from parity.extensions.noise.analysis.replay import RANDOM
from parity.report import formatting
from parity.report.formatting import arm_title, case_title, with_ends
from parity.report.tables.results import case_and_arm, in_order
from parity.report.tables.table import Table
from parity.report.templating import WORDS
from parity.report.view import ALONE, CONTAINERS, View, rows_of

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SLOWED = 1.01  # a step that takes longer than this, over that of the reference, is slowed
# Times in a program of ours, beside the components of the published table.
PARTS = {"application": "cpu", "mpi": "comm", "mpi_init": "init"}
# By which one container is told from another.
OWN = ("node", "namespace.mnt", "namespace.net", "namespace.pid")
MIB = 2**20
LEAST = 0.05 * MIB  # bytes per GiB that a line would show as 0.0


def _milliseconds(value: float, digits: int = 3) -> str:
    # What a law without an end says is further than anything that was ever seen.
    return "> 10⁶" if value > 1e3 else number(1e3 * value, digits)


def _seconds(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    unit, name = next((u for u in UNITS if value >= u[0]), UNITS[-1])
    return f"{significant(value / unit)} {name}"


def quantiles(view: View) -> Table:
    """How long detours are, arm by arm, and the ratios of that to the reference's."""
    return Table("quantiles", [
        (*case_and_arm(view, row), f"{100 * row.share:g}\u2009%", f"{row.events:,}",
         number(row.seconds, 0), with_ends(_seconds, row.value, row.low, row.high),
         with_ends(number, row.ratio, row.ratio_low, row.ratio_high))
        for row in in_order(view, view.of_events["quantiles"])])  # fmt: skip


def quota_law(view: View) -> Table:
    """Predicted and observed length of the detours that each CPU quota makes."""
    return Table("quota-law", [
        (*case_and_arm(view, row), str(row.events), percent(row.share),
         _milliseconds(row.predicted, 1),
         with_ends(_milliseconds, row.observed, row.low, row.high),
         _milliseconds(row.residual), number(row.residual / row.tick, 2))
        for row in in_order(view, view.of_events["quota_law"])])  # fmt: skip


def return_levels(view: View) -> Table:
    """What detours reach once in a period, by a fitted tail."""
    return Table("return-levels", [
        (*case_and_arm(view, row), str(row.exceedances), significant(1e6 * row.threshold),
         with_ends(partial(number, digits=2), row.shape, row.shape_low, row.shape_high),
         with_ends(_milliseconds, row.level, row.low, row.high),
         _milliseconds(row.longest), number(row.fit, 2))
        for row in in_order(view, view.of_events["return_levels"])])  # fmt: skip


def replay(view: View) -> Table:
    """From how many ranks on programs whose ranks meet events of their own are slowed.

    That is, beyond both natives: interval over the one around both of theirs, end against end,
    which is wider than one of their ratio. Nothing is known where any is a lower bound or has no
    interval.
    """
    plan, replayed, cells = view.plan, view.of_events["replay"], []
    if not len(replayed):
        return Table("replay", [])
    there = replayed[(replayed["phases"] == RANDOM) & replayed["low"].notna()]
    first = next((case.name for case in plan.cases if case.name in there["case"].array), "")
    there = there[there["case"] == first]
    is_native, at = there["arm"].isin(plan.aa_pair), ["ranks", "step_seconds"]
    natives = there[is_native & ~there["beyond"].astype(bool)].groupby(at)
    ends = {"slowdown": ("slowdown", "mean"), "low": ("low", "min"), "high": ("high", "max")}
    base = natives.agg(**ends)[natives.size() == len(plan.aa_pair)].reset_index()
    both = there[~is_native]
    both = both.merge(base, on=at, suffixes=("", "_of_reference"))
    for name, other in (("slowdown", "slowdown"), ("low", "high"), ("high", "low")):
        both[f"{name}_ratio"] = both[name] / both[f"{other}_of_reference"]
    both = both.sort_values([*at, "arm"], ignore_index=True)
    quotas = set(view.of_events["quota_law"]["arm"])
    alone = {*view.kinds[ALONE]} - quotas
    others = {*view.arms} - quotas - alone
    kinds = {"under a CPU quota": quotas, "runtimes alone": alone, "other limits": others}
    for title, arms in kinds.items():
        of_kind = both[both["arm"].isin(arms)]
        for _, of_step in of_kind.groupby("step_seconds"):
            known = of_step[~of_step["beyond"].astype(bool)]
            slowed = of_step[of_step["low_ratio"] > SLOWED]
            if known.empty and slowed.empty:
                continue
            most = max(rows_of(known if slowed.empty else slowed), key=lambda row: row.low_ratio)
            cells.append((
                title, wording.step_words(of_step["step_seconds"].iloc[0]),
                "not shown" if slowed.empty else str(slowed["ranks"].min()),
                arm_title(plan, most.arm), str(most.ranks),
                f"{number(most.slowdown_ratio)} {interval(most.low_ratio, most.high_ratio)}",
                str(0 if known.empty else known["ranks"].max())))  # fmt: skip
    return Table("replay", cells)


def timeouts(view: View) -> Table:
    """The line of time against timeouts of each case and arm that had any."""
    lines = view.analysis.timeouts
    return Table("timeouts", [
        (*case_and_arm(view, row), number(row.rto_min_ms, 0), str(row.runs), str(row.timeouts),
         formatting.slope(row), number(row.intercept, 2), percent(row.explained))
        for row in in_order(view, lines[lines["timeouts"] > 0])])  # fmt: skip


def message_sizes(view: View) -> Table:
    """At which sizes the median ratio of times to the reference is smallest and largest."""
    cells, every, reference = [], view.message_times, view.plan.reference
    for case, times in every.groupby("case", sort=False, observed=True):
        wide = times.pivot(index=["block", "size"], columns="arm", values="seconds")
        for arm in (arm for arm in view.arms if arm in wide and reference in wide):
            known = (wide[arm] / wide[reference]).groupby("size").median().dropna()
            if arm != reference and len(known):
                # Of several that are largest, the last.
                ends: list[Any] = [known.idxmin(), known[::-1].idxmax()]
                told = [text for size in ends for text in (number(known[size]), f"{size:,}")]
                titles = case_title(view.plan, str(case)), arm_title(view.plan, arm)
                cells.append((*titles, *told))
    return Table("message-sizes", cells)


def time_in_mpi(view: View) -> Table:
    """Table 1 of Ruiz et al. beside ours: own work, MPI and its start, by code and place."""
    values, theirs = view.analysis.values, []
    of_parts = values[values["metric"].isin(PARTS)]
    wide = of_parts.pivot_table("value", ["case", "arm"], "metric", aggfunc="median")
    wide = 1000 * wide.reindex(columns=[*PARTS]).dropna(subset=[*PARTS][:2])
    rows = in_order(view, wide.reset_index())
    ours = [(*case_and_arm(view, row), *_parts(row[2:]), "here") for row in rows]
    published = view.published.get(TABLE_1)
    if published is not None and ours:
        times_of = pd.DataFrame(published["time_ms"])
        for code, of in times_of.iterrows():
            for place in dict.fromkeys(times_of.columns.get_level_values("configuration")):
                times = [float(of[place, part]) for part in PARTS.values()]
                theirs.append((str(code), place, *_parts(times), "their Table 1"))
    return Table("time-in-mpi", [*theirs, *ours])


def _parts(times: Sequence[float]) -> list[str]:
    """Times in ms with their shares of the sum, and the sum, which lacks what is not known."""
    whole = float(np.nansum(times))
    shown = ["–" if np.isnan(time) else f"{time:.0f} ({percent(time / whole)})" for time in times]
    return [*shown, f"{whole:.0f}"]


def placement(view: View) -> Table:
    """Which ranks had which CPUs in which container: what they saw themselves, in one run."""
    split = {case.name for case in view.plan.cases if CONTAINERS in case.parameters}
    every = (run for block in view.plan.blocks for run in block.runs)
    runs = {run.name: run for run in every if run.case in split}
    seen = _seen(view, list(runs))
    cells: list[tuple[str, ...]] = []
    for name in runs:
        ranks = seen.get(name, [])
        places = [(*(rank.get(key) for key in OWN),) for rank in ranks]
        containers = groupby(range(len(ranks)), key=places.__getitem__)
        for place, (_, group) in enumerate(containers, start=1):
            inside = list(group)
            cpus = dict.fromkeys(ranks[rank].get("cpus_allowed", "?") for rank in inside)
            shown = f"{place}", ranks[inside[0]].get("node", ""), span(inside), ", ".join(cpus)
            cells.append((*case_and_arm(view, runs[name]), *shown))
    return Table("placement", cells)


def _seen(view: View, names: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """What the ranks of the first good run of each name said.

    A record keeps of each rank what it said otherwise than the one before it.
    """
    if not names:
        return {}
    columns = ["block", "run", "attempt", "record"]
    good = view.dataset.runs[view.dataset.runs["stage"] == "valid"]
    keys = set(good[columns[:3]].itertuples(index=False, name=None))
    path, seen = view.folder / "records/raw.parquet", dict[str, list[dict[str, str]]]()
    for row in pq.read_table(path, columns=columns, filters=[("run", "in", names)]).to_pylist():
        if (row["block"], row["run"], row["attempt"]) in keys and row["run"] not in seen:
            told, ranks = dict[str, str](), []
            for changed in json.loads(row["record"])["ranks"]:
                told = {key: value for key, value in (told | changed).items() if value is not None}
                ranks.append(told)
            seen[row["run"]] = ranks
    return seen


def _counted(view: View) -> Iterator[tuple[tuple[str, str, str], Mapping[str, float]]]:
    """Case, arm and number of blocks of what was counted, in the order of the plan; its values."""
    blocks = view.moved.groupby(["case", "arm"]).agg({"n": "max"}).reset_index()
    for row in in_order(view, blocks):
        yield (*case_and_arm(view, row), str(row.n)), view.moved_by(row.case, row.arm)


def byte_ledger(view: View) -> Table:
    """Bytes by interface, and how often the sum has what the one link has once."""
    cells = []
    for what, values in _counted(view):
        both = pd.DataFrame({way: of_way(values, way) for way in WAYS}).fillna(0)
        both.loc["sum"] = both.sum()
        whole = both.sum(axis="columns")
        link = whole.get(LINK, 0.0)
        for part, received, sent in both[whole >= LEAST].itertuples(name=None):
            times = f"{(received + sent) / link:.2f}" if link else "–"
            cells.append((*what, part, f"{received / MIB:,.1f}", f"{sent / MIB:,.1f}", times))
    return Table("byte-ledger", cells)


def request_ledger(view: View) -> Table:
    """Requests and bytes of the disks for the same data."""
    cells = []
    for what, values in _counted(view):
        if all(name in values for name in DISK):
            reads, writes, got, written = (values[name] for name in DISK)
            each = f"{written / writes / 1024:,.0f}" if writes else "–"
            shares = (f"{got / 2**30:.2f}", f"{written / 2**30:.2f}")
            cells.append((*what, f"{reads:,.0f}", f"{writes:,.0f}", each, *shares))
    return Table("request-ledger", cells)


def cases(view: View) -> Table:
    """What each case ran with: parameters and factor levels, margin, time limit."""
    rows = []
    for case in view.plan.run_cases:
        parameters = [f"{name} = {value}" for name, value in sorted(said(case.parameters).items())]
        title, margin = case_title(view.plan, case.name), wording.margin(case.margin)
        rows.append((title, ", ".join(parameters) or "none", margin, f"{case.timeout_seconds} s"))
    return Table("cases", rows)


def machine(view: View) -> Table:
    """The facts of the node that bear on timings; a fact that changed between blocks says so."""
    systems = ", ".join(view.origin.systems) or "not recorded"
    return Table("machine", [("System", systems), *node_facts(view.dataset.nodes).items()])


def node_facts(nodes: pd.DataFrame) -> dict[str, str]:
    """What nodes said of themselves before each block, by how it is called."""
    before, told = nodes[nodes["phase"] == "before"], {}
    for fact, label in WORDS["dashboard"]["facts"].items():
        seen = set()
        for value in filter(None, before.loc[before["fact"] == fact, "value"]):
            # Sizes are told in a unit for people, and lists can break after a comma.
            size = re.fullmatch(r"([0-9]+) (B|kB)", value)
            of_bytes = size and wording.size(int(size[1]) * (1024 if size[2] == "kB" else 1))
            seen.add(of_bytes or re.sub(r",(?! )", ", ", value))
        shown = sorted(seen) or ["not recorded"]
        told[label] = "varied: " * (len(shown) > 1) + ", ".join(shown[:4])
    return told


def environment(view: View) -> Table:
    """When it was measured, with which state of this program, and the runtimes' own versions."""
    facts = view.origin.facts
    rows = [("measured", wording.period(facts.began, facts.ended)),
            ("blocks", f"{facts.blocks}, in {facts.sessions} sessions of the runner")]  # fmt: skip
    for program in facts.programs:
        changed = ", with changes that were not committed" if program.changed else ""
        rows += [("commit", (program.commit or "outside of a clone") + changed),
                 ("sources, SHA-256", program.package_sha256),
                 ("lock file, SHA-256", program.lock_sha256 or "none"),
                 ("Python", program.python)]  # fmt: skip
    for arm in view.arms:
        # What a runtime said of itself in all sessions; it says nothing where it is absent.
        versions = ", ".join(filter(None, facts.runtimes.get(arm, ())))
        rows.append((arm_title(view.plan, arm), versions or "not here"))
    return Table("environment", rows)


def images(view: View) -> Table:
    """The digest chain from the base to each format; digests cut to sixteen digits."""
    rows = []
    for row in rows_of(view.dataset.images):
        digest, parent = (text.removeprefix("sha256:")[:16] or "–"
                          for text in (row.digest, row.parent_digest))  # fmt: skip
        size, seconds = ("–" if pd.isna(value) else wording.number(value, 1)
                         for value in (row.bytes / 2**20, row.seconds))  # fmt: skip
        rows.append((row.format, digest, row.parent, parent, size, seconds, row.reason or row.tool))
    return Table("images", rows)
