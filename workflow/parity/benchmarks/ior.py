"""IOR 4.0: bandwidth of files that are written, made sure to be on disk, and read back."""

from parity.benchmarks import openmpi, reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import SpackPackage, program_path
from parity.core.errors import UserError

_SUMMARY = "ior.json"
_DIRECT = "--posix.odirect"
_KIB, _MIB = 2**10, 2**20


class Ior(Benchmark):
    """Each rank writes a block, in transfers of equal size, and reads another rank's.

    What was written is flushed to the disk (`-e`) within the timed write, then read back and
    compared (`-W`), which is not timed, as a comparison in the timed read (`-R`) would be.
    """

    spack_packages = (SpackPackage("ior", "4.0.0"),)
    binaries = (program_path("ior", "ior"),)
    # Not `sized_by` the block: whether files fit into memory is another problem, not more work.

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        mib, kib, folder = (parameters[name] for name in ("block_mib", "transfer_kib", "folder"))
        block, transfer = mib * _MIB, kib * _KIB
        if block % transfer:
            problem = f"transfers of {kib} KiB do not fill a block of {mib} MiB"
            raise UserError(problem, where="ior: transfer_kib", allowed="a divisor of the block")
        if parameters["nodes"] > 1 and not folder:
            problem = "each node's working folder is its own, so ranks cannot read each other's"
            allowed = "a folder that all nodes and arms share"
            raise UserError(f"{problem} files", where="ior: folder", allowed=allowed)
        argv = (
            *(*self.binaries, "-a", "POSIX", "-w", "-r", "-e", "-C", "-W"),
            *(("-F",) if parameters["file"] == "own" else ()),
            *((_DIRECT,) if parameters["access"] == "direct" else ()),
            *("-b", str(block), "-t", str(transfer)),
            *("-o", f"{folder}/ior.data" if folder else "ior.data"),
            *("-O", f"summaryFile={_SUMMARY}", "-O", "summaryFormat=JSON"),
        )
        return openmpi.program(argv, parameters, node, self.name, {}, (_SUMMARY,))

    def read(self, outputs: Outputs) -> Parsed:
        asked, text = outputs.parameters, outputs.files.get(_SUMMARY, "")
        openmpi.require_one_world(outputs)
        # Each rank then ends with an error, and the summary may be lost with the first.
        if "Incorrect data on" in outputs.stdout:
            raise reading.Refused("validation-failed", "what was read is not what was written")
        reading.require_complete(text, '"Version": "4.0', r'"Finished": "[^"]*"\n\}')
        said = reading.said_in_json(text)
        options = {
            **dict.fromkeys(("writeFile", "readFile", "checkWrite", "fsync", "reorderTasks"), 1),
            "filePerProc": int(asked["file"] == "own"), "blockSize": asked["block_mib"] * _MIB,
            "transferSize": asked["transfer_kib"] * _KIB,
        }  # fmt: skip
        options = {f"tests.0.Parameters.{key}": value for key, value in options.items()}
        counts = {"tests.0.Options.tasks": asked["ranks"], "tests.0.Results": 2, "summary": 2}
        said.require({"tests": 1, **options, **counts})
        # No parameter of the summary tells direct access, but IOR repeats its command line.
        words = said["Command line"].split()
        reading.require_equal(str(words.count(_DIRECT)), int(asked["access"] == "direct"), _DIRECT)
        data = asked["block_mib"] * asked["ranks"]
        both = enumerate(("write", "read"))
        return self.measured({name: rate(said, place, name, data) for place, name in both})


def rate(said: reading.Said, place: int, name: str, data: int) -> float:
    """MiB/s of one direction, the best and only one of its repetitions, of so many MiB.

    The summary repeats what the result of the repetition states, digit for digit.
    """
    entry, result = f"summary.{place}", f"tests.0.Results.{place}"
    said.require({f"{entry}.operation": name, f"{result}.access": name, f"{entry}.repetitions": 1})
    reading.require_equal(str(said.printed(f"{entry}.xsizeMiB").value), float(data), "MiB in all")
    rate = said[f"{result}.bwMiB"]
    for key in ("bwMeanMIB", "bwMinMIB", "bwMaxMIB"):
        if said[f"{entry}.{key}"] != rate:
            raise reading.Refused("contradictory", f"{name}: the result and {key} differ")
    moved = said.printed(f"{result}.bwMiB") * said.printed(f"{result}.totalTime")
    both = f"{name}: rate times time, and MiB moved"
    reading.require_agreement(moved, reading.Printed(data), both)
    return said.positive(f"{result}.bwMiB")


BENCHMARK = Ior()
