"""ReFrame's performance logs (4.10 tried): a line for each test, its variables in columns.

The arm is a parameter of the test. Nothing in a log says what ran together, so there are no blocks:
values are described, and compared with nothing. A run report (`reframe.py`) says it.
"""

import csv
import io
import re
from pathlib import Path

from parity.core.errors import UserError
from parity.imports.reframe import DEFAULTS, parsed_name
from parity.imports.rows import Converter, Options, Row, as_name, number_of, text_of

_HEAD = re.compile(r"^(?:\w+\|)*job_completion_time\|", re.MULTILINE)


def rows(path: Path, options: Options) -> list[Row]:
    """`<prefix>/<system>/<partition>/<test>.log`."""
    heads, made = list[str](), list[Row]()
    lines = csv.reader(io.StringIO(text_of(path)), delimiter="|", quoting=csv.QUOTE_NONE)
    for number, cells in enumerate(lines, start=1):
        where = f"{path}: line {number}"
        if "job_completion_time" in cells:
            heads = cells
        elif len(cells) != len(heads) or "name" not in heads:
            problem = f"{len(cells)} fields, where the head has {len(heads)}, and needs a name"
            raise UserError(problem, where=where, allowed="the log's own format")
        else:
            made += _rows(dict(zip(heads, cells, strict=True)), options, where)
    return made


def _rows(cells: dict[str, str], options: Options, where: str) -> list[Row]:
    name, parameters = parsed_name(cells["name"])
    parameters.pop(".repeat_no", "")  # of --repeat: the same test again, and no other case
    arm = options.arm_in(parameters, cells["name"], where)
    places = [cells.get(key, "") for key in ("system", "partition", "environ")]
    levels = [f"{key}={value}" for key, value in parameters.items() if key != options.arm]
    told = [name, *levels, *(place for place in places if place and place not in DEFAULTS)]
    lost = Row("", as_name(*told), as_name(arm), valid=False, source=cells.get("unique_name", name),
               where=where, told=(" ".join(told), arm))  # fmt: skip
    made = []
    for head in cells:
        metric = head.removesuffix("_value")
        if metric == head or f"{metric}_unit" not in cells:
            continue
        unit, value = cells[f"{metric}_unit"] or "1", number_of(cells[head])
        way = options.direction(metric, unit if unit != "1" else "")
        valid = value is not None and cells.get("result", "pass") in ("pass", "xpass")
        made.append(lost._replace(metric=metric, value=value, unit=unit, better=way, valid=valid))
    return made or [lost]


CONVERTER = Converter("perflog", "a performance log of ReFrame", _HEAD.match, rows, may_lack=True)
