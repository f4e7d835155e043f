"""One dataset with its analysis, and the few questions that figures and tables ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from parity.analysis import analysis, dataset, outcomes
from parity.analysis.analysis import Analysed
from parity.report import origin
from parity.report.figures.figure_spec import FigureSpec, Form
from parity.report.origin import Origin


@dataclass(frozen=True)
class View(Analysed):
    """What is presented: a dataset with its analysis and its origin."""

    origin: Origin

    @property
    def plan(self) -> Mapping[str, Any]:
        """The campaign's plan."""
        return self.dataset.plan

    @property
    def blocks(self) -> int:
        """Number of planned blocks."""
        return len(self.plan.blocks)

    @cached_property
    def blocks_of(self) -> dict[str, int]:
        """Number of planned blocks by case: those of its number of nodes."""
        held = (case for block in self.plan.blocks for case in {r["case"] for r in block["runs"]})
        return Counter(held)

    @property
    def repetitions(self) -> int:
        """In how many blocks the rarest case is planned."""
        return min(self.blocks_of.values(), default=0)

    def cases(self, benchmark: str) -> list[str]:
        """The benchmark's cases, in the order of the plan."""
        return [c["case"] for c in self.plan.cases if c["benchmark"] == benchmark]

    def shown(self, spec: FigureSpec) -> list[str]:
        """The cases that belong into a figure, in the order of the plan."""
        if spec.runtime and spec.runtime not in self.plan.arm_runtimes.values():
            return []
        if spec.factor and not len(self.crossed(spec)):
            return []
        return [case["case"] for case in self.plan.cases if spec.shows(case)]

    def form(self, spec: FigureSpec) -> Form:
        """The form that a figure takes: against nodes only where there are several counts."""
        counts = {
            case["parameters"].get("nodes", 1) for case in self.plan.cases if spec.shows(case)
        }
        return Form.PANELS if spec.form is Form.NODES and len(counts) == 1 else spec.form

    @property
    def arms(self) -> list[str]:
        """The arms that the plan holds, in its order."""
        return list(self.plan.arms)

    def arms_of(self, cases: Iterable[str]) -> list[str]:
        """The arms that the plan runs any of these cases in, in its order."""
        held = {arm for case in cases for arm in self.dataset.arms_of(case)}
        return [arm for arm in self.arms if arm in held]

    def crossed(self, spec: FigureSpec) -> pd.DataFrame:
        """The effects of a figure's factor and of the arms that it is crossed with."""
        found = self.analysis.factorial
        metric = spec.quantities[0].metric
        of_spec = (found["benchmark"] == spec.benchmark) & (found["factor"] == spec.factor)
        return found[of_spec & (found["metric"] == metric)].assign(kind="ratio")

    def steps(self, case: str, metric: str) -> dict[str, Any]:
        """The steps of a ladder by arm, as named tuples."""
        found = self.analysis.steps
        found = found[(found["case"] == case) & (found["metric"] == metric)].assign(kind="ratio")
        return {row.arm: row for row in found.itertuples(index=False)}

    def declared(self, cases: Iterable[str]) -> list[str]:
        """Arms that the study declares as not tested in any of the cases, and does not plan."""
        arms = [arm for case in cases for arm in self.dataset.not_tested(case)]
        return [arm for arm in dict.fromkeys(arms) if arm not in self.arms]

    def values(self, case: str, metric: str) -> dict[str, list[float]]:
        """The values that count, by arm, in the order of blocks; arms without any are left out."""
        found = self.analysis.values
        found = found[(found["case"] == case) & (found["metric"] == metric)]
        return {arm: list(group["value"]) for arm, group in found.groupby("arm", sort=True)}

    def median(self, case: str, metric: str, arm: str) -> float | None:
        """Median of the values that count; None without any."""
        values = self.values(case, metric).get(arm)
        return float(pd.Series(values).median()) if values else None

    def comparisons(self, case: str, metric: str) -> dict[str, Any]:
        """The comparisons of a case and metric by arm, as named tuples."""
        found = self.analysis.comparisons
        found = found[(found["case"] == case) & (found["metric"] == metric)]
        return {row.arm: row for row in found.itertuples(index=False)}

    def planned(self) -> list[tuple[str, str]]:
        """Case and metric of all planned comparisons, in the order of the plan."""
        pairs = ((c["case"], c["metric"]) for c in self.plan.comparisons)
        return list(dict.fromkeys(pairs))

    def absence(self, case: str, arm: str) -> str:
        """Why an arm has no value in a case, for a row of text in its place."""
        declared = self.dataset.not_tested(case)
        if arm not in self.dataset.arms_of(case) and arm not in declared:
            return "not planned"
        found = self.analysis.losses
        found = found[(found["case"] == case) & (found["arm"] == arm)]
        if not len(found):
            return "no value"
        reason = str(found.sort_values("runs", ascending=False, kind="stable")["reason"].iloc[0])
        if reason.startswith(outcomes.NOT_TESTED):
            return reason.replace(outcomes.NOT_TESTED, "not tested", 1)
        return f"no valid run: {reason}"


def load(folder: Path) -> View:
    """The view of a dataset that is analysed already."""
    return View(dataset.load(folder), analysis.read(folder / "analysis"), origin.load(folder))
