"""The claims register: config/claims.yaml, checked, with the published numbers it refers to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parity.claims.judging_data import Selection
from parity.claims.published import Published, load_published
from parity.claims.rules import rules
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.core.settings import check, load_checked, schema

NOT_OPTIONS = ("rule", "cells", "instead_of")


@dataclass(frozen=True)
class Test:
    """One condition of a claim.

    Attributes:
        number: its place within the claim, from 1.
        rule: name of the rule that decides it.
        options: the rule's own numbers, such as the margin.
        cells: which comparisons it looks at.
        instead_of: what differs from the published experiment; empty if nothing does.
    """

    number: int
    rule: str
    options: Mapping[str, Any]
    cells: Selection
    instead_of: str


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


def load_register(path: Path, published: Path) -> Register:
    """The claims register, checked.

    Args:
        path: config/claims.yaml.
        published: config/published/claims.csv.

    Raises:
        UserError: an unknown key, rule or study, a repeated id, an option out of range, or
            a published number that is not there; with the claim.
    """
    document = load_checked(path, "claims")
    numbers = load_published(published)
    repeated = [name for name, count in Counter(c["id"] for c in document["claims"]).items()
                if count > 1]  # fmt: skip
    if repeated:
        raise UserError(f"claims given twice: {', '.join(repeated)}", where=str(path))
    claims = []
    for entry in document["claims"]:
        where = f"{path}: {entry['id']}"
        if entry["study"] not in document["studies"]:
            known = ", ".join(document["studies"])
            raise UserError(f"unknown study {entry['study']}", where=where, allowed=known)
        claims.append(_claim(entry, numbers.get(entry["id"], {}), where))
    return Register(path.stem, document["studies"], tuple(claims))


def _claim(entry: Mapping[str, Any], values: Mapping[str, Published], where: str) -> Claim:
    tests = [
        _test(number, test, values, f"{where}: tests.{number}")
        for number, test in enumerate(entry.get("tests", ()), start=1)
    ]
    decides = {
        "kind": entry["kind"],
        "scales": entry["scales"],
        "tests": [
            {key: value for key, value in test.items() if key != "instead_of"}
            for test in entry.get("tests", ())
        ],
    }
    return Claim(
        id=entry["id"],
        study=entry["study"],
        kind=entry["kind"],
        statement=entry["claim"],
        where=entry["where"],
        published=entry["published"],
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
    if entry["rule"] not in known:
        raise UserError(
            f"unknown rule: {entry['rule']}", where=f"{where}.rule", allowed=", ".join(known)
        )
    options = known[entry["rule"]].options
    shared = schema("claims")
    check(
        entry,
        {
            "$defs": shared["$defs"],
            "type": "object",
            "additionalProperties": False,
            "required": ["rule", "cells", *options],
            "properties": {
                "rule": {"type": "string"},
                "cells": {"$ref": "#/$defs/cells"},
                "instead_of": {"$ref": "#/$defs/text"},
                **options,
            },
        },
        where,
    )
    if "published" in entry and entry["published"] not in values:
        raise UserError(
            f"no published number {entry['published']!r} of this claim",
            where=f"{where}.published",
            allowed=", ".join(values) or "add a row to config/published/claims.csv",
        )
    return Test(
        number=number,
        rule=entry["rule"],
        options={key: value for key, value in entry.items() if key not in NOT_OPTIONS},
        cells=Selection.of(entry["cells"]),
        instead_of=entry.get("instead_of", ""),
    )
