"""What hyperfine exports (`--export-json`, versions 1 and 2): the median time of each command.

One file is one block, since it times one command after the other. The arm is the parameter that
`--arm` names, or where commands have none what they are called.
"""

from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row, as_name, number_of, report_of


class _Result(msgspec.Struct):
    """A command. Version 2 has `measurements`, before it `times` and `exit_codes` were lists."""

    command: str
    name: str | None = None
    parameters: dict[str, str] = {}
    times: list[float] = []
    exit_codes: list[int | None] = []
    measurements: list[dict[str, Any]] = []

    def runs(self) -> list[tuple[float | None, bool]]:
        """Seconds of each run, and whether it ended well."""
        if self.measurements:
            return [
                (number_of(run.get("time_wall_clock", {}).get("value")), run.get("exit_code") == 0)
                for run in self.measurements
            ]
        ended = [code == 0 for code in self.exit_codes] or [True] * len(self.times)
        return [*zip(map(number_of, self.times), ended, strict=False)]


class _Report(msgspec.Struct):
    results: list[_Result]


def rows(path: Path, options: Options) -> list[Row]:
    """`hyperfine --export-json block-1.json`."""
    made = []
    for place, result in enumerate(report_of(path, _Report).results):
        where, levels = f"{path}: results[{place}]", dict(result.parameters)
        called = result.name or result.command
        arm = options.arm_in(levels, called, where) if levels else called
        levels.pop(options.arm, None)
        told = [f"{key}={value}" for key, value in sorted(levels.items())]
        case = as_name("hyperfine", *told)
        lost = Row(path.stem, case, as_name(arm), valid=False, source=result.command, where=where,
                   told=(" ".join(told), arm))  # fmt: skip
        if not result.runs() or len(result.exit_codes) not in (0, len(result.times)):
            said = f"{len(result.times)} times and {len(result.exit_codes)} exit codes"
            raise UserError(f"no runs of {called}: {said}", where=where)
        times = [seconds for seconds, is_good in result.runs() if is_good and seconds]
        whole = len(times) == len(result.runs())
        made.append(
            lost._replace(metric="time", value=median(times), unit="s", better="lower",
                          valid=whole) if times else lost
        )  # fmt: skip
    return made


CONVERTER = Converter.of_json("hyperfine", "results of hyperfine", rows, "results", "command")
