"""The cases of a study: a benchmark, Parity's or the study's own, at one level of each factor."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark, placed_metrics, placed_parameters
from parity.benchmarks.own_program import (
    COMMAND,
    PLACEHOLDER,
    PLACES,
    WALL,
    check_pattern,
    own_program,
)
from parity.core.errors import UserError, refuse_unknown
from parity.core.files import digest
from parity.core.settings import check
from parity.plan.plan import Case

DEFAULT_TIMEOUT_SECONDS = 300
_TAKEN = {COMMAND, *PLACES, "containers_per_node"}
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def cases_of(
    name: str, document: Mapping[str, Any], scale: str, path: str, amounts: Mapping[str, int]
) -> list[Case]:
    """All cases of one benchmark: allocations, levels and parameters with several values crossed.

    They come in the order in which they are given.

    Args:
        document: the content of the study's file at `path`, checked by its schema.
        amounts: parameters that a pilot found.

    Raises:
        UserError: there is no such benchmark, factor, level, parameter or allocation, or its
            command does not fit together.
    """
    entry, size = document["benchmarks"][name], document["scales"][scale]
    where = f"{path}: benchmarks.{name}"
    benchmark = _benchmark(name, document, where)
    factors = entry.get("factors", {})
    _check_factors(benchmark, factors, f"{where}.factors")
    chosen = size.get("factors", {}).get(name, {})
    for factor, levels in chosen.items():
        place = f"{path}: scales.{scale}.factors.{name}"
        refuse_unknown([factor], factors, place, f"factor of {name} in this study")
        refuse_unknown(levels, factors[factor], f"{place}.{factor}", "level of this study")
    factors = factors | chosen
    own = size.get("allocations", {})
    place = f"{path}: scales.{scale}.allocations.{name}" if name in own else f"{where}.allocations"
    placements = _placements(benchmark, own.get(name, entry.get("allocations", ())), place)
    crossed = _parameters(benchmark, entry, size, scale, path, amounts)
    margin = entry["margin_percent"]
    return [
        Case(
            name="-".join(filter(None, [name, allocation, *levels, values])),
            benchmark=name,
            parameters=parameters | placed | dict(zip(factors, levels, strict=True)),
            margin=None if margin is None else margin / 100,
            primary=benchmark.primary,
            differences=benchmark.differences,
            timeout_seconds=entry.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
        )
        for allocation, placed in placements.items()
        for levels in itertools.product(*factors.values())
        for values, parameters in crossed.items()
    ]


def _check_factors(benchmark: Benchmark, factors: Mapping[str, Any], where: str) -> None:
    refuse_unknown(factors, benchmark.factors, where, f"factor of {benchmark.name}")
    for factor, allowed in benchmark.factors.items():
        if factor not in factors:
            raise UserError(
                f"{benchmark.name} needs the levels of its factor {factor}",
                where=where,
                allowed=", ".join(allowed),
            )
        refuse_unknown(factors[factor], allowed, f"{where}.{factor}", f"level of {factor}")


def _placements(
    benchmark: Benchmark, given: Sequence[str], where: str
) -> dict[str, dict[str, int]]:
    """Nodes, ranks and containers by the allocation's name; one without a name for none.

    Names of cases are those of folders, so the slash of an allocation is `in` there.
    """
    if given and not benchmark.allocations:
        raise UserError(
            f"{benchmark.name} is not placed on allocations",
            where=where,
            action="remove the key: the benchmark runs on one node",
        )
    if not given and benchmark.allocations == "required":
        raise UserError(
            f"{benchmark.name} needs the allocations it is placed on",
            where=where,
            allowed="a list of <nodes>x<ranks>[/<containers per node>], such as 2x2 or 1x4/2",
        )
    placements: dict[str, dict[str, int]] = {}
    for text in given:
        spread, _, containers = text.partition("/")
        nodes, ranks = map(int, spread.split("x"))
        placed = {"nodes": nodes, "ranks": ranks}
        over = f"{nodes} nodes"
        if containers:
            placed["containers_per_node"] = int(containers)
            over += f" of {containers} containers"
        if ranks % (parts := nodes * int(containers or 1)):
            raise UserError(
                f"{ranks} ranks cannot be spread equally over {over}",
                where=f"{where}: {text}",
                allowed=f"a multiple of {parts} ranks",
            )
        placements[text.replace("/", "in")] = placed
    return placements or {"": {}}


def _parameters(
    benchmark: Benchmark,
    entry: Mapping[str, Any],
    size: Mapping[str, Any],
    scale: str,
    path: str,
    amounts: Mapping[str, int],
) -> dict[str, dict[str, Any]]:
    """The benchmark's defaults, a pilot's, then the study's values, then those of the scale.

    Where some have several values, once for each combination, by what those are called.
    """
    rules = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: dict(rule) for name, rule in benchmark.all_parameters.items()},
    }
    given = {
        f"{path}: benchmarks.{benchmark.name}.parameters": entry.get("parameters", {}),
        f"{path}: scales.{scale}.parameters.{benchmark.name}": (
            size.get("parameters", {}).get(benchmark.name, {})
        ),
    }
    merged = {name: rule["default"] for name, rule in benchmark.parameters.items()} | dict(amounts)
    for where, values in given.items():
        for one in _combinations(values).values():
            check(one, rules, where)
        merged |= values
    return _combinations(merged)


def _combinations(parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters with each combination of the values of those that have a list of them.

    Returns:
        By what the combination is called in the names of cases, such as `class_a-sack_false`:
        nothing where no parameter has a list.
    """
    lists = [
        [(name, value) for value in values]
        for name, values in parameters.items()
        if isinstance(values, list)
    ]
    return {
        "-".join(f"{name}_{value}".lower() for name, value in one): {**parameters, **dict(one)}
        for one in itertools.product(*lists)
    }


def _benchmark(name: str, document: Mapping[str, Any], where: str) -> Benchmark:
    """The benchmark of that name, or the program that its entry describes."""
    entry = document["benchmarks"][name]
    if COMMAND not in entry:
        refuse_unknown([name], benchmarks(), where, "benchmark")
        return benchmarks()[name]
    if name in benchmarks():
        raise UserError(
            f"{name} is a benchmark of Parity", where=where, action="call your program otherwise"
        )
    command, factors = dict(entry[COMMAND]), entry.get("factors", {})
    parameters = {key: _rule(value) for key, value in entry.get("parameters", {}).items()}
    where = f"{where}.{COMMAND}"
    sizes = document["scales"].values()
    placed = "allocations" in entry or any(name in s.get("allocations", {}) for s in sizes)
    _check_places(command, [*factors, *parameters], placed, where)
    _check_metrics(command.get("metrics", ()), f"{where}.metrics")
    if "valid" in command:
        check_pattern(command["valid"], 0, f"{where}.valid")
    if work := command.get("work"):
        whole = [key for key, rule in parameters.items() if rule["type"] == "integer"]
        refuse_unknown([work], whole, f"{where}.work", "parameter in whole units")
    if lines := command.get("as_given"):
        refuse_unknown(lines, document["arms"], f"{where}.as_given", "arm of this study")
        refuse_unknown(document["arms"], lines, f"{where}.as_given", "arm with a given line")
    if "needs" in command:
        command["needs"] = {path: _digest(path, where) for path in command["needs"]}
    return own_program(name, command, factors, parameters)


def _rule(given: Any) -> dict[str, Any]:
    """The schema of a parameter by its value, or by the first of several."""
    value = given[0] if isinstance(given, list) else given
    kind = _KINDS[type(value)]
    return {"description": f"A {kind} like that of the study.", "type": kind, "default": value}


def _check_places(
    command: Mapping[str, Any], given: Sequence[str], placed: bool, where: str
) -> None:
    """Refuse a place that nothing fills, and a factor or parameter that fills none."""
    for key in given:
        if key in _TAKEN or key in placed_parameters() or given.count(key) > 1:
            raise UserError(
                f"{key} is the name of something else", where=where, action="call it otherwise"
            )
    program, environment = command["program"], command.get("environment", {})
    if not program[0].startswith("/"):
        raise UserError(
            f"{program[0]} is no absolute path",
            where=f"{where}.program",
            action="write where it is, such as /usr/bin/python3",
        )
    known = [*given, *(place for place in PLACES if placed or place == "cpus")]
    filled = {"program": _places(program), "environment": _places(environment.values())}
    for key, places in filled.items():
        refuse_unknown(places, known, f"{where}.{key}", "place")
    for key in given:
        if not any(key in places for places in filled.values()):
            raise UserError(
                f"no word holds {{{key}}}, so it would change nothing",
                where=f"{where}.program",
                action=f"write {{{key}}} where it belongs, or remove it from the study",
            )


def _places(words: Iterable[str]) -> list[str]:
    return [match[1] for word in words for match in PLACEHOLDER.finditer(word) if match[1]]


def _check_metrics(metrics: Iterable[Mapping[str, Any]], where: str) -> None:
    taken = {quantity.metric for quantity in (WALL, *placed_metrics())}
    for metric in metrics:
        name = metric["name"]
        if name in taken:
            raise UserError(
                f"{name} is a metric already",
                where=where,
                allowed=f"any other name but {', '.join(sorted(taken))}",
                action=f"call it otherwise, such as own_{name}",
            )
        taken.add(name)
        check_pattern(metric["pattern"], 1, f"{where}.{name}.pattern")


def _digest(path: str, where: str) -> str:
    """The digest of what a program needs, as it is now."""
    try:
        return digest(Path(path).resolve(strict=True))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}",
            where=f"{where}.needs",
            allowed="a file or folder of this machine; what a package brings stands under packages",
        ) from None
