"""What pytest-benchmark exports (`--benchmark-json`): the median time of each test.

One file is one block. The arm is the parameter of the test that `--arm` names.
"""

from pathlib import Path
from typing import Any

import msgspec

from parity.imports.rows import LOST, Converter, Options, Row, as_name, number_of, report_of


class _Stats(msgspec.Struct):
    median: Any = None


class _Test(msgspec.Struct):
    name: str
    fullname: str
    params: dict[str, Any] | None
    stats: _Stats


class _Report(msgspec.Struct):
    benchmarks: list[_Test]
    machine_info: dict[str, Any]


class PytestBenchmark(Converter):
    """`pytest --benchmark-json=block-1.json`."""

    name = "pytest-benchmark"
    title = "results of pytest-benchmark"

    def takes(self, text: str) -> bool:
        return text.lstrip().startswith("{") and '"machine_info"' in text

    def rows(self, path: Path, options: Options) -> list[Row]:
        made = []
        for place, test in enumerate(report_of(path, _Report).benchmarks):
            where, levels = f"{path}: benchmarks[{place}]", dict(test.params or {})
            arm = options.arm_in(levels, test.name, where)
            del levels[options.arm]
            told = [
                test.name.partition("[")[0],
                *(f"{key}={levels[key]}" for key in sorted(levels)),
            ]
            lost = Row(path.stem, as_name(*told), as_name(arm), **LOST, source=test.fullname,
                       where=where, told=(" ".join(told), arm))  # fmt: skip
            value = number_of(test.stats.median)
            found = lost if value is None else lost._replace(value=value, valid=True)
            made.append(found._replace(metric="time", unit="s", better="lower"))
        return made


CONVERTER = PytestBenchmark()
