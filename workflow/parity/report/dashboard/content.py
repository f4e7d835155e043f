"""Everything that the page holds, as one document: claims, comparisons, and every attempt."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from parity.analysis import outcomes
from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.descriptive import NOT_RUN
from parity.claims.terms import NOT_TESTED
from parity.claims.verdicts import Judgement
from parity.core import wording
from parity.core.documents import Document
from parity.plan.system import kind_of
from parity.report import formatting
from parity.report.figures.specs import quantity
from parity.report.formatting import ended_of
from parity.report.templating import WORDS
from parity.report.view import ComparedRow, View, rows_of

# Columns of a run that are texts, and those that are numbers or none.
TEXTS = (
    "block", "run", "case", "arm", "stage", "reason", "detail", "started", "parameters",
    "evidence", "image_digest", "binary_sha256", "closure_sha256", "environment_sha256",
    "stdout_sha256",
)  # fmt: skip
NUMBERS = (
    "attempt", "position", "session", "exit_code", "wall_seconds", "user_seconds",
    "system_seconds", "steal_fraction", "load_before",
)  # fmt: skip
# What follows in each row: whether it is the last attempt, whether its numbers count, its
# command, its numbers.
FIELDS = (*TEXTS, *NUMBERS, "final", "counts", "command", "metrics")
Number = float | int | None
Texts = dict[str, int]
# A row of `FIELDS`.
Run = list[Number | list[int] | list[Number]]
_ATTEMPT = ["block", "run", "attempt"]


class BlockNodes(Document, frozen=True):
    """A block with the nodes that it ran on."""

    block: str
    number: int
    nodes: list[str]


class NodeFacts(Document, frozen=True):
    """The facts of a node: those that never changed, and the others by block, fact and phase."""

    constant: dict[str, str]
    changing: dict[str, dict[str, dict[str, str]]]


def runs(dataset: Dataset, analysis: Analysis, texts: Texts) -> list[Run]:
    """Every attempt as a row of `FIELDS`, and every planned run that has no record.

    Rows hold numbers of texts in their place, because two thousand command lines repeat the
    same few words: a command is the numbers of its words, and the metrics are the number of
    each name and its value in turn.

    Args:
        texts: the number of each text so far; what is new is added.
    """
    counted = set(analysis.values[["block", "run"]].itertuples(index=False, name=None))
    excluded = {
        (row.block, row.run): f"excluded: {row.reason}"
        for row in rows_of(analysis.exclusions)
        if row.applied
    }
    metrics = _metrics_by_attempt(dataset.metrics, texts)
    rows: list[Run] = []
    for run in records(dataset.runs):
        key = (run["block"], run["run"])
        if run["final"] and key in excluded:
            run["reason"] = excluded[key]
        rows.append(
            [
                *(_number(texts, run[name]) for name in TEXTS),
                *(run[name] for name in NUMBERS),
                run["final"],
                run["final"] and key in counted,
                [_number(texts, word) for word in json.loads(run["command"] or "[]")],
                metrics[(*key, run["attempt"])],
            ]
        )
    rows += _without_record(dataset, texts)
    return rows


def _number(texts: Texts, text: str) -> int:
    """The number of a text, a new one if it has none yet."""
    return texts.setdefault(text, len(texts))


def _without_record(dataset: Dataset, texts: Texts) -> Iterator[Run]:
    """Rows of the planned runs that left nothing: they were not made yet."""
    recorded = set(dataset.runs[["block", "run"]].itertuples(index=False, name=None))
    for run in records(dataset.planned):
        if (run["block"], run["run"]) in recorded:
            continue
        known = run | {"stage": "planned", "reason": NOT_RUN}
        words = [_number(texts, known.get(name, "")) for name in TEXTS]
        numbers = [0 if name == "attempt" else None for name in NUMBERS]
        yield [*words, *numbers, True, False, [], []]


def _metrics_by_attempt(
    metrics: pd.DataFrame, texts: Texts
) -> defaultdict[tuple[str, str, int], list[Number]]:
    """Names and values of the metrics in turn; an attempt without any has none."""
    by_attempt: defaultdict[tuple[str, str, int], list[Number]] = defaultdict(list)
    for row in rows_of(metrics[[*_ATTEMPT, "metric", "value"]]):
        by_attempt[row.block, row.run, row.attempt] += [
            _number(texts, row.metric),
            plain(row.value),
        ]
    return by_attempt


def nodes(dataset: Dataset) -> dict[str, NodeFacts]:
    """The facts of each node, by its name."""
    nodes = {}
    for node, facts in dataset.nodes.groupby("node"):
        values = facts.groupby("fact")["value"].nunique()
        is_changing = facts["fact"].isin(values.index[values > 1])
        changing: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
        for row in rows_of(facts[is_changing]):
            changing[row.block][row.fact][row.phase] = row.value
        constant = facts[~is_changing].drop_duplicates("fact")
        nodes[str(node)] = NodeFacts(
            constant=dict(zip(constant["fact"], constant["value"], strict=True)), changing=changing
        )
    return nodes


def blocks(dataset: Dataset) -> list[BlockNodes]:
    """The blocks in the order of the plan, each with its nodes."""
    nodes = dataset.nodes.groupby("block")["node"].unique()
    return [
        BlockNodes(block=block.name, number=block.number, nodes=sorted(nodes.get(block.name, [])))
        for block in dataset.plan.blocks
    ]


def images(dataset: Dataset) -> list[dict[str, str]]:
    """The digest chain from the base to each format, as recorded."""
    columns = ["format", "digest", "parent", "parent_digest", "tool", "reason"]
    return records(dataset.images[columns])


def plain(value: Any) -> Any:
    """A value as JSON knows it: missing and infinite numbers are null."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows as JSON knows them."""
    return [
        {str(column): plain(value) for column, value in row.items()}
        for row in table.to_dict("records")
    ]


_SAME = (
    "case", "metric", "arm", "planned", "blocks", "estimate", "low95", "high95", "low90",
    "high90", "margin", "smallest_margin", "reason", "identity",
)  # fmt: skip
_ENDS = ("estimate", "low95", "high95")


def comparisons(view: View) -> list[dict[str, Any]]:
    """Every comparison, planned or only reported, with its runtime and its A/A pair.

    A row has the columns of `evidence` in parity.claims.verdicts that are not of claims, and:
    `runtime`, its column in the matrix, which is the arm's own for another native; `planned`;
    `is_control`; `is_asked`, whether it is of no control, of either kind.
    """
    runtimes = view.plan.arm_runtimes
    native = runtimes[view.plan.reference]
    asked = {row.arm for row in view.of_arms(rows_of(view.analysis.comparisons))}
    made = []
    for row in rows_of(view.analysis.comparisons):
        runtime = runtimes.get(row.arm, row.arm)
        made.append(
            {name: plain(getattr(row, name)) for name in _SAME}
            | {
                "runtime": row.arm if runtime == native else runtime,
                "against": row.reference,
                "verdict": ended_of(row),
                "unit": "ratio" if row.kind == "ratio" else row.unit,
                "p_value": plain(row.p_equivalence),
                "is_control": row.control,
                "is_asked": row.arm in asked,
            }
            | _control(view, row)
        )
    return made


def _control(view: View, row: ComparedRow) -> dict[str, Any]:
    """The A/A pair of a comparison: the outcome by which it gates, and its own numbers."""
    control = view.compared.get((row.case, row.metric, view.plan.double))
    if control is None or not control.decision.blocks:
        return {"control": "none"}
    numbers, gate = control.columns(), control.decision.as_control
    return {
        "control": "no-margin" if gate == outcomes.REPORTED else gate,
        **{f"control_{name}": plain(numbers[name]) for name in _ENDS},
    }


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
    texts: Texts = {}
    judged = on_all_systems(judgements)
    return Content(
        studies=studies,
        verdicts=records(judged.verdicts),
        evidence=records(judged.evidence),
        wording=WORDS["dashboard"],
        archives=[_archive(view, texts) for view in views],
        fields={"texts": TEXTS, "all": FIELDS},
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


def _archive(view: View, texts: Texts) -> Archive:
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
        blocks=blocks(view.dataset),
        nodes=nodes(view.dataset),
        images=images(view.dataset),
        runs=runs(view.dataset, view.analysis, texts),
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
