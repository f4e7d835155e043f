"""Ramble's `results.latest.json`, after its documentation: a figure of merit is a number.

What it calculates of repeats (`summary::…`) is no measurement and is left out; a repeat is a block,
and one that failed is lost.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from parity.core.errors import UserError
from parity.imports import rows as common
from parity.imports.rows import Converter, Options, Row, as_metric, as_name, number_of


class _Figure(msgspec.Struct):
    name: str
    value: Any
    units: str | None
    origin_type: str
    origin: str = ""
    fom_type: Any = None


class _Context(msgspec.Struct):
    name: str
    foms: list[_Figure]


class _Experiment(msgspec.Struct):
    name: str
    simplified_workload_namespace: str
    status: str = msgspec.field(name="RAMBLE_STATUS")
    variables: dict[str, Any] | None = msgspec.field(name="RAMBLE_VARIABLES", default=None)
    contexts: list[_Context] | None = msgspec.field(name="CONTEXTS", default=None)
    n_nodes: int | str | None = None
    repeats: int | str | None = msgspec.field(name="N_REPEATS", default=None)


class _Results(msgspec.Struct):
    experiments: list[_Experiment]


def rows(path: Path, options: Options) -> list[Row]:
    """`ramble workspace analyze --formats json`."""
    experiments = common.report_of(path, _Results).experiments
    if not experiments:
        raise UserError("these are no results of Ramble: no experiments", where=str(path))
    rows = []
    for number, experiment in enumerate(experiments):
        rows += _rows(experiment, options, f"{path}: experiments[{number}]")
    # A lost one does not say which contexts it would have had: it is lost in all of them.
    contexts: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.metric:
            contexts.setdefault(row.told[0].partition("\0")[0], {})[row.case] = row
    whole = []
    for row in rows:
        alike = {} if row.metric else contexts.get(row.told[0], {})
        for like in (alike or {row.case: row}).values():
            whole.append(row._replace(case=like.case, told=(like.told[0], row.told[1])))
    return whole


def _rows(experiment: _Experiment, options: Options, where: str) -> list[Row]:
    figures = [
        (context.name, figure)
        for context in experiment.contexts or ()
        for figure in context.foms
        if not figure.origin_type.startswith("summary::") and number_of(figure.value) is not None
    ]
    if not figures and (number_of(experiment.repeats) or experiment.status == "SUCCESS"):
        # It sums up others, or all that it says is in words.
        return []
    variables = experiment.variables or {}
    arm = options.arm_in(variables, experiment.name, f"{where}: RAMBLE_VARIABLES")
    repeat = number_of(variables.get("repeat_index")) or 0
    workload = experiment.simplified_workload_namespace
    nodes = "" if experiment.n_nodes is None else f"nodes={experiment.n_nodes}"
    lost = Row(
        block=f"{repeat:g}" if repeat else "", case=as_name(workload, nodes), arm=as_name(arm),
        source=experiment.name, where=where, told=(f"{workload} {nodes}", arm), valid=False,
    )  # fmt: skip
    # Two that measure may call their figures alike: then who does is part of the name.
    origins = Counter((context, figure.name) for context, figure in figures)
    rows = []
    for context, figure in figures:
        several = origins[context, figure.name] > 1
        metric = as_metric(f"{figure.name} {figure.origin}" if several else figure.name)
        kind = figure.fom_type if isinstance(figure.fom_type, dict) else {}
        told = str(kind.get("better_direction")).lower()
        part = "" if context == "null" else context
        way = told if told in common.DIRECTIONS else ""
        rows.append(lost._replace(
            case=as_name(workload, nodes, part), metric=metric, value=number_of(figure.value),
            unit=figure.units or "1", better=options.direction(metric, figure.units or "", way),
            valid=experiment.status == "SUCCESS", where=f"{where}: {figure.name}",
            told=(f"{workload} {nodes}" + (f"\0{part}" if part else ""), arm),
        ))  # fmt: skip
    return rows or [lost]


CONVERTER = Converter.of_json("ramble", "Ramble's results", rows, "experiments", may_lack=True)
