"""What pytest-benchmark exports (`--benchmark-json`): the median time of each test.

One file is one block. The arm is the parameter of the test that `--arm` names.
"""

from pathlib import Path
from typing import Any

import msgspec

from parity.imports.rows import Converter, Options, Row, as_name, number_of, report_of


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


def rows(path: Path, options: Options) -> list[Row]:
    """`pytest --benchmark-json=block-1.json`."""
    made = []
    for place, test in enumerate(report_of(path, _Report).benchmarks):
        where, levels = f"{path}: benchmarks[{place}]", dict(test.params or {})
        arm = options.arm_in(levels, test.name, where)
        del levels[options.arm]
        told = [test.name.partition("[")[0], *(f"{k}={levels[k]}" for k in sorted(levels))]
        value = number_of(test.stats.median)
        made.append(
            Row(path.stem, as_name(*told), as_name(arm), "time", value, "s", "lower",
                value is not None, test.fullname, where=where, told=(" ".join(told), arm))
        )  # fmt: skip
    return made


CONVERTER = Converter.of_json(
    "pytest-benchmark", "results of pytest-benchmark", rows, "machine_info"
)
