"""Checks every promise of the analysis against planted truth (`make validate`).

A run at full effort leaves docs/validation.json and docs/validation.md, and its exit status is 1
if a promise does not hold. With less than the full effort it is 1 if a promise is broken. A
scenario's numbers hang on its name and the seed alone, so one may be renewed by itself.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planted_truth.report import COLUMNS, cells, document, render, row
from planted_truth.scenarios import scenarios
from planted_truth.trials import NO, SHOWN, YES, validate

from parity.core.errors import shown_to_the_user
from parity.core.files import read_json, write_json

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden"
COMMITTED = ROOT / "docs/validation.json"
DOCUMENT = COMMITTED.with_suffix(".md")
SEED = 20_260_101
# Hundreds of thousands of small files are written and removed: in memory, where there is room.
MEMORY = Path("/dev/shm")
Document = dict[str, Any]
WIDTHS = (20, 34, 47, 14, 10, 24, 7)


def validation_text() -> str:
    """The text of docs/validation.md."""
    return render(read_json(COMMITTED))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=1.0, help="part of the replicates")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="name of one scenario")
    return parser.parse_args()


def _line(texts: tuple[str, ...]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS, strict=True)).rstrip()


def renewed(committed: Document, made: Document, order: Sequence[str]) -> Document:
    """A report in which what was made anew stands in the place of what was there.

    Args:
        order: of the scenarios, by name.
    """
    fresh = {each["scenario"] for each in made["scenarios"]}
    return made | {
        part: [
            row
            for name in order
            for row in (made if name in fresh else committed)[part]
            if row["scenario"] == name
        ]
        for part in ("scenarios", "results")
    }


def main() -> int:
    """Run all scenarios, print the table as it grows, and write the report of a full run."""
    options, begun = _arguments(), time.monotonic()
    chosen = [each for each in scenarios() if options.only in (None, each.name)]
    if os.access(MEMORY, os.W_OK):
        tempfile.tempdir = str(MEMORY)
    results = []
    print(_line(COLUMNS))
    for result in validate(chosen, GOLDEN, options.seed, options.effort, options.workers):
        results.append(result)
        print(_line(cells(row(result))), flush=True)
    promised = [result for result in results if result.holds != SHOWN]
    holding = [result for result in promised if result.holds == YES]
    broken = [result for result in results if result.holds == NO]
    print(
        f"{len(holding)} of {len(promised)} promises hold; "
        f"{time.monotonic() - begun:.0f} s with {options.workers} processes, seed {options.seed}"
    )
    if (options.effort, options.seed) == (1.0, SEED):
        made, order = document(chosen, results, SEED), [each.name for each in scenarios()]
        write_json(COMMITTED, renewed(read_json(COMMITTED), made, order))
        DOCUMENT.write_text(validation_text(), encoding="utf-8")
        return int(len(holding) < len(promised))
    return int(bool(broken))


if __name__ == "__main__":
    with shown_to_the_user():
        status = main()
    sys.exit(status)
