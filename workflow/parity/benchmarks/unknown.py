"""A benchmark that only somebody else's program knows: an archive that names it can be read."""

from collections.abc import Mapping
from typing import Any, NoReturn

from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.core.errors import UserError


class Unknown(Benchmark):
    """Plan and tables are told as they are; nothing of it is run, or read anew from its output."""

    def __init__(self, name: str = "") -> None:
        self.name = self.title = name

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """UserError, always."""
        self._refuse("run")

    def read(self, outputs: Outputs) -> Parsed:
        """UserError, always."""
        self._refuse("read its output")

    def timed_seconds(self, outputs: Outputs) -> float:
        """Not known."""
        return 0.0

    def _refuse(self, what: str) -> NoReturn:
        raise UserError(
            f"nothing here can {what}: no benchmark is called {self.name}",
            action="add its module to workflow/parity/benchmarks/, or leave its archive out",
        )
