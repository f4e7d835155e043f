"""Selfish beside a program that reads the image: what serving its files costs who computes.

A mounted image has its files served by the kernel, or by a program that takes CPU time of its own.
Beside selfish, on all other CPUs of the same container, another program does nothing or reads /usr
again and again past the page cache (reading.c); it is selfish's parent, so it ends with it.
"""

import re
from dataclasses import replace

from parity.benchmarks.model import Asked, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import compiled_path
from parity.benchmarks.reading import Refused
from parity.benchmarks.selfish import Selfish

READING, TALLY = "reading.c", "reading.txt"
FOLDERS = {"nothing": "", "reading": "/usr"}
_MODE = {"mode": "detours"}
_LINE = re.compile(r"(\d+) files, (\d+) bytes, CPU (\d+\.\d{6}) s, program's CPU (\d+\.\d{6}) s\n")


class SelfishReading(Selfish):
    """Detours of a pinned loop in a container that is idle otherwise, or reads its image."""

    sources = (*Selfish.sources, READING)
    binaries = (*Selfish.binaries, compiled_path(READING))

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        node.first_cpus(2, f"{self.name}: the CPUs of selfish and of the reader")
        program = super().program({**parameters, **_MODE}, node)
        others = ",".join(map(str, node.cpus[:-1]))
        words = (self.binaries[-1], others, FOLDERS[parameters["beside"]], TALLY)
        return replace(program, argv=(*words, *program.argv), collect=(*program.collect, TALLY))

    def read(self, outputs: Outputs) -> Parsed:
        # All others of the run are the runtime's own processes and what serves the files, as far as
        # the run waits for them, so no daemon that goes on.
        seen = super().read(replace(outputs, parameters={**outputs.parameters, **_MODE}))
        if not (line := _LINE.fullmatch(outputs.files.get(TALLY, ""))):
            raise Refused("unparsable", "the reader left no line of what it read")
        _, read, own, program = map(float, line.groups())
        if bool(read) != bool(FOLDERS[outputs.parameters["beside"]]):
            raise Refused("wrong-size", f"{read:.0f} bytes were read beside the program")
        values = {metric.name: metric.value for metric in seen.metrics} | {"read": read}
        if outputs.cpu_seconds:
            values["serving_cpu"] = max(0.0, outputs.cpu_seconds - own - program)
        return self.measured(values, seen.detail)


BENCHMARK = SelfishReading()
