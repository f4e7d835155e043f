"""What the page holds of runs, nodes and images: every attempt, whatever became of it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.ledger import NOT_RUN
from parity.report.dashboard.texts import Texts

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


def runs(dataset: Dataset, analysis: Analysis, texts: Texts) -> list[list[Any]]:
    """Every attempt as a row of `FIELDS`, and every planned run that has no record.

    Texts are their numbers in `texts`, a command is the numbers of its words, and the
    metrics are the number of each name and its value in turn.
    """
    counted = set(analysis.values[["block", "run"]].itertuples(index=False, name=None))
    excluded = {
        (row.block, row.run): f"excluded: {row.reason}"
        for row in analysis.exclusions.itertuples()
        if row.applied
    }
    metrics = _metrics_by_attempt(dataset.metrics, texts)
    rows = []
    for row in dataset.runs.to_dict("records"):
        key = (row["block"], row["run"])
        if row["final"] and key in excluded:
            row["reason"] = excluded[key]
        rows.append(
            [
                *(texts.number(row[name]) for name in TEXTS),
                *(plain(row[name]) for name in NUMBERS),
                row["final"],
                bool(row["final"] and key in counted),
                [texts.number(word) for word in json.loads(row["command"] or "[]")],
                metrics.get((*key, row["attempt"]), []),
            ]
        )
    return rows + list(_without_record(dataset, texts))


def _without_record(dataset: Dataset, texts: Texts) -> Iterator[list[Any]]:
    """Rows of the planned runs that left nothing: they were not made yet."""
    recorded = set(dataset.runs[["block", "run"]].itertuples(index=False, name=None))
    for row in dataset.planned.to_dict("records"):
        if (row["block"], row["run"]) in recorded:
            continue
        known = row | {"stage": "planned", "reason": NOT_RUN}
        words = [texts.number(known.get(name, "")) for name in TEXTS]
        numbers = [0 if name == "attempt" else None for name in NUMBERS]
        yield [*words, *numbers, True, False, [], []]


def _metrics_by_attempt(
    metrics: pd.DataFrame, texts: Texts
) -> dict[tuple[str, str, int], list[Any]]:
    found: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    columns = ["block", "run", "attempt", "metric", "value"]
    for block, run, attempt, metric, value in metrics[columns].itertuples(index=False, name=None):
        found[block, run, attempt] += [texts.number(metric), plain(value)]
    return found


def metrics(dataset: Dataset) -> dict[str, dict[str, str]]:
    """Unit and direction of each metric, by `<benchmark>/<metric>`."""
    columns = ["benchmark", "metric", "unit", "better"]
    return {
        f"{benchmark}/{metric}": {"unit": unit, "better": better}
        for benchmark, metric, unit, better in dataset.metrics[columns]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    }


def nodes(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """The facts of each node: those that never changed once, the others by block and phase."""
    found: dict[str, dict[str, Any]] = {}
    for node, of_node in dataset.nodes.groupby("node", sort=True):
        distinct = of_node.groupby("fact")["value"].nunique()
        changing = of_node["fact"].isin(distinct.index[distinct > 1])
        by_block: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
        for row in of_node[changing].itertuples(index=False):
            by_block[row.block][row.fact][row.phase] = row.value
        constant = of_node[~changing].drop_duplicates("fact")
        found[str(node)] = {
            "constant": dict(zip(constant["fact"], constant["value"], strict=True)),
            "changing": by_block,
        }
    return found


def blocks(dataset: Dataset) -> list[dict[str, Any]]:
    """The blocks in the order of the plan, each with its nodes."""
    held = dataset.nodes.groupby("block")["node"].unique()
    return [
        {
            "block": block["block"],
            "number": block["number"],
            "nodes": sorted(held.get(block["block"], [])),
        }
        for block in dataset.plan.blocks
    ]


def images(dataset: Dataset) -> list[dict[str, Any]]:
    """The digest chain from the base to each format, as recorded."""
    columns = ["format", "digest", "parent", "parent_digest", "tool", "reason"]
    return dataset.images[columns].to_dict("records")


def plain(value: Any) -> Any:
    """A value as JSON knows it: missing and infinite numbers are null."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def records(frame: pd.DataFrame) -> list[Mapping[str, Any]]:
    """A table's rows as JSON knows them."""
    return [{key: plain(value) for key, value in row.items()} for row in frame.to_dict("records")]
