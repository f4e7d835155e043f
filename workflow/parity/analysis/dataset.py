"""One dataset: a campaign's plan and records as data frames, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from parity.analysis.outcomes import NOT_TESTED
from parity.core.errors import UserError
from parity.plan.plan import PLAN, Plan, plan_digest, read_plan
from parity.records import schema
from parity.records.dataset import CHECKSUMS, broken_files


@dataclass(frozen=True)
class Dataset:
    """What one campaign planned and left.

    Attributes:
        name: its source and name, such as `live/torrez2019-machine`.
        plan: what it was to measure.
        plan_sha256: digest of plan.json as it is, by which it was registered.
        runs, metrics, nodes, images: the tables of that name in records/schema.py.
    """

    name: str
    plan: Plan
    plan_sha256: str
    runs: pd.DataFrame
    metrics: pd.DataFrame
    nodes: pd.DataFrame
    images: pd.DataFrame

    @cached_property
    def planned(self) -> pd.DataFrame:
        """One row per planned run: block, run, case, arm."""
        rows = [
            {"block": block["block"], **{key: run[key] for key in ("run", "case", "arm")}}
            for block in self.plan.blocks
            for run in block["runs"]
        ]
        return pd.DataFrame(rows, columns=["block", "run", "case", "arm"])

    @cached_property
    def _arms_by_case(self) -> dict[str, set[str]]:
        return {case: set(runs["arm"]) for case, runs in self.planned.groupby("case")}

    def arms_of(self, case: str) -> list[str]:
        """The arms that the plan runs a case in, in its order."""
        held = self._arms_by_case.get(case, set())
        return [arm for arm in self.plan.arms if arm in held]

    @cached_property
    def benchmark_of(self) -> dict[str, str]:
        """The benchmark of each case."""
        return {case["case"]: case["benchmark"] for case in self.plan.cases}

    @property
    def double(self) -> str:
        """The reference's double: the other arm of the A/A pair."""
        return next(arm for arm in self.plan.aa_pair if arm != self.plan.reference)

    @cached_property
    def final_runs(self) -> pd.DataFrame:
        """The attempt of each run that counts; `not-tested` carries its detail in the reason."""
        final = self.runs[self.runs["final"]].copy()
        absent = final["reason"] == NOT_TESTED
        final.loc[absent, "reason"] = f"{NOT_TESTED}: " + final.loc[absent, "detail"]
        return final

    def not_tested(self, case: str) -> dict[str, str]:
        """Arms that the study declares as not tested in this case, with the reason."""
        return {
            entry["arm"]: entry["reason"]
            for entry in self.plan.not_tested
            if "arm" in entry
            and entry.get("benchmark", self.benchmark_of[case]) == self.benchmark_of[case]
        }


def load(folder: Path) -> Dataset:
    """Read the dataset in `folder` (results/<source>/<campaign>).

    Raises:
        UserError: a file is missing, is of another schema version, or the records
            hold runs that the plan does not know.
    """
    try:
        plan, digest = read_plan(folder / PLAN), plan_digest(folder / PLAN)
        tables = {
            table.name: schema.read(table, folder / "records" / f"{table.name}.parquet").to_pandas()
            for table in (schema.RUNS, schema.METRICS, schema.NODES, schema.IMAGES)
        }
    except (OSError, ValueError) as error:
        raise UserError(
            f"the dataset cannot be read: {error}",
            where=str(folder),
            action="collect it again, or check the archive",
        ) from error
    dataset = Dataset(name="/".join(folder.parts[-2:]), plan=plan, plan_sha256=digest, **tables)
    _refuse_unplanned(dataset, folder)
    return dataset


def refuse_broken(archive: Path) -> None:
    """Check an archived dataset against its checksums.

    Raises:
        UserError: a file is missing or was changed; with the names of all such files.
    """
    try:
        broken = broken_files(archive)
    except OSError as error:
        raise UserError(f"the archive has no checksums: {error}", where=str(archive)) from error
    if broken:
        raise UserError(
            f"the archive was changed: {', '.join(broken)}",
            where=str(archive),
            allowed=f"files with the checksums in {CHECKSUMS}",
            action="restore these files, for instance with git checkout",
        )


def _refuse_unplanned(dataset: Dataset, folder: Path) -> None:
    key = ["block", "run"]
    known = set(dataset.planned[key].itertuples(index=False, name=None))
    found = set(dataset.runs[key].itertuples(index=False, name=None))
    if unknown := sorted(found - known):
        raise UserError(
            f"{len(unknown)} runs are in the records and not in the plan, first {unknown[0]}",
            where=str(folder),
            action="records and plan.json must come from the same campaign",
        )
