"""Plans for tests: from as little as a test is about, and changed in as little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from parity.plan.plan import PLAN_VERSION, Plan

_WHOLE = {
    "version": PLAN_VERSION, "campaign": "planted-smoke", "study": "planted", "scale": "smoke",
    "title": "Made up", "reproduces": "none", "seed": 7, "attempts": 2,
    "reference": "native-a", "aa_pair": ["native-a", "native-b"], "provider": "system",
    "arms": [], "arm_titles": {}, "arm_runtimes": {}, "benchmark_titles": {},
    "benchmark_notes": {}, "cases": [], "blocks": [], "comparisons": [], "not_tested": [],
}  # fmt: skip
_CASE = {
    "parameters": {}, "margin": None, "primary": [], "differences": [], "timeout": 60,
}  # fmt: skip


def plan_of(content: Mapping[str, Any]) -> Plan:
    """A plan with these keys of plan.json; all others are filled in."""
    cases = [_CASE | dict(case) for case in content.get("cases", ())]
    blocks = [{"nodes": 1} | dict(block) for block in content.get("blocks", ())]
    return msgspec.convert(_WHOLE | dict(content) | {"cases": cases, "blocks": blocks}, Plan)


def changed(plan: Plan, **content: Any) -> Plan:
    """The plan with other content, given as in plan.json."""
    return plan_of(msgspec.to_builtins(plan) | content)
