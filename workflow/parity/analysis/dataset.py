"""One dataset: a campaign's plan and records as data frames, checked against each other."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parity.analysis import tables
from parity.analysis.outcomes import NOT_TESTED
from parity.analysis.sequential import ONE_LOOK, Levels, levels_at
from parity.benchmarks.model import counted
from parity.core.errors import UserError
from parity.core.settings import load_checked
from parity.plan.looks import PAUSE, is_stopped
from parity.plan.plan import PLAN, Plan, plan_digest, read_plan
from parity.plan.system import SystemKind, kind_of
from parity.records import schema
from parity.records.dataset import CHECKSUMS, broken_files, scale_labels
from parity.records.timed import recorded_sizes

SAME, NOT_RECORDED = "same", "not recorded"
CONFOUNDED = BINARY_DIFFERS, LIBRARIES_DIFFER = "binary differs", "libraries differ"
Digests = tuple[str, str]  # SHA-256 of the binary and its libraries; empty where a run says none
ARCHIVE = "archive"  # results/archive/ holds the datasets that have checksums
DETAILED = (NOT_TESTED, "exit-status", "runtime-broken")  # reasons that say little without detail


def identity(both: Sequence[tuple[Digests, Digests]]) -> str:
    """The worst that any block of a comparison says about its two binaries.

    Environments differ more easily than runtimes do, and an apparently unrelated library can shift
    a timing (Mytkowicz et al., ASPLOS 2009); so one differing block marks the whole comparison as
    confounded. `both`: the digests of the two sides, block by block.
    """
    for part, finding in enumerate(CONFOUNDED):
        if any(arm[part] and base[part] and arm[part] != base[part] for arm, base in both):
            return finding
    known = both and all(all(arm) and all(base) for arm, base in both)
    return SAME if known else NOT_RECORDED


def worst(findings: Iterable[str]) -> str:
    """The worst of several such words; at least one is given."""
    there = set(findings)
    return next(word for word in (*CONFOUNDED, NOT_RECORDED, SAME) if word in there)


class Place(NamedTuple):
    """Where and when a block ran, as far as blocks can share it."""

    started: str  # its first start, UTC, ISO 8601; empty if nothing in it was started
    nodes: str  # the ids of the boots of its nodes, and a node's name where it tells none
    session: int  # number of the stretch of work without a long pause


@dataclass(frozen=True)
class Dataset:
    """What one campaign planned and left.

    `runs`, `metrics`, `nodes`, `images`: the tables of that name in records/schema.py; of the first
    two the columns that `load` was asked for.
    """

    name: str  # its source and name, such as `live/torrez2019-machine`
    plan: Plan  # what it was to measure
    plan_sha256: str  # digest of plan.json as it is, by which it was registered
    kind: SystemKind  # what the systems are that measured it
    runs: pd.DataFrame
    metrics: pd.DataFrame
    nodes: pd.DataFrame
    images: pd.DataFrame
    _identities: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def planned(self) -> pd.DataFrame:
        """One row per planned run: block, run, case, arm."""
        rows = [(b.name, run.name, run.case, run.arm) for b in self.plan.blocks for run in b.runs]
        return pd.DataFrame(rows, columns=["block", "run", "case", "arm"], dtype=object)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each planned block."""
        return {block.name: block.number for block in self.plan.blocks}

    @cached_property
    def planned_in(self) -> dict[tuple[str, str], set[str]]:
        """The blocks in which the plan runs a case in an arm."""
        return _blocks(self.planned, "case", "arm")

    @cached_property
    def margins(self) -> dict[tuple[str, str], float | None]:
        """The margin of each case and metric that the plan compares; None for differences."""
        return {(c.case, c.metric): c.margin for c in self.plan.comparisons}

    @cached_property
    def stopped(self) -> dict[tuple[str, str], set[str]]:
        """The blocks in which a case was not measured any more in an arm."""
        reasons = filter(is_stopped, self.runs["reason"].unique())
        return _blocks(self.runs[self.runs["reason"].isin(list(reasons))], "case", "arm")

    def levels(self, case: str, arm: str) -> Levels:
        """At which levels an arm is decided in a case: those of the last look at its blocks."""
        if not self.plan.looks:
            return ONE_LOOK
        seen = self.planned_in.get((case, arm), set()) & self.gathered
        return levels_at(self.plan.looks, len(seen - self.stopped.get((case, arm), set())))

    @cached_property
    def gathered(self) -> set[str]:
        """The blocks of which there are records."""
        return set(self.runs["block"])

    def arms_of(self, case: str) -> list[str]:
        """The arms that the plan runs a case in, in its order."""
        return [arm for arm in self.plan.arms if (case, arm) in self.planned_in]

    @cached_property
    def final_runs(self) -> pd.DataFrame:
        """The attempt of each run that counts; reasons in `DETAILED` carry their last line."""
        final = self.runs[self.runs["final"]].copy()
        told = final["reason"].isin(DETAILED) & (final["detail"] != "")
        final.loc[told, "reason"] += ": " + final.loc[told, "detail"].str.split("\n").str[-1]
        return final

    @cached_property
    def moved(self) -> pd.DataFrame:
        """What each run that counts moved: case, arm, block, what and value (`Counted.moved`)."""
        runs = self.final_runs[self.final_runs["stage"] == "valid"]
        columns = ("case", "arm", "block", "evidence", "parameters")
        rows = [
            (*run, what, value)
            for of in counted()
            if of.moved
            for *run, evidence, parameters in tables.tuples(
                runs[runs["evidence"].str.contains(of.mark, regex=False)], *columns
            )
            for what, value in of.moved(json.loads(evidence), json.loads(parameters)).items()
        ]
        return pd.DataFrame(rows, columns=[*columns[:3], "what", "value"])

    @cached_property
    def _digests(self) -> dict[Any, dict[str, Digests]]:
        """What each run that counts says of its binary, by case and arm, and by block."""
        columns = ("block", "binary_sha256", "closure_sha256")
        grouped = self.final_runs.groupby(["case", "arm"])
        return {k: {r[0]: r[1:] for r in tables.tuples(rows, *columns)} for k, rows in grouped}

    def identity(self, cases: Iterable[str], arms: tuple[str, str], blocks: Iterable[str]) -> str:
        """The worst that blocks say about the binaries of two arms in cases; it is remembered."""
        asked = (arms, tuple(cases), tuple(blocks))
        if asked not in self._identities:
            _, cases, blocks = asked
            sides = [[self._digests.get((case, arm), {}) for arm in arms] for case in cases]
            said = {(arm[block], base[block]) for arm, base in sides for block in blocks}
            self._identities[asked] = identity(list(said))
        return self._identities[asked]

    @cached_property
    def sizes(self) -> dict[str, str]:
        """How large the work of each case was, where the node decided that; else empty."""
        return recorded_sizes(self.runs)

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where and when each block of the plan ran; nodes that one kernel runs are one place."""
        nodes: dict[str, dict[str, str]] = {block.name: {} for block in self.plan.blocks}
        boots = self.nodes["value"].where(self.nodes["fact"] == "boot_id")
        last = boots.groupby([self.nodes["block"], self.nodes["node"]]).last().fillna("")
        for (block, node), boot in zip(last.index.tolist(), last, strict=True):
            nodes.setdefault(block, {})[node] = boot
        begun = self.runs[self.runs["started"] != ""]
        first, sessions = begun.groupby("block")["started"].min().to_dict(), _sessions(begun)
        kernels = {name: {boot or node for node, boot in of.items()} for name, of in nodes.items()}
        words = {name: " ".join(sorted(of_block)) for name, of_block in kernels.items()}
        return {b: Place(first.get(b, ""), there, sessions.get(b, 0)) for b, there in words.items()}

    @cached_property
    def begun(self) -> dict[str, set[str]]:
        """The blocks in which a run of a case was started, by case."""
        return _blocks(self.runs[self.runs["attempt"] > 0], "case")

    @cached_property
    def too_slow(self) -> dict[tuple[str, str], set[str]]:
        """The blocks in which an attempt of a case in an arm came to its time limit."""
        return _blocks(self.runs[self.runs["reason"] == "timeout"], "case", "arm")

    def shortage(self, case: str, arms: Collection[str]) -> str:
        """The commonest reason why a run of these arms does not count; empty if all do."""
        lost = Counter(why for arm in arms for why in self.reasons.get((case, arm), ()) if why)
        return min(lost, key=lambda why: (-lost[why], why), default="")

    @cached_property
    def first_run(self) -> str:
        """When the first run was started; empty if none was."""
        return min((started for started in self.runs["started"] if started), default="")

    @cached_property
    def reasons(self) -> dict[tuple[str, str], list[str]]:
        """Of each run of a case in an arm, why it does not count; empty texts for those that do."""
        grouped = self.final_runs.groupby(["case", "arm"])["reason"]
        return {(str(case), str(arm)): reasons.tolist() for (case, arm), reasons in grouped}

    def not_tested(self, case: str) -> dict[str, str]:
        """Arms that the study declares as not tested in this case, with the reason."""
        told = ("", self.plan.case(case).benchmark)
        declared = (each for each in self.plan.not_tested if each.arm and each.benchmark in told)
        return {each.arm: each.reason for each in declared}


def _blocks(rows: pd.DataFrame, *columns: str) -> dict[Any, set[str]]:
    grouped = rows.groupby(list(columns) if len(columns) > 1 else columns[0])
    return {key: set(blocks.unique()) for key, blocks in grouped["block"]}


def _sessions(begun: pd.DataFrame) -> dict[str, int]:
    """The number of each block's session; `begun` are the attempts that were started."""
    started = pd.to_datetime(begun["started"], format="ISO8601", utc=True)
    ended = started + pd.to_timedelta(begun["wall_seconds"].fillna(0), unit="s")
    times = pd.DataFrame({"block": begun["block"], "from": started, "to": ended})
    spans = times.groupby("block").agg({"from": "min", "to": "max"}).sort_values("from")
    pause = spans["from"] - spans["to"].cummax().shift()
    return {str(block): int(number) for block, number in (pause > PAUSE).cumsum().items()}


def load(folder: Path, whole: bool = True) -> Dataset:
    """Read the dataset in `folder` (results/<source>/<campaign>); an archived one is checked first.

    `whole`: whether with all columns of runs and metrics; without, those of the analysis. Raises
    UserError: a file is missing, was changed, is of another schema version, or the records hold
    runs that the plan does not know.
    """
    refuse_broken(folder)
    asked = () if whole else (schema.RUNS, schema.METRICS)
    records, wanted = folder / "records", (schema.RUNS, schema.METRICS, schema.NODES, schema.IMAGES)
    try:
        digest, plan = plan_digest(folder / PLAN), read_plan(folder / PLAN)
        runs, metrics, nodes, images = (tables.of_records(t, records, t in asked) for t in wanted)
        labels = scale_labels(folder)
    except (OSError, ValueError) as error:
        problem = f"the dataset cannot be read: {error}"
        action = "collect it again, or check the archive"
        raise UserError(problem, where=str(folder), action=action) from error
    name, metrics = "/".join(folder.parts[-2:]), shown_in_time(plan, runs, metrics)
    dataset = Dataset(name, plan, digest, kind_of(labels), runs, metrics, nodes, images)
    recorded = runs[["block", "run"]].drop_duplicates()
    found = recorded.merge(dataset.planned, "left", ["block", "run"], indicator="in")
    if unknown := sorted(tables.tuples(found[found["in"] == "left_only"], "block", "run")):
        problem = f"{len(unknown)} runs are in the records and not in the plan, first {unknown[0]}"
        action = "records and plan.json must come from the same campaign"
        raise UserError(problem, where=str(folder), action=action)
    return dataset


def shown_in_time(plan: Plan, runs: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """The numbers, with rates of the positive control as far as the time of its runs shows them.

    More work does not lower a rate, so the records hold it of the case's work alone. A program
    that prints one number whatever it does would be credited alike. So a rate falls no further
    below the reference's of its block than the run took longer by the runner's clock; and not at
    all where both printed the same digits, or the reference does not count.
    """
    if not plan.positive_control:
        return metrics
    control, more = plan.positive_arm, plan.positive_control.parameters
    columns = ("block", "case", "arm", "wall_seconds")
    seconds = {row[:3]: row[3] for row in tables.tuples(runs[runs["final"]], *columns)}
    rates = metrics[metrics["valid"] & (metrics["better"] == "higher") & metrics["case"].isin(more)]
    of_control, of_reference = (rates[rates["arm"] == arm] for arm in (control, plan.reference))
    told = ["block", "case", "metric", "value"]
    usual = {row[:3]: row[3] for row in tables.tuples(of_reference, *told)}
    values = metrics["value"].copy()
    for place, block, case, metric, credited in of_control[told].itertuples(name=None):
        printed = credited * plan.extra_work(plan.case(case), control)
        expected = usual.get((block, case, metric), math.nan)
        taken = seconds.get((block, case, plan.reference), math.nan)
        shown = expected * taken / seconds[block, case, control]
        is_seen = shown > 0 and not math.isclose(printed, expected)
        values[place] = max(credited, min(printed, shown)) if is_seen else printed
    return metrics.assign(value=values)


def refuse_broken(folder: Path) -> None:
    """Check an archived dataset by its checksums. Raises UserError: files missing or changed."""
    if folder.parent.name != ARCHIVE:
        return
    if not (folder / CHECKSUMS).exists():
        raise UserError("the archive has no checksums", where=str(folder))
    if broken := broken_files(folder):
        problem = f"the archive was changed: {', '.join(broken)}"
        allowed = f"files with the checksums in {CHECKSUMS}"
        action = "restore these files, for instance with git checkout"
        raise UserError(problem, where=str(folder), allowed=allowed, action=action)


def load_exclusions(path: Path) -> list[dict[str, Any]]:
    """Exclusions in a YAML file. Raises UserError: it is missing, no YAML, or not as its schema."""
    made: list[dict[str, Any]] = load_checked(path, "exclusions")["exclusions"]
    return made


def excluded_runs(exclusions: Sequence[dict[str, Any]], dataset: Dataset) -> pd.DataFrame:
    """The exclusions of this dataset, each with whether the plan holds its run.

    Two machines that run the same study give their blocks the same ids, and one file
    holds the exclusions of all datasets; so it is the dataset that an entry must name.
    An entry about a run that the plan does not know is kept and shown as not applied.
    """
    planned = set(tables.tuples(dataset.planned, "block", "run"))
    keys = ("block", "run", "reason", "who", "date")
    own = ({k: each[k] for k in keys} for each in exclusions if each["dataset"] == dataset.name)
    rows = [row | {"applied": (row["block"], row["run"]) in planned} for row in own]
    # What both lengths tell stands with the longer run, which goes where the shorter one does.
    both = product(dataset.plan.shorter, dataset.plan.arms)
    longer = {f"{run.case.name}.{arm}": f"{run.of}.{arm}" for run, arm in both}
    rows += [row | {"run": longer[row["run"]]} for row in rows if row["run"] in longer]
    return tables.frame(tables.EXCLUSIONS, rows)
