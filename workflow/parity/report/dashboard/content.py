"""Everything that the page holds, as one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from parity.claims.terms import NOT_TESTED
from parity.claims.verdicts import Judgement
from parity.core import wording
from parity.core.documents import Document
from parity.plan.system_kind import kind_of
from parity.report.dashboard import runs
from parity.report.dashboard.comparisons import comparisons
from parity.report.dashboard.runs import BlockNodes, NodeFacts, Run
from parity.report.figures.specs import quantity
from parity.report.templating import WORDS
from parity.report.text import formatting
from parity.report.view import View


class Case(Document, frozen=True):
    """How a case is called, and of which benchmark it is; `levels` may be empty."""

    title: str
    benchmark: str
    benchmark_title: str
    levels: str


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


class Archive(Document, frozen=True):
    """What the page holds of one dataset.

    Attributes:
        reference: the arm that all others are compared with.
        note: what its kind of system means for what is said of it.
        quantities: by `<benchmark>/<metric>`.
        natives: by `<case>/<metric>`, the reference and what else stands for it: a ratio to the
            reference is one to their geometric mean within the block.
    """

    name: str
    title: str
    systems: tuple[str, ...]
    measured: str
    commits: list[str]
    reference: str
    note: str
    arms: dict[str, str]
    cases: dict[str, Case]
    quantities: dict[str, Quantity]
    natives: dict[str, tuple[str, ...]]
    comparisons: list[dict[str, Any]]
    blocks: list[BlockNodes]
    nodes: dict[str, NodeFacts]
    images: list[dict[str, str]]
    runs: list[Run]


class Content(Document, frozen=True):
    """What the page holds.

    Attributes:
        studies: title, authors, venue and year of each study, by its id.
        verdicts, evidence: rows of the tables of these names in parity.claims.verdicts, of the
            system that leads and of others that test a claim.
        fields: what the columns of `runs` are; those of them that are numbers of `texts`.
    """

    studies: Mapping[str, Mapping[str, Any]]
    verdicts: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    wording: Mapping[str, Mapping[str, Any]]
    archives: list[Archive]
    fields: dict[str, tuple[str, ...]]
    texts: list[str]


def content(
    views: Iterable[View],
    judgements: Sequence[Judgement],
    studies: Mapping[str, Mapping[str, Any]],
) -> Content:
    """The page's content: datasets, and the verdicts on claims with what they rest on."""
    texts: runs.Texts = {}
    judged = on_all_systems(judgements)
    return Content(
        studies=studies,
        verdicts=runs.records(judged.verdicts),
        evidence=runs.records(judged.evidence),
        wording=WORDS["dashboard"],
        archives=[_archive(view, texts) for view in views],
        fields={"texts": runs.TEXTS, "all": runs.FIELDS},
        texts=list(texts),
    )


def on_all_systems(judgements: Sequence[Judgement]) -> Judgement:
    """All claims as they are on the first system, and as they are on others that test them.

    Args:
        judgements: one for each system.

    Returns:
        Their tables, claim by claim; evidence has the column `judged` of the verdicts as well.
    """
    verdicts, evidence = [], []
    for place, judgement in enumerate(judgements):
        rows = judgement.verdicts
        kept = rows if place == 0 else rows[rows["verdict"] != NOT_TESTED]
        found = judgement.evidence[judgement.evidence["claim"].isin(kept["claim"])]
        verdicts.append(kept)
        evidence.append(found.assign(judged=next(iter(kept["judged"]), "")))
    joined = pd.concat(verdicts).sort_values("position", kind="stable")
    return Judgement(joined, pd.concat(evidence))


def _archive(view: View, texts: runs.Texts) -> Archive:
    facts = view.origin.facts
    return Archive(
        name=view.dataset.name,
        title=view.plan.title,
        systems=view.origin.systems,
        measured=wording.period(facts.began, facts.ended),
        commits=[program.commit for program in facts.programs],
        reference=view.plan.reference,
        note=kind_of(view.origin.scale_labels).threat,
        arms={arm: formatting.arm_title(view.plan, arm) for arm in view.arms},
        cases={
            case.name: Case(
                title=formatting.case_title(view.plan, case.name),
                benchmark=case.benchmark,
                benchmark_title=formatting.benchmark_title(view.plan, case.benchmark),
                levels=formatting.case_levels(view.plan, case.name),
            )
            for case in view.plan.cases
        },
        quantities=_quantities(view),
        natives={f"{case}/{metric}": arms for (case, metric), arms in view.natives.items()},
        comparisons=comparisons(view),
        blocks=runs.blocks(view.dataset),
        nodes=runs.nodes(view.dataset),
        images=runs.images(view.dataset),
        runs=runs.runs(view.dataset, view.analysis, texts),
    )


def _quantities(view: View) -> dict[str, Quantity]:
    columns = ["benchmark", "metric", "unit", "better"]
    measured = view.dataset.metrics[columns].drop_duplicates()
    quantities = {}
    for benchmark, metric, unit, better in measured.itertuples(index=False, name=None):
        known = quantity(benchmark, metric, unit, view.plan.definitions)
        quantities[f"{benchmark}/{metric}"] = Quantity(
            label=known.label, unit=known.unit, factor=known.factor, recorded=unit, better=better
        )
    return quantities
