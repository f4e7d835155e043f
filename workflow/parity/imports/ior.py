"""IOR's own text, versions 3 and 4: rates of writing and reading, the mean of its repetitions."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping

from parity.core.errors import UserError
from parity.imports.rows import LEAVE_OUT, Output, Printed, TextConverter, as_name, number_of

_BEGINS = re.compile(r"^(?: *\d+: ?)?IOR-\d\S*: MPI Coordinated Test of Parallel I/O", re.MULTILINE)
_ENDS = re.compile(r"^(?:Finished\s*:|Run finished:)", re.MULTILINE)
# A repetition: the operation and its rate, then five numbers or more.
_REPETITION = re.compile(r"^(write|read)\s+(\S+)(?:\s+[\d.]+|\s+NA){5,}\s*$", re.MULTILINE)
_TABLE = re.compile(r"^access\s+bw\((\S+?/s)\)", re.MULTILINE)
_OPTION = re.compile(r"^[ \t]*(\w[\w ]*?)[ \t]*[:=][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
# Version 3 up to 3.3 writes it small.
_WRONG = re.compile(
    r"\bincorrect data\b|\bFAILED comparison\b|^ERROR\b", re.MULTILINE | re.IGNORECASE
)
# What is in the name of a case, by each name that it has had; the first that is there counts.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "api": ("api",),
    "ranks": ("tasks", "clients"),
    "transfer": ("xfersize",),
    "block": ("blocksize",),
    "access": ("access",),
}
# What else makes runs unlike each other.
_SETTINGS = (
    "segments", "type", "ordering in a file", "ordering inter file", "nodes", "clients per node",
    "repetitions", "memoryBuffer", "dataAccess", "GPUDirect", "stonewallingTime", "reorder",
)  # fmt: skip


class Ior(TextConverter):
    """`ior` with its summary as text."""

    name = "ior-text"
    title = "IOR"

    def takes(self, text: str) -> bool:
        return bool(_BEGINS.search(text))

    def printed(self, text: str, where: str) -> Output:
        tables = _TABLE.findall(text)
        repetitions = [(how, number_of(rate)) for how, rate in _REPETITION.findall(text)]
        if len(_BEGINS.findall(text)) != 1 or not _ENDS.search(text):
            problem = "this is not one whole output of IOR"
        elif wrong := _WRONG.search(text):
            problem = f"IOR says that it failed: {wrong[0]}"
        elif len(tables) > 1:
            problem = "there are several tests in this output"
        elif not tables or not repetitions:
            problem = "IOR's output holds no result"
        elif not all(rate for _, rate in repetitions):
            problem = "a rate of IOR is no number above zero"
        else:
            return _output(text, tables[0], repetitions)
        raise UserError(problem, where=where, action=LEAVE_OUT)


def _output(text: str, unit: str, repetitions: list[tuple[str, float | None]]) -> Output:
    told = dict(reversed(_OPTION.findall(text)))
    parts = []
    for name, known in _NAMED.items():
        value = next((told[key] for key in known if key in told), "")
        # `4 (2 per node)`, `1 MiB`
        value = re.sub(r"\s*\(.*|\s+", "", value)
        parts.append(f"{name}={value}" if value else "")
    case = as_name("IOR", *parts)
    rates: dict[str, list[float]] = {}
    for operation, rate in repetitions:
        rates.setdefault(operation, []).append(rate or 0.0)
    numbers = [
        Printed(case, operation, statistics.fmean(of_operation), unit, "higher")
        for operation, of_operation in rates.items()
    ]
    settings = {name: told[name] for name in _SETTINGS if name in told}
    # Old versions say how many clients a node has beside the number of all.
    settings |= {"clients": told["clients"]} if "clients" in told else {}
    return Output(numbers, settings)


CONVERTER = Ior()
