"""The decision rules: one module each, found by being there."""

from __future__ import annotations

import sys
from functools import cache

from parity.claims.rules.model import Rule
from parity.core.registry import modules_with


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its name."""
    there = modules_with(sys.modules[__name__], "RULE")
    return dict(sorted((rule.name, rule) for rule in there if isinstance(rule, Rule)))
