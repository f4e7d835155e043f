"""Claims may be about a program that a plan alone describes."""

from typing import Any

import pytest
from plans import plan_of

from parity.claims.cells import Selection
from parity.claims.register import declared

COMMAND = {
    "title": "Melt", "program": ["/melt", "{steps}"], "binaries": ["/melt"],
    "metrics": [{"name": "loop", "pattern": "(.)", "unit": "s", "better": "lower"}],
}  # fmt: skip
PLAN = plan_of(
    {
        "cases": [
            {"case": f"melt-steps_{n}", "benchmark": "melt",
             "parameters": {"command": COMMAND, "steps": n}}
            for n in (10, 20)
        ]
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "absent"),
    [
        ({"metric": "loop"}, []),
        ({"metric": "loop", "parameters": {"steps": [10, 20]}}, []),
        ({"metric": "tau"}, ["melt.tau"]),
        ({"metric": "loop", "parameters": {"steps": [30], "size": [1]}},
         ["melt.steps=30", "melt.size"]),
    ],
)  # fmt: skip
def test_its_names_are_those_of_the_plan(cells: dict[str, Any], absent: list[str]) -> None:
    chosen = Selection.of({"benchmark": "melt", "arms": ["podman"], **cells})
    assert declared([PLAN]).missing(chosen, {}) == absent
    assert declared().missing(chosen, {}) == ["melt"]
