"""The claims register: config/claims.yaml, or a user's file, checked, with its numbers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parity.claims.declared import Declared, require_declared
from parity.claims.published import Published, load_published
from parity.claims.rules import rules
from parity.claims.rules.model import Schemas
from parity.claims.selection import Selection
from parity.core.documents import canonical
from parity.core.errors import UserError, shown
from parity.core.settings import check, load_checked, schema

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
        waits_for: names in its cells that nothing declares yet (`parity.claims.declared`).
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
