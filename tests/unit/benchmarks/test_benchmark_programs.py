"""What every benchmark starts, in each of its levels and placed in each way: a snapshot.

`PARITY_SNAPSHOTS=1` writes it anew; what changed in it is then read.
"""

import os
from dataclasses import fields, replace
from itertools import product

from benchmark_help import GOLDEN, NODE, defaults

from parity.benchmarks import benchmarks
from parity.benchmarks.hpl_copies import _COPY
from parity.core.errors import UserError

SNAPSHOT = GOLDEN / "programs.txt"
WIDE = replace(NODE, cpus=(0, 2, 5, 7))
PLACES = (
    ({}, WIDE),
    ({"nodes": 1, "ranks": 2}, WIDE),
    ({"nodes": 2, "ranks": 4}, WIDE),
    ({"nodes": 1, "ranks": 8, "containers_per_node": 2}, WIDE),
    ({"nodes": 1, "ranks": 2}, replace(WIDE, launcher=False)),
)


def told(program):
    """The fields of a program that are not as they are without being said."""
    for field in fields(program):
        value = getattr(program, field.name)
        if value and value != field.default and field.name not in ("files", "beside"):
            value = dict(value) if field.name == "environment" else value
            yield f"    {field.name}: {str(value).replace(repr(_COPY), '<hpl_copies.sh>')}"


def lines():
    for name, benchmark in sorted(benchmarks().items()):
        for levels in product(*benchmark.factors.values()):
            chosen = dict(zip(benchmark.factors, levels, strict=True))
            for place, node in PLACES:
                if benchmark.allocations not in ("optional", "required" if place else ""):
                    continue
                yield f"{name} {chosen} {place}{'' if node.launcher else ' without a launcher'}"
                try:
                    yield from told(benchmark.program(defaults(benchmark, **chosen, **place), node))
                except UserError as error:
                    yield f"    refused: {error}"


def test_every_program_is_as_it_was():
    text = "\n".join(lines()) + "\n"
    if os.environ.get("PARITY_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
