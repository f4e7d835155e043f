"""IOR 4.0: bandwidth of files that are written, made sure to be on disk, and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks import openmpi, programs
from parity.benchmarks.description import Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Printed,
    Refused,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    stated_once,
)
from parity.core.errors import UserError

_SUMMARY = "ior.json"
_DIRECT = "--posix.odirect"
_KIB, _MIB = 2**10, 2**20

# In the order of IOR's summary.
WRITE = Quantity("write", "writing", "MiB/s", "higher")
READ = Quantity("read", "reading", "MiB/s", "higher")


class Ior(Benchmark):
    """Each rank writes a block, in transfers of equal size, and reads another rank's.

    What was written is flushed to the disk (`-e`) within the timed write, then read back
    and compared (`-W`), which is not timed. IOR could also compare what it reads in the
    timed read (`-R`), but then the rate is that of the comparison, too. With buffers the
    file is in memory when it is read, so the reading rate is that of the page cache.
    """

    name = "ior"
    title = "IOR"
    spack_packages = (programs.SpackPackage("ior", "4.0.0"),)
    binaries = (programs.program_path("ior", "ior"),)
    factors: ClassVar = {"file": ("own", "shared"), "access": ("buffered", "direct")}
    parameters, figures, note = described(__file__, WRITE, READ)
    allocations = "required"
    starts_ranks_inside = True
    # Not `sized_by` the block: whether files fit into memory is another problem, not more work.
    metrics = (WRITE, READ)
    primary = (WRITE.metric, READ.metric)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """IOR with its summary in a file of its own.

        Raises:
            UserError: blocks that transfers do not fill, several nodes without a folder
                that they share or without a launcher, or too many ranks on a node.
        """
        block, transfer = parameters["block_mib"] * _MIB, parameters["transfer_kib"] * _KIB
        if block % transfer:
            raise UserError(
                f"transfers of {parameters['transfer_kib']} KiB do not fill a block of "
                f"{parameters['block_mib']} MiB",
                where="ior: transfer_kib",
                allowed="a divisor of the block",
            )
        if parameters["nodes"] > 1 and not parameters["folder"]:
            raise UserError(
                "each node's working folder is its own, so ranks cannot read each other's files",
                where="ior: folder",
                allowed="a folder that all nodes and arms share",
            )
        folder = parameters["folder"]
        file = f"{folder}/ior.data" if folder else "ior.data"
        argv = (
            *(*self.binaries, "-a", "POSIX", "-w", "-r", "-e", "-C", "-W"),
            *(("-F",) if parameters["file"] == "own" else ()),
            *((_DIRECT,) if parameters["access"] == "direct" else ()),
            *("-b", str(block), "-t", str(transfer), "-o", file),
            *("-O", f"summaryFile={_SUMMARY}", "-O", "summaryFormat=JSON"),
        )
        return openmpi.program(argv, parameters, node, self.name, {}, (_SUMMARY,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Rates of both directions; valid if what was written was read back unchanged."""
        asked = outputs.parameters
        openmpi.require_one_world(outputs)
        # Each rank then ends with an error, and the summary may be lost with the first.
        if "Incorrect data on" in outputs.stdout:
            raise Refused("validation-failed", "what was read is not what was written")
        summary = read_summary(outputs.files.get(_SUMMARY, ""))
        test = _only(_get(summary, "tests"), 1, "tests")[0]
        options = _get(test, "Parameters")
        for key, expected in (
            ("writeFile", 1),
            ("readFile", 1),
            ("checkWrite", 1),
            ("fsync", 1),
            ("reorderTasks", 1),
            ("filePerProc", int(asked["file"] == "own")),
            ("blockSize", asked["block_mib"] * _MIB),
            ("transferSize", asked["transfer_kib"] * _KIB),
        ):
            require_equal(str(_get(options, key)), expected, key)
        require_equal(str(_get(test, "Options", "tasks")), asked["ranks"], "ranks")
        # No parameter of the summary tells direct access, but IOR repeats its command line.
        words = str(_get(summary, "Command line")).split()
        require_equal(str(words.count(_DIRECT)), int(asked["access"] == "direct"), _DIRECT)
        return Parsed(valid=True, metrics=_metrics(summary, test, asked))


def read_summary(text: str) -> dict[str, Any]:
    """IOR's summary in JSON; numbers with a point stay text, digit for digit as printed.

    Raises:
        Refused: it is not IOR's (`unparsable`), or not one whole summary (`truncated`,
            `several-runs`).
    """
    require_complete(text, '"Version": "4.0', r'"Finished": "[^"]*"\n\}')
    try:
        summary = json.loads(text, parse_float=str, object_pairs_hook=stated_once)
    except (ValueError, RecursionError):
        raise Refused("truncated", "the summary is not whole") from None
    if not isinstance(summary, dict):
        raise Refused("unparsable", "the summary is no table of keys and values")
    return summary


def _metrics(
    summary: Mapping[str, Any], test: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[Metric, ...]:
    """Rate of each direction, the best and only one of its repetitions.

    The summary repeats what the result of the repetition states, digit for digit.
    """
    results = _only(_get(test, "Results"), 2, "results")
    entries = _only(_get(summary, "summary"), 2, "directions")
    data = Printed(asked["block_mib"] * asked["ranks"])
    metrics = []
    for direction, entry, result in zip((WRITE, READ), entries, results, strict=True):
        name, rate = direction.metric, str(_get(result, "bwMiB"))
        require_equal(str(_get(entry, "operation")), name, "operation")
        require_equal(str(_get(result, "access")), name, "access")
        require_equal(str(_get(entry, "repetitions")), 1, "repetitions")
        size = printed(str(_get(entry, "xsizeMiB")), "MiB in all")
        require_equal(str(size.value), float(data.value), "MiB in all")
        for key in ("bwMeanMIB", "bwMinMIB", "bwMaxMIB"):
            if str(_get(entry, key)) != rate:
                raise Refused("contradictory", f"{name}: the result and {key} differ")
        moved = printed(rate, name) * printed(str(_get(result, "totalTime")), "time")
        require_agreement(moved, data, f"{name}: rate times time, and MiB moved")
        metrics.append(direction.measured(positive(rate, name)))
    return tuple(metrics)


def _only(value: Any, count: int, what: str) -> list[Any]:
    """A list of so many entries and no more."""
    if not (isinstance(value, list) and len(value) == count):
        raise Refused("unparsable", f"the summary does not hold {count} {what}")
    return value


def _get(value: Any, *keys: str | int) -> Any:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise Refused("unparsable", f"the summary has no {key}") from None
    return value


BENCHMARK = Ior()
