"""Programs that a study describes, checked: what a schema cannot say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks, network
from parity.benchmarks.model import Benchmark
from parity.benchmarks.own_program import COMMAND, PLACEHOLDER, PLACES, WALL, own_program
from parity.benchmarks.patterns import check_pattern
from parity.core.digests import digest
from parity.core.errors import UserError, refuse_unknown

_TAKEN = {COMMAND, *PLACES, "containers_per_node", *network.PARAMETERS}
_METRICS = {each.metric for each in (WALL, *network.METRICS)}
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def benchmark_in(name: str, document: Mapping[str, Any], where: str) -> Benchmark:
    """A benchmark of a study: the module of that name, or the program that its entry describes.

    Args:
        document: the content of the study's file, checked by its schema.
        where: file and key of the entry.

    Raises:
        UserError: there is no such benchmark, or its command does not fit together.
    """
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
    _check_places(command, factors, parameters, placed, where)
    _check_metrics(command.get("metrics", ()), f"{where}.metrics")
    if "valid" in command:
        check_pattern(command["valid"], 0, f"{where}.valid")
    if work := command.get("work"):
        whole = [key for key, rule in parameters.items() if rule["type"] == "integer"]
        refuse_unknown([work], whole, f"{where}.work", "parameter in whole units")
    if "needs" in command:
        command["needs"] = {path: _digest(path, where) for path in command["needs"]}
    return own_program(name, command, factors, parameters)


def _rule(given: Any) -> dict[str, Any]:
    """The schema of a parameter by its value, or by the first of several."""
    value = given[0] if isinstance(given, list) else given
    kind = _KINDS[type(value)]
    return {"description": f"A {kind} like that of the study.", "type": kind, "default": value}


def _check_places(
    command: Mapping[str, Any],
    factors: Mapping[str, Any],
    parameters: Mapping[str, Any],
    placed: bool,
    where: str,
) -> None:
    """Refuse a place that nothing fills, and what fills none."""
    given = [*factors, *parameters]
    for key in given:
        if key in _TAKEN or given.count(key) > 1:
            raise UserError(
                f"{key} is the name of something else", where=where, action="call it otherwise"
            )
    if not command["program"][0].startswith("/"):
        raise UserError(
            f"{command['program'][0]} is no absolute path",
            where=f"{where}.program",
            action="write where it is, such as /usr/bin/python3",
        )
    known = [*given, *(place for place in PLACES if placed or place == "cpus")]
    texts = {"program": command["program"], "environment": command.get("environment", {}).values()}
    found = {key: _places(words) for key, words in texts.items()}
    for key, places in found.items():
        refuse_unknown(places, known, f"{where}.{key}", "place")
    if unused := [key for key in given if not any(key in places for places in found.values())]:
        raise UserError(
            f"no word holds {{{unused[0]}}}, so it would change nothing",
            where=f"{where}.program",
            action=f"write {{{unused[0]}}} where it belongs, or remove it from the study",
        )


def _places(words: Iterable[str]) -> list[str]:
    return [match[1] for word in words for match in PLACEHOLDER.finditer(word) if match[1]]


def _check_metrics(metrics: Iterable[Mapping[str, Any]], where: str) -> None:
    seen = set(_METRICS)
    for metric in metrics:
        name = metric["name"]
        if name in seen:
            raise UserError(
                f"{name} is a metric already",
                where=where,
                allowed=f"any other name but {', '.join(sorted(seen))}",
                action=f"call it otherwise, such as own_{name}",
            )
        seen.add(name)
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
