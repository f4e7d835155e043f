"""Runs of golden outputs, as `tests/golden/*/expect.yaml` says what becomes of each."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from benchmark_help import GOLDEN, NODE, defaults, golden

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs, Parsed


class Mutated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an output is changed in every line and number."""

    tolerance: float = 0.0  # the largest relative change of a value that nothing printed tells
    unchecked: tuple[str, ...] = ()  # metrics that nothing else in the output tells of
    step: int = 1  # each so many-th change is tried; more than one where the output is long


class GoldenRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A golden output, the run that it is of, and what its parser makes of it.

    Golden files are named by paths in `tests/golden`; without one there was no output.
    """

    benchmark: str
    of: str = ""
    file: str = ""  # where the program left it; empty for standard output
    files: dict[str, str] = {}  # golden files that lie beside it
    asked: dict[str, Any] = {}
    stdout: str = ""  # if a file is looked at
    stderr: str = ""
    command: tuple[str, ...] = ()
    walls: tuple[float, ...] | str = (1.2,)  # or a golden file of them
    cache: int = NODE.last_level_cache
    memory: int = NODE.memory
    replace: dict[str, str] = {}  # the first of each in the text
    values: dict[str, float] | None = None  # all of them
    among: dict[str, float] = {}  # some of them
    lacks: tuple[str, ...] = ()  # metrics that it has not, all others being there
    reason: str = ""
    detail: str | None = None
    mutated: Mutated | None = None

    @property
    def text(self) -> str:
        text = golden(self.of) if self.of else ""
        for old, new in self.replace.items():
            assert old in text, f"{self.of} does not hold {old!r}"
            text = text.replace(old, new, 1)
        return text

    def parse(self, text: str) -> Parsed:
        """What the parser makes of a text in the place of the golden one."""
        benchmark = benchmarks()[self.benchmark]
        files = {name: golden(path) for name, path in self.files.items()}
        looked_at = {self.file: text} if self.file and self.of else {}
        beside = golden(self.stdout) if self.stdout else ""
        walls = json.loads(golden(self.walls)) if isinstance(self.walls, str) else self.walls
        return benchmark.parse(
            Outputs(
                stdout=beside if self.file else text,
                stderr=golden(self.stderr) if self.stderr else "", files=files | looked_at,
                wall_seconds=tuple(walls), parameters=defaults(benchmark, **self.asked),
                command=self.command, last_level_cache=self.cache, memory=self.memory,
            )
        )  # fmt: skip

    def __str__(self) -> str:
        changed = next(iter(self.replace), "")
        return " ".join(filter(None, (self.benchmark, self.of, self.reason, changed[:30])))


def of_folder(path: Path) -> Iterator[GoldenRun]:
    """The runs that one `expect.yaml` tells of: each of its cases over what is `same` in all."""
    document = msgspec.yaml.decode(path.read_bytes())
    same: Mapping[str, Any] = document["same"]
    for case in document["cases"]:
        asked = {**same.get("asked", {}), **case.get("asked", {})}
        yield msgspec.convert({**same, **case, "asked": asked}, GoldenRun)


def golden_runs() -> list[GoldenRun]:
    return [run for path in sorted(GOLDEN.glob("*/expect.yaml")) for run in of_folder(path)]
