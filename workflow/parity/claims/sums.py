"""Datasets as claims see them, with sums of what runs recorded (sums.yaml)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pandas as pd

import parity.claims
from parity.analysis import analysis
from parity.analysis.dataset import load
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark
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
        if more := [Quantity(s.metric, s.label, units[s.of]) for s in SUMS if s.of in units]:
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
    values, moved = data.analysis.values, data.dataset.moved.rename(columns={"what": "metric"})
    recorded = pd.concat([values[moved.columns], moved])
    made = [values]
    for one in SUMS:
        own = values[values["metric"] == one.of].set_index(_RUN)
        added = recorded[recorded["metric"].isin(one.parts)].groupby(_RUN)["value"].sum()
        total = own["value"] + added.reindex(own.index, fill_value=0.0)
        made.append(own.assign(metric=one.metric, value=total).reset_index()[values.columns])
    together = pd.concat(made, ignore_index=True)
    return replace(data, analysis=replace(data.analysis, values=together))
