"""IOR's own text, versions 3 and 4: rates of writing and reading, the mean of its repetitions."""

import re
import statistics
from collections.abc import Mapping
from functools import partial

from parity.core.errors import UserError
from parity.imports.rows import LEAVE_OUT, Converter, Printed, as_name, number_of

_BEGINS = re.compile(r"^(?: *\d+: ?)?IOR-\d\S*: MPI Coordinated Test of Parallel I/O", re.MULTILINE)
_ENDS = re.compile(r"^(?:Finished\s*:|Run finished:)", re.MULTILINE)
# A repetition: the operation and its rate, then five numbers or more.
_REPETITION = re.compile(r"^(write|read)\s+(\S+)(?:\s+[\d.]+|\s+NA){5,}\s*$", re.MULTILINE)
_TABLE = re.compile(r"^access\s+bw\((\S+?/s)\)", re.MULTILINE)
_OPTION = re.compile(r"^[ \t]*(\w[\w ]*?)[ \t]*[:=][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
# Version 3 up to 3.3 writes it small.
_WRONG = re.compile(r"(?im)\bincorrect data\b|\bFAILED comparison\b|^ERROR\b")
# What is in the name of a case, by each name that it has had; the first that is there counts.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "api": ("api",), "ranks": ("tasks", "clients"), "transfer": ("xfersize",),
    "block": ("blocksize",), "access": ("access",),
}  # fmt: skip
# What else makes runs unlike each other; old versions say how many clients a node has beside the
# number of all.
_SETTINGS = (
    *("clients", "segments", "type", "ordering in a file", "ordering inter file", "nodes"),
    *("clients per node", "repetitions", "memoryBuffer", "dataAccess", "GPUDirect"),
    *("stonewallingTime", "reorder"),
)


def printed(text: str, where: str) -> tuple[list[Printed], dict[str, str]]:
    """The rates of one whole run of `ior`, and its settings; UserError: it did not end well."""
    units = _TABLE.findall(text)
    rates: dict[str, list[float | None]] = {}
    for operation, rate in _REPETITION.findall(text):
        rates.setdefault(operation, []).append(number_of(rate))
    refusal = partial(UserError, where=where, action=LEAVE_OUT)
    if len(_BEGINS.findall(text)) != 1 or not _ENDS.search(text):
        raise refusal("this is not one whole output of IOR")
    if wrong := _WRONG.search(text):
        raise refusal(f"IOR says that it failed: {wrong[0]}")
    if len(units) > 1:
        raise refusal("there are several tests in this output")
    if not units or not rates:
        raise refusal("IOR's output holds no result")
    if not all(map(all, rates.values())):
        raise refusal("a rate of IOR is no number above zero")
    options = dict(reversed(_OPTION.findall(text)))
    parts = []
    for name, known in _NAMED.items():
        value = next((options[key] for key in known if key in options), "")
        value = re.sub(r"\s*\(.*|\s+", "", value)  # `4 (2 per node)`, `1 MiB`
        parts.append(f"{name}={value}" if value else "")
    case, unit = as_name("IOR", *parts), units[0]
    means = {of: statistics.fmean(filter(None, each)) for of, each in rates.items()}
    numbers = [Printed(case, of, mean, unit, "higher") for of, mean in means.items()]
    return numbers, {name: options[name] for name in _SETTINGS if name in options}


CONVERTER = Converter.of_text("ior-text", "IOR", _BEGINS, printed)
