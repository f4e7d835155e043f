"""ReFrame's run report (JSON, data version 4): a performance variable of a test case is a number.

The arm is a parameter of the test. A repetition is a block, and so is each time that the session
was run again. A test that failed, or whose variable is no number, is lost.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row, as_name, number_of, report_of

# A display name is `name %parameter=value %.repeat_no=0 ~partition+environment …`.
_NEXT = re.compile(r"\s+(?=[%~/@])")
DEFAULTS = ("generic", "default", "builtin")


class _Test(msgspec.Struct):
    """A test case. Each of `perfvalues` is value, reference, lower, upper and unit."""

    display_name: str
    result: str | None = None
    unique_name: str = ""
    system: str = ""
    partition: str | None = None
    environ: str | None = None
    fixture: bool = False
    perfvalues: dict[str, list[Any]] | None = None


class _Run(msgspec.Struct):
    testcases: list[_Test] = []


class _Session(msgspec.Struct):
    data_version: str | float = ""


class _Report(msgspec.Struct):
    session_info: _Session
    runs: list[_Run]


def rows(path: Path, options: Options) -> list[Row]:
    """`reframe --report-file=report.json`."""
    report = report_of(path, _Report)
    version = str(report.session_info.data_version)
    if not report.runs or not version.startswith("4"):
        problem = f"this is no run report of data version 4: {version or 'no version'}"
        raise UserError(problem, where=str(path))
    rows = []
    for again, run in enumerate(report.runs):
        for number, test in enumerate(run.testcases):
            # What tests stand on, such as a build, is no measurement.
            if not test.fixture:
                where = f"{path}: runs[{again}].testcases[{number}]"
                rows += _rows(test, str(again) if len(report.runs) > 1 else "", options, where)
    return rows


def parsed_name(told: str) -> tuple[str, dict[str, str]]:
    """Name and parameters of a test, of the name that it is shown by."""
    name, *words = _NEXT.split(told)
    pairs = [word[1:].partition("=") for word in words if word.startswith("%")]
    return name, {key: value for key, _, value in pairs}


def _rows(test: _Test, again: str, options: Options, where: str) -> list[Row]:
    name, parameters = parsed_name(test.display_name)
    repetition = parameters.pop(".repeat_no", "")
    arm = options.arm_in(parameters, test.display_name, where)
    levels = [f"{key}={value}" for key, value in parameters.items() if key != options.arm]
    places = [p for p in (test.system, test.partition, test.environ) if p and p not in DEFAULTS]
    told_case = [name, *levels, *places]
    again = again or ("0" if repetition else "")
    lost = Row(".".join(filter(None, (again, repetition))), as_name(*told_case), as_name(arm),
               valid=False, source=test.unique_name or name, where=where,
               told=(" ".join(told_case), arm))  # fmt: skip
    rows = []
    for key, numbers in (test.perfvalues or {}).items():
        metric = key.rpartition(":")[2]
        value, reference, lower, upper, unit = (*numbers, *[None] * 5)[:5]
        unit = str(unit or "1")
        # A reference with one bound tells by it which way is better.
        told = ""
        if reference and (lower is None) != (upper is None):
            told = "lower" if lower is None else "higher"
        rows.append(lost._replace(
            metric=metric, value=number_of(value), unit=unit,
            better=options.direction(metric, unit if unit != "1" else "", told),
            valid=test.result in ("pass", "xpass"), where=f"{where}: {metric}",
        ))  # fmt: skip
    return rows or [lost]


CONVERTER = Converter.of_json(
    "reframe", "ReFrame's run report", rows, "session_info", may_lack=True
)
