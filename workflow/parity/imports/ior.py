"""IOR's own text, versions 3 and 4: rates of writing and reading, the mean of its repetitions."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from pathlib import Path

from parity.core.errors import UserError
from parity.imports.rows import as_name, begins
from parity.imports.texts import LEAVE_OUT, Printed, TextConverter

_BEGINS = re.compile(r"^IOR-\d\S*: MPI Coordinated Test of Parallel I/O", re.MULTILINE)
_ENDS = re.compile(r"^(?:Finished\s*:|Run finished:)", re.MULTILINE)
# A repetition: the operation and its rate in MiB/s, then eight numbers or more.
_REPETITION = re.compile(r"^(write|read)\s+(\d+\.?\d*)(?:\s+[\d.]+){5,}\s*$", re.MULTILINE)
_TABLE = re.compile(r"^access\s+bw\(MiB/s\)", re.MULTILINE)
_OPTION = re.compile(r"^[ \t]*(\w[\w ]*?)[ \t]*[:=][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
# What makes another case, by each name that it has had; the first that is there counts.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "api": ("api",),
    "ranks": ("tasks", "clients"),
    "transfer": ("xfersize",),
    "block": ("blocksize",),
    "access": ("access",),
}


class Ior(TextConverter):
    """`ior` with its summary as text."""

    name = "ior-text"
    title = "IOR"

    def takes(self, path: Path) -> bool:
        return bool(_BEGINS.search(begins(path)))

    def printed(self, text: str, where: str) -> list[Printed]:
        if len(_BEGINS.findall(text)) != 1 or not _ENDS.search(text):
            problem = "this is not one whole output of IOR"
        elif re.search(r"\bIncorrect data\b|^ERROR\b", text, re.MULTILINE):
            problem = "IOR says that it failed"
        elif len(_TABLE.findall(text)) > 1:
            problem = "there are several tests in this output"
        elif not _REPETITION.search(text):
            problem = "IOR's output holds no result"
        else:
            return _rates(text)
        raise UserError(problem, where=where, action=LEAVE_OUT)


def _rates(text: str) -> list[Printed]:
    rates: dict[str, list[float]] = {}
    for operation, rate in _REPETITION.findall(text):
        rates.setdefault(operation, []).append(float(rate))
    case = _case(text)
    return [
        Printed(case, operation, statistics.fmean(found), "MiB/s", "higher")
        for operation, found in rates.items()
    ]


def _case(text: str) -> str:
    told = dict(reversed(_OPTION.findall(text)))
    parts = []
    for name, known in _OPTIONS.items():
        value = next((told[each] for each in known if each in told), "")
        # `4 (2 per node)`, `1 MiB`
        value = re.sub(r"\s*\(.*|\s+", "", value)
        parts.append(f"{name}={value}" if value else "")
    return as_name("IOR", *parts)


CONVERTER = Ior()
