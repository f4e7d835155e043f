"""Metadata: files of nothing that are made, asked about and taken away, as mdtest does it."""

from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import compiled_path
from parity.benchmarks.reading import Printed, positive, require_agreement

SOURCE = "metadata.c"


class Metadata(Benchmark):
    """One process in one new folder; each phase ends when the folder is on the disk."""

    sources = (SOURCE,)
    binaries = (compiled_path(SOURCE),)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """On the first CPU, in the working folder of the run or in one that every arm sees."""
        folder, files = parameters["folder"] or ".", str(parameters["files"])
        return Program((*self.binaries, folder, files), node.cpus[:1])

    def read(self, outputs: Outputs) -> Parsed:
        said, files = self.printed.read(outputs.stdout), outputs.parameters["files"]
        said.require({"files left": 0})
        values = {"time": 0.0}
        for phase in ("create", "stat", "unlink"):
            said.require({f"files of {phase}": files})
            seconds = positive(said[f"nanoseconds of {phase}"], f"time of {phase}") / 1e9
            done = said.printed(f"rate of {phase}") * Printed(seconds)
            require_agreement(done, Printed(files), f"{phase}: rate times time, and files")
            values[f"{phase}_rate"] = said.positive(f"rate of {phase}")
            values["time"] += seconds
        return self.measured(values)


BENCHMARK = Metadata()
