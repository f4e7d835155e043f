"""The decision rules, found by being in a module's `RULES`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

from parity.claims.rules.model import Rule
from parity.core.registry import modules_with


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its name."""
    there: list[Rule] = []
    for of_module in modules_with(sys.modules[__name__], "RULES"):
        if isinstance(of_module, Iterable):
            there += of_module
    return {rule.name: rule for rule in sorted(there, key=lambda rule: rule.name)}
