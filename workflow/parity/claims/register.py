"""The claims register: config/claims.yaml, or a user's file, checked, with its numbers."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema

import parity.claims
from parity.analysis import decision
from parity.benchmarks import benchmarks
from parity.benchmarks.description import OF_ANY
from parity.benchmarks.model import Benchmark, placed_metrics
from parity.claims.cells import NODES, PER_NODE, RANKS, Selection
from parity.claims.published import Published, load_published
from parity.claims.rules import rules
from parity.claims.sums import with_sums
from parity.core.documents import canonical
from parity.core.errors import UserError, shown
from parity.core.package import extensions_with
from parity.core.settings import check, load_checked, schema
from parity.core.wording import listed
from parity.plan.plan import Plan
from parity.runtimes import every_arm

# What every test may have, and what that is in claims.schema.yaml; all else is its rule's.
NOT_OPTIONS = {
    "rule": "name", "cells": "cells", "instead_of": "text", "waits_for": "names",
    "system": "support", "reading": "text",
}  # fmt: skip
# The register of findings of our own, by the name of its file, and what each says beside a claim.
FINDINGS, OF_FINDINGS = "findings", ("tests", "mechanism", "refuted_by")
# What a claim may say beside its tests, in words.
FOR_PEOPLE = ("where", "published", "mechanism", "refuted_by", "needs")
_PLACED = {key: {"type": "integer", "minimum": 1} for key in (NODES, RANKS, PER_NODE)}


@dataclass(frozen=True)
class Test:
    """One condition of a claim."""

    number: int
    rule: str
    options: Mapping[str, Any]  # the rule's own numbers, such as the margin
    cells: Selection
    instead_of: str  # what differs from the published experiment; empty if nothing does
    waits_for: tuple[str, ...] = ()  # names in its cells that nothing declares yet (`Declared`)
    system: str = ""  # the kind of system that it is for, `machine` or `cluster`; empty for both
    # What the publication reads into its number, if the test holds that against the data and not
    # the number. It stands beside the verdict, which does not rest on it.
    reading: str = ""

    @property
    def than(self) -> str:
        """The arm to compare with where the cells name none; empty for the reference."""
        return str(self.options.get("than", ""))


@dataclass(frozen=True)
class Claim:
    """A published statement, or a finding of ours."""

    id: str
    study: str
    kind: str
    statement: str  # in our words
    where: str
    published: str  # what the paper gives for it, for people
    mechanism: str  # of a finding what makes it so, for people
    refuted_by: str  # and what would refute it
    capability: Mapping[str, str]  # what a `machine` and a `cluster` can say of it (`scales`)
    tests: tuple[Test, ...]  # all must hold; empty if `not_tested` says why there is none
    not_tested: str
    needs: str  # what it takes to test it, where no data that there are can; for people
    values: Mapping[str, Published]  # the published numbers of this claim by `<metric>/<runtime>`
    definition: Mapping[str, Any]  # kind, scales and tests just as the register has them

    def on(self, support: str) -> "Claim":
        """The claim with those of its tests that are for this kind of system."""
        return replace(self, tests=tuple(t for t in self.tests if t.system in ("", support)))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 over all that decides the verdict: tests, margins, scales, published numbers.

        A rule and the analysis count with their versions, which change if what they decide does.
        Words for people are no part of it.
        """
        tests = self.definition["tests"]
        used = {test["published"]: self.values[test["published"]] for test in tests
                if "published" in test}  # fmt: skip
        decides = {
            **self.definition, "analysis": decision.VERSION,
            "rules": {test["rule"]: rules()[test["rule"]].version for test in tests},
            "published": {key: [number.value, number.unit] for key, number in used.items()},
        }  # fmt: skip
        return hashlib.sha256(canonical(decides).encode()).hexdigest()


@dataclass(frozen=True)
class Register:
    """All claims of a file, in its order, and the studies that make them."""

    name: str  # of the file; `claims` is the project's own, others are a user's or a site's
    studies: Mapping[str, Mapping[str, Any]]
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Declared:
    """The benchmarks, and the names of all arms: what the cells of a claim may name.

    A name that nothing declares can never be found in any dataset. It is either misspelt, or of
    something that Parity does not have yet, and then the test says that it waits for it.
    """

    benchmarks: Mapping[str, Benchmark]
    arms: Collection[str]
    simulated: Collection[str] = ()  # arms that extensions make of others' runs

    def missing(self, cells: Selection, options: Mapping[str, Any]) -> list[str]:
        """The names in a test's cells and options that nothing declares, each once.

        A benchmark and an arm are called by their name, a metric or parameter `npb.class`, and a
        level `npb.class=D`. Of a benchmark that is not there nothing else can be said.
        """
        arms = filter(None, (*(cells.arms or ()), *cells.against, options.get("than", "")))
        missing = [arm for arm in arms if arm not in self.arms and arm not in self.simulated]
        if control := options.get("control"):
            missing += self.missing(Selection.of(control), {})
        if not (benchmark := self.benchmarks.get(cells.benchmark)):
            return list(dict.fromkeys([cells.benchmark, *missing]))
        if cells.metric not in _metrics(benchmark):
            missing.append(f"{benchmark.name}.{cells.metric}")
        known = _parameters(benchmark)
        looked_along = (options.get("along"), options.get("order", ()))
        crossed = (options.get("factor"), options.get("levels", ()))
        named = [*cells.parameters.items(), *cells.levels.items(), looked_along, crossed]
        # `factor` is a number where a rule calls a ratio so.
        for name, levels in ((name, levels) for name, levels in named if isinstance(name, str)):
            if name not in known:
                missing.append(f"{benchmark.name}.{name}")
                continue
            accepts = jsonschema.Draft202012Validator(known[name]).is_valid
            # Some levels may stand in groups.
            flat = chain.from_iterable(x if isinstance(x, list) else [x] for x in levels)
            missing += [f"{benchmark.name}.{name}={level}" for level in flat if not accepts(level)]
        return list(dict.fromkeys(missing))

    def require(
        self, cells: Selection, options: Mapping[str, Any], waits_for: Collection[str], where: str
    ) -> None:
        """Refuse (UserError) a test that names what nothing declares or waits for what is there."""
        absent = self.missing(cells, options)
        if unknown := [name for name in absent if name not in waits_for]:
            allowed = f"benchmarks {', '.join(self.benchmarks)}"
            if benchmark := self.benchmarks.get(cells.benchmark):
                metrics, parameters = map(", ".join, (_metrics(benchmark), _parameters(benchmark)))
                allowed = f"metrics {metrics}; parameters {parameters}; arms of `snakemake probe`"
            problem = f"nothing declares {', '.join(unknown)}"
            action = "correct it, or name it under waits_for until it is there"
            raise UserError(problem, where=f"{where}.cells", allowed=allowed, action=action)
        if there := [name for name in waits_for if name not in absent]:
            problem, what = f"the test waits for {', '.join(there)}", f"{where}.waits_for"
            problem += ", which is there or which it does not name"
            raise UserError(problem, where=what, action="remove it, and read the test again")


def declared(plans: Iterable[Plan] = ()) -> Declared:
    """What this version of Parity has, and the benchmarks that these plans bring themselves.

    Those have the factors and parameters of their cases. What an extension makes of the data of
    benchmarks (`DECLARED` and `ARMS` in its room `claims`) is declared, too.
    """
    known: dict[str, Benchmark] = dict(benchmarks())
    for plan in plans:
        for name in [name for name in plan.definitions if name not in benchmarks()]:
            cases = [case.parameters for case in plan.cases if case.benchmark == name]
            levels = {
                parameter: {"enum": [case[parameter] for case in cases if parameter in case]}
                for parameter in sorted({key for case in cases for key in case})
            }
            known[name] = type("Derived", (type(plan.definitions[name]),), {"parameters": levels})()
    for add in (with_sums, *extensions_with(parity.claims, "DECLARED")):
        known = add(known)
    return Declared(known, every_arm(), {*chain(*extensions_with(parity.claims, "ARMS"))})


def _parameters(benchmark: Benchmark) -> dict[str, Mapping[str, Any]]:
    factors = {name: {"enum": list(levels)} for name, levels in benchmark.factors.items()}
    placed = _PLACED if benchmark.allocations else {}
    return {**benchmark.all_parameters, **factors, **placed}


def _metrics(benchmark: Benchmark) -> list[str]:
    counted = placed_metrics() if benchmark.allocations else ()
    return [quantity.metric for quantity in (*benchmark.metrics, *counted, *OF_ANY)]


def load_register(path: Path, published: Path | None, declared: Declared | None = None) -> Register:
    """The claims of a file such as config/claims.yaml, checked.

    `published`: config/published/claims.csv; None for claims without published numbers. `declared`:
    what the cells may name; None leaves them unchecked. Raises UserError, with the claim: an
    unknown key, rule or study, a repeated id, an option out of range, a published number that is
    not there, a name that nothing declares, or a finding that lacks one of `OF_FINDINGS`.
    """
    document = load_checked(path, "claims")
    numbers = load_published(published) if published else {}
    counts = Counter(claim["id"] for claim in document["claims"])
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise UserError(f"claims given twice: {', '.join(repeated)}", where=str(path))
    studies = document.get("studies", {path.stem: {"title": path.stem}})
    claims = []
    for entry in document["claims"]:
        where, study = f"{path}: {entry['id']}", entry.get("study", path.stem)
        if study not in studies:
            raise UserError(f"unknown study {study}", where=where, allowed=", ".join(studies))
        if path.stem == FINDINGS and (lacking := [key for key in OF_FINDINGS if key not in entry]):
            lacks, every = listed(lacking), f"every finding has {listed(OF_FINDINGS)}"
            action = "say what makes it so, and what would show that it is wrong"
            raise UserError(f"a finding without {lacks}", where=where, allowed=every, action=action)
        tests, values = entry.get("tests", ()), numbers.get(entry["id"], {})
        made, decides = list[Test](), []
        for number, test in enumerate(tests, start=1):
            made.append(one := _test(number, test, values, f"{where}: tests.{number}"))
            if declared:
                declared.require(one.cells, one.options, one.waits_for, f"{where}: tests.{number}")
            decides.append({k: test[k] for k in test if k not in ("instead_of", "waits_for")})
        told = {name: entry.get(name, "") for name in FOR_PEOPLE}
        claims.append(Claim(
            entry["id"], study, entry["kind"], entry["claim"], capability=entry["scales"],
            tests=tuple(made), not_tested=entry.get("not_tested", ""), values=values, **told,
            definition={"kind": entry["kind"], "scales": entry["scales"], "tests": decides},
        ))  # fmt: skip
    return Register(path.stem, studies, tuple(claims))


def load_users_claims(path: Path, declared: Declared | None = None) -> Register:
    """The claims of a user or a site, and the numbers of a .csv file of the same name, if any."""
    numbers = path.with_suffix(".csv")
    return load_register(path, numbers if numbers.exists() else None, declared)


def _test(
    number: int, entry: Mapping[str, Any], values: Mapping[str, Published], where: str
) -> Test:
    """A test whose keys are those of its rule."""
    known, name = rules(), entry["rule"]
    check(name, {"type": "string", "description": "A rule's name."}, f"{where}.rule")
    if name not in known:
        problem, allowed = f"unknown rule: {shown(name, str)}", ", ".join(known)
        raise UserError(problem, where=f"{where}.rule", allowed=allowed)
    options = known[name].options
    defaults = {option: of["default"] for option, of in options.items() if "default" in of}
    required = [option for option in options if option not in defaults]
    of_all = {key: {"$ref": f"#/$defs/{kind}"} for key, kind in NOT_OPTIONS.items()}
    described = {
        "$defs": schema("claims")["$defs"], "type": "object", "additionalProperties": False,
        "required": ["rule", "cells", *required],
        "properties": {**of_all, "rule": {"type": "string"}, **options},
    }  # fmt: skip
    check(entry, described, where)
    if "published" in entry and entry["published"] not in values:
        problem = f"no published number {shown(entry['published'])} of this claim"
        allowed = ", ".join(values) or "add a row to config/published/claims.csv"
        raise UserError(problem, where=f"{where}.published", allowed=allowed)
    cells = Selection.of(entry["cells"])
    if len(cells.against) > 1 and len(cells.against) != len(cells.arms or ()):
        problem = f"{len(cells.against)} arms to compare with"
        allowed = "one for all arms, or as many as `arms` lists"
        raise UserError(problem, where=f"{where}.cells.against", allowed=allowed)
    given = defaults | {key: entry[key] for key in entry if key not in NOT_OPTIONS}
    beside = {key: entry.get(key, "") for key in ("instead_of", "system", "reading")}
    return Test(number, name, given, cells, waits_for=tuple(entry.get("waits_for", ())), **beside)
