"""Ramble's `results.latest.json`: a figure of merit of an experiment is a number.

Written from its documentation and its tests of reports; nothing here ran it. What it calculates of
repeats (`summary::…`) is no measurement and is left out; a repeat is a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.core.documents import parse_json, read_text
from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row, as_name, begins

SUMMARY = "summary::"
_DIRECTIONS = {"LOWER": "lower", "HIGHER": "higher"}


class Ramble(Converter):
    """`ramble workspace analyze --formats json`."""

    name = "ramble"
    title = "Ramble's results"

    def takes(self, path: Path) -> bool:
        return '"experiments"' in begins(path)

    def rows(self, path: Path, options: Options) -> list[Row]:
        content = parse_json(read_text(path), str(path))
        if not isinstance(content, dict) or not content.get("experiments"):
            raise UserError("these are no results of Ramble: no experiments", where=str(path))
        return [
            row
            for number, experiment in enumerate(content["experiments"])
            for row in _rows(experiment, options, f"{path}: experiments[{number}]")
        ]


def _rows(experiment: Mapping[str, Any], options: Options, where: str) -> list[Row]:
    variables = experiment.get("RAMBLE_VARIABLES") or {}
    figures = [
        (context["name"], figure)
        for context in experiment.get("CONTEXTS") or ()
        for figure in context["foms"]
        if not figure["origin_type"].startswith(SUMMARY) and _is_number(figure["value"])
    ]
    if figures and options.arm not in variables:
        raise UserError(
            f"{experiment['name']} has no variable {options.arm}",
            where=f"{where}: RAMBLE_VARIABLES",
            allowed=", ".join(sorted(variables)) or "a variable whose values are the arms",
            action="name it by --arm",
        )
    repeat = int(variables.get("repeat_index", 0))
    rows = []
    for context, figure in figures:
        metric, unit = as_name(figure["name"]).replace("-", "_").replace(".", "_"), figure["units"]
        told = (figure.get("fom_type") or {}).get("better_direction", "")
        rows.append(
            Row(
                block=str(repeat) if repeat else "",
                case=as_name(
                    experiment["simplified_workload_namespace"],
                    f"nodes={experiment['n_nodes']}" if "n_nodes" in experiment else "",
                    "" if context == "null" else context,
                ),
                arm=as_name(variables[options.arm]),
                metric=metric,
                value=float(figure["value"]),
                unit=unit or "1",
                better=options.direction(metric, unit, _DIRECTIONS.get(told, "")),
                valid=experiment["RAMBLE_STATUS"] == "SUCCESS",
                source=experiment["name"],
                where=f"{where}: {figure['name']}",
            )
        )
    return rows


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


CONVERTER = Ramble()
