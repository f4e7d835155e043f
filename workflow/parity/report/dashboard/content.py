"""Everything that the page holds, as one document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from parity.core.documents import Document
from parity.plan.system_kind import kind_of
from parity.report.dashboard import runs
from parity.report.dashboard.runs import BlockNodes, NodeFacts, Run
from parity.report.figures.specs import quantity
from parity.report.text import formatting
from parity.report.view import View
from parity.report.wording import DASHBOARD


class Head(Document, frozen=True):
    """What the page's head says of the dataset."""

    name: str
    title: str
    reproduces: str
    systems: tuple[str, ...]
    measured: str
    blocks: int
    runs: int
    commits: list[str]
    reference: str
    double: str
    scale_note: str


class Case(Document, frozen=True):
    """How a case is called, and of which benchmark it is."""

    title: str
    benchmark: str


class Quantity(Document, frozen=True):
    """How a metric is called and shown.

    Attributes:
        factor: turns a value in the `recorded` unit into one in `unit`.
        better: lower, higher or neither.
    """

    label: str
    unit: str
    factor: float
    recorded: str
    better: str


class Content(Document, frozen=True):
    """What the page holds.

    Attributes:
        studies: title, authors, venue and year of each study, by its id.
        verdicts, evidence: rows of the tables of these names in parity.claims.tables.
        quantities: by `<benchmark>/<metric>`.
        natives: by `<case>/<metric>`, the reference and what else stands for it: a ratio to the
            reference is one to their geometric mean within the block.
        fields: what the columns of `runs` are; those of them that are numbers of `texts`.
    """

    dataset: Head
    studies: Mapping[str, Mapping[str, Any]]
    verdicts: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    wording: Mapping[str, Mapping[str, Any]]
    arms: dict[str, str]
    cases: dict[str, Case]
    quantities: dict[str, Quantity]
    natives: dict[str, tuple[str, ...]]
    blocks: list[BlockNodes]
    nodes: dict[str, NodeFacts]
    images: list[dict[str, str]]
    fields: dict[str, tuple[str, ...]]
    runs: list[Run]
    texts: list[str]


def content(
    view: View,
    verdicts: pd.DataFrame,
    evidence: pd.DataFrame,
    studies: Mapping[str, Mapping[str, Any]],
) -> Content:
    """The page's content, of a dataset with its verdicts and what they rest on."""
    rows, texts = runs.runs(view.dataset, view.analysis)
    return Content(
        dataset=_head(view),
        studies=studies,
        verdicts=runs.records(verdicts.sort_values("position")),
        evidence=runs.records(evidence),
        wording=DASHBOARD,
        arms={arm: formatting.arm_title(view.plan, arm) for arm in view.arms},
        cases={
            case.name: Case(
                title=formatting.case_title(view.plan, case.name), benchmark=case.benchmark
            )
            for case in view.plan.cases
        },
        quantities=_quantities(view),
        natives={f"{case}/{metric}": arms for (case, metric), arms in view.natives.items()},
        blocks=runs.blocks(view.dataset),
        nodes=runs.nodes(view.dataset),
        images=runs.images(view.dataset),
        fields={"texts": runs.TEXTS, "all": runs.FIELDS},
        runs=rows,
        texts=texts,
    )


def _head(view: View) -> Head:
    facts = view.origin.facts
    return Head(
        name=view.dataset.name,
        title=view.plan.title,
        reproduces=view.plan.reproduces,
        systems=view.origin.systems,
        measured=formatting.period(facts.began, facts.ended),
        blocks=view.blocks,
        runs=len(view.dataset.planned),
        commits=[program.commit for program in facts.programs],
        reference=view.plan.reference,
        double=view.plan.double,
        scale_note=kind_of(view.origin.scale_labels).threat,
    )


def _quantities(view: View) -> dict[str, Quantity]:
    columns = ["benchmark", "metric", "unit", "better"]
    measured = view.dataset.metrics[columns].drop_duplicates()
    quantities = {}
    for benchmark, metric, unit, better in measured.itertuples(index=False, name=None):
        known = quantity(benchmark, metric, unit)
        quantities[f"{benchmark}/{metric}"] = Quantity(
            label=known.label, unit=known.unit, factor=known.factor, recorded=unit, better=better
        )
    return quantities
