"""The report of a validation: plain rows, a table for the terminal, and docs/validation.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template

from planted_truth.promises import CONFIDENCE
from planted_truth.trials import NO, SHOWN, TOO_FEW, Result, Scenario

COLUMNS = (
    "scenario", "planted", "measured", "promised", "replicates", "observed", "holds",
)  # fmt: skip
# Enough for any table, and the same on machines whose last bits differ.
DIGITS = 6
_TEMPLATE = Path(__file__).with_name("validation.md.jinja")
_NOT_HOLDING = {NO: "refuted", TOO_FEW: "open, of too few replicates"}


def document(scenarios: Sequence[Scenario], results: Iterable[Result], seed: int) -> dict[str, Any]:
    """All that the report says, as JSON."""
    return {
        "seed": seed,
        "scenarios": [
            {
                "scenario": scenario.name,
                "part": scenario.part,
                "planted": scenario.about,
                "blocks": scenario.blocks,
                "margin": scenario.margin,
            }
            for scenario in scenarios
        ],
        "results": [row(result) for result in results],
    }


def row(result: Result) -> dict[str, Any]:
    """One result as JSON."""
    measure, observed = result.measure, result.observed
    return {
        "scenario": result.scenario,
        "planted": measure.planted,
        "measured": measure.measured,
        "promised": measure.promise.text,
        "replicates": observed.replicates,
        **{key: round(getattr(observed, key), DIGITS) for key in ("value", "low", "high")},
        "holds": result.holds,
    }


def cells(result: Mapping[str, Any]) -> tuple[str, ...]:
    """A result's row in the words of the table."""
    shown = {**result, "observed": _shown(result)}
    return tuple(str(shown[column]) for column in COLUMNS)


def _shown(observed: Mapping[str, float]) -> str:
    value, low, high = (_percent(observed[key]) for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}] %"


def _percent(share: float) -> str:
    """A share in per cent; small ones with two digits more."""
    if share == 0:
        return "0"
    return f"{100 * share:.3f}" if abs(share) < 0.01 else f"{100 * share:.1f}"


def render(found: Mapping[str, Any]) -> str:
    """The whole docs/validation.md."""
    template = Template(
        _TEMPLATE.read_text("utf-8"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    parts = {each["scenario"]: each["part"] for each in found["scenarios"]}
    designs, results = defaultdict(list), defaultdict(list)
    for each in found["scenarios"]:
        design = each["scenario"], each["blocks"], _margin(each["margin"]), each["planted"]
        designs[each["part"]].append(design)
    for each in found["results"]:
        results[parts[each["scenario"]]].append(cells(each))
    text: str = template.render(
        seed=found["seed"],
        confidence=round(100 * CONFIDENCE),
        promised=sum(each["holds"] != SHOWN for each in found["results"]),
        open=[
            (_NOT_HOLDING[each["holds"]], each | {"observed": _shown(each)})
            for each in found["results"]
            if each["holds"] in _NOT_HOLDING
        ],
        columns=COLUMNS,
        designs=designs,
        results=results,
    )
    return text


def _margin(margin: float | None) -> str:
    return "" if margin is None else f"{100 * margin:g} %"
