"""What the page holds of runs, nodes and images: every attempt, whatever became of it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pandas as pd

from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.ledger import NOT_RUN
from parity.core.documents import Document
from parity.report.view import rows_of

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
