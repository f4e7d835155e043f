"""Datasets as claims see them, with sums of what runs recorded (sums.yaml)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pandas as pd

import parity.claims
from parity.analysis import analysis, tables
from parity.analysis.dataset import load
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark, counted
from parity.claims.cells import JudgingData
from parity.core.package import extensions_with


class Sum(msgspec.Struct, frozen=True, rename={"parts": "and"}):
    """An entry: the metric `of`, and what is added where a run has it."""

    metric: str
    label: str
    of: str
    parts: tuple[str, ...]


SUMS = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=tuple[Sum, ...])
_RUN = ["case", "arm", "block"]


def with_sums(known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks, with the sums of their metrics as metrics."""
    made = dict(known)
    for name, benchmark in known.items():
        units = {quantity.metric: quantity.recorded for quantity in benchmark.metrics}
        more = [Quantity(s.metric, s.label, units[s.of]) for s in SUMS if s.of in units]
        if more:
            changed = {"metrics": (*benchmark.metrics, *more)}
            made[name] = type("Derived", (type(benchmark),), changed)()
    return made


def load_judged(folder: Path) -> JudgingData:
    """A dataset and its analysis, with the cases and numbers that extensions make of them."""
    data = summed(JudgingData(load(folder), analysis.read(folder / "analysis")))
    for extended in extensions_with(parity.claims, "EXTENDED"):
        data = extended(data, folder)
    return data


def summed(data: JudgingData) -> JudgingData:
    """The dataset with these sums among its values."""
    values = data.analysis.values
    there = [one for one in SUMS if (values["metric"] == one.of).any()]
    for one in there:
        own = values[values["metric"] == one.of].set_index(_RUN)
        added = values[values["metric"].isin(one.parts)].groupby(_RUN)["value"].sum()
        moved = _moved(data, one.parts)
        terms = (each.reindex(own.index, fill_value=0.0) for each in (added, moved))
        more = own.assign(metric=one.metric, value=sum(terms, own["value"])).reset_index()
        values = pd.concat([values, more[values.columns]], ignore_index=True)
    return replace(data, analysis=replace(data.analysis, values=values)) if there else data


def _moved(data: JudgingData, parts: tuple[str, ...]) -> pd.Series:
    """What of these each run moved, by case, arm and block."""
    runs, found = data.dataset.final_runs, {}
    for counting in counted():
        if not counting.moved:
            continue
        marked = runs[runs["evidence"].str.contains(counting.mark, regex=False)]
        for *run, evidence, parameters in tables.tuples(marked, *_RUN, "evidence", "parameters"):
            moved = counting.moved(json.loads(evidence), json.loads(parameters))
            found[tuple(run)] = sum(moved.get(part, 0.0) for part in parts)
    index = pd.MultiIndex.from_tuples(found, names=_RUN)
    return pd.Series(found.values(), index=index, dtype=float)
