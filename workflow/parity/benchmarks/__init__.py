"""The benchmarks: one module each, found by being there; or a program that a study describes."""

import sys
from functools import cache
from typing import NoReturn

from parity.benchmarks.model import SOFTWARE, Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.own_program import COMMAND, own_program
from parity.core.errors import UserError
from parity.core.package import modules_with


class Unknown(Benchmark):
    """One that only somebody else's program knows: an archive that names it can be read.

    Plan and tables are told as they are; nothing of it is run, or read anew from its output.
    """

    def __init__(self, name: str = "") -> None:
        self.name = self.title = name

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        self._refuse("run")

    def read(self, outputs: Outputs) -> Parsed:
        self._refuse("read its output")

    def timed_seconds(self, outputs: Outputs) -> float:
        return 0.0

    def _refuse(self, what: str) -> NoReturn:
        problem = f"nothing here can {what}: no benchmark is called {self.name}"
        action = "add its module to workflow/parity/benchmarks/, or leave its archive out"
        raise UserError(problem, action=action)


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name, in the order of the modules' names."""
    return {it.name: it for it in modules_with(sys.modules[__name__], "BENCHMARK")}


def benchmark_of(name: str, parameters: Asked) -> Benchmark:
    """The benchmark of a case: its module's, or the program that its parameters describe.

    Of software that a site built it has the places that the parameters say. Studies cannot ask for
    one that neither tells.
    """
    if command := parameters.get(COMMAND):
        return own_program(name, command)
    known = benchmarks().get(name) or Unknown(name)
    return known.located(parameters[SOFTWARE]) if SOFTWARE in parameters else known
