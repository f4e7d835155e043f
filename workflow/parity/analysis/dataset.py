"""One dataset: a campaign's plan and records as data frames, checked against each other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from parity.analysis.outcomes import NOT_TESTED
from parity.core.errors import UserError
from parity.plan.plan import PLAN, Plan, plan_digest, read_plan
from parity.plan.system_kind import SystemKind, kind_of
from parity.records import schema
from parity.records.dataset import CHECKSUMS, block_records, broken_files
from parity.records.sizes import recorded_sizes

ARCHIVE = "archive"  # results/archive/ holds the datasets that have checksums


@dataclass(frozen=True)
class Dataset:
    """What one campaign planned and left.

    Attributes:
        name: its source and name, such as `live/torrez2019-machine`.
        plan: what it was to measure.
        plan_sha256: digest of plan.json as it is, by which it was registered.
        kind: what the systems are that measured it.
        runs, metrics, nodes, images: the tables of that name in records/schema.py.
    """

    name: str
    plan: Plan
    plan_sha256: str
    kind: SystemKind
    runs: pd.DataFrame
    metrics: pd.DataFrame
    nodes: pd.DataFrame
    images: pd.DataFrame

    @cached_property
    def planned(self) -> pd.DataFrame:
        """One row per planned run: block, run, case, arm."""
        rows = [
            (block.name, run.name, run.case, run.arm)
            for block in self.plan.blocks
            for run in block.runs
        ]
        return pd.DataFrame(rows, columns=["block", "run", "case", "arm"])

    @cached_property
    def _planned_pairs(self) -> set[tuple[str, str]]:
        return {(run.case, run.arm) for block in self.plan.blocks for run in block.runs}

    def arms_of(self, case: str) -> list[str]:
        """The arms that the plan runs a case in, in its order."""
        return [arm for arm in self.plan.arms if (case, arm) in self._planned_pairs]

    @cached_property
    def final_runs(self) -> pd.DataFrame:
        """The attempt of each run that counts; `not-tested` carries its detail in the reason."""
        final = self.runs[self.runs["final"]].copy()
        absent = final["reason"] == NOT_TESTED
        final.loc[absent, "reason"] = f"{NOT_TESTED}: " + final.loc[absent, "detail"]
        return final

    @cached_property
    def sizes(self) -> dict[str, str]:
        """How large the work of each case was, where the node decided that; else empty."""
        return recorded_sizes(self.runs)

    def shortage(self, case: str, arms: Collection[str]) -> str:
        """The commonest reason why a run of these arms does not count; empty if all do."""
        runs = self.final_runs
        lost = runs[(runs["case"] == case) & runs["arm"].isin(arms) & (runs["reason"] != "")]
        return str(sorted(lost["reason"].mode())[0]) if len(lost) else ""

    def not_tested(self, case: str) -> dict[str, str]:
        """Arms that the study declares as not tested in this case, with the reason."""
        benchmark = self.plan.case(case).benchmark
        return {
            entry.arm: entry.reason
            for entry in self.plan.not_tested
            if entry.arm and entry.benchmark in ("", benchmark)
        }


def load(folder: Path) -> Dataset:
    """Read the dataset in `folder` (results/<source>/<campaign>); an archived one is checked first.

    Raises:
        UserError: a file is missing, was changed, is of another schema version, or the
            records hold runs that the plan does not know.
    """
    refuse_broken(folder)
    try:
        plan, digest = read_plan(folder / PLAN), plan_digest(folder / PLAN)
        runs, metrics, nodes, images = (
            schema.read(table, folder / "records" / f"{table.name}.parquet").to_pandas()
            for table in (schema.RUNS, schema.METRICS, schema.NODES, schema.IMAGES)
        )
        sessions = [session for block in block_records(folder) for session in block.sessions]
    except (OSError, ValueError) as error:
        raise UserError(
            f"the dataset cannot be read: {error}",
            where=str(folder),
            action="collect it again, or check the archive",
        ) from error
    kind = kind_of(session.start.scale_label for session in sessions)
    name = "/".join(folder.parts[-2:])
    dataset = Dataset(name, plan, digest, kind, runs, metrics, nodes, images)
    _refuse_unplanned(dataset, folder)
    return dataset


def refuse_broken(folder: Path) -> None:
    """Check a dataset against its checksums if it is an archived one; others have none.

    Raises:
        UserError: a file is missing or was changed; with the names of all such files.
    """
    if folder.parent.name != ARCHIVE:
        return
    try:
        broken = broken_files(folder)
    except OSError as error:
        raise UserError(f"the archive has no checksums: {error}", where=str(folder)) from error
    if broken:
        raise UserError(
            f"the archive was changed: {', '.join(broken)}",
            where=str(folder),
            allowed=f"files with the checksums in {CHECKSUMS}",
            action="restore these files, for instance with git checkout",
        )


def _refuse_unplanned(dataset: Dataset, folder: Path) -> None:
    key = ["block", "run"]
    planned = set(dataset.planned[key].itertuples(index=False, name=None))
    recorded = set(dataset.runs[key].itertuples(index=False, name=None))
    if unknown := sorted(recorded - planned):
        raise UserError(
            f"{len(unknown)} runs are in the records and not in the plan, first {unknown[0]}",
            where=str(folder),
            action="records and plan.json must come from the same campaign",
        )
