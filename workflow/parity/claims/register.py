"""The claims register: config/claims.yaml, or a user's file, checked, with its numbers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema

import parity.claims
from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark, placed_metrics
from parity.claims.cells import Selection
from parity.claims.published import Published, load_published
from parity.claims.rules import Schemas, rules
from parity.core.documents import canonical
from parity.core.errors import UserError, shown
from parity.core.package import extensions_with
from parity.core.settings import check, load_checked, schema
from parity.plan.plan import Plan
from parity.runtimes import every_arm

NOT_OPTIONS = ("rule", "cells", "instead_of", "waits_for")


@dataclass(frozen=True)
class Test:
    """One condition of a claim.

    Attributes:
        number: its place within the claim, from 1.
        rule: name of the rule that decides it.
        options: the rule's own numbers, such as the margin.
        cells: which comparisons it looks at.
        instead_of: what differs from the published experiment; empty if nothing does.
        waits_for: names in its cells that nothing declares yet (`parity.claims.register`).
    """

    number: int
    rule: str
    options: Mapping[str, Any]
    cells: Selection
    instead_of: str
    waits_for: tuple[str, ...] = ()

    @property
    def than(self) -> str:
        """The arm to compare with where the cells name none; empty for the reference."""
        return str(self.options.get("than", ""))


@dataclass(frozen=True)
class Claim:
    """A published statement.

    Attributes:
        statement: in our words.
        capability: what a `machine` and what a `cluster` can say of it (`scales` in the file).
        tests: all must hold; empty if `not_tested` says why there is none.
        published: what the paper gives for it, for people.
        values: the published numbers of this claim by `<metric>/<runtime>`.
        definition: kind, scales and tests just as the register has them.
    """

    id: str
    study: str
    kind: str
    statement: str
    where: str
    published: str
    capability: Mapping[str, str]
    tests: tuple[Test, ...]
    not_tested: str
    values: Mapping[str, Published]
    definition: Mapping[str, Any]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 over all that decides the verdict: tests, margins, scales, published numbers.

        A rule counts with its version, which changes if what it decides does. Words for
        people are no part of it.
        """
        used = {test.options["published"] for test in self.tests if "published" in test.options}
        decides = {
            **self.definition,
            "rules": {test.rule: rules()[test.rule].version for test in self.tests},
            "published": {
                key: [self.values[key].value, self.values[key].unit] for key in sorted(used)
            },
        }
        return hashlib.sha256(canonical(decides).encode()).hexdigest()


@dataclass(frozen=True)
class Register:
    """All claims of a file, in its order, and the studies that make them.

    Attributes:
        name: of the file; `claims` is the project's own, others are a user's or a site's.
    """

    name: str
    studies: Mapping[str, Mapping[str, Any]]
    claims: tuple[Claim, ...]


def load_register(path: Path, published: Path | None, declared: Declared | None = None) -> Register:
    """The claims of a file, checked.

    Args:
        path: config/claims.yaml, or another file of that form.
        published: config/published/claims.csv; None for claims without published numbers.
        declared: what the cells may name; None leaves them unchecked.

    Raises:
        UserError: an unknown key, rule or study, a repeated id, an option out of range, a
            published number that is not there, or a name that nothing declares; with the claim.
    """
    document = load_checked(path, "claims")
    numbers = load_published(published) if published else {}
    repeated = [name for name, count in Counter(c["id"] for c in document["claims"]).items()
                if count > 1]  # fmt: skip
    if repeated:
        raise UserError(f"claims given twice: {', '.join(repeated)}", where=str(path))
    studies = document.get("studies", {path.stem: {"title": path.stem}})
    claims = []
    for entry in document["claims"]:
        where, study = f"{path}: {entry['id']}", entry.get("study", path.stem)
        if study not in studies:
            raise UserError(f"unknown study {study}", where=where, allowed=", ".join(studies))
        claim = _claim(entry | {"study": study}, numbers.get(entry["id"], {}), where)
        if declared:
            for test in claim.tests:
                place = f"{where}: tests.{test.number}"
                require_declared(test.cells, test.options, test.waits_for, declared, place)
        claims.append(claim)
    return Register(path.stem, studies, tuple(claims))


def load_users_claims(path: Path, declared: Declared | None = None) -> Register:
    """The claims of a user or a site, whose published numbers stand beside them, if any do.

    Such a file may leave out study, place and published words, and its published numbers are
    those of the .csv file of the same name.
    """
    numbers = path.with_suffix(".csv")
    return load_register(path, numbers if numbers.exists() else None, declared)


def _claim(entry: Mapping[str, Any], values: Mapping[str, Published], where: str) -> Claim:
    tests = [
        _test(number, test, values, f"{where}: tests.{number}")
        for number, test in enumerate(entry.get("tests", ()), start=1)
    ]
    decides = {
        "kind": entry["kind"],
        "scales": entry["scales"],
        "tests": [
            {key: value for key, value in test.items() if key not in ("instead_of", "waits_for")}
            for test in entry.get("tests", ())
        ],
    }
    return Claim(
        id=entry["id"],
        study=entry["study"],
        kind=entry["kind"],
        statement=entry["claim"],
        where=entry.get("where", ""),
        published=entry.get("published", ""),
        capability=entry["scales"],
        tests=tuple(tests),
        not_tested=entry.get("not_tested", ""),
        values=values,
        definition=decides,
    )


def _test(
    number: int, entry: Mapping[str, Any], values: Mapping[str, Published], where: str
) -> Test:
    """A test whose keys are those of its rule.

    Raises:
        UserError: an unknown rule, an option it does not have, or a published number that
            the claim does not have.
    """
    known = rules()
    check(entry["rule"], {"type": "string", "description": "A rule's name."}, f"{where}.rule")
    if entry["rule"] not in known:
        raise UserError(
            f"unknown rule: {shown(entry['rule'], str)}",
            where=f"{where}.rule",
            allowed=", ".join(known),
        )
    options = known[entry["rule"]].options
    defaults = {name: of["default"] for name, of in options.items() if "default" in of}
    check(entry, _schema_of(options, options.keys() - defaults), where)
    if "published" in entry and entry["published"] not in values:
        raise UserError(
            f"no published number {shown(entry['published'])} of this claim",
            where=f"{where}.published",
            allowed=", ".join(values) or "add a row to config/published/claims.csv",
        )
    return Test(
        number=number,
        rule=entry["rule"],
        options=defaults | {key: entry[key] for key in entry if key not in NOT_OPTIONS},
        cells=Selection.of(entry["cells"]),
        instead_of=entry.get("instead_of", ""),
        waits_for=tuple(entry.get("waits_for", ())),
    )


def _schema_of(options: Schemas, required: Collection[str]) -> dict[str, Any]:
    """The JSON schema of a test whose rule has these options."""
    return {
        "$defs": schema("claims")["$defs"],
        "type": "object",
        "additionalProperties": False,
        "required": ["rule", "cells", *(name for name in options if name in required)],
        "properties": {
            "rule": {"type": "string"},
            "cells": {"$ref": "#/$defs/cells"},
            "instead_of": {"$ref": "#/$defs/text"},
            "waits_for": {"$ref": "#/$defs/names"},
            **options,
        },
    }


_COUNT = {"type": "integer", "minimum": 1}
_PLACED = ("nodes", "ranks", "containers_per_node")


@dataclass(frozen=True)
class Declared:
    """The benchmarks, and the names of all arms."""

    benchmarks: Mapping[str, Benchmark]
    arms: Collection[str]


def declared(plans: Iterable[Plan] = ()) -> Declared:
    """What this version has, with what extensions add, and what these plans bring themselves."""
    own = {
        name: _with_parameters(benchmark, plan)
        for plan in plans
        for name, benchmark in plan.definitions.items()
        if name not in benchmarks()
    }
    known = {**benchmarks(), **own}
    for add in extensions_with(parity.claims, "DECLARED"):
        known = add(known)
    return Declared(known, every_arm())


def _with_parameters(benchmark: Benchmark, plan: Plan) -> Benchmark:
    """A benchmark that a plan brings, with the factors and parameters that its cases have."""
    cases = [case.parameters for case in plan.cases if case.benchmark == benchmark.name]
    names = {name for parameters in cases for name in parameters}
    levels = {name: {"enum": [p[name] for p in cases if name in p]} for name in sorted(names)}
    like: Benchmark = type("Derived", (type(benchmark),), {"parameters": levels})()
    return like


def missing(cells: Selection, options: Mapping[str, Any], known: Declared) -> list[str]:
    """The names in a test's cells and options that nothing declares, each once.

    A benchmark and an arm are called by their name, a metric or parameter `npb.class`, and a
    level `npb.class=D`. Of a benchmark that is not there nothing else can be said.
    """
    found = _of_cells(cells, known)
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark:
        found += _of_parameters(benchmark, _factors(options))
    found += _of_arms([options["than"]] if "than" in options else [], known)
    if options.get("control") is not None:
        found += _of_cells(Selection.of(options["control"]), known)
    return list(dict.fromkeys(found))


def require_declared(
    cells: Selection,
    options: Mapping[str, Any],
    waits_for: Collection[str],
    known: Declared,
    where: str,
) -> None:
    """Refuse a test that names what nothing declares, or waits for what is there.

    Args:
        where: file, claim and number of the test.

    Raises:
        UserError: with the names.
    """
    absent = missing(cells, options, known)
    if unknown := [name for name in absent if name not in waits_for]:
        raise UserError(
            f"nothing declares {', '.join(unknown)}",
            where=f"{where}.cells",
            allowed=_allowed(cells, known),
            action="correct it, or name it under waits_for until it is there",
        )
    if there := [name for name in waits_for if name not in absent]:
        raise UserError(
            f"the test waits for {', '.join(there)}, which is there or which it does not name",
            where=f"{where}.waits_for",
            action="remove it, and read the test again",
        )


def _of_cells(cells: Selection, known: Declared) -> list[str]:
    arms = _of_arms([*(cells.arms or ()), *filter(None, [cells.against])], known)
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark is None:
        return [cells.benchmark, *arms]
    metrics = _metrics(benchmark)
    found = [] if cells.metric in metrics else [f"{benchmark.name}.{cells.metric}"]
    return [
        *found,
        *_of_parameters(benchmark, cells.parameters.items()),
        *_of_parameters(benchmark, cells.levels.items()),
        *arms,
    ]


def _of_arms(names: Iterable[str], known: Declared) -> list[str]:
    return [name for name in names if name not in known.arms]


def _factors(options: Mapping[str, Any]) -> list[tuple[str, Sequence[Any]]]:
    """The parameters that a rule itself looks along, with the levels that it names."""
    along = options.get("along"), options.get("order", ())
    crossed = options.get("factor"), options.get("levels", ())
    # `factor` is a number where a rule calls a ratio so.
    return [(name, _flat(levels)) for name, levels in (along, crossed) if isinstance(name, str)]


def _flat(levels: Iterable[Any]) -> list[Any]:
    """Levels, some of which may stand in groups."""
    return [one for level in levels for one in (level if isinstance(level, list) else [level])]


def _of_parameters(benchmark: Benchmark, named: Iterable[tuple[str, Sequence[Any]]]) -> list[str]:
    rules, found = _rules(benchmark), []
    for name, levels in named:
        if name not in rules:
            found.append(f"{benchmark.name}.{name}")
            continue
        accepts = jsonschema.Draft202012Validator(rules[name]).is_valid
        found += [f"{benchmark.name}.{name}={level}" for level in levels if not accepts(level)]
    return found


def _rules(benchmark: Benchmark) -> dict[str, Mapping[str, Any]]:
    """JSON schema of each parameter that a case of this benchmark can have."""
    factors = {name: {"enum": list(levels)} for name, levels in benchmark.factors.items()}
    placed = dict.fromkeys(_PLACED, _COUNT) if benchmark.allocations else {}
    return {**benchmark.all_parameters, **factors, **placed}


def _metrics(benchmark: Benchmark) -> list[str]:
    """The metrics that runs of this benchmark can have, the kernel's counters with them."""
    counted = placed_metrics() if benchmark.allocations else ()
    return [quantity.metric for quantity in (*benchmark.metrics, *counted)]


def _allowed(cells: Selection, known: Declared) -> str:
    """What may stand in cells of this benchmark."""
    benchmark = known.benchmarks.get(cells.benchmark)
    if benchmark is None:
        return f"benchmarks {', '.join(known.benchmarks)}"
    metrics = ", ".join(_metrics(benchmark))
    return (
        f"metrics {metrics}; parameters {', '.join(_rules(benchmark))}; arms of `snakemake probe`"
    )
