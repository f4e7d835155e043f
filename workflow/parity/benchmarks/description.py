"""What is said of a benchmark without code: the YAML file of its name beside its module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from parity.benchmarks.figure_spec import FigureSpec
from parity.benchmarks.metrics import Quantity
from parity.core.documents import Document


class Description(Document, frozen=True):
    """Attributes of a `Benchmark`, which says what they are; each may be left out."""

    parameters: Mapping[str, Mapping[str, Any]] = {}
    figures: tuple[FigureSpec, ...] = ()
    note: str = ""


def described(
    module: str, *shown: Quantity
) -> tuple[Mapping[str, Mapping[str, Any]], tuple[FigureSpec, ...], str]:
    """Parameters, figures and note beside a module; figures name quantities by their metrics.

    Args:
        module: the module's file.
        shown: the quantities of the figures.

    Raises:
        ValueError: the file is no description.
        KeyError: a figure shows another metric.
    """
    content = msgspec.yaml.decode(Path(module).with_suffix(".yaml").read_bytes())
    by_metric = {quantity.metric: quantity for quantity in shown}
    for figure in content.get("figures", ()):
        figure["quantities"] = [by_metric[metric] for metric in figure["quantities"]]
    known = msgspec.convert(content, Description)
    return known.parameters, known.figures, known.note
