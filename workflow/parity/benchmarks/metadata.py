"""Metadata: files of nothing that are made, asked about and taken away, as mdtest does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks import programs
from parity.benchmarks.description import Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Printed,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    search_text,
)
from parity.core.commands import Availability

SOURCE = "metadata.c"
# In the order of its phases.
RATES = {
    phase: Quantity(f"{phase}_rate", words, "1/s", "higher")
    for phase, words in (
        ("create", "files made per second"),
        ("stat", "files asked about per second"),
        ("unlink", "files removed per second"),
    )
}
TIME = Quantity("time", "all of them", "s", "lower")


class Metadata(Benchmark):
    """One process in one new folder; each phase ends when the folder is on the disk."""

    name = "metadata"
    title = "Metadata"
    sources: ClassVar = (SOURCE,)
    binaries = (programs.compiled_path(SOURCE),)
    parameters, figures, note = described(__file__, *RATES.values(), TIME)
    work = sized_by = "files"
    target_seconds = 0.4
    timed = TIME.metric
    metrics = (*RATES.values(), TIME)
    primary = tuple(quantity.metric for quantity in RATES.values())

    def probe(self) -> Availability:
        """Whether it is compiled."""
        return programs.all_compiled(self.binaries)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """On the first CPU, in the working folder of the run or in one that every arm sees."""
        folder, files = parameters["folder"] or ".", str(parameters["files"])
        return Program((*self.binaries, folder, files), node.cpus[:1])

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Rate of each phase; valid if each took all files, and none was left."""
        text, files = outputs.stdout, outputs.parameters["files"]
        require_complete(text, "create: ", r"left: [0-9]+ files")
        require_equal(search_text(r"^left: ([0-9]+) files$", text, "left"), 0, "files left")
        metrics, seconds = [], 0.0
        for phase, quantity in RATES.items():
            line = rf"^{phase}: ([0-9]+ files in [0-9]+ ns, [0-9]+\.[0-9]{{3}}) per second$"
            words = search_text(line, text, phase).split()
            require_equal(words[0], files, f"files of {phase}")
            rate, took = printed(words[5], phase), Printed(int(words[3]) / 1e9)
            require_agreement(rate * took, Printed(files), f"{phase}: rate times time, and files")
            metrics.append(quantity.measured(positive(words[5], phase)))
            seconds += took.value
        return Parsed(True, metrics=(*metrics, TIME.measured(seconds)))


BENCHMARK = Metadata()
