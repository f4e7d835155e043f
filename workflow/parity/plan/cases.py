"""The cases of a study: a benchmark, Parity's or the study's own, at one level of each factor."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from parity.benchmarks import benchmarks
from parity.benchmarks.description import FIXED, WORK
from parity.benchmarks.model import SOFTWARE, Benchmark, placed_metrics, placed_parameters
from parity.benchmarks.own_program import COMMAND, PLACEHOLDER, PLACES, WALL, check_pattern
from parity.benchmarks.own_program import own_program as brought_along
from parity.core.errors import UserError, refuse_unknown
from parity.core.files import digest
from parity.core.settings import check
from parity.plan.plan import Case, Shorter

_TAKEN = {COMMAND, *PLACES, "containers_per_node"}
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def cases_of(
    name: str, document: Mapping[str, Any], scale: str, path: str, amounts: Mapping[str, int],
    software: Mapping[str, Mapping[str, str]],
) -> list[Case]:  # fmt: skip
    """All cases of one benchmark: allocations, levels and parameters with several values crossed.

    They come in the order in which they are given. Parameters are the benchmark's defaults, a
    pilot's amounts, then the study's values, then those of the scale. `software`: what the site
    built itself, as `digested` has it.
    """
    entry, size = document["benchmarks"][name], document["scales"][scale]
    where, at_scale = f"{path}: benchmarks.{name}", f"{path}: scales.{scale}"
    benchmark = _benchmark(name, document, where)
    factors, chosen = entry.get("factors", {}), size.get("factors", {}).get(name, {})
    refuse_unknown(factors, benchmark.factors, f"{where}.factors", f"factor of {name}")
    for factor, allowed in benchmark.factors.items():
        if factor not in factors:
            problem = f"{name} needs the levels of its factor {factor}"
            raise UserError(problem, where=f"{where}.factors", allowed=", ".join(allowed))
        refuse_unknown(factors[factor], allowed, f"{where}.factors.{factor}", f"level of {factor}")
    place = f"{at_scale}.factors.{name}"
    refuse_unknown(chosen, factors, place, f"factor of {name} in this study")
    for factor, levels in chosen.items():
        refuse_unknown(levels, factors[factor], f"{place}.{factor}", "level of this study")
    factors = factors | chosen
    own = size.get("allocations", {})
    place = f"{at_scale}.allocations.{name}" if name in own else f"{where}.allocations"
    placements = _placements(benchmark, own.get(name, entry.get("allocations", ())), place)
    known = {key: dict(rule) for key, rule in benchmark.all_parameters.items()}
    rules = {"type": "object", "additionalProperties": False, "properties": known}
    parameters = {key: rule["default"] for key, rule in benchmark.parameters.items()}
    parameters |= amounts
    for place, given in (
        (f"{where}.parameters", entry.get("parameters", {})),
        (f"{at_scale}.parameters.{name}", size.get("parameters", {}).get(name, {})),
    ):
        for combination in _combinations(given).values():
            check(combination, rules, place)
        parameters |= given
    # Without all that it takes the benchmark says itself what it lacks.
    built = {each: software[each] for each in benchmark.software if each in software}
    located = {SOFTWARE: built} if built and len(built) == len(benchmark.software) else {}
    margin = entry["margin_percent"]
    return [
        Case(
            name="-".join(filter(None, [name, allocation, *levels, values])), benchmark=name,
            parameters=combination | placed | dict(zip(factors, levels, strict=True)) | located,
            margin=None if margin is None else margin / 100, primary=benchmark.primary,
            differences=benchmark.differences, timeout_seconds=entry.get("timeout_seconds", 300),
        )
        for allocation, placed in placements.items()
        for levels in itertools.product(*factors.values())
        for values, combination in _combinations(parameters).items()
    ]  # fmt: skip


def digested(software: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What a site built itself, by name its prefix and the digest; raises UserError."""
    where = "software of the system's file"
    return {
        name: {"prefix": prefix, "digest": _digest_now(prefix, f"{where}: {name}")}
        for name, prefix in software.items()
    }


def at_two_lengths(case: Case, share: float, where: str) -> tuple[Case, Shorter]:
    """The case, compared by what is told apart so, too, and its run with that share of the work.

    Work comes in whole units. A program that a study describes, and whose work has no unit, does
    nothing in it, or its command says what it does. UserError: there is no such run of the case.
    """
    definition, own = case.definition, case.parameters
    command, work = own.get(COMMAND, {}), definition.work
    if work and (command or definition.timed):
        less: dict[str, Any] = {work: max(1, round(share * own[work]))}
        done = less[work] / own[work]
    elif command and "as_given" not in command:
        words = command.get("shorter", [])
        read = {} if words else {"valid": ""}
        less = {COMMAND: {**command, "program": words, "metrics": [], **read}}
        done = share if bool(share) == bool(words) and (words or not case.is_placed) else 1.0
    else:
        problem = f"the work of {case.name} has no unit, so no run of it is shorter"
        raise UserError(problem, where=where, action="leave it out of `short`")
    if not 0 <= done < 1:
        problem = f"{case.name} cannot be run with {share:g} of its work"
        allowed = "a share for which whole units are left out"
        if not work:
            allowed = "0, or more with `shorter`, the words that do so much, in its command"
        raise UserError(problem, where=where, allowed=allowed)
    name, primary = f"{case.name}-short", (*case.primary, WORK.metric, FIXED.metric)
    shorter = replace(case, name=name, parameters=own | less, primary=(), differences=())
    compared = replace(case, primary=primary, differences=(*case.differences, FIXED.metric))
    return compared, Shorter(shorter, case.name, done)


def _placements(
    benchmark: Benchmark, given: Sequence[str], where: str
) -> dict[str, dict[str, int]]:
    """Nodes, ranks and containers by the allocation's name in those of cases; by none for none."""
    if given and not benchmark.allocations:
        problem = f"{benchmark.name} is not placed on allocations"
        action = "remove the key: the benchmark runs on one node"
        raise UserError(problem, where=where, action=action)
    if not given and benchmark.allocations == "required":
        problem = f"{benchmark.name} needs the allocations it is placed on"
        allowed = "a list of <nodes>x<ranks>[/<containers per node>], such as 2x2 or 1x4/2"
        raise UserError(problem, where=where, allowed=allowed)
    placements: dict[str, dict[str, int]] = {}
    for text in given:
        spread, _, containers = text.partition("/")
        nodes, ranks = map(int, spread.split("x"))
        placed, over = {"nodes": nodes, "ranks": ranks}, f"{nodes} nodes"
        if containers:
            placed["containers_per_node"] = int(containers)
            over += f" of {containers} containers"
        if ranks % (parts := nodes * int(containers or 1)):
            problem = f"{ranks} ranks cannot be spread equally over {over}"
            allowed = f"a multiple of {parts} ranks"
            raise UserError(problem, where=f"{where}: {text}", allowed=allowed)
        # Names of cases are those of folders.
        placements[text.replace("/", "in")] = placed
    return placements or {"": {}}


def _combinations(parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters with each combination of listed values, by its name: `class_a-sack_false`."""
    given = parameters.items()
    lists = [[(key, value) for value in each] for key, each in given if isinstance(each, list)]
    return {
        "-".join(f"{key}_{value}".lower() for key, value in chosen): {**parameters, **dict(chosen)}
        for chosen in itertools.product(*lists)
    }


def _benchmark(name: str, document: Mapping[str, Any], where: str) -> Benchmark:
    entry = document["benchmarks"][name]
    if COMMAND not in entry:
        refuse_unknown([name], benchmarks(), where, "benchmark")
        return benchmarks()[name]
    if name in benchmarks():
        problem = f"{name} is a benchmark of Parity"
        raise UserError(problem, where=where, action="call your program otherwise")
    command, factors = dict(entry[COMMAND]), entry.get("factors", {})
    parameters = {}
    for key, given in entry.get("parameters", {}).items():
        value = given[0] if isinstance(given, list) else given
        described = f"A {(kind := _KINDS[type(value)])} like that of the study."
        parameters[key] = {"description": described, "type": kind, "default": value}
    where = f"{where}.{COMMAND}"
    sizes = document["scales"].values()
    placed = "allocations" in entry or any(name in s.get("allocations", {}) for s in sizes)
    _check_places(command, [*factors, *parameters], placed, where)
    taken = {quantity.metric for quantity in (WALL, *placed_metrics())}
    for metric in command.get("metrics", ()):
        called = metric["name"]
        if called in taken:
            problem = f"{called} is a metric already"
            action = f"call it otherwise, such as own_{called}"
            allowed = f"any other name but {', '.join(sorted(taken))}"
            raise UserError(problem, where=f"{where}.metrics", allowed=allowed, action=action)
        taken.add(called)
        check_pattern(metric["pattern"], 1, f"{where}.metrics.{called}.pattern")
    if "valid" in command:
        check_pattern(command["valid"], 0, f"{where}.valid")
    if work := command.get("work"):
        whole = [key for key, rule in parameters.items() if rule["type"] == "integer"]
        refuse_unknown([work], whole, f"{where}.work", "parameter in whole units")
    if lines := command.get("as_given"):
        refuse_unknown(lines, document["arms"], f"{where}.as_given", "arm of this study")
        refuse_unknown(document["arms"], lines, f"{where}.as_given", "arm with a given line")
    if "needs" in command:
        command["needs"] = {path: _digest_now(path, f"{where}.needs") for path in command["needs"]}
    return brought_along(name, command, factors, parameters)


def _check_places(
    command: Mapping[str, Any], given: Sequence[str], placed: bool, where: str
) -> None:
    for key in given:
        if key in _TAKEN or key in placed_parameters() or given.count(key) > 1:
            problem = f"{key} is the name of something else"
            raise UserError(problem, where=where, action="call it otherwise")
    program = command["program"]
    if not program[0].startswith("/"):
        problem = f"{program[0]} is no absolute path"
        action = "write where it is, such as /usr/bin/python3"
        raise UserError(problem, where=f"{where}.program", action=action)
    known = [*given, *(place for place in PLACES if placed or place == "cpus")]
    filled = set[str]()
    environment = command.get("environment", {}).values()
    for key, words in (("program", program), ("environment", environment)):
        places = [match[1] for word in words for match in PLACEHOLDER.finditer(word) if match[1]]
        refuse_unknown(places, known, f"{where}.{key}", "place")
        filled.update(places)
    for key in given:
        if key not in filled:
            problem = f"no word holds {{{key}}}, so it would change nothing"
            action = f"write {{{key}}} where it belongs, or remove it from the study"
            raise UserError(problem, where=f"{where}.program", action=action)


def _digest_now(path: str, where: str) -> str:
    try:
        return digest(Path(path).resolve(strict=True))
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}"
        allowed = "a file or folder of this machine; what a package brings stands under packages"
        raise UserError(problem, where=where, allowed=allowed) from None
