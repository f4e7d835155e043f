"""ReFrame's run report (JSON, data version 4): a performance variable of a test case is a number.

The arm is a parameter of the test, and a repetition (`--repeat`) is a block; runs that are made
again (`--reruns`) are blocks, too. A reference with one threshold tells which way is better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.core.documents import parse_json, read_text
from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row, as_name, begins

# As the display name of a test case has it.
_REPETITION = re.compile(r"%\.repeat_no=(\d+)")
_PARAMETER = re.compile(r"%(\S+?)=(\S+)")


class ReFrame(Converter):
    """`reframe --report-file=report.json`."""

    name = "reframe"
    title = "ReFrame's run report"

    def takes(self, path: Path) -> bool:
        return '"session_info"' in begins(path)

    def rows(self, path: Path, options: Options) -> list[Row]:
        content = parse_json(read_text(path), str(path))
        runs = content.get("runs") if isinstance(content, dict) else None
        version = str((content.get("session_info") or {}).get("data_version")) if runs else ""
        if not runs or not version.startswith("4."):
            raise UserError(
                f"this is no run report of data version 4: {version or 'no runs'}", where=str(path)
            )
        return [
            row
            for run in runs
            for number, case in enumerate(run["testcases"])
            for row in _rows(case, options, f"{path}: runs.testcases[{number}]")
        ]


def _rows(case: Mapping[str, Any], options: Options, where: str) -> list[Row]:
    """The numbers of a test case; one that failed before any has none."""
    shown = case["display_name"]
    repetition = _REPETITION.search(shown)
    parameters = {name: value for name, value in _PARAMETER.findall(shown) if name[0] != "."}
    if options.arm not in parameters:
        raise UserError(
            f"{shown} has no parameter {options.arm}",
            where=where,
            allowed=", ".join(parameters) or "a parameter of the test, which is the arm",
            action="name it by --arm",
        )
    arm = parameters.pop(options.arm)
    levels = [f"{name}={value}" for name, value in parameters.items()]
    place = case["system"], case["partition"], case["environ"]
    name = as_name(shown.split()[0], *levels, *(p for p in place if p not in _DEFAULTS))
    rows = []
    for key, (value, reference, lower, upper, unit, *_) in (case["perfvalues"] or {}).items():
        metric = key.rpartition(":")[2]
        told = _told(lower, upper) if reference else ""
        rows.append(
            Row(
                block=f"{case['run_index']}.{repetition[1]}" if repetition else "",
                case=name,
                arm=as_name(arm),
                metric=metric,
                value=float(value),
                unit=unit or "1",
                better=options.direction(metric, unit or "", told),
                valid=case["result"] in ("pass", "xpass"),
                source=case["unique_name"],
                where=f"{where}: {metric}",
            )
        )
    return rows


_DEFAULTS = ("generic", "default", "builtin")


def _told(lower: float | None, upper: float | None) -> str:
    """Which way is better by the one bound that a reference has; empty if it has none or both."""
    if (lower is None) == (upper is None):
        return ""
    return "lower" if lower is None else "higher"


CONVERTER = ReFrame()
