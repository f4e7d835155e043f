"""Checks every promise of the analysis against planted truth (`make validate`).

A run at full effort leaves docs/validation.json, .csv and .md, and its exit status is 1 if a
promise does not hold. With less than the full effort it is 1 if a promise is broken. A
scenario's numbers hang on its name and the seed alone, so one may be renewed by itself.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import StrictUndefined, Template
from planted_truth.promises import CONFIDENCE, Observed
from planted_truth.scenarios import scenarios
from planted_truth.trials import NO, SHOWN, TOO_FEW, YES, Result, Scenario, validate

from parity.core.errors import shown_to_the_user
from parity.core.files import read_json, write_json

COMMITTED = Path(__file__).resolve().parents[1] / "docs/validation.json"
TEMPLATE = Path(__file__).with_name("planted_truth") / "validation.md.jinja"
SEED = 20_260_101
# Hundreds of thousands of small files are written and removed: in memory, where there is room.
MEMORY = Path("/dev/shm")
# Of each column how wide it is on a terminal.
WIDTHS = {"scenario": 20, "planted": 34, "measured": 47, "promised": 14, "replicates": 10,
          "observed": 24, "before": 24, "holds": 7}  # fmt: skip
# Enough for any table, and the same on machines whose last bits differ.
DIGITS = 6
_NOT_HOLDING = {NO: "refuted", TOO_FEW: "open, of too few replicates"}


def document(scenarios: Sequence[Scenario], results: Iterable[Result], seed: int) -> dict[str, Any]:
    designs = [
        {"scenario": each.name, "part": each.part, "planted": each.about, "blocks": each.blocks,
         "margin": each.margin}
        for each in scenarios
    ]  # fmt: skip
    return {"seed": seed, "scenarios": designs, "results": [row(result) for result in results]}


def row(result: Result) -> dict[str, Any]:
    measure, observed = result.measure, result.observed
    return {
        "scenario": result.scenario, "planted": measure.planted, "measured": measure.measured,
        "promised": measure.promise.text, "replicates": observed.replicates,
        **_rounded(observed), "holds": result.holds,
        "before": _rounded(result.before) if result.before else None,
    }  # fmt: skip


def _rounded(observed: Observed) -> dict[str, float]:
    return {key: round(getattr(observed, key), DIGITS) for key in ("value", "low", "high")}


def shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """A row with what was observed in words: in per cent, small shares with two digits more."""
    before = result.get("before")
    return {**result, "observed": _text(result), "before": _text(before) if before else ""}


def _text(observed: Mapping[str, Any]) -> str:
    value, low, high = (
        "0" if not share else f"{100 * share:.3f}" if abs(share) < 0.01 else f"{100 * share:.1f}"
        for share in (observed["value"], observed["low"], observed["high"])
    )
    return f"{value} [{low}, {high}] %"


def filled_in(template: Path, **content: Any) -> str:
    """A template of Jinja's with this content."""
    text, whole = template.read_text("utf-8"), {"trim_blocks": True, "keep_trailing_newline": True}
    return Template(text, undefined=StrictUndefined, **whole).render(content)


def render(found: Mapping[str, Any]) -> str:
    parts = {each["scenario"]: each["part"] for each in found["scenarios"]}
    by_promise: dict[str, dict[str, list[dict[str, Any]]]] = {part: {} for part in parts.values()}
    rows = [shown(each) for each in found["results"]]
    promised = [each for each in rows if each["holds"] != SHOWN]
    for each in promised:
        of_part = by_promise[parts[each["scenario"]]]
        of_part.setdefault(each["promised"], []).append(each)
    return filled_in(
        TEMPLATE, seed=found["seed"], confidence=round(100 * CONFIDENCE), promised=len(promised),
        shown=len(rows) - len(promised), scenarios=Counter(parts.values()),
        kept={part: [_kept(promise, of) for promise, of in sorted(each.items())]
              for part, each in by_promise.items()},
        open=[(_NOT_HOLDING[e["holds"]], e) for e in rows if e["holds"] in _NOT_HOLDING],
    )  # fmt: skip


def _kept(promise: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """How many of the rows with a promise hold, and which comes nearest to what is promised."""
    far = min if promise.startswith("≥") else max
    nearest = far(rows, key=lambda each: abs(each["value"]))
    held = sum(each["holds"] == YES for each in rows)
    what = f"{nearest['scenario']}, {nearest['planted']}: {nearest['measured']}"
    return promise, f"{held} of {len(rows)}", what, nearest["observed"]


def as_csv(found: Mapping[str, Any]) -> str:
    """Every row with the design of its scenario, as a table for other programs."""
    designs = pd.DataFrame(found["scenarios"]).rename(columns={"planted": "design"})
    rows = pd.json_normalize(found["results"], sep="_").drop(columns="before", errors="ignore")
    return designs.merge(rows, on="scenario", sort=False).to_csv(index=False, lineterminator="\n")


def documents() -> dict[Path, str]:
    """The report and its table, as the committed numbers give them."""
    found = read_json(COMMITTED)
    return {COMMITTED.with_suffix(".md"): render(found),
            COMMITTED.with_suffix(".csv"): as_csv(found)}  # fmt: skip


def renewed(committed: Mapping[str, Any], made: dict[str, Any], order: Sequence[str]) -> Any:
    """A report in which what was made anew stands in the place of what was there."""
    fresh = {each["scenario"] for each in made["scenarios"]}
    return made | {
        part: [row for name in order for row in (made if name in fresh else committed)[part]
               if row["scenario"] == name]
        for part in ("scenarios", "results")
    }  # fmt: skip


def _print(cells: Mapping[str, Any]) -> None:
    line = "  ".join(str(cells[column]).ljust(width) for column, width in WIDTHS.items())
    print(line.rstrip(), flush=True)


def main() -> int:
    """Run all scenarios, print the table as it grows, and write the report of a full run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=1.0, help="part of the replicates")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="name of one scenario, or of a part of the report")
    options, begun = parser.parse_args(), time.monotonic()
    chosen = [each for each in scenarios() if options.only in (None, each.name, each.part)]
    if os.access(MEMORY, os.W_OK):
        tempfile.tempdir = str(MEMORY)
    results = []
    _print({column: column for column in WIDTHS})
    for result in validate(chosen, options.seed, options.effort, options.workers):
        results.append(result)
        _print(shown(row(result)))
    count = {word: sum(result.holds == word for result in results) for word in (YES, NO, SHOWN)}
    promised = len(results) - count[SHOWN]
    print(
        f"{count[YES]} of {promised} promises hold; "
        f"{time.monotonic() - begun:.0f} s with {options.workers} processes, seed {options.seed}"
    )
    if (options.effort, options.seed) == (1.0, SEED):
        made, order = document(chosen, results, SEED), [each.name for each in scenarios()]
        write_json(COMMITTED, renewed(read_json(COMMITTED), made, order))
        for path, text in documents().items():
            path.write_text(text, encoding="utf-8")
        return int(count[YES] < promised)
    return int(count[NO] > 0)


if __name__ == "__main__":
    with shown_to_the_user():
        status = main()
    sys.exit(status)
